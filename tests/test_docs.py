"""Examples in docstrings, in the README and in docs/ run with the output shown, and what they refer to exists."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
import shlex
import tomllib
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from data_paths import DATA
from threadpoolctl import threadpool_limits

import tritree

MODULES = ["tritree", *(module.name for module in pkgutil.walk_packages(tritree.__path__, "tritree."))]
ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def programs(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return blocks(page, "python")


def sessions(page: Path) -> list[tuple[str, str]]:
    """Return the Python and console blocks of a page, in order, with their language."""
    return re.findall(r"```(python|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> list[str]:
    """Return the tritree commands of a page: those in shell blocks and in the first column of tables."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [line for line in lines if line.startswith("tritree ")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


def test_both_estimators_have_examples():
    for estimator in (tritree.TrinaryTreeRegressor, tritree.TrinaryTreeClassifier):
        assert ">>> " in estimator.__doc__


def test_ten_lines_of_the_readme_run(capsys):
    pytest.importorskip("pandas")
    (program,) = programs(README)
    assert len([line for line in program.splitlines() if line]) == 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tritree.ColumnMatchWarning)
        exec(program, {})
    assert capsys.readouterr().out.startswith("0.965")


@pytest.fixture
def warnings_printed():
    """Print user warnings where they occur, so that examples show them."""

    def show(message, category, *_):
        print(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


#: The pages with examples, which run from top to bottom, and the libraries that they need.
PAGES = {
    "alternatives.md": ["catboost", "lightgbm", "xgboost"],
    "boosting.md": ["pandas"],
    "boosting-theory.md": [],
    "columns.md": ["pandas"],
    "comparing.md": ["pandas", "matplotlib"],
    "distributed.md": ["dask", "distributed", "pandas", "pyarrow"],
    "explaining.md": ["pandas"],
    "forests.md": ["pandas"],
    "graft.md": ["pandas"],
    "graft-tutorial.md": ["lightgbm", "pandas"],
    "lab-bias.md": ["pandas", "matplotlib"],
    "lab.md": ["pandas", "matplotlib"],
    "large-tables.md": ["pandas", "pyarrow"],
    "model-files.md": ["pandas"],
    "onnx.md": ["pandas", "onnx", "onnxruntime"],
    "production.md": ["pandas"],
    "quick-start.md": ["pandas"],
    "strategies.md": [],
    "tables.md": ["pandas", "polars", "pyarrow", "skrub"],
    "third-branches.md": [],
    "to-dict.md": ["pandas"],
    "trees.md": ["pandas"],
    "tutorial.md": ["pandas", "matplotlib", "onnx", "onnxruntime", "typer"],
}


def test_every_page_with_examples_is_listed():
    assert {page.name for page in DOCS if sessions(page)} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_the_page_run(name, tmp_path, monkeypatch, capfd, warnings_printed):
    for library in PAGES[name]:
        pytest.importorskip(library, reason=f"the page needs {library}")
    monkeypatch.chdir(tmp_path)  # for the files that it writes
    monkeypatch.setenv(
        "OMP_NUM_THREADS", "1"
    )  # threads of other libraries wait for each other on a busy machine
    names, runner = {}, doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    with threadpool_limits(1):
        for number, (language, program) in enumerate(sessions(ROOT / "docs" / name), start=1):
            if language == "console":
                check_console(program, capfd)
            elif ">>> " in program:
                block = f"block {number} of {name}"
                example = doctest.DocTestParser().get_doctest(program, names, block, None, None)
                runner.run(example, clear_globs=False)
                names.update(example.globs)
            else:
                exec(program, names)
    assert runner.summarize(verbose=False).failed == 0


def check_console(block: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Run the tritree commands of a console block, and compare what they print with what the block shows."""
    from cli.program import InProcess

    tritree = InProcess(capfd)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        run = tritree.good(*shlex.split(command)[1:])
        printed = re.sub(r" +$", "", run.err + run.out, flags=re.MULTILINE).strip("\n")
        is_same = doctest.OutputChecker().check_output(shown.strip("\n"), printed, doctest.ELLIPSIS)
        assert is_same, f"$ {command}\n{printed}"


#: Options that make a command of the documentation quick.
QUICK_OPTIONS = {
    "compare": [
        "--seeds",
        "1",
        "--folds",
        "3",
        "--rates",
        "0.3",
        "--depth",
        "2",
        "--n-jobs",
        "1",
    ],
    "lab paper": ["--seeds", "1", "--rates", "0.2", "--datasets", "seeds", "--n-jobs", "1"],
    "lab bias": ["--repeats", "5"],
}
SKIPPED = ["tritree demo"]  # cannot be made quicker, and is run by the tests of the command line


def quick_arguments(command: str) -> list[str]:
    """Return the arguments of a command, with options that make it quick."""
    arguments = shlex.split(command)[1:]
    return arguments + next(
        (more for name, more in QUICK_OPTIONS.items() if " ".join(arguments).startswith(name)), []
    )


@pytest.fixture
def houses(tmp_path, monkeypatch):
    """Put the tables of the documentation, and the data of the paper, into the working directory."""
    pd = pytest.importorskip("pandas", reason="the command line needs pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"area": rng.normal(100, 20, 120), "town": rng.choice(["Lund", "Ystad"], 120)})
    table["price"] = 3 * table["area"] + 50 * (table["town"] == "Lund") + rng.normal(0, 10, 120)
    table.loc[::7, "area"] = np.nan
    table.to_csv(tmp_path / "houses.csv", index=False)
    table.drop(columns="price").head(10).to_csv(tmp_path / "new.csv", index=False)
    table.tail(50).to_csv(tmp_path / "sold.csv", index=False)
    table.to_csv(tmp_path / "rows.csv", index=False)
    with suppress(ImportError):
        from xgboost import XGBRegressor

        XGBRegressor(n_estimators=3).fit(table[["area"]], table["price"]).save_model(tmp_path / "model.json")
    if DATA.exists():
        (tmp_path / "data").symlink_to(DATA, target_is_directory=True)
    monkeypatch.setenv("TRITREE_DATA", str(DATA))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", [page for page in DOCS if commands(page)], ids=lambda page: page.name)
def test_commands_of_the_page_run(page, houses, capfd):
    for library in ("typer", "matplotlib", "onnx"):
        pytest.importorskip(library, reason=f"the commands of the page need {library}")
    from cli.program import InProcess

    tritree = InProcess(capfd)
    for command in commands(page):
        if command.startswith("tritree lab paper") and not (DATA / "paper" / "seeds.csv").exists():
            continue
        if command.startswith("tritree graft"):
            pytest.importorskip("xgboost", reason="the page grafts a model of XGBoost")
        if command not in SKIPPED:
            tritree.good(*quick_arguments(command))


def test_table_of_commands_is_complete():
    pytest.importorskip("typer", reason="the command line needs typer")
    from typer.main import get_command

    from tritree.cli.app import make_app

    parts = get_command(make_app()).commands
    names = [name for name, part in parts.items() if not hasattr(part, "commands")]
    names += [f"{name} {sub}" for name, part in parts.items() for sub in getattr(part, "commands", ())]
    documented = [f"{command} " for command in commands(ROOT / "docs" / "command-line.md")]
    assert [
        name for name in names if not any(line.startswith(f"tritree {name} ") for line in documented)
    ] == []


def test_list_of_options_is_that_of_the_program():
    pytest.importorskip("typer", reason="the command line needs typer")
    module = runpy.run_path(str(ROOT / "tools" / "command_line_options.py"))
    is_same = module["PAGE"].read_text(encoding="utf-8") == module["page"]()
    assert is_same, "python tools/command_line_options.py writes the page anew"


@pytest.mark.parametrize("page", [README, *DOCS], ids=lambda page: page.name)
def test_make_targets_and_extras_on_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    mentioned = re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", text, re.MULTILINE)
    assert {first or second for first, second in mentioned} <= set(targets)
    assert {
        extra for names in re.findall(r"(?:tritree|\.)\[([a-z,]+)\]", text) for extra in names.split(",")
    } <= set(extras)


def test_links_of_the_readme_exist():
    links = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["tritree", "tritree.lab", "tritree.lab.paper", "tritree.lab.paper.bias"])
def test_reference_lists_the_public_names_of_the_package(name):
    pytest.importorskip("pandas", reason="tritree.lab needs pandas")
    public = {
        public_name
        for public_name in importlib.import_module(name).__all__
        if public_name[0] != "_" and not public_name.isupper()
    }
    reference = "".join(
        page.read_text(encoding="utf-8") for page in DOCS if page.name.startswith("reference")
    )
    assert public - set(re.findall(r"\w+", reference)) == set()


ESTIMATORS = [name for name in tritree.__all__ if name.startswith("Trinary")]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_reference_includes_inherited_methods(name):
    kind = {"Tree": "trees", "Forest": "forests", "Boosting": "boosting"}[re.findall("[A-Z][a-z]+", name)[1]]
    page = (ROOT / "docs" / f"reference-{kind}.md").read_text(encoding="utf-8")
    assert f"::: tritree.{name}\n    options: {{ inherited_members: true," in page


@pytest.mark.parametrize("name", ESTIMATORS)
def test_overview_of_the_reference_names_every_public_method(name):
    overview = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    public = {method for method in dir(getattr(tritree, name)) if not method.startswith("_")}
    assert public - set(re.findall(r"`(\w+)`", overview)) == set()
