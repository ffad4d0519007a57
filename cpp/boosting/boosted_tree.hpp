#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "code_rows.hpp"
#include "cut.hpp"
#include "plan.hpp"

namespace tritree::boosting {

/// What leading a row asks of a node. A way that ends here leads back to the node itself: those of a leaf all
/// do, and that of missing values where the third branch has not been grown, or where a row goes both ways.
struct Step {
    std::uint16_t column = 0;
    std::uint16_t begin = 0;    ///< the first code that goes right
    std::uint16_t missing = 0;  ///< the code of missing values
    bool categorical = false;
    Branch missing_to = Branch::None;  ///< None in a leaf
    std::int32_t next[3] = {0, 0, 0};  ///< left, right, missing

    bool is_leaf() const { return missing_to == Branch::None; }
};

/// What else is known of a node.
struct Info {
    std::uint64_t path = 0;  ///< a number for the way from the root
    std::int64_t rows = 0;
    double gain = 0;
    double doubt = 0;       ///< what the tree adds to the variance of the sum, of rows that end here
    std::int64_t set = -1;  ///< categorical: where its sets begin
    std::int32_t parent = -1;
    std::int32_t depth = 0;
    Branch larger = Branch::Right;
    Bounds bounds;
};

/// A boosted tree. Node 0 is the root; a daughter comes after its parent.
class BoostedTree {
  public:
    std::vector<Step> steps;
    std::vector<double> values;  ///< a leaf's answer; elsewhere the mean of the answers of its rows
    std::vector<Info> infos;
    std::vector<std::uint64_t>
        sets;                     ///< of categorical nodes: `words` that go left, then those that go right
    std::vector<double> shares;   ///< fractional: how much of a row goes left where its value is missing
    std::vector<double> weights;  ///< fractional: training rows, each counted by the part that is there
    std::int32_t n_fitted = 0;    ///< nodes that were there after the fit
    bool has_categories = false;

    std::size_t size() const { return steps.size(); }
    std::int32_t add_leaf(double value, const Info& info);
    /// Make a leaf split; its daughters are added with the values of the cut.
    void split(std::int32_t node, const Cut& cut, const Bins& bins, const Plan& plan);
    void set_third(std::int32_t node, std::int32_t third) { steps[node].next[2] = third; }
    bool wants_third(std::int32_t node) const {
        return steps[node].missing_to == Branch::Third && steps[node].next[2] == node;
    }
    /// Give the inner nodes from `first` on the mean of their daughters' values.
    void average(std::int32_t first);

    /// Return where a code leads from a node: to the node itself where the way ends.
    std::int32_t next(std::int32_t node, std::uint32_t code) const {
        const Step& step = steps[static_cast<std::size_t>(node)];
        if (step.categorical) return code == step.missing ? step.next[2] : next_of_category(node, code);
        return step.next[(code >= step.begin) + (code == step.missing)];
    }
    /// Lead rows on from where they stand, until each is at a leaf, or at a node whose third branch it needs
    /// or from where it goes both ways.
    void lead(const CodeRows& codes, std::span<const std::uint32_t> rows, std::int32_t* at) const;
    /// The same for rows that follow each other.
    void lead(const CodeRows& codes, std::size_t begin, std::size_t end, std::int32_t* at) const;

    std::string validate(const Bins& bins, const Plan& plan) const;

  private:
    std::int32_t next_of_category(std::int32_t node, std::uint32_t code) const;
};

}  // namespace tritree::boosting
