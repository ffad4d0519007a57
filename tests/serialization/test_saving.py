"""A model file is replaced atomically, and the loaded model grows if the file has the training rows."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import STRATEGIES, WITH_THIRD_BRANCHES, fitted, predictions, same_bits, simulated, with_missing
from serialization.samples import description_and_arrays, half_grown, mixed, same_model, same_tree
from sklearn.exceptions import NotFittedError

import tritree
from tritree import (
    TrinaryBoostingRegressor,
    TrinaryForestRegressor,
    TrinaryTreeRegressor,
    UngrownBranchWarning,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tritree"


def small(**parameters: Any) -> Any:
    return half_grown(*simulated(100, 3, missing=0.1), **parameters)


def names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def fail(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_while_writing_leaves_the_old_file_and_nothing_else(
    step: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = small()
    old.save(path)
    if step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        small(max_depth=1).save(path)
    monkeypatch.undo()
    assert names_in(path.parent) == [path.name]
    assert same_tree(tritree.load(path), old)


def test_failed_first_save_leaves_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        small().save(path)
    assert names_in(path.parent) == []


def test_interrupted_save_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    small().save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        small(max_depth=1).save(path)
    assert names_in(path.parent) == [path.name]
    assert path.read_bytes() == before


def test_old_file_stays_until_the_new_one_is_complete(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(max_depth=1).save(path)
    before, synced = path.read_bytes(), os.fsync
    seen = []

    def look(handle: int) -> None:
        synced(handle)
        seen.append(path.read_bytes() == before)

    monkeypatch.setattr(os, "fsync", look)
    small().save(path)
    assert seen == [True]
    assert path.read_bytes() != before


def test_failed_save_of_an_invalid_estimator_leaves_the_old_file(path: Path) -> None:
    model = small()
    model.save(path)
    model.set_params(unknown_category="nonsense")
    with pytest.raises(ValueError, match="cannot be saved: unknown_category must be one of"):
        model.save(path)
    assert tritree.load(path).unknown_category == "no_information"


def test_saving_into_an_absent_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        small().save(tmp_path / "nowhere" / "model.tritree")


def test_saving_to_the_path_of_a_folder_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(OSError):
        small().save(tmp_path / "model")
    assert names_in(tmp_path) == ["model"]


def test_unfitted_estimator_is_not_saved(path: Path) -> None:
    with pytest.raises(NotFittedError):
        TrinaryTreeRegressor().save(path)
    assert not path.exists()


def test_path_may_be_text(path: Path) -> None:
    model = small()
    model.save(str(path))
    assert same_tree(tritree.load(str(path)), model)


def test_longest_file_name_can_be_saved_to(tmp_path: Path) -> None:
    path = tmp_path / ("m" * 255)
    small().save(path)
    assert tritree.load(path).n_features_in_ == 3


def test_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    link, real = tmp_path / "link", tmp_path / "real"
    link.symlink_to(real)
    small().save(link)
    assert link.is_symlink()
    assert tritree.load(real).n_features_in_ == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_permissions_of_a_new_file_follow_the_umask(path: Path) -> None:
    before = os.umask(0o027)
    try:
        small().save(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_replaced_file_keeps_its_permissions(path: Path) -> None:
    path.touch()
    path.chmod(0o600)
    small().save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_saving_does_not_change_the_model(path: Path) -> None:
    X, y = simulated(200, 4, missing=0.2)
    model, other = half_grown(X, y), half_grown(X, y)
    model.save(path)
    model.save(path, training_rows=False)
    assert same_model(model, other, with_missing(X))


def test_description_has_format_version_and_columns(path: Path) -> None:
    half_grown(*mixed()).save(path)
    description, _ = description_and_arrays(path.read_bytes())
    assert description["format"] == 2
    assert description["tritree"] == tritree.__version__
    assert description["names"] == ["number", "colour", "size", "shop", "open"]
    assert description["columns"][1]["categories"] == ["blue", "green", "red", "žlutá"]
    assert description["columns"][2]["order"] == ["small", "medium", "large"]


# Training rows


def holds_rows(path: Path) -> bool:
    return any(
        name.startswith(("data.", "ladders.")) for name in description_and_arrays(path.read_bytes())[1]
    )


@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
def test_tree_that_can_grow_is_saved_with_its_training_rows(missing: str, path: Path) -> None:
    small(missing=missing).save(path)
    assert holds_rows(path)


def test_tree_grown_in_full_is_saved_without_training_rows(path: Path) -> None:
    small(max_depth=1).grow_all().save(path)
    assert not holds_rows(path)


def test_tree_grown_in_full_is_saved_with_training_rows_on_request(path: Path) -> None:
    small(max_depth=1).grow_all().save(path, training_rows=True)
    assert holds_rows(path)
    assert tritree.load(path).feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("missing", sorted(set(STRATEGIES) - set(WITH_THIRD_BRANCHES)))
def test_tree_without_third_branches_has_no_training_rows_to_save(missing: str, path: Path) -> None:
    model = small(missing=missing)
    with pytest.raises(ValueError, match="training_rows=False"):
        model.save(path, training_rows=True)
    model.save(path)
    assert not holds_rows(path)


def test_detached_tree_has_no_training_rows_to_save(path: Path) -> None:
    model = small().detach()
    with pytest.raises(ValueError, match="training_rows=False"):
        model.save(path, training_rows=True)
    model.save(path)
    assert not holds_rows(path)


def test_no_training_row_is_in_a_file_without_them(path: Path) -> None:
    X, y = simulated(100, 3)
    half_grown(X, y).save(path, training_rows=False)
    stored = path.read_bytes()
    assert not any(value.tobytes() in stored for value in [*y, *X.ravel()])


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("missing", WITH_THIRD_BRANCHES)
@pytest.mark.parametrize("weighted", [False, True])
def test_loaded_tree_grows_as_the_original_does(task: str, missing: str, weighted: bool, path: Path) -> None:
    X, y = mixed(task=task)
    weight = np.random.default_rng(2).integers(0, 4, len(y)) / 4 if weighted else None
    model = half_grown(X, y, weight, missing=missing)
    model.save(path)
    again = tritree.load(path)
    assert again.n_nodes_ < model.grow_all().n_nodes_
    assert same_tree(again.grow_all(), model)


def test_loaded_tree_has_as_many_nodes_grown_on_demand(path: Path) -> None:
    model = small()
    assert model.n_grown_ > 0
    model.save(path)
    assert tritree.load(path).n_grown_ == model.n_grown_


def test_tree_can_be_saved_while_it_grows(tmp_path: Path) -> None:
    X, y = simulated(200, 4, missing=0.2)
    model = again = fitted(X, y)
    for step in range(3):
        again.save(tmp_path / "model")
        again = tritree.load(tmp_path / "model")
        rows = with_missing(X, seed=step)
        assert same_bits(predictions(again, rows), predictions(model, rows))
    assert same_tree(again, model)


def test_ungrown_third_branch_predicts_the_value_of_its_node_and_warns_without_training_rows(
    path: Path,
) -> None:
    X, y = simulated(200, 3)
    model = fitted(X, y)
    model.save(path, training_rows=False)
    again = tritree.load(path)
    with pytest.warns(UngrownBranchWarning):
        prediction = again.predict(np.full((1, 3), np.nan))
    assert prediction[0] == model.tree_.value[0, 0]


def test_grown_third_branches_predict_the_same_without_training_rows_or_warnings(path: Path) -> None:
    X, y = simulated(200, 3)
    model, rows = fitted(X, y), with_missing(X)
    expected = model.predict(rows)
    model.save(path, training_rows=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_bits(tritree.load(path).predict(rows), expected)


def test_tree_without_training_rows_cannot_be_grown(path: Path) -> None:
    small().save(path, training_rows=False)
    with pytest.raises(RuntimeError, match="can no longer be grown"):
        tritree.load(path).grow_all()


def test_importances_computed_before_saving_survive_without_training_rows(path: Path) -> None:
    model = small()
    expected = model.feature_importances_
    model.save(path, training_rows=False)
    assert same_bits(tritree.load(path).feature_importances_, expected)


def test_importances_not_computed_before_saving_are_unavailable_without_training_rows(path: Path) -> None:
    small().save(path, training_rows=False)
    with pytest.raises(AttributeError, match="training rows"):
        _ = tritree.load(path).feature_importances_


@pytest.mark.parametrize("missing", STRATEGIES)
def test_importances_are_the_same_after_loading(missing: str, path: Path) -> None:
    model = small(missing=missing)
    model.save(path)
    assert same_bits(tritree.load(path).feature_importances_, model.feature_importances_)


def test_importances_of_a_tree_grown_in_full_survive_a_plain_save(path: Path) -> None:
    model = small().grow_all()
    model.save(path)
    assert same_bits(tritree.load(path).feature_importances_, model.feature_importances_)


@pytest.mark.parametrize("training_rows", ["no", 0.5, []])
def test_training_rows_must_be_true_false_or_none(training_rows: Any, path: Path) -> None:
    with pytest.raises(ValueError, match="training_rows must be True, False or None"):
        small().save(path, training_rows=training_rows)
    assert names_in(path.parent) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of Unix")
def test_named_pipe_is_not_replaced(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(FileExistsError, match="is not a regular file"):
        small().save(path)


def test_description_too_long_for_a_file_leaves_the_old_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = small()
    old.save(path)
    monkeypatch.setattr("tritree.serialization.MAX_DESCRIPTION", 500)
    with pytest.raises(ValueError, match="more than a model file can hold; join rare categories"):
        small().save(path)
    monkeypatch.undo()
    assert same_tree(tritree.load(path), old)


@pytest.mark.parametrize("family", ["tree", "forest", "boosting"])
def test_saving_twice_writes_the_same_bytes(family: str, tmp_path: Path) -> None:
    model = {
        "tree": TrinaryTreeRegressor(max_depth=2),
        "forest": TrinaryForestRegressor(n_estimators=2, random_state=0),
        "boosting": TrinaryBoostingRegressor(max_iter=2, random_state=0),
    }[family]
    X = np.arange(400.0).reshape(100, 4) % 7
    model.fit(X, X[:, 0] + X[:, 1])
    contents = set()
    for number in range(8):  # safetensors writes metadata in random order
        model.save(tmp_path / f"{number}.tritree")
        contents.add((tmp_path / f"{number}.tritree").read_bytes())
    assert len(contents) == 1
