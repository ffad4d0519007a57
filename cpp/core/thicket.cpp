#include "thicket.hpp"

#include <utility>

#include "scan.hpp"

namespace tritree {

void grow_thicket(const Scanner& scanner, Twig first, const Frame& above, std::vector<Twig>& twigs) {
    thread_local NodeRows data;
    twigs.clear();
    twigs.reserve(2 * first.rows.size());  // as many as there can be, if every leaf has a row
    twigs.push_back(std::move(first));
    for (std::size_t t = 0; t < twigs.size(); ++t) {
        Twig& twig = twigs[t];
        data.rows = twig.rows;
        twig.summary = scanner.reader().read(data, t == 0 ? &above : &twigs[twig.branch.node].frame);
        twig.frame = data.frame;
        twig.ladder = scanner.first_rung(data, twig.summary, twig.depth, twig.path);
        if (twig.ladder.empty()) continue;
        twig.parts = part_rows(twig.rows, scanner.codes(), twig.ladder[0], {});
        const auto [left, right] = twig.parts;
        for (const Branch side : {Branch::Left, Branch::Right}) {
            Twig& below = twigs.emplace_back();
            below.branch = {static_cast<std::int32_t>(t), side};
            below.depth = twig.depth + 1;
            below.path = path_below(twig.path, 0, side);
            below.rows = side == Branch::Left ? twig.rows.first(left) : twig.rows.subspan(left, right);
        }
    }
    data.rows = {};
}

}  // namespace tritree
