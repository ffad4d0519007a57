"""A few seeds of every attack; ``make attack`` runs more of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnxruntime")
if sys.platform == "win32":
    pytest.skip("no signals and kills as they are meant here", allow_module_level=True)

from attack.runner import attacks, run

#: How many seeds of each attack are run.
N_SEEDS = {
    "identities": 15,
    "interrupted_growth": 3,
    "interrupted_file": 3,
    "killed_save": 1,
    "killed_experiment": 1,
    "names_in_views": 3,
    "names_in_files": 3,
    "names_that_are_no_text": 3,
    "names_in_the_program": 2,
    "interrupted_fit": 3,
    "fit_interrupted_at_a_line": 9,
    "fit_beside_other_threads": 3,
    "detach_beside_other_threads": 3,
}
#: The attacks that ThreadSanitizer runs, too.
OF_THREADS = ("fit_beside_other_threads", "detach_beside_other_threads")


def cases() -> Iterator[Any]:
    """Yield the name and the seed of each case."""
    for name, n_seeds in N_SEEDS.items():
        marks = pytest.mark.threads if name in OF_THREADS else ()
        for seed in range(n_seeds):
            yield pytest.param(name, seed, marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "seed"), cases())
def test_attack_finds_nothing(name: str, seed: int, tmp_path: Path) -> None:
    attacks()[name](seed, tmp_path)  # to repeat it: python -m tests.attack NAME --seed N


def test_every_attack_has_seeds() -> None:
    assert set(attacks()) == set(N_SEEDS)


def test_failed_attack_is_printed_as_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(seed: int, _: Path) -> None:
        assert seed < 3

    monkeypatch.setattr("attack.runner.attacks", lambda: {"fault": fault})
    assert not run("fault", range(2, 9))
    assert capsys.readouterr().out.splitlines()[-1] == "python -m tests.attack fault --seed 3"
