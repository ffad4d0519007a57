"""Examples in docstrings and in the README run, and say what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import tritree

MODULES = ["tritree", *(module.name for module in pkgutil.walk_packages(tritree.__path__, "tritree."))]
README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


def test_both_estimators_have_examples():
    for estimator in (tritree.TrinaryTreeRegressor, tritree.TrinaryTreeClassifier):
        assert ">>> " in estimator.__doc__


def test_quick_start_of_the_readme_runs(capsys):
    pytest.importorskip("pandas")
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tritree.ColumnMatchWarning)
        exec(program, {})
    assert "takes over" in capsys.readouterr().out


def test_demonstration_runs(capsys):
    pytest.importorskip("pandas")
    from tritree.demo import main

    main()
    printed = capsys.readouterr().out
    assert "not grown yet" in printed
    assert "HistGradientBoosting" in printed
