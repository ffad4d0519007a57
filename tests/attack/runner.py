"""Runs attacks: each is a function of a seed and an empty folder that fails if it finds a fault.

python -m tests.attack NAME --seed N          # one attack
python -m tests.attack --minutes 60 [NAME]    # all attacks, or one, with new seeds until the time is over
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

Attack = Callable[[int, Path], None]

#: The modules of the attacks; the functions in their ``ATTACKS`` are known by their names.
_MODULES = ("identities", "interrupts", "kills", "names", "refits")
_SEEDS_PER_PROCESS = 10  # importing tritree takes longer than most attacks
_SECONDS_PER_SEED = 60  # an attack that takes longer hangs


def attacks() -> dict[str, Attack]:
    """Return the attacks by name."""
    found = (attack for module in _MODULES for attack in import_module(f"attack.{module}").ATTACKS)
    return {attack.__name__: attack for attack in found}


def run(name: str, seeds: Iterable[int]) -> bool:
    """Run an attack with some seeds, until one fails; return whether none has. Each is printed as a command first."""
    for seed in seeds:
        print(f"python -m tests.attack {name} --seed {seed}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                attacks()[name](seed, Path(folder))
            except Exception:
                traceback.print_exc()
                return False
    return True


def run_for(minutes: float, names: list[str]) -> bool:
    """Run attacks in turns, in processes that may crash, until the time is over; return whether none has failed."""
    end, n_runs, n_failed = time.monotonic() + 60 * minutes, Counter[str](), 0
    for first in itertools.count(int(time.time()) * 1000, _SEEDS_PER_PROCESS):
        for name in names:
            if time.monotonic() > end:
                print(*(f"{name}: {n} seeds" for name, n in n_runs.items()), f"{n_failed} failed", sep="\n")
                return n_failed == 0
            options = [name, "--seed", str(first), "--count", str(_SEEDS_PER_PROCESS)]
            done = subprocess.run(
                [sys.executable, "-m", "tests.attack", *options], capture_output=True, text=True
            )
            commands = [
                line for line in done.stdout.splitlines() if line.startswith("python -m tests.attack")
            ]
            n_runs[name] += len(commands)
            if done.returncode != 0:  # the last command has failed, crashed or hung
                n_failed += 1
                print(done.stderr, *commands[-1:], "", sep="\n", flush=True)
    raise AssertionError("there is no last seed")


def main() -> int:
    """Run the attacks that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attack tritree.")
    parser.add_argument("name", nargs="?", choices=list(attacks()), help="the attack; all if it is omitted")
    parser.add_argument("--seed", type=int, help="run the attack once, with this seed")
    parser.add_argument("--count", type=int, default=1, help="number of seeds, from --seed on")
    parser.add_argument("--minutes", type=float, default=5, help="how long to run with new seeds")
    arguments = parser.parse_args()
    if arguments.seed is None:
        return not run_for(arguments.minutes, [arguments.name] if arguments.name else list(attacks()))
    if arguments.name is None:
        parser.error("--seed needs the name of an attack")
    warnings.simplefilter("ignore")
    faulthandler.enable()
    faulthandler.dump_traceback_later(_SECONDS_PER_SEED * arguments.count, exit=True)
    return not run(arguments.name, range(arguments.seed, arguments.seed + arguments.count))
