#include "tree/fractional_predictor.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace tritree {
namespace {

constexpr std::size_t kMaxVisits = std::size_t{1} << 17;  // per batch, unless a single row has more

}  // namespace

/// Call `f(begin, end)` for batches of rows that have at most kMaxVisits visits, whatever is missing.
template <class F>
void FractionalPredictor::for_each_batch(const BinnedTree& tree, std::size_t begin, std::size_t end, F&& f) {
    const std::size_t n = std::max<std::size_t>(kMaxVisits / tree.size(), 1);
    for (; begin < end; begin += n) f(begin, std::min(begin + n, end));
}

/// Traverse rows until they first go both ways, then both children of these nodes, and so on.
void FractionalPredictor::traverse(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin,
                                   std::size_t end) {
    row_.resize(end - begin);
    std::iota(row_.begin(), row_.end(), static_cast<std::uint32_t>(begin));
    node_.assign(end - begin, 0);
    first_child_.clear();
    while (first_child_.size() < row_.size()) {
        const std::size_t from = first_child_.size(), to = row_.size();
        tree.traverse(binned, std::span<const std::uint32_t>(row_).subspan(from), node_.data() + from);
        first_child_.resize(to, 0);
        for (std::size_t i = from; i < to; ++i) {
            if (tree.is_leaf(node_[i])) continue;
            const PackedNode& node = tree.nodes[static_cast<std::size_t>(node_[i])];
            first_child_[i] = static_cast<std::uint32_t>(row_.size());
            row_.insert(row_.end(), 2, row_[i]);
            node_.insert(node_.end(), {node.next[0], node.next[1]});
        }
    }
}

void FractionalPredictor::compute_fractions(const BinnedTree& tree) {
    fraction_.assign(row_.size(), 1);
    for (std::size_t i = 0; i < row_.size(); ++i) {
        if (first_child_[i] == 0) continue;
        const double left = tree.arrays.left_fraction[static_cast<std::size_t>(node_[i])];
        fraction_[first_child_[i]] = fraction_[i] * left;
        fraction_[first_child_[i] + 1] = fraction_[i] * (1 - left);
    }
}

void FractionalPredictor::predict(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin,
                                  std::size_t end, double* predictions) {
    for_each_batch(tree, begin, end, [&](std::size_t first, std::size_t last) {
        traverse(tree, binned, first, last);
        prediction_.resize(row_.size());
        for (std::size_t i = row_.size(); i-- > 0;) {
            const auto node = static_cast<std::size_t>(node_[i]);
            const std::size_t child = first_child_[i];
            const auto& left_fraction = tree.arrays.left_fraction;
            prediction_[i] = child == 0 ? tree.arrays.value[node]
                                        : left_fraction[node] * prediction_[child] +
                                              (1 - left_fraction[node]) * prediction_[child + 1];
        }
        std::copy_n(prediction_.begin(), last - first, predictions + (first - begin));
    });
}

void FractionalPredictor::apply(const BinnedTree& tree, const BinnedRows& binned, std::size_t begin,
                                std::size_t end, std::int32_t* nodes) {
    for_each_batch(tree, begin, end, [&](std::size_t first, std::size_t last) {
        traverse(tree, binned, first, last);
        compute_fractions(tree);
        for (std::size_t i = row_.size(); i-- > 0;) {
            const std::size_t child = first_child_[i];
            if (child == 0) continue;
            const std::size_t larger = child + (fraction_[child + 1] > fraction_[child]);
            fraction_[i] = fraction_[larger];  // from here on the fraction in the leaf
            node_[i] = node_[larger];
        }
        std::copy_n(node_.begin(), last - first, nodes + (first - begin));
    });
}

}  // namespace tritree
