"""Examples in docstrings, in the README and in docs/ run, and say what they show."""

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
ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def programs(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


def test_both_estimators_have_examples():
    for estimator in (tritree.TrinaryTreeRegressor, tritree.TrinaryTreeClassifier):
        assert ">>> " in estimator.__doc__


def test_quick_start_of_the_readme_runs(capsys):
    pytest.importorskip("pandas")
    (program,) = programs(README)
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


@pytest.fixture
def warnings_printed():
    """Warnings for users are printed where they occur, so that examples show them."""

    def show(message, category, *_):
        print(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


#: The pages whose examples run from top to bottom, with the libraries that they read and write with.
PAGES = {
    "index.md": ["pandas", "matplotlib"],
    "lab-bias.md": ["pandas", "matplotlib"],
    "lab.md": ["pandas", "matplotlib"],
    "missing-values.md": [],
    "production.md": ["pandas"],
    "tables-and-models.md": ["pandas", "polars", "pyarrow", "onnx", "onnxruntime"],
}


def test_every_page_with_examples_is_run():
    assert {page.name for page in (ROOT / "docs").glob("*.md") if programs(page)} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_the_page_hold(name, tmp_path, monkeypatch, warnings_printed):
    for library in PAGES[name]:
        pytest.importorskip(library, reason=f"the page reads and writes with {library}")
    monkeypatch.chdir(tmp_path)  # where the files that it writes vanish
    names, runner = {}, doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, program in enumerate(programs(ROOT / "docs" / name), start=1):
        if ">>> " not in program:
            exec(program, names)
            continue
        block = f"block {number} of {name}"
        example = doctest.DocTestParser().get_doctest(program, names, block, None, None)
        runner.run(example, clear_globs=False)
        names.update(example.globs)
    assert runner.summarize(verbose=False).failed == 0
