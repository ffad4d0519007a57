"""The benchmarks of one tree, and all by their names: each names its work, its contenders and its reach."""

from __future__ import annotations

import contextlib
import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data, many_trees
from benchmarks.measure import Job, exponent
from benchmarks.ours import TriTree
from benchmarks.peers import load
from benchmarks.results import Measurement, Row, Verdict, compare
from benchmarks.run import judged, prediction_jobs, shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.contender import Contender, Settings
    from benchmarks.run import Run

__all__ = ["CASES"]

BINNING = ("HistGradientBoosting", "LightGBM", "XGBoost", "YDF")
EVERYONE = (*BINNING, "CatBoost", "DecisionTree")
NO_BLACK_FRIDAY = f"{data.BLACK_FRIDAY} is absent; set TRITREE_DATA to the folder that has it."
#: Seconds that the author's package takes for 1,000 rows at depth 2, by columns, as measured once; it is not run here.
AUTHOR_SECONDS = {2: 12.0, 5: 97.0}


def fit_complete(run: Run) -> Iterator[Row]:
    """Fit one tree of depth 6 to 1,000,000 x 20 numbers without holes, binned to 255 values."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    peers, absent = load(*BINNING)
    row = Row("fit-complete", shape(X), notes=absent)
    yield run.compare_fits(row, X, y, [TriTree(), *peers], run.settings())


def fit_holes(run: Run) -> Iterator[Row]:
    """Fit the same with 30 % of the cells missing, as `trinary` and as `mia`."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed, holes=0.3)
    peers, absent = load(*BINNING)
    row = Row("fit-holes", f"{shape(X)}, 30 % holes", notes=absent)
    yield run.compare_fits(row, X, y, [TriTree(), TriTree("mia"), *peers], run.settings())


def fit_exact(run: Run) -> Iterator[Row]:
    """Fit the same as fit-complete with every value told apart (up to 65,534 a column), beside an exact tree."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    peers, absent = load("DecisionTree")
    row = Row("fit-exact", f"{shape(X)}, max_bins=None", notes=absent)
    yield run.compare_fits(
        row, X, y, [TriTree(), *peers], run.settings(bins=None), reach=0.1, most_rounds=2 if run.quick else 3
    )


def fit_small(run: Run) -> Iterator[Row]:
    """Fit one tree to small tables, where the way into a library weighs more than the work."""
    peers, absent = load(*EVERYONE)
    for n_rows, n_columns in ((10_000, 20), (150, 4)):
        X, y = data.numbers(n_rows, n_columns, seed=run.seed)
        row = Row("fit-small", shape(X), notes=list(absent))
        run.compare_fits(row, X, y, [TriTree(), *peers], run.settings())
        if n_rows == 150:
            ours = row.measurements[0]
            row.verdicts.append(Verdict("whole fit", 1e3 * ours.median, 1.0, "ms", ours=ours))
            row.notes.append(
                "The whole fit bounds what Python costs around the core, which is to stay under 1 ms."
            )
        yield row


def fit_classes(run: Run) -> Iterator[Row]:
    """Fit 10 classes on 500,000 x 20 numbers, binned to 255 values."""
    X, y = data.classes(run.rows(500_000), 20, 10, seed=run.seed)
    peers, absent = load("DecisionTree", "HistGradientBoosting", "LightGBM")
    row = Row("fit-classes", f"{shape(X)}, 10 classes", notes=absent)
    row.notes.append(
        "HistGradientBoosting and LightGBM grow a tree per class, which is how they do classes; "
        "DecisionTree does not bin."
    )
    yield run.compare_fits(
        row, X, y, [TriTree(), *peers], run.settings(n_classes=10), most_rounds=2 if run.quick else 5
    )


def fit_categories(run: Run) -> Iterator[Row]:
    """Fit a real table with categories (Black Friday), and one column of 1,000 categories."""
    peers, absent = load("LightGBM", "HistGradientBoosting")
    table = data.black_friday(every=10 if run.quick else 1)
    if table is None:
        yield Row("fit-categories", "Black Friday", notes=[NO_BLACK_FRIDAY])
    else:
        row = Row("fit-categories", f"Black Friday, {shape(table[0])}", notes=list(absent))
        yield run.compare_fits(row, *table, [TriTree(), *peers], run.settings())
    X, y = data.categories(run.rows(500_000), 1_000, seed=run.seed)
    able = [peer for peer in peers if peer.name != "HistGradientBoosting"]
    row = Row("fit-categories", f"{shape(X)}, 1,000 categories", notes=list(absent))
    row.notes.append("HistGradientBoosting is left out: it takes at most 255 categories a column.")
    yield run.compare_fits(row, X, y, [TriTree(), *able], run.settings())


def predict_complete(run: Run) -> Iterator[Row]:
    """Predict 1,000,000 complete rows with a tree of depth 6."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    peers, absent = load(*BINNING)
    some = slice(0, 100_000)  # rows enough for a full tree; how long fitting takes does not matter here
    contenders, settings = [TriTree(), *peers], run.settings()
    models = fitted(contenders, X[some], y[some], settings)
    timed = run.time(prediction_jobs(contenders, models, X, settings))
    yield judged(Row("predict-complete", shape(X), notes=absent), timed, 1.0)


def fitted(contenders: Iterable[Contender], X: Any, y: Any, settings: Settings) -> dict[str, Any]:
    """Return the models of the contenders by their names."""
    return {contender.name: contender.fit(X, y, settings) for contender in contenders}


def predict_holes(run: Run) -> Iterator[Row]:
    """Predict rows with 30 % holes by a tree fitted to complete rows: growing on demand, and again when grown."""
    for spread, name in ((False, ""), (True, ", every column counts")):
        X, y = data.numbers(run.rows(100_000), 30, seed=run.seed, spread=spread)
        holes, _ = data.numbers(run.rows(100_000), 30, seed=run.seed + 1, holes=0.3)
        yield holes_row(run, f"{shape(holes)}, 30 % holes{name}", X, y, holes)


def holes_row(run: Run, name: str, X: Any, y: Any, holes: Any) -> Row:
    """Return the row of predicting rows with holes by trees fitted to a complete table."""
    settings, ours = run.settings(depth=5), TriTree()
    peers, absent = load("LightGBM", "HistGradientBoosting")
    contenders = [ours, *peers]
    jobs = prediction_jobs(contenders, fitted(contenders, X, y, settings), holes, settings)
    jobs = {"tritree, grown": jobs.pop(ours.name)} | jobs
    jobs["tritree, first time"] = Job(
        lambda tree: tree.predict(holes), prepare=lambda: ours.fit(X, y, settings), calls=1
    )
    for peer in peers:
        if peer.name == "LightGBM":
            jobs["LightGBM fit"] = Job(lambda _, peer=peer: peer.fit(X, y, settings))  # type: ignore[misc]
    timed = run.time(jobs)
    first, again = timed["tritree, first time"], timed["tritree, grown"]
    row = Row("predict-holes", name, list(timed.values()), notes=absent)
    row.verdicts += compare(first, [timed[name] for name in ("LightGBM fit",) if name in timed], 2.0, "first")
    row.verdicts += compare(again, [timed[peer.name] for peer in peers], 2.0, "again")
    tree = ours.fit(X, y, settings)
    before = tree.n_nodes_
    tree.predict(holes)
    row.notes.append(
        f"{before} nodes when fitted, {tree.n_nodes_:,} after the first prediction; depth 5, 255 bins."
    )
    return row


def one_row(run: Run) -> Iterator[Row]:
    """Predict a single row, given as a NumPy array and as a pandas frame; a round is the median of 200."""
    X, y = data.numbers(10_000, 20, seed=run.seed)
    peers, absent = load(*EVERYONE)
    contenders, settings = [TriTree(), *peers], run.settings()
    ways = "; ".join(f"{peer.name}: {peer.row_note}" for peer in peers if peer.row_note != "predict")
    for kind, table in (("NumPy", X), ("pandas", data.frame(X))):
        models = fitted(contenders, table, y, settings)
        jobs = prediction_jobs(contenders, models, table[:1], settings, calls=50 if run.quick else 200)
        row = Row("one-row", f"1 x 20, {kind}", notes=[*absent, f"By predict, except {ways}."])
        yield judged(row, run.time(jobs), 1.0)


def grow_all(run: Run) -> Iterator[Row]:
    """Grow every third branch of a tree of depth 5, on one thread and on two."""
    table = data.black_friday(every=10 if run.quick else 1)
    if table is None:
        yield Row("grow-all", "Black Friday", notes=[NO_BLACK_FRIDAY])
    else:
        yield grown_row(run, "Black Friday, ", *table)
    yield grown_row(run, "", *data.numbers(run.rows(20_000), 12, seed=run.seed))


def grown_row(run: Run, name: str, X: Any, y: Any, depth: int = 5) -> Row:
    """Return the row of growing the table's tree in full."""
    nodes = []

    def grow(tree: Any) -> None:
        # its own progress line would take part in the timing
        with contextlib.redirect_stderr(io.StringIO()):
            nodes.append(tree.grow_all(max_nodes=50_000_000).n_nodes_)

    def job(threads: int) -> Job:
        return Job(
            grow, prepare=lambda: TriTree().fit(X, y, run.settings(threads=threads, depth=depth)), calls=1
        )

    one, two = run.time({"tritree, 1 thread": job(1), "tritree, 2 threads": job(2)}).values()
    scans = column_scans(X.shape[1], depth)
    row = Row("grow-all", f"{name}{shape(X)}, depth {depth}", [one, two])
    row.verdicts.append(Verdict("a row and scan", 1e9 * one.median / (scans * len(y)), 2.5, "ns", ours=one))
    row.verdicts.append(
        Verdict("two threads, faster", one.median / two.median, 1.8, ours=two, theirs=one, at_least=True)
    )
    row.notes.append(f"{scans:,} column scans after the fit, {nodes[-1]:,} nodes in the end.")
    if run.threads < 2:
        row.notes.append("Two threads had one processor here.")
    return row


def column_scans(n_columns: int, depth: int) -> int:
    """Return the scans of a column that full growth takes after the fit.

    The full tree takes C(p + d, d) - 1, of which fitting has done the p * d of the binary tree. Nodes that end early
    save some, so this is the most there can be.
    """
    return math.comb(n_columns + depth, depth) - 1 - n_columns * depth


def peak_memory(run: Run) -> Iterator[Row]:
    """Measure the peak resident memory of fit-complete above the table itself, each fit in a fresh process."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    peers, absent = load("LightGBM", "HistGradientBoosting")
    row = Row("memory", f"{shape(X)}, {X.nbytes / 2**20:,.0f} MiB", notes=absent)
    yield run.compare_memory(row, X, y, [TriTree(), *peers], run.settings())


def growth(run: Run) -> Iterator[Row]:
    """Fit tables of more and more rows, and of more and more columns, to tell how time grows."""
    rows = [run.rows(n) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)]
    X, y = data.numbers(max(rows), 10, seed=run.seed)
    yield growth_row(run, "rows", rows, {n: (X[:n], y[:n]) for n in rows})
    columns = [5, 10, 20, 50, 100, 200]
    X, y = data.numbers(run.rows(100_000), max(columns), seed=run.seed)
    yield growth_row(run, "columns", columns, {p: (np.ascontiguousarray(X[:, :p]), y) for p in columns})


def growth_row(run: Run, what: str, sizes: list[int], tables: dict[int, tuple[Any, Any]]) -> Row:
    """Return the row of fits of tables by size, and the exponent of their times."""
    settings = run.settings()

    def job(size: int) -> Job:
        return Job(lambda _: TriTree().fit(*tables[size], settings))

    timed = run.time({f"tritree, {size:,} {what}": job(size) for size in sizes}, most_rounds=5)
    fixed = (
        f"{tables[sizes[0]][0].shape[1]} columns" if what == "rows" else f"{len(tables[sizes[0]][1]):,} rows"
    )
    row = Row("growth", f"{sizes[0]:,} to {sizes[-1]:,} {what}, {fixed}", list(timed.values()))
    slope = exponent(sizes, [found.median for found in timed.values()])
    row.verdicts.append(Verdict(f"exponent in {what}", slope, 1.05, ""))
    return row


def author(run: Run) -> Iterator[Row]:
    """Fit and grow in full, to depth 2, tables as small as the author's own package can take."""
    for n_columns, quoted in AUTHOR_SECONDS.items():
        X, y = data.numbers(1_000, n_columns, seed=run.seed)
        settings = run.settings(depth=2, bins=None)

        def grow(_: None, X: Any = X, y: Any = y, settings: Settings = settings) -> None:
            with contextlib.redirect_stderr(io.StringIO()):
                TriTree().fit(X, y, settings).grow_all()

        jobs = {"tritree, fit": Job(lambda _, X=X, y=y, s=settings: TriTree().fit(X, y, s))}  # type: ignore[misc]
        timed = run.time(jobs | {"tritree, fit and grow_all": Job(grow)})
        row = Row("author", f"{shape(X)}, depth 2", list(timed.values()))
        theirs = Measurement("author's package", (quoted,))
        row.verdicts += compare(timed["tritree, fit and grow_all"], [theirs], None)
        row.notes.append(f"The author's package grows all branches; its {quoted:g} s are quoted, not run.")
        yield row


#: Every benchmark by its name, in the order they are run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "fit-complete": fit_complete,
    "fit-holes": fit_holes,
    "fit-exact": fit_exact,
    "fit-small": fit_small,
    "fit-classes": fit_classes,
    "fit-categories": fit_categories,
    "predict-complete": predict_complete,
    "predict-holes": predict_holes,
    "one-row": one_row,
    "grow-all": grow_all,
    "memory": peak_memory,
    "growth": growth,
    "author": author,
    **many_trees.CASES,
}
