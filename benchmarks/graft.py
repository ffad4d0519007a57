"""The benchmark of grafts: making one from another library's model, and predicting complete rows with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.ensembles import BOOSTING, boosting_parameters
from benchmarks.libraries import TritreeBoosting
from benchmarks.results import Row, Verdict, compare
from benchmarks.run import fitted
from benchmarks.timing import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.run import Run

__all__ = ["CASES"]

#: Goal in seconds for grafting a model.
GRAFT_SECONDS = 2.0


def graft(run: Run) -> Iterator[Row]:
    """Graft models of 100 trees of depth 6 with 20,000 background rows, and predict 1,000,000 complete rows."""
    import tritree

    n_rows, parameters = run.rows(20_000), boosting_parameters(run)
    X, y = data.numbers(n_rows, 20, seed=run.seed)
    others, absent = run.others(*BOOSTING)
    models = fitted([TritreeBoosting(), *others], X, y, parameters)

    def make(name: str, _: Any = None) -> Any:
        return tritree.graft(models[name], X, random_state=0, n_jobs=run.n_threads)

    timed = run.time({f"tritree graft of {each.name}": Job(partial(make, each.name)) for each in others})
    row = Row("graft", f"{n_rows:,} x 20, 100 trees", list(timed.values()), notes=absent)
    row.verdicts += [
        Verdict(found.candidate, found.median, GRAFT_SECONDS, "s", measured=found) for found in timed.values()
    ]
    yield row
    rows, _ = data.numbers(run.rows(1_000_000), 20, seed=run.seed + 1)
    estimators = {"tritree boosting": models["tritree boosting"]}
    estimators |= {f"tritree graft of {each.name}": make(each.name) for each in others}

    def predict(model: Any, _: Any = None) -> Any:
        return model.predict(rows)

    timed = run.time({name: Job(partial(predict, model)) for name, model in estimators.items()})
    row = Row("graft", f"predict {len(rows):,} complete rows", list(timed.values()))
    own = timed.pop("tritree boosting")
    for found in timed.values():
        row.verdicts += compare(found, [own], 1.2, found.candidate)
    yield row


CASES: dict[str, Callable[[Run], Iterator[Row]]] = {"graft": graft}
