"""A tree as plain data is all that a program needs to predict, by the rules that the page "Trees as plain data" has."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from models import STRATEGIES, TASKS, WITH_THIRD_BRANCHES, estimator, predictions

from tritree import (
    TrinaryForestClassifier,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
)

pd = pytest.importorskip("pandas")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "to-dict.md").read_text(encoding="utf-8")

N = 400
SIZES = pd.CategoricalDtype(["small", "middle", "large", "huge"], ordered=True)
GRADES = pd.CategoricalDtype([3, 1, 2], ordered=True)


def page_program():
    """The names that the program on the page defines; it is plain Python and imports nothing."""
    (program,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def " in block)
    assert "import" not in program
    names = {}
    exec(program, names)
    return names


predict_row = page_program()["predict_row"]


INCOMPLETE = ["weight", "fuel", "code", "turbo"]


def drawn(n_rows, missing_rate, seed, more=()):
    """A table with columns of every kind; ``more`` are a fuel and a code that training does not have.

    In training some columns are complete, so that a split on them has a third branch under trinary_mia, too.
    """
    rng = np.random.default_rng(seed)
    columns = {
        "weight": rng.normal(1400, 250, n_rows).round(1),
        "doors": rng.integers(2, 6, n_rows).astype("float32"),
        "fuel": rng.choice(["petrol", "diesel", "electric", "gas", *more[:1]], n_rows),
        "code": rng.choice([1, 2.5, 7, 40, *more[1:2]], n_rows),
        "automatic": rng.integers(0, 2, n_rows).astype(bool),
        "turbo": rng.integers(0, 2, n_rows) > (0 if more else -1),
        "size": pd.Categorical.from_codes(rng.integers(0, 3, n_rows), dtype=SIZES),
        "grade": pd.Categorical.from_codes(rng.integers(0, 3, n_rows), dtype=GRADES),
    }
    table = pd.DataFrame(columns).astype({"code": "category"})
    is_missing = rng.random(table.shape) < missing_rate
    if not more:
        is_missing &= table.columns.isin(INCOMPLETE)
    return table.mask(is_missing) if missing_rate else table


def target(table, task):
    """A target that depends on every column, and on whether some of them are missing."""
    rng = np.random.default_rng(7)
    y = (
        (table["weight"].fillna(1700) - 1400) / 150
        + 2 * (table["fuel"] == "electric")
        + 4 * table["fuel"].isna()
        - 2 * table["code"].isin([2.5, 40])
        - 4 * table["code"].isna()
        + 2 * (table["automatic"] == True)  # noqa: E712
        + table["size"].cat.codes
        + 1.5 * table["grade"].cat.codes
        + rng.normal(size=len(table))
    ).to_numpy()
    return y if task == "regression" else np.array(["low", "middle", "top"])[np.digitize(y, [-0.5, 1.5])]


def fitted(task, missing, missing_rate=0.15, **parameters):
    table = drawn(N, missing_rate, seed=1)
    parameters = {"max_depth": 4, "min_samples_leaf": 10} | parameters
    return estimator(task, missing=missing, **parameters).fit(table, target(table, task))


ROWS = drawn(250, 0.3, seed=2, more=("steam", 3.0))


def rows_of(table):
    """The rows as another program has them: null where a value is missing."""
    columns = [table[name].astype(object).where(table[name].notna(), None).tolist() for name in table]
    rows = [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]
    return json.loads(json.dumps(rows, allow_nan=False))


def plain(model):
    """The tree as another program reads it."""
    return json.loads(json.dumps(model.to_dict(), allow_nan=False))


def assert_program_agrees(tree, table, expected):
    found = np.array([predict_row(tree, row) for row in rows_of(table)])
    expected = expected.reshape(len(table), -1)
    if tree["missing"] == "fractional":
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    else:
        np.testing.assert_array_equal(found, expected)


# ---- the rules


@pytest.mark.parametrize("missing_rate", [0.0, 0.15])
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_program_on_the_page_predicts_as_the_grown_tree_does(task, missing, missing_rate):
    model = fitted(
        task, missing, missing_rate, max_depth=2 if missing in WITH_THIRD_BRANCHES else 5
    ).grow_all()
    tree = plain(model)
    assert tree["n_ungrown"] == 0
    assert_program_agrees(tree, ROWS, predictions(model, ROWS))


@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
def test_program_on_the_page_predicts_as_a_detached_tree_does(task, missing):
    model = fitted(task, missing)
    model.predict(ROWS.head(10))
    tree = plain(model.detach())
    assert tree["detached"]
    assert (tree["n_ungrown"] > 0) == (missing in WITH_THIRD_BRANCHES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UngrownBranchWarning)
        assert_program_agrees(tree, ROWS, predictions(model, ROWS))


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_rows_that_a_tree_has_grown_for_are_predicted_the_same_by_its_data(missing):
    model = fitted("regression", missing)
    some = ROWS.head(25)
    expected = model.predict(some)
    tree = plain(model)
    assert tree["n_grown"] > 0
    assert tree["n_ungrown"] > 0
    assert_program_agrees(tree, some, expected)


@pytest.mark.parametrize("missing", STRATEGIES)
def test_absent_column_is_missing_to_the_program_too(missing):
    model = fitted("regression", missing, max_depth=2).grow_all()
    table = ROWS.drop(columns=["weight", "fuel"])
    with pytest.warns(UserWarning, match="'weight', 'fuel'"):
        expected = model.predict(table)
    assert_program_agrees(plain(model), table, expected)


def test_class_with_the_largest_probability_is_predicted_the_first_of_equals():
    X = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0], 20)})
    y = np.where(np.arange(60) < 20, "b", np.where(np.arange(60) % 2, "a", "c"))
    model = TrinaryTreeClassifier(min_samples_leaf=10).fit(X, y)
    tree = plain(model)
    probabilities = [predict_row(tree, row) for row in rows_of(X)]
    best = [tree["classes"][p.index(max(p))] for p in probabilities]
    assert best == model.predict(X).tolist()
    assert set(best) == {"a", "b"}


def splits():
    """Every split of the trees that the program is tried on."""
    for missing in STRATEGIES:
        for node in fitted("regression", missing, max_depth=5).to_dict()["nodes"]:
            if node["split"] is not None:
                yield node["split"]


def test_every_rule_and_every_way_of_missing_rows_is_tried():
    found = list(splits())
    surrogates = [surrogate for split in found for surrogate in split["surrogates"]]
    assert {split["rule"] for split in found} == {"threshold", "categories", "order", "missing"}
    assert {split["missing_to"] for split in found} == {"left", "right", "third", "both", "surrogates"}
    assert {surrogate["rule"] for surrogate in surrogates} == {"threshold", "categories", "order"}
    assert {s["below"] for s in surrogates if s["rule"] == "threshold"} == {"left", "right"}
    assert {s["below"] for s in surrogates if s["rule"] == "categories"} == {"left"}
    kinds = {column["name"]: column for column in fitted("regression", "mia").to_dict()["columns"]}
    assert {split["name"] for split in found if split["rule"] == "missing"} & {"fuel", "code"}
    assert kinds["turbo"]["categories"] == [True]
    assert set(ROWS["fuel"].dropna()) - set(kinds["fuel"]["categories"]) == {"steam"}
    assert set(ROWS["code"].dropna()) - set(kinds["code"]["categories"]) == {3.0}
    assert set(ROWS["turbo"].dropna()) == {True, False}


def test_split_of_missing_against_observed_sends_what_is_observed_to_its_larger_side():
    found = [split for split in splits() if split["rule"] == "missing"]
    assert all(split["larger_side"] != split["missing_to"] for split in found)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("missing_rate", [0, 0.15])
def test_program_on_the_page_predicts_as_the_trees_of_a_forest_do(task, missing_rate):
    table = drawn(N, missing_rate, seed=1)
    kind = TrinaryForestRegressor if task == "regression" else TrinaryForestClassifier
    forest = kind(n_estimators=3, max_depth=5, random_state=0).fit(table, target(table, task))
    predict = "predict" if task == "regression" else "predict_proba"
    for tree in forest.estimators_:
        expected = getattr(tree, predict)(ROWS).reshape(len(ROWS), -1)
        data = plain(tree)
        evidence = [
            item for node in data["nodes"] if node["split"] for item in node["split"].get("evidence") or ()
        ]
        assert all(list(item) == documented("An item of evidence") for item in evidence)
        assert {"category" in item["groups"][0] for item in evidence} == {True, False}
        found = np.array([predict_row(data, row) for row in rows_of(ROWS)])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---- the fields


def documented(heading):
    """The fields in the first column of the table under a heading of the page."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.fixture(scope="module")
def trees():
    return [fitted(task, missing).to_dict() for missing in STRATEGIES for task in TASKS]


def test_page_names_every_field_and_no_others(trees):
    nodes = [node for tree in trees for node in tree["nodes"]]
    for heading, entries in {
        "The tree": trees,
        "A column": [column for tree in trees for column in tree["columns"]],
        "A node": nodes,
    }.items():
        for entry in entries:
            assert sorted(entry) == sorted(documented(heading))


def test_page_names_every_field_of_splits_and_no_others(trees):
    found = [node["split"] for tree in trees for node in tree["nodes"] if node["split"] is not None]
    surrogates = [surrogate for split in found for surrogate in split["surrogates"]]
    by_rule = {
        "threshold": {"threshold"},
        "order": {"threshold", "left", "right"},
        "categories": {"left", "right"},
        "missing": set(),
    }
    sometimes = {"threshold_text"}.union(*by_rule.values())  # that of dates and times
    for heading, entries in {"A split": found, "A surrogate": surrogates}.items():
        fields = [name for name in documented(heading) if name != "evidence"]  # of forests
        always = set(fields) - sometimes
        assert len(fields) == len(always | sometimes)
        for entry in entries:
            assert set(entry) == always | by_rule[entry["rule"]]


def test_counts_are_those_of_the_nodes(trees):
    for tree in trees:
        branches = [node[branch] for node in tree["nodes"] for branch in ("left", "right", "third")]
        assert tree["n_leaves"] == sum(node["split"] is None for node in tree["nodes"])
        assert tree["n_ungrown"] == branches.count("ungrown")
        assert sorted(b for b in branches if isinstance(b, int)) == list(range(1, len(tree["nodes"])))


# ---- any label


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        np.array(["a", "ü"], dtype=object),
        np.array([True, False]),
        np.array([3, 500], dtype="int16"),
        np.array([2**63, 2**64 - 1], dtype="uint64"),
        np.array([-1.0, 1.0], dtype="float32"),
        pd.array([0, 1], dtype="Int64"),
        pd.Categorical(["no", "yes"]),
        pd.array(["no", "yes"], dtype="string"),
    ],
    ids=["text", "objects", "bool", "int16", "uint64", "float32", "nullable", "categories", "string"],
)
def test_json_keeps_classes_of_any_type(labels):
    y = pd.Series(labels).iloc[np.arange(60) % 2]
    model = TrinaryTreeClassifier(max_depth=1).fit(np.arange(60.0)[:, None], y)
    assert plain(model)["classes"] == model.classes_.tolist()


@pytest.mark.parametrize(
    ("values", "known"),
    [
        (["b", "a"], ["a", "b"]),
        ([True, False], [False, True]),
        (pd.Categorical([7, 5]), [5, 7]),
        (pd.Categorical([0.25, 5.0]), [0.25, 5]),
        (pd.Categorical(np.array([1, 2], dtype="int8")), [1, 2]),
        (pd.Categorical(pd.array([1, 2], dtype="UInt16")), [1, 2]),
        (pd.Categorical([True, False]), [False, True]),
        (pd.Categorical(["x", "y"], categories=["z", "y", "x"], ordered=True), ["z", "y", "x"]),
        (pd.Categorical(np.array([1, 2], "int8"), categories=np.array([2, 1], "int8"), ordered=True), [2, 1]),
        (pd.Categorical(np.array([0.5, 2], "float32"), ordered=True), [0.5, 2.0]),
        (pd.Categorical([True, False], ordered=True), [False, True]),
    ],
)
def test_json_keeps_categories_of_any_type(values, known):
    table = pd.DataFrame({"a": pd.Series(values)}).iloc[np.arange(60) % 2]
    model = TrinaryTreeRegressor(max_depth=1).fit(table, np.arange(60) % 2)
    (column,) = plain(model)["columns"]
    found = column["categories"] if column["order"] is None else column["order"]
    assert found == known
    assert list(map(type, found)) == list(map(type, known))
    assert_program_agrees(plain(model), table, model.predict(table))
