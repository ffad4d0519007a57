#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "boosted_tree.hpp"
#include "tree_grower.hpp"

namespace tritree::boosting {

/// Codes with fewer of them: a third branch has too few rows to tell many apart, and takes a quarter of the
/// time.
struct CoarseBins {
    static constexpr std::uint32_t kMost = 64;  ///< of a numeric column; categories stay as they are

    Bins bins;
    std::vector<std::vector<std::uint16_t>> code_of;   ///< by column and code, missing included
    std::vector<std::vector<std::uint16_t>> begin_of;  ///< by column and coarse code: the first of its codes

    CoarseBins() = default;
    explicit CoarseBins(const Bins& fine);
};

/// Training rows that are kept to grow third branches from.
class Background {
  public:
    Background(CodeRows rows_, std::vector<double> weight_, const Bins& bins);

    CodeRows rows;
    std::vector<double> weight;  ///< empty if every row weighs 1
    CoarseBins coarse;
    CodeRows coarse_rows;
};

/// Grows third branches of one tree.
///
/// The third branch of a split on a column is fitted to what the split's own left and right branches say of
/// the node's rows whose value is observed, by the other columns. It depends on the tree, on the background
/// rows and on the node's path only: not on the order in which branches are asked for.
class ThirdGrower {
  public:
    /// `before` is what the trees before this one say of the background rows; without it no doubt is
    /// measured.
    ThirdGrower(BoostedTree& tree, const Background& background, const Bins& bins, const Plan& plan,
                std::span<const double> before = {});

    /// Lead rows from where they stand to where they end, growing the branches that they need.
    void lead(const CodeRows& codes, std::span<const std::uint32_t> rows, std::int32_t* at);

  private:
    /// A binary part of the tree with the background rows that are in it: the fitted part, or a third branch.
    struct Part {
        std::int32_t root = 0;
        std::vector<std::uint32_t> rows;  ///< in the order of its nodes
        std::vector<Range> ranges;        ///< of its nodes
    };

    void grow_wanted(std::span<const std::int32_t> at);
    void grow(std::int32_t node);
    const Part& part_of(std::int32_t node);
    Part arranged(std::int32_t root) const;
    std::vector<std::int32_t> columns_of(std::int32_t root) const;
    void arrange(Part& part) const;
    std::vector<std::uint32_t> sample(std::int32_t node, const Part& part) const;
    std::vector<double> answers(std::int32_t node, const std::vector<std::uint32_t>& rows);
    void fit(Part& part, const std::vector<double>& target);
    void refine(std::int32_t first);
    void measure_doubt(const Part& part);
    bool is_full() const;
    std::int32_t parent_of(std::int32_t node) const {
        return tree_.infos[static_cast<std::size_t>(node)].parent;
    }
    std::int32_t root_of(std::int32_t node) const;
    std::int32_t end_of(std::int32_t root) const;

    BoostedTree& tree_;
    const Background& background_;
    const Bins& bins_;
    Plan plan_;  // that of a third branch: nothing holds its values back
    std::span<const double> before_;
    std::unordered_map<std::int32_t, Part> parts_;  // by root
    std::size_t n_kept_ = 0;                        // rows of these
};

}  // namespace tritree::boosting
