"""Tables and models for the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pd = pytest.importorskip("pandas", reason="the command line needs pandas")

from cli.program import InProcess  # noqa: E402
from sklearn.datasets import load_diabetes, load_iris  # noqa: E402

from tritree import TrinaryTreeRegressor  # noqa: E402


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that serves as the user's cache, also for subprocesses."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TRITREE_CACHE", str(folder))
    return folder


@pytest.fixture
def tritree(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> InProcess:
    """Return the program, run in this process and in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    return InProcess(capfd)


def diabetes() -> pd.DataFrame:
    """Return a regression with missing values and identifiers."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    frame = X.assign(progress=y)
    frame.insert(0, "id", [f"{i:04}" for i in range(len(frame))])
    frame.loc[::5, "bmi"] = np.nan
    frame.loc[1::7, "s5"] = np.nan
    return frame


def patients() -> pd.DataFrame:
    """Return a regression with missing values and without the identifiers."""
    return diabetes().drop(columns="id")


def rows_with_missing() -> pd.DataFrame:
    """Return rows to predict, with values missing at random in every column."""
    frame = patients().drop(columns="progress")
    return frame.mask(np.random.default_rng(0).random(frame.shape) < 0.3).head(60)


def flowers() -> pd.DataFrame:
    """Return a classification with text, booleans and missing values."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = X.assign(
        large=X["petal width"] > 1, colour=np.where(X["petal length"] > 4.5, "dark", "light"), kind=names
    )
    frame.loc[::6, "petal length"] = np.nan
    frame.loc[::4, "colour"] = None
    return frame


def fill(folder: Path) -> None:
    """Write a table and its model to a folder, with the library."""
    frame = diabetes()
    frame.to_csv(folder / "diabetes.csv", index=False)
    model = TrinaryTreeRegressor().fit(frame.drop(columns=["id", "progress"]), frame["progress"])
    model.save(folder / "diabetes.tritree")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file with a regression, in the folder of the program."""
    path = tmp_path / "diabetes.csv"
    diabetes().to_csv(path, index=False)
    return path


@pytest.fixture
def model(tritree: InProcess, table: Path) -> Path:
    """Return the model file of a regression."""
    tritree.good("fit", table, "-y", "progress", "--drop", "id", "--max-depth", 3)
    return Path("diabetes.tritree")


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """Return a file with a classification, in the folder of the program."""
    path = tmp_path / "flowers.csv"
    flowers().to_csv(path, index=False)
    return path


@pytest.fixture
def classifier(tritree: InProcess, classes: Path) -> Path:
    """Return the model file of a classification."""
    tritree.good("fit", classes, "-y", "kind", "--min-samples-leaf", 5)
    return Path("flowers.tritree")


@pytest.fixture
def patients_table(tmp_path: Path) -> Path:
    """Return a file with a regression without identifiers."""
    path = tmp_path / "patients.csv"
    patients().to_csv(path, index=False)
    return path


@pytest.fixture
def boosting(tritree: InProcess, patients_table: Path) -> Path:
    """Return the model file of boosting with 5 trees."""
    options = ("--model", "boosting", "--trees", 5, "-o", "boosting.tritree")
    tritree.good("fit", patients_table, "-y", "progress", *options)
    return Path("boosting.tritree")


@pytest.fixture
def forest(tritree: InProcess, patients_table: Path) -> Path:
    """Return the model file of a forest with 4 trees."""
    options = ("--model", "forest", "--trees", 4, "-o", "forest.tritree")
    tritree.good("fit", patients_table, "-y", "progress", *options)
    return Path("forest.tritree")
