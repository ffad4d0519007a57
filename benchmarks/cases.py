"""The benchmarks: those of single trees, and the registry of all. Each has its workload, candidates and goal."""

from __future__ import annotations

import contextlib
import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import cluster, data, ensembles, graft, missing, out_of_core
from benchmarks.libraries import TritreeTree
from benchmarks.results import Measurement, Row, Verdict, compare
from benchmarks.run import fitted, prediction_jobs, shape, with_verdicts
from benchmarks.timing import Job, exponent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.libraries import Parameters
    from benchmarks.run import Run

__all__ = ["CASES"]

BINNING = ("HistGradientBoosting", "LightGBM", "XGBoost", "YDF")
ALL = (*BINNING, "CatBoost", "DecisionTree")
#: Seconds that the author's package took for 1,000 rows at depth 2, by number of columns; it is not run here.
AUTHOR_SECONDS = {2: 12.0, 5: 97.0}


def fit_complete(run: Run) -> Iterator[Row]:
    """Fit one tree of depth 6 to 1,000,000 x 20 numbers without missing values, 255 bins."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    others, absent = run.others(*BINNING)
    row = Row("fit-complete", shape(X), notes=absent)
    yield run.compare_fits(row, X, y, [TritreeTree(), *others], run.parameters())


def fit_missing(run: Run) -> Iterator[Row]:
    """Fit the same with 30 % of the cells missing, by `trinary` and by `mia`."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed, missing=0.3)
    others, absent = run.others(*BINNING)
    row = Row("fit-missing", f"{shape(X)}, 30 % missing", notes=absent)
    yield run.compare_fits(row, X, y, [TritreeTree(), TritreeTree("mia"), *others], run.parameters())


def fit_exact(run: Run) -> Iterator[Row]:
    """Fit the same as fit-complete without binning (up to 65,534 values per column); compare with an exact tree."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    others, absent = run.others("DecisionTree")
    row = Row("fit-exact", f"{shape(X)}, max_bins=None", notes=absent)
    yield run.compare_fits(
        row,
        X,
        y,
        [TritreeTree(), *others],
        run.parameters(max_bins=None),
        goal=0.1,
        max_rounds=2 if run.quick else 3,
    )


def fit_small(run: Run) -> Iterator[Row]:
    """Fit one tree to small tables, where the overhead of the interface dominates."""
    others, absent = run.others(*ALL)
    for n_rows, n_columns in ((10_000, 20), (150, 4)):
        X, y = data.numbers(n_rows, n_columns, seed=run.seed)
        row = Row("fit-small", shape(X), notes=list(absent))
        run.compare_fits(row, X, y, [TritreeTree(), *others], run.parameters())
        if n_rows == 150:
            measured = row.measurements[0]
            row.verdicts.append(Verdict("whole fit", 1e3 * measured.median, 1.0, "ms", measured=measured))
            row.notes.append(
                "The time of the whole fit bounds the overhead of Python around the core, which should stay under 1 ms."
            )
        yield row


def fit_classes(run: Run) -> Iterator[Row]:
    """Fit 10 classes on 500,000 x 20 numbers, 255 bins."""
    X, y = data.classes(run.rows(500_000), 20, 10, seed=run.seed)
    others, absent = run.others("DecisionTree", "HistGradientBoosting", "LightGBM")
    row = Row("fit-classes", f"{shape(X)}, 10 classes", notes=absent)
    row.notes.append("HistGradientBoosting and LightGBM grow one tree per class; DecisionTree does not bin.")
    yield run.compare_fits(
        row, X, y, [TritreeTree(), *others], run.parameters(n_classes=10), max_rounds=2 if run.quick else 5
    )


def fit_categories(run: Run) -> Iterator[Row]:
    """Fit a real table with categories (Black Friday), and one column of 1,000 categories."""
    others, absent = run.others("LightGBM", "HistGradientBoosting")
    table = data.real_table(data.BLACK_FRIDAY, every=10 if run.quick else 1)
    if table is None:
        yield Row("fit-categories", "Black Friday", notes=[data.skipped(data.BLACK_FRIDAY)])
    else:
        row = Row("fit-categories", f"Black Friday, {shape(table[0])}", notes=list(absent))
        yield run.compare_fits(row, *table, [TritreeTree(), *others], run.parameters())
    X, y = data.categories(run.rows(500_000), 1_000, seed=run.seed)
    able = [each for each in others if each.name != "HistGradientBoosting"]
    row = Row("fit-categories", f"{shape(X)}, 1,000 categories", notes=list(absent))
    row.notes.append("HistGradientBoosting is left out: it supports at most 255 categories per column.")
    yield run.compare_fits(row, X, y, [TritreeTree(), *able], run.parameters())


def predict_complete(run: Run) -> Iterator[Row]:
    """Predict 1,000,000 complete rows with a tree of depth 6."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    others, absent = run.others(*BINNING)
    some = slice(0, 100_000)  # enough rows for a full tree; the fit is not timed here
    candidates, parameters = [TritreeTree(), *others], run.parameters()
    models = fitted(candidates, X[some], y[some], parameters)
    timed = run.time(prediction_jobs(candidates, models, X, parameters))
    yield with_verdicts(Row("predict-complete", shape(X), notes=absent), timed, 1.0)


def predict_missing(run: Run) -> Iterator[Row]:
    """Predict rows with 30 % missing by a tree fitted to complete rows: with growth on demand, and again when grown."""
    for spread, name in ((False, ""), (True, ", target depends on all columns")):
        X, y = data.numbers(run.rows(100_000), 30, seed=run.seed, spread=spread)
        incomplete, _ = data.numbers(run.rows(100_000), 30, seed=run.seed + 1, missing=0.3)
        yield missing_row(run, f"{shape(incomplete)}, 30 % missing{name}", X, y, incomplete)


def missing_row(run: Run, name: str, X: Any, y: Any, incomplete: Any) -> Row:
    """Return the row of predicting rows with missing values by trees fitted to a complete table."""
    parameters, tritree = run.parameters(max_depth=5), TritreeTree()
    others, absent = run.others("LightGBM", "HistGradientBoosting")
    candidates = [tritree, *others]
    fits = {
        f"{other.name} fit": Job(lambda _, other=other: other.fit(X, y, parameters))  # type: ignore[misc]
        for other in others
        if other.name == "LightGBM"
    }
    row = Row("predict-missing", name, notes=[*absent, "Depth 5, 255 bins."])
    models = fitted(candidates, X, y, parameters)
    growth = run.time_growth(row, candidates, models, incomplete, parameters, beside=fits)
    row.verdicts += compare(growth.first, [growth.timed[name] for name in fits], 2.0, "first")
    row.verdicts += compare(growth.again, [growth.timed[other.name] for other in others], 2.0, "again")
    return row


def one_row(run: Run) -> Iterator[Row]:
    """Predict a single row, a NumPy array or a pandas frame; a sample is the median of 200 calls."""
    X, y = data.numbers(10_000, 20, seed=run.seed)
    others, absent = run.others(*ALL)
    candidates, parameters = [TritreeTree(), *others], run.parameters()
    methods = "; ".join(f"{each.name}: {each.row_note}" for each in others if each.row_note != "predict")
    note = f"All by predict, except {methods}." if methods else "By predict."
    for kind, table in (("NumPy", X), ("pandas", data.frame(X))):
        models = fitted(candidates, table, y, parameters)
        jobs = prediction_jobs(candidates, models, table[:1], parameters, calls=50 if run.quick else 200)
        row = Row("one-row", f"1 x 20, {kind}", notes=[*absent, note])
        yield with_verdicts(row, run.time(jobs), 1.0)


def grow_all(run: Run) -> Iterator[Row]:
    """Grow every third branch of a tree of depth 5, on one thread and on two."""
    table = data.real_table(data.BLACK_FRIDAY, every=10 if run.quick else 1)
    if table is None:
        yield Row("grow-all", "Black Friday", notes=[data.skipped(data.BLACK_FRIDAY)])
    else:
        yield grown_row(run, "Black Friday, ", *table)
    yield grown_row(run, "", *data.numbers(run.rows(20_000), 12, seed=run.seed))


def grown_row(run: Run, name: str, X: Any, y: Any, depth: int = 5) -> Row:
    """Return the row of growing the table's tree in full."""
    nodes = []

    def grow(tree: Any) -> None:
        # its progress line must not be part of the timing
        with contextlib.redirect_stderr(io.StringIO()):
            nodes.append(tree.grow_all(max_nodes=50_000_000).n_nodes_)

    def job(threads: int) -> Job:
        return Job(
            grow,
            prepare=lambda: TritreeTree().fit(X, y, run.parameters(n_threads=threads, max_depth=depth)),
            calls=1,
        )

    one, two = run.time({"tritree, 1 thread": job(1), "tritree, 2 threads": job(2)}).values()
    scans = column_scans(X.shape[1], depth)
    row = Row("grow-all", f"{name}{shape(X)}, depth {depth}", [one, two])
    row.verdicts.append(
        Verdict("a row and scan", 1e9 * one.median / (scans * len(y)), 2.5, "ns", measured=one)
    )
    row.verdicts.append(
        Verdict(
            "two threads, faster", one.median / two.median, 1.7, measured=two, baseline=one, at_least=True
        )
    )
    row.notes.append(f"{scans:,} column scans after the fit, {nodes[-1]:,} nodes when fully grown.")
    if run.n_threads < 2:
        row.notes.append("Two threads shared one processor.")
    return row


def column_scans(n_columns: int, depth: int) -> int:
    """Return the number of column scans that full growth needs after the fit.

    The full tree needs C(p + d, d) - 1, of which the fit has done the p * d of the binary tree. This is an upper bound:
    nodes that become leaves early need none.
    """
    return math.comb(n_columns + depth, depth) - 1 - n_columns * depth


def peak_memory(run: Run) -> Iterator[Row]:
    """Measure the peak resident memory of fit-complete above that of the table, each fit in a fresh process."""
    X, y = data.numbers(run.rows(1_000_000), 20, seed=run.seed)
    others, absent = run.others("LightGBM", "HistGradientBoosting")
    row = Row("memory", f"{shape(X)}, {X.nbytes / 2**20:,.0f} MiB", notes=absent)
    yield run.compare_memory(row, X, y, [TritreeTree(), *others], run.parameters())


def scaling(run: Run) -> Iterator[Row]:
    """Fit tables with increasing numbers of rows and of columns, to see how the time scales."""
    rows = [run.rows(n) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)]
    X, y = data.numbers(max(rows), 10, seed=run.seed)
    yield scaling_row(run, "rows", rows, {n: (X[:n], y[:n]) for n in rows})
    columns = [5, 10, 20, 50, 100, 200]
    X, y = data.numbers(run.rows(100_000), max(columns), seed=run.seed)
    yield scaling_row(run, "columns", columns, {p: (np.ascontiguousarray(X[:, :p]), y) for p in columns})


def scaling_row(run: Run, what: str, sizes: list[int], tables: dict[int, tuple[Any, Any]]) -> Row:
    """Return the row of fits by table size, and the exponent of their times."""
    parameters = run.parameters()

    def job(size: int) -> Job:
        return Job(lambda _: TritreeTree().fit(*tables[size], parameters))

    timed = run.time({f"tritree, {size:,} {what}": job(size) for size in sizes}, max_rounds=5)
    fixed = (
        f"{tables[sizes[0]][0].shape[1]} columns" if what == "rows" else f"{len(tables[sizes[0]][1]):,} rows"
    )
    row = Row("scaling", f"{sizes[0]:,} to {sizes[-1]:,} {what}, {fixed}", list(timed.values()))
    slope = exponent(sizes, [found.median for found in timed.values()])
    row.verdicts.append(Verdict(f"exponent in {what}", slope, 1.05, ""))
    return row


def author(run: Run) -> Iterator[Row]:
    """Fit and fully grow trees of depth 2 on tables small enough for the author's own package."""
    for n_columns, quoted in AUTHOR_SECONDS.items():
        X, y = data.numbers(1_000, n_columns, seed=run.seed)
        parameters = run.parameters(max_depth=2, max_bins=None)

        def grow(_: None, X: Any = X, y: Any = y, parameters: Parameters = parameters) -> None:
            with contextlib.redirect_stderr(io.StringIO()):
                TritreeTree().fit(X, y, parameters).grow_all()

        jobs = {"tritree, fit": Job(lambda _, X=X, y=y, s=parameters: TritreeTree().fit(X, y, s))}  # type: ignore[misc]
        timed = run.time(jobs | {"tritree, fit and grow_all": Job(grow)})
        row = Row("author", f"{shape(X)}, depth 2", list(timed.values()))
        baseline = Measurement("author's package", (quoted,))
        row.verdicts += compare(timed["tritree, fit and grow_all"], [baseline], None)
        row.notes.append(
            f"The author's package grows all branches; its {quoted:g} s were measured once and are not measured here."
        )
        yield row


#: All benchmarks by name, in the order in which they run.
CASES: dict[str, Callable[[Run], Iterator[Row]]] = {
    "fit-complete": fit_complete,
    "fit-missing": fit_missing,
    "fit-exact": fit_exact,
    "fit-small": fit_small,
    "fit-classes": fit_classes,
    "fit-categories": fit_categories,
    "predict-complete": predict_complete,
    "predict-missing": predict_missing,
    "one-row": one_row,
    "grow-all": grow_all,
    "memory": peak_memory,
    "scaling": scaling,
    "author": author,
    **ensembles.CASES,
    **missing.CASES,
    **out_of_core.CASES,
    **cluster.CASES,
    **graft.CASES,
}
