"""``tritree compare`` compares strategies and kinds of models as ``tritree fit`` would fit them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.conftest import patients
from cli.program import InProcess, Run

import tritree as library
from tritree.lab import Experiment

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    patients().head(150).to_csv(path, index=False)
    return path


def compare(tritree: InProcess, table: Path, *more: object) -> Run:
    return tritree.good(
        "compare", table, "-y", "progress", "--rates", "30%", "--seeds", 1, "--folds", 3, "--depth", 2, *more
    )


def compare_quickly(tritree: InProcess, table: Path, *more: object) -> Run:
    quick = ("--rates", 0.3, "--seeds", 1, "--folds", 2, "--n-jobs", 1)
    return tritree.good("compare", table, "-y", "progress", *quick, *more)


def requested_experiment(tritree: InProcess, monkeypatch: pytest.MonkeyPatch, *args: object) -> Experiment:
    """Return the experiment that the program would run."""
    found: list[Experiment] = []
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: found.append(self))
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", *args)
    return found[0]


def test_comparison_recommends_a_method_with_an_interval(tritree: InProcess, table: Path) -> None:
    run = compare(tritree, table)
    assert run.out.splitlines()[1].startswith("Use ")
    for text in ("mcar_test", "trinary_mia", "complete_case", "interval"):
        assert text in run.out


def test_json_has_every_method(tritree: InProcess, table: Path) -> None:
    found = compare(tritree, table, "--json").json
    assert {line["method"] for line in found["methods"]} >= {"trinary", "mia", "surrogate", "complete_case"}
    assert found["about"]["rates"] == [0.0, 0.3]
    assert found["rates"] == [0.3]


def test_unchanged_table_is_compared_first(tritree: InProcess, table: Path) -> None:
    found = compare(tritree, table, "--json").json
    missing = pd.read_csv(table).drop(columns="progress").isna().to_numpy().mean()
    own = found["unchanged"]
    assert own["missing_fraction"] == pytest.approx(missing)
    assert {line["scenario"] for line in own["methods"]} == {"unchanged"}
    text = compare(tritree, table).out
    assert text.splitlines()[:2] == [
        f"The table unchanged, with {100 * missing:.3g}% of its values missing:",
        own["recommendation"],
    ]
    assert f"With 30% of the values removed:\n{found['recommendation']}" in text
    assert text.count("corrected resampled") == 1


def test_json_has_every_rate_and_the_unchanged_table(tritree: InProcess, table: Path) -> None:
    found = compare(tritree, table, "--json").json
    assert {line["rate"] for line in found["by_rate"]} == {0.0, 0.3}
    at_zero = {line["method"]: line["loss"] for line in found["by_rate"] if line["rate"] == 0}
    assert at_zero == pytest.approx({line["method"]: line["loss"] for line in found["unchanged"]["methods"]})
    assert len(set(at_zero.values())) > 1


def test_complete_table_is_not_compared_unchanged(tritree: InProcess, tmp_path: Path) -> None:
    patients().dropna().head(120).to_csv("complete.csv", index=False)
    assert compare(tritree, tmp_path / "complete.csv", "--json").json["unchanged"] is None
    assert compare(tritree, tmp_path / "complete.csv").out.startswith("With 30% of the values removed:")


def test_unchanged_table_can_be_compared_alone(tritree: InProcess, table: Path) -> None:
    run = compare(tritree, table, "--rates", 0)
    assert run.out.startswith("The table unchanged")
    assert "removed" not in run.out
    found = compare(tritree, table, "--rates", 0, "--json").json
    assert found["methods"] == found["unchanged"]["methods"]


def test_trees_are_compared_as_fit_would_fit_them(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = pd.DataFrame({"code": np.arange(90) % 5, "flag": [True, False, True] * 30, "y": list("ab") * 45})
    codes.to_csv("codes.csv", index=False)
    options = ["--categorical", "code", "--numeric", "flag", "--min-samples-leaf", 7, "--criterion", "gini"]
    experiment = requested_experiment(tritree, monkeypatch, "codes.csv", "-y", "y", *options)
    kinds = experiment.datasets[0].X.dtypes.astype(str)
    assert kinds.to_dict() == {"code": "category", "flag": "float64"}
    assert experiment.options == {"min_samples_leaf": 7, "criterion": "gini"}


def test_criterion_of_another_task_is_refused(tritree: InProcess, table: Path) -> None:
    run = tritree("compare", table, "-y", "progress", "--criterion", "gini")
    assert run.code == 1
    assert "--criterion gini is not for regression" in run.error_line


def test_dropped_column_causes_no_warning(tritree: InProcess, tmp_path: Path) -> None:
    patients().head(120).to_csv("counted.csv")  # pandas numbers the rows in a column without a name
    for command in (["fit"], ["compare", "--rates", 0, "--folds", 3, "--depth", 1, "--n-jobs", 1]):
        run = tritree.good(command[0], "counted.csv", "-y", "progress", "--drop", "Unnamed: 0", *command[1:])
        assert "numbers the rows" not in run.err


def fail(*_: object, **__: object) -> None:
    raise AssertionError("this was run already")


@pytest.mark.parametrize("store", [["--store", "runs.sqlite"], []], ids=["named", "in the cache"])
def test_comparison_continues_from_its_store_and_writes_a_report(
    tritree: InProcess,
    table: Path,
    tmp_path: Path,
    cache: Path,
    store: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = compare(tritree, table, "--json", "--n-jobs", 1, *store).json
    file = tmp_path / "runs.sqlite" if store else next((cache / "compare").glob("*.sqlite"))
    assert Path(first["about"]["store"]) == file
    renamed = table.rename(tmp_path / "other.csv")
    monkeypatch.setattr("tritree.lab.experiment.run_trial", fail)
    again = compare(tritree, renamed, "--n-jobs", 1, *store, "--report", "found.html")
    assert again.out.splitlines()[-3:] == [
        "table  other.csv: 150 rows, 10 columns; regression: progress holds 107 distinct numbers",
        f"store  {file}",
        "report found.html",
    ]
    assert "warning" not in again.err
    assert "<!DOCTYPE html>" in (tmp_path / "found.html").read_text(encoding="utf-8")


def test_cache_that_cannot_be_written_causes_only_a_warning(
    tritree: InProcess, table: Path, cache: Path
) -> None:
    (cache / "compare").write_text("not a folder")
    run = compare(tritree, table, "--json")
    assert run.json["about"]["store"] is None
    assert "finished results are not stored" in run.err
    assert "--store" in run.err


@pytest.mark.parametrize(
    ("values", "task"), [([1, 2, 3], "classification"), ([0.5, 1, 2], "regression"), (list("abc"), None)]
)
def test_comparison_has_the_same_task_as_fit(
    tritree: InProcess, values: list[object], task: str | None
) -> None:
    frame = pd.DataFrame({"x": range(90), "y": values * 30})
    frame.to_csv("grades.csv", index=False)
    options = ["--rates", 0.3, "--seeds", 1, "--folds", 3, "--depth", 1, "--n-jobs", 1, "--json"]
    compared = tritree.good("compare", "grades.csv", "-y", "y", *options).json["about"]["task"]
    assert compared == tritree.good("fit", "grades.csv", "-y", "y", "--json").json["task"]
    assert compared == (task or "classification")


def test_rows_without_target_can_be_left_out_of_a_comparison(tritree: InProcess, tmp_path: Path) -> None:
    frame = patients().head(150)
    frame.loc[:9, "progress"] = None
    frame.to_csv("some.csv", index=False)
    run = compare(tritree, tmp_path / "some.csv", "--skip-missing-target")
    assert "some.csv: 140 rows" in run.out


def test_comparison_that_failed_at_every_rate_recommends_nothing(tritree: InProcess, tmp_path: Path) -> None:
    patients()[["age", "progress"]].to_csv("one.csv", index=False)
    options = ["--rates", 0.3, "--seeds", 1, "--folds", 3, "--depth", 1, "--n-jobs", 1]
    run = tritree("compare", "one.csv", "-y", "progress", "--mechanism", "mar", *options)
    assert run.code == 1
    assert "no method could be run with values removed" in run.error_line
    assert "needs a column that stays complete" in run.err


def test_values_are_removed_from_the_columns_that_are_named(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--columns", "bmi", "--columns", "s5"]
    experiment = requested_experiment(tritree, monkeypatch, table, "-y", "progress", *options)
    assert [scenario.test.columns for scenario in experiment.scenarios] == [("bmi", "s5")] * 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-y", "progres"], "progress"),
        (["-y", "progress", "--report", "nowhere/found.html"], "no folder"),
        (["-y", "progress", "--store", "nowhere/runs.sqlite"], "no folder"),
    ],
    ids=["target", "report", "store"],
)
def test_comparison_that_cannot_start_ends_with_one_line(
    tritree: InProcess, table: Path, options: list[str], text: str
) -> None:
    run = tritree("compare", table, *options)
    assert run.code == 1
    assert text in run.error_line


def test_strategies_of_boosting_are_compared(tritree: InProcess, patients_table: Path) -> None:
    run = compare_quickly(tritree, patients_table, "-m", "boosting", "--trees", 3, "--learning-rate", 0.5)
    names = {f"boosting:{name}" for name in ("trinary_mia", "trinary", "mia", "majority", "complete_case")}
    assert {word for line in run.out.splitlines() for word in line.split()[1:2] if ":" in word} >= names
    assert "models boosting: 3 trees, depth 6, learning rate 0.5\n" in run.out


def test_kinds_of_models_are_compared_on_a_complete_table(tritree: InProcess, tmp_path: Path) -> None:
    patients().fillna(0).to_csv("complete.csv", index=False)
    complete = tmp_path / "complete.csv"
    run = compare_quickly(
        tritree, complete, "-m", "tree", "-m", "forest", "-s", "mia", "--trees", 3, "--depth", 2
    )
    assert run.out.startswith("The table unchanged, without missing values:\nUse ")
    assert "models tree: depth 2; forest: 3 trees, depth 2\n" in run.out
    found = compare_quickly(
        tritree, complete, "-m", "tree", "-m", "forest", "-s", "mia", "--trees", 3, "--json"
    ).json
    assert {line["method"] for line in found["unchanged"]["methods"]} == {"mia", "forest:mia"}
    assert found["about"]["models"]["forest"]["n_estimators"] == 3


def test_strategies_of_one_kind_are_not_compared_on_a_complete_table_unchanged(
    tritree: InProcess, tmp_path: Path
) -> None:
    patients().fillna(0).to_csv("complete.csv", index=False)
    run = compare_quickly(
        tritree, tmp_path / "complete.csv", "-m", "boosting", "-s", "mia", "-s", "trinary", "--trees", 3
    )
    assert run.out.startswith("With 30% of the values removed:")


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_ensembles_are_compared_as_fit_would_fit_them(
    kind: str, tritree: InProcess, patients_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tritree.good("fit", patients_table, "-y", "progress", "-m", kind, "--trees", 3, "-o", "m.tritree")
    experiment = requested_experiment(
        tritree, monkeypatch, patients_table, "-y", "progress", "-m", kind, "--trees", 3
    )
    model = library.load("m.tritree")
    estimator = experiment._make(f"{kind}:{model.missing}", experiment.datasets[0])
    assert estimator.get_params() | {"n_jobs": None} == model.get_params() | {"n_jobs": None}


def test_weights_are_used_in_a_comparison_as_in_a_fit(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(len(patients())) % 3
    patients().assign(times=weights).to_csv("weighted.csv", index=False)
    weighted = tmp_path / "weighted.csv"
    run = compare_quickly(
        tritree, weighted, "--weights", "times", "-s", "mia", "-s", "majority", "--depth", 2
    )
    assert "10 columns, weighted by times; regression" in run.out
    data = requested_experiment(
        tritree, monkeypatch, weighted, "-y", "progress", "--weights", "times"
    ).datasets[0]
    assert "times" not in data.X
    np.testing.assert_array_equal(data.sample_weight, weights)


def test_invalid_weights_are_named(tritree: InProcess, tmp_path: Path) -> None:
    patients().assign(times=-1).to_csv("weighted.csv", index=False)
    run = tritree("compare", tmp_path / "weighted.csv", "-y", "progress", "--weights", "times")
    assert run.code == 1
    assert "the column of weights 'times' holds -1.0 in row 0" in run.error_line


def test_damaged_store_is_named_with_the_remedy(tritree: InProcess, table: Path) -> None:
    compare_quickly(tritree, table, "--depth", 1, "--store", "runs.sqlite")
    data = bytearray(Path("runs.sqlite").read_bytes())
    data[4096:8192] = bytes(4096)
    Path("runs.sqlite").write_bytes(data)
    error_line = tritree("compare", table, "-y", "progress", "--store", "runs.sqlite").error_line
    assert "runs.sqlite cannot be used for results" in error_line
    assert error_line.endswith("name another file, or remove it, and the experiment is run again")
