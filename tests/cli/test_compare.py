"""``tritree compare`` compares models as ``tritree fit`` would fit them, with each other and with other libraries."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli.conftest import flowers, patients
from cli.program import InProcess, Run
from sklearn import metrics
from sklearn.model_selection import StratifiedKFold

import tritree as library
from tritree.lab import Experiment
from tritree.validation import STRATEGIES as STRATEGY_NAMES

pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    patients().head(150).to_csv(path, index=False)
    return path


QUICK = ("--rates", 0.3, "--folds", 3, "--n-jobs", 1)
STRATEGIES = ("-s", "all", "--depth", 2)


def compare(tritree: InProcess, table: Path, *more: object) -> Run:
    """Compare boosting, a forest and a tree."""
    return tritree.good("compare", table, "-y", "progress", *QUICK, "--trees", 3, *more)


def compare_trees(tritree: InProcess, table: Path, *more: object) -> Run:
    """Compare the strategies of a tree, which is quick."""
    return tritree.good("compare", table, "-y", "progress", *QUICK, *STRATEGIES, *more)


def requested_experiment(tritree: InProcess, monkeypatch: pytest.MonkeyPatch, *args: object) -> Experiment:
    """Return the experiment that the program would run."""
    found: list[Experiment] = []
    monkeypatch.setattr(Experiment, "run", lambda self, *_, **__: found.append(self))
    with pytest.raises(AttributeError):  # there are no results
        tritree("compare", *args)
    return found[0]


def scenarios_of(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the lines of the methods by scenario and method."""
    return {one["scenario"]: {line["method"]: line for line in one["methods"]} for one in found["scenarios"]}


def test_models_are_compared_with_each_other_and_a_constant_by_default(
    tritree: InProcess, table: Path
) -> None:
    run = compare(tritree, table)
    assert run.out.startswith("Use ")
    for title in (
        "The table as it is",
        "Values missing in the test only",
        "Values missing in training and test",
    ):
        assert title in run.out
    found = compare(tritree, table, "--json").json
    names = {"boosting", "forest", "tree", "constant"}
    assert {name: set(lines) for name, lines in scenarios_of(found).items()} == dict.fromkeys(
        ("unchanged", "mcar_test", "mcar"), names
    )
    assert found["verdict"] in " ".join(run.out.split())
    assert found["recommended"] in ("boosting", "forest", "tree")
    assert found["metric"] == "rmse"


def test_all_strategies_of_a_tree_can_be_compared(tritree: InProcess, table: Path) -> None:
    found = compare_trees(tritree, table, "--json").json
    names = {*STRATEGY_NAMES, "complete_case", "constant"}
    assert all(set(lines) == names for lines in scenarios_of(found).values())
    assert found["about"]["rates"] == [0.0, 0.3]
    assert [one["rates"] for one in found["scenarios"]] == [[], [0.3], [0.3]]


def test_json_has_every_metric_at_every_rate(tritree: InProcess, table: Path) -> None:
    found = compare_trees(tritree, table, "-s", "mia", "--rates", "0.3,0.6", "--json").json
    assert {(line["scenario"], line["rate"]) for line in found["by_rate"]} == {
        ("unchanged", 0.0),
        *((name, rate) for name in ("mcar", "mcar_test") for rate in (0.3, 0.6)),
    }
    scenarios = scenarios_of(found)
    for line in found["by_rate"]:
        if line["rate"] == 0:
            assert line["mae"] == pytest.approx(scenarios["unchanged"][line["method"]]["mae"])
    at_rates = [
        line["mae"] for line in found["by_rate"] if (line["scenario"], line["method"]) == ("mcar", "mia")
    ]
    assert scenarios["mcar"]["mia"]["mae"] == pytest.approx(np.mean(at_rates))


def test_scores_are_those_of_lightgbm_fitted_by_hand(tritree: InProcess, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    frame = flowers()
    frame.to_csv("flowers.csv", index=False)
    options = ["--with", "lightgbm", "--folds", 3, "--rates", 0, "-m", "tree", "--seed", 5, "--n-jobs", 1]
    found = tritree.good("compare", "flowers.csv", "-y", "kind", *options, "--json").json
    X = frame.drop(columns="kind").astype({"colour": "category"})
    losses, aucs = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=5).split(X, frame["kind"]):
        model = lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1)
        probabilities = model.fit(X.iloc[train], frame["kind"].iloc[train]).predict_proba(X.iloc[test])
        y = frame["kind"].iloc[test]
        losses.append(metrics.log_loss(y, probabilities, labels=model.classes_))
        aucs.append(metrics.roc_auc_score(y, probabilities, multi_class="ovr", labels=model.classes_))
    line = scenarios_of(found)["unchanged"]["lightgbm"]
    assert line["log_loss"] == pytest.approx(np.mean(losses))
    assert line["roc_auc"] == pytest.approx(np.mean(aucs))
    assert found["about"]["versions"]["lightgbm"] == lightgbm.__version__


def test_library_that_is_not_installed_is_named_with_its_package(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "catboost", None)
    run = tritree("compare", table, "-y", "progress", "--with", "catboost")
    assert run.code == 1
    assert "--with catboost: catboost cannot be imported" in run.error_line
    assert run.error_line.endswith("pip install catboost")
    run = compare(tritree, table, "--with", "all", "--rates", 0, "-m", "forest", "--json")
    assert "catboost" not in run.json["about"]["methods"]
    assert "hist" in run.json["about"]["methods"]


def test_lists_with_commas_are_repeated_options(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lightgbm")
    lists = ["-m", "tree,forest", "-s", "trinary, mia", "--with", "hist,lightgbm"]
    repeated = "-m tree -m forest -s trinary -s mia --with hist --with lightgbm".split()
    found, expected = (
        requested_experiment(tritree, monkeypatch, table, "-y", "progress", *more)
        for more in (lists, repeated)
    )
    assert found.methods == expected.methods
    assert len(found.methods) == 7
    run = tritree("compare", table, "-y", "progress", "--with", "hist,sklearn")
    assert run.code == 2
    assert "'hist,sklearn' is not one or several of 'all', 'lightgbm'" in run.error_line


def test_recommended_model_can_be_fitted_with_the_command_that_is_printed(
    tritree: InProcess, table: Path
) -> None:
    options = ("-m", "forest", "--drop", "sex", "--min-samples-leaf", 7)
    run = compare(tritree, table, *options)
    command = run.out.splitlines()[-1].removeprefix("fit    tritree ")
    assert tritree.good(*shlex.split(command), "-o", "m.tritree").code == 0
    model = library.load("m.tritree")
    assert isinstance(model, library.TrinaryForestRegressor)
    assert (model.n_estimators, model.min_samples_leaf) == (3, 7)
    assert "sex" not in model.feature_names_in_


def informative() -> pd.DataFrame:
    """Return a table in which high values are missing if the target is high."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1200, 4))
    target = values[:, 0] + values[:, 1] + rng.normal(scale=0.3, size=1200)
    told = (target[:, None] > 1.5) & (rng.random(values.shape) < 0.6)
    return pd.DataFrame(np.where(told, np.nan, values), columns=list("abcd")).assign(y=target)


def test_boosting_with_masked_copies_is_recommended_where_it_pays(tritree: InProcess, tmp_path: Path) -> None:
    informative().to_csv("told.csv", index=False)
    options = ("-y", "y", *QUICK, "-m", "boosting", "--trees", 30, "--masked-copies", 4)
    found = tritree.good("compare", tmp_path / "told.csv", *options, "--json").json
    name = "boosting + 4 masked copies"
    assert found["about"]["methods"] == ["boosting", name, "constant"]
    assert found["about"]["masked_copies"] == 4
    assert found["recommended"] == name
    assert f"Use {name}: it has the lowest RMSE when fields go missing in production" in found["verdict"]
    assert (
        "Masked copies of boosting lower the RMSE when fields go missing in production (" in found["verdict"]
    )
    assert ", and raise it on the table as it is (" in found["verdict"]
    lines = scenarios_of(found)["mcar_test"]
    assert lines[name]["rmse"] < lines["boosting"]["rmse"]
    command = shlex.split(found["fit"])
    assert command[3:] == ["--model", "boosting", "--masked-copies", "4", "--target", "y", "--trees", "30"]
    tritree.good(*command[1:], "-o", "m.tritree", "--no-validation")
    assert library.load("m.tritree").masked_copies == 4


def test_command_that_is_printed_has_the_strategy_and_the_masked_copies(
    tritree: InProcess, tmp_path: Path
) -> None:
    # mia learns nothing about missing values from a complete table, unless its copies have some
    patients().fillna(0).to_csv("complete.csv", index=False)
    options = ("-m", "boosting", "-s", "mia", "--trees", 20, "--masked-copies", 4)
    found = compare(tritree, tmp_path / "complete.csv", *options, "--json").json
    assert found["recommended"] == "boosting:mia + 4 masked copies"
    assert "--model boosting --strategy mia --masked-copies 4 --target progress" in found["fit"]


def test_masked_copies_are_compared_for_every_strategy_of_boosting(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("-m", "boosting,tree", "-s", "mia,trinary", "--masked-copies", 4)
    experiment = requested_experiment(tritree, monkeypatch, table, "-y", "progress", *options)
    assert [name for name in experiment.methods if "masked" in name] == [
        "boosting:mia + 4 masked copies",
        "boosting:trinary + 4 masked copies",
    ]
    options = ("-m", "boosting", "-s", "all", "--masked-copies", 4)
    experiment = requested_experiment(tritree, monkeypatch, table, "-y", "progress", *options)
    assert "boosting:complete_case" in experiment.methods
    assert sum("masked" in name for name in experiment.methods) == len(experiment.methods) // 2 - 1


def test_masked_copies_are_refused_if_boosting_is_not_compared(tritree: InProcess, table: Path) -> None:
    run = tritree("compare", table, "-y", "progress", "-m", "tree,forest", "--masked-copies", 4)
    assert run.code == 1
    assert "--masked-copies is not for --model tree or --model forest; leave it out" in run.error_line


@pytest.mark.parametrize(
    ("options", "is_complete", "is_mentioned"),
    [
        ((), False, True),
        ((), True, False),
        (("--masked-copies", 1), False, False),
        (("-m", "forest"), False, False),
        (("--rates", 0), False, False),
    ],
    ids=["table with missing values", "complete table", "compared already", "no boosting", "nothing removed"],
)
def test_masked_copies_are_mentioned_where_they_may_pay(
    options: tuple[object, ...],
    is_complete: bool,
    is_mentioned: bool,
    tritree: InProcess,
    tmp_path: Path,
) -> None:
    frame = patients().head(90)
    (frame.fillna(0) if is_complete else frame).to_csv("some.csv", index=False)
    given = ("-m", "boosting") if "-m" not in options else ()
    found = compare(tritree, tmp_path / "some.csv", *given, *options, "--json").json
    assert any("--masked-copies 4" in note for note in found["notes"]) == is_mentioned
    assert (
        "--masked-copies 4" in compare(tritree, tmp_path / "some.csv", *given, *options).out
    ) == is_mentioned


def test_command_that_is_printed_reads_the_table_alike(tritree: InProcess, tmp_path: Path) -> None:
    frame = patients().head(60).rename(columns={"s1": "s\t1"})
    frame["bmi"] = frame["bmi"].astype(str).where(frame.index % 9 > 0, "\t?")
    frame.to_csv("t.csv", sep="\t", index=False)
    given = ["--header", "--default-na", "--na", "\\t?", "--separator", "tab", "--drop", "s\\t1,s[23]"]
    run = tritree.good("compare", tmp_path / "t.csv", "-y", "progress", *QUICK, "-m", "tree", *given)
    command = shlex.split(run.out.splitlines()[-1].removeprefix("fit    tritree "))
    written = ["--drop", "s\\t1,s[23]", "--separator", "\\t", "--header", "--na", "\\t?", "--default-na"]
    assert command[-len(written) :] == written
    assert "\t" not in run.out
    tritree.good(*command, "-o", "m.tritree", "--no-validation")
    names = list(library.load("m.tritree").feature_names_in_)
    assert names == [name for name in frame.columns[:-1] if name not in ("s\t1", "s2", "s3")]


def test_seed_changes_folds_and_removed_values(tritree: InProcess, table: Path) -> None:
    runs = [
        scenarios_of(compare_trees(tritree, table, "-s", "mia", "--seed", seed, "--json").json)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    for scenario in runs[0]:
        assert runs[0][scenario]["mia"]["rmse"] != runs[2][scenario]["mia"]["rmse"]


def test_identifiers_and_dates_are_read_as_in_a_fit(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = patients().head(150)
    frame["name"] = [f"patient {i}" for i in range(150)]
    frame["seen"] = pd.date_range("2020-01-01", periods=150).strftime("%Y-%m-%d")
    frame.to_csv("named.csv", index=False)
    run = compare_trees(tritree, tmp_path / "named.csv", "-s", "mia")
    assert "column 'name' has 150 different values in 150 rows, so it is left out" in run.err
    assert "--categorical name" in run.err
    experiment = requested_experiment(tritree, monkeypatch, "named.csv", "-y", "progress")
    kinds = experiment.datasets[0].X.dtypes.astype(str)
    assert "name" not in kinds
    assert kinds["seen"] == "float64"


def test_table_as_it_is_can_be_compared_alone(tritree: InProcess, table: Path) -> None:
    run = compare_trees(tritree, table, "--rates", 0)
    assert "The table as it is" in run.out
    assert "removed" not in run.out


def test_few_folds_are_enough_for_many_rows(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n_rows, expected in ((200, 10), (5001, 5)):
        pd.DataFrame({"x": np.arange(n_rows) % 7, "y": np.arange(n_rows) / 3}).to_csv("t.csv", index=False)
        experiment = requested_experiment(tritree, monkeypatch, "t.csv", "-y", "y")
        assert experiment.folds.n == expected


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
    for command in (["fit"], ["compare", "--rates", 0, "--folds", 3, "-s", "mia", "--n-jobs", 1]):
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
    first = compare_trees(tritree, table, "--json", *store).json
    file = tmp_path / "runs.sqlite" if store else next((cache / "compare").glob("*.sqlite"))
    assert Path(first["about"]["store"]) == file
    renamed = table.rename(tmp_path / "other.csv")
    monkeypatch.setattr("tritree.lab.experiment.run_trial", fail)
    again = compare_trees(tritree, renamed, *store, "--report", "found.html")
    table_line = (
        "table  other.csv: 150 rows, 10 columns, 3.47% of the values missing; regression: progress holds "
    )
    lines = again.out.splitlines()
    assert lines[-5].startswith(table_line)
    assert lines[-4:-2] == [f"store  {file}", "report found.html"]
    assert "warning" not in again.err
    assert "<!DOCTYPE html>" in (tmp_path / "found.html").read_text(encoding="utf-8")


def test_cache_that_cannot_be_written_causes_only_a_warning(
    tritree: InProcess, table: Path, cache: Path
) -> None:
    (cache / "compare").write_text("not a folder")
    run = compare_trees(tritree, table, "--json")
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
    options = ["--rates", 0.3, "--seeds", 1, "--folds", 3, "-s", "mia", "--n-jobs", 1, "--json"]
    compared = tritree.good("compare", "grades.csv", "-y", "y", *options).json["about"]["task"]
    assert compared == tritree.good("fit", "grades.csv", "-y", "y", "--json").json["task"]
    assert compared == (task or "classification")


def test_rows_without_target_can_be_left_out_of_a_comparison(tritree: InProcess, tmp_path: Path) -> None:
    frame = patients().head(150)
    frame.loc[:9, "progress"] = None
    frame.to_csv("some.csv", index=False)
    run = compare_trees(tritree, tmp_path / "some.csv", "--skip-missing-target")
    assert "some.csv: 140 rows" in run.out


def test_comparison_that_failed_at_every_rate_recommends_nothing(tritree: InProcess, tmp_path: Path) -> None:
    patients()[["age", "progress"]].to_csv("one.csv", index=False)
    options = ["--rates", 0.3, "--folds", 3, "-s", "mia", "--depth", 1, "--n-jobs", 1]
    run = tritree("compare", "one.csv", "-y", "progress", "--mechanism", "mar", *options)
    assert run.code == 1
    assert "no method could be run with values removed" in run.error_line
    assert "needs a column that stays complete" in run.err


def test_values_are_removed_from_the_columns_that_are_named(
    tritree: InProcess, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in (
        ["--columns", "bmi", "--columns", "s5"],
        ["--columns", "bmi,s5"],
        ["--columns", "[!as]*,s5"],
    ):
        experiment = requested_experiment(tritree, monkeypatch, table, "-y", "progress", *options)
        columns = ("bmi", "bp", "s5") if "!" in options[-1] else ("bmi", "s5")
        assert [scenario.test.columns for scenario in experiment.scenarios] == [columns] * 2
    run = tritree("compare", table, "-y", "progress", "--columns", "z*")
    assert "--columns 'z*' matches no column of the features of" in run.error_line


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


def test_strategies_of_boosting_are_compared(tritree: InProcess, table: Path) -> None:
    run = compare(tritree, table, "-m", "boosting", "-s", "all", "--learning-rate", 0.5)
    for name in ("trinary_mia", "trinary", "mia", "majority", "complete_case"):
        assert f"\nboosting:{name} " in run.out
    assert "models boosting: 3 trees, depth 6, learning rate 0.5\n" in run.out


def test_kinds_of_models_are_compared_with_one_strategy(tritree: InProcess, tmp_path: Path) -> None:
    patients().fillna(0).to_csv("complete.csv", index=False)
    run = compare(tritree, tmp_path / "complete.csv", "-m", "tree", "-m", "forest", "-s", "mia", "--depth", 2)
    assert "models forest: 3 trees, depth 2; tree: depth 2\n" in run.out
    assert "10 columns, no missing values;" in run.out
    assert "\nforest:mia " in run.out


def test_strategies_are_the_same_on_a_complete_table(tritree: InProcess, tmp_path: Path) -> None:
    patients().fillna(0).to_csv("complete.csv", index=False)
    found = compare_trees(tritree, tmp_path / "complete.csv", "--json").json
    outcomes = {name: line["outcome"] for name, line in scenarios_of(found)["unchanged"].items()}
    assert set(outcomes.values()) == {"best", "identical", "baseline"}
    assert "as it is" not in found["verdict"].partition("Caution")[0]


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_ensembles_are_compared_as_fit_would_fit_them(
    kind: str, tritree: InProcess, patients_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tritree.good("fit", patients_table, "-y", "progress", "-m", kind, "--trees", 3, "-o", "m.tritree")
    experiment = requested_experiment(
        tritree, monkeypatch, patients_table, "-y", "progress", "-m", kind, "--trees", 3
    )
    model = library.load("m.tritree")
    estimator = experiment._make(kind, experiment.datasets[0])
    assert estimator.get_params() | {"n_jobs": None} == model.get_params() | {"n_jobs": None}


def test_weights_are_used_in_a_comparison_as_in_a_fit(
    tritree: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(len(patients())) % 3
    patients().assign(times=weights).to_csv("weighted.csv", index=False)
    weighted = tmp_path / "weighted.csv"
    run = compare_trees(tritree, weighted, "--weights", "times")
    assert "of the values missing, weighted by times; regression" in run.out
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
    compare_trees(tritree, table, "--store", "runs.sqlite")
    data = bytearray(Path("runs.sqlite").read_bytes())
    data[4096:8192] = bytes(4096)
    Path("runs.sqlite").write_bytes(data)
    error_line = tritree("compare", table, "-y", "progress", "--store", "runs.sqlite").error_line
    assert "runs.sqlite cannot be used for results" in error_line
    assert error_line.endswith("name another file, or remove it, and the experiment is run again")
