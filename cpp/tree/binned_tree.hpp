#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/binned_rows.hpp"
#include "split/gradient_splitter.hpp"
#include "tree/tree.hpp"

namespace tritree {

/// A node compiled for traversal by bins. `next` is the node itself where traversal ends: all branches of a
/// leaf, and that of missing values where the third branch has not been grown or a row goes both ways.
struct PackedNode {
    std::uint16_t column = 0;
    std::uint16_t first_right_bin = 0;
    std::uint16_t missing_bin = 0;
    bool categorical = false;
    std::int32_t next[3] = {0, 0, 0};  ///< left, right, missing
};

/// A boosted tree: the tree, its nodes compiled for traversal by bins, and their parents and paths for
/// growing.
class BinnedTree {
  public:
    /// An empty tree, to be grown.
    BinnedTree() = default;
    /// Compile a tree whose root has this path; it must have passed `validate`.
    BinnedTree(Tree grown, const BinMapper& mapper, std::uint64_t root_path);
    /// Return an error message if a boosted tree that passed `Tree::validate` is invalid, else an empty
    /// string.
    static std::string validate(const Tree& tree, const BinMapper& mapper);

    Tree arrays;
    std::vector<PackedNode> nodes;
    std::vector<std::int32_t> parent;
    std::vector<std::uint64_t> path;  ///< hash of the branches from the root: seeds random choices
    bool has_categories = false;

    std::size_t size() const { return nodes.size(); }
    bool is_leaf(std::int32_t node) const { return nodes[static_cast<std::size_t>(node)].next[0] == node; }
    bool needs_third(std::int32_t node) const {
        return arrays.third[static_cast<std::size_t>(node)] == kUngrown;
    }
    ValueBounds bounds(std::int32_t node) const;

    /// Append a leaf. The root of a third branch is as deep as its parent.
    std::int32_t add_leaf(double value, const ValueBounds& bounds, std::int32_t parent_node, Branch branch,
                          const GrowthParameters& params);
    std::int32_t add_root(std::uint64_t root_path, const GrowthParameters& params);
    /// Start a tree that becomes the third branch of a node of another one.
    static BinnedTree third_of(const BinnedTree& tree, std::int32_t node, const GrowthParameters& params);
    /// Turn a leaf into a split and append its children.
    void split(std::int32_t node, const GradientSplit& split, const BinMapper& mapper,
               const GrowthParameters& params);
    /// Append a tree as the third branch of a node; return its root.
    std::int32_t append_third(std::int32_t node, const BinnedTree& third);
    /// Free memory that was reserved for more nodes.
    void shrink_to_fit();
    /// Set the thresholds of the numeric splits from `first` on.
    void set_thresholds(std::int32_t first, const BinMapper& mapper);
    /// Set the values of the inner nodes from `first` on to the weighted means of their children.
    void average_inner_nodes(std::int32_t first);
    /// Multiply the values of all nodes, and their bounds.
    void scale_values(double factor);

    /// Return the node that a bin leads to: the node itself where traversal ends.
    std::int32_t next(std::int32_t node, std::uint32_t bin) const {
        const PackedNode& packed = nodes[static_cast<std::size_t>(node)];
        if (packed.categorical)
            return bin == packed.missing_bin ? packed.next[2] : next_of_category(node, bin);
        return packed.next[(bin >= packed.first_right_bin) + (bin == packed.missing_bin)];
    }
    /// Traverse rows from the nodes `at` until each is at a leaf, or at a node whose third branch has not
    /// been grown or where it goes both ways.
    void traverse(const BinnedRows& binned, std::span<const std::uint32_t> rows, std::int32_t* at) const;
    /// The same for the consecutive rows from `begin` to `end`.
    void traverse(const BinnedRows& binned, std::size_t begin, std::size_t end, std::int32_t* at) const;

  private:
    void pack(std::int32_t node, const BinMapper& mapper);
    std::int32_t next_of_category(std::int32_t node, std::uint32_t bin) const;
};

}  // namespace tritree
