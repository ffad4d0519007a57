"""Trees with surrogates predict as R's rpart does."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from golden.random_problems import ask_rpart, differs, draw, has_tied_splits

N_PROBLEMS = 200


def has_rpart() -> bool:
    """Return whether R and its package rpart are installed."""
    command = ["Rscript", "--vanilla", "-e", "library(rpart)"]
    return (
        shutil.which("Rscript") is not None and subprocess.run(command, capture_output=True).returncode == 0
    )


def test_random_problems_are_predicted_as_by_rpart() -> None:
    if not has_rpart():
        pytest.skip("R's rpart is not installed: apt-get install r-base-core r-cran-rpart")
    problems = [draw(seed) for seed in range(N_PROBLEMS)]
    different = [
        p for p, expected in zip(problems, ask_rpart(problems), strict=True) if differs(p, expected).any()
    ]
    assert len(different) <= N_PROBLEMS // 20
    # of splits that gain the same, rpart takes the one that rounding errors favour
    assert [p.name for p in different if not has_tied_splits(p)] == []
