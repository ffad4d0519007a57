"""Fuzzing of model files: run as a program, because a crash would end the test process.

    python tests/serialization/fuzz.py FAMILY N_CHANGES FOLDER

It prints as JSON how many files were refused or loaded, and what failed. The last file stays in the folder. The family
"systematic" makes every N_CHANGES-th of all hostile changes of one entry or one array.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from models import predictions, simulated
from serialization.mutations import craft_arrays, craft_description, damage, hostile_files
from serialization.samples import description_and_arrays, half_grown, mixed, more_missing
from serialization.usage import use

import tritree
from tritree import ModelFileError

FAMILIES_OF_TREES = [
    (tritree.TrinaryForestRegressor, "trinary"),
    (tritree.TrinaryForestRegressor, "surrogate"),
    (tritree.TrinaryBoostingRegressor, "trinary_mia"),
    (tritree.TrinaryBoostingRegressor, "fractional"),
]

METADATA = {"source": "a.csv", "rows": 80, "read": {"na": ["?", None], "share": 0.5, "header": True}}


def models() -> Iterator[tuple[Any, Any]]:
    """Return small models of several kinds, each with rows to predict."""
    for task, missing in [("regression", "trinary"), ("classification", "trinary_mia")]:
        X, y = mixed(80, task=task)
        yield half_grown(X, y, missing=missing, max_depth=2), more_missing(X[:30], seed=2)
    for task, missing in [("classification", "surrogate"), ("regression", "fractional")]:
        X, y = mixed(80, task=task)
        yield half_grown(X, y, missing=missing), more_missing(X[:30], seed=2)
    X, y = simulated(300, 3, missing=0.1)
    yield half_grown(X, y, np.arange(300) % 4 / 4), more_missing(X[:30], seed=2)
    X, y = simulated(80, 3, missing=0.1)
    fully_grown = half_grown(X, y, max_depth=2).grow_all()
    assert fully_grown.feature_importances_.any()
    yield fully_grown, more_missing(X[:30], seed=2)
    for family, missing in FAMILIES_OF_TREES:
        X, y = mixed(80)
        few = {"n_estimators": 3} if family is tritree.TrinaryForestRegressor else {"max_iter": 3}
        model = family(missing=missing, max_depth=2, min_samples_leaf=5, random_state=0, **few).fit(X, y)
        model.predict(more_missing(X[:10]))
        yield model, more_missing(X[:30], seed=2)
    X, y = mixed(80, task="classification")
    model = tritree.TrinaryBoostingClassifier(max_iter=2, max_depth=2, min_samples_leaf=5, random_state=0)
    yield model.fit(X, y), more_missing(X[:30], seed=2)
    model = tritree.TrinaryBoostingRegressor(
        max_iter=2, max_depth=2, min_samples_leaf=5, random_state=0, monotonic_cst={"number": 1}
    )
    X, y = mixed(80)
    yield model.fit(X, y), more_missing(X[:30], seed=2)


RANDOM_CHANGES: dict[str, Callable[..., bytes]] = {
    "damage": damage,
    "description": craft_description,
    "arrays": craft_arrays,
    "description of format 1": craft_description,
    "arrays of format 1": craft_arrays,
}


def files(family: str, folder: Path) -> Iterator[tuple[Path, Any]]:
    """Return model files, each with rows to predict: of new models, or those that format 1 has left."""
    if family.endswith("format 1"):
        for path in sorted(Path(__file__).with_name("stored").glob("format1_*.tritree")):
            yield path, None
    else:
        for number, (model, rows) in enumerate(models()):
            model.save(path := folder / f"original{number}", metadata=METADATA)
            yield path, rows


def changed_files(family: str, n_changes: int, folder: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Return the contents of changed files, each with a name."""
    originals = [path.read_bytes() for path, _ in files(family, folder)]
    if family.startswith("systematic"):
        parts = [description_and_arrays(data) for data in originals]
        all_changes = (
            (f"{number} {name}", make)
            for number, part in enumerate(parts)
            for name, make in hostile_files(*part)
        )
        yield from (change for at, change in enumerate(all_changes) if at % n_changes == 0)
        return
    change = RANDOM_CHANGES[family]
    for number in range(n_changes):
        data = originals[number % len(originals)]
        parts = (data,) if family == "damage" else description_and_arrays(data)
        yield str(number), lambda p=parts, n=number: change(*p, np.random.default_rng([n, *family.encode()]))


def original_predictions(folder: Path) -> list[tuple[Any, bytes]]:
    """Return rows, and what the original files predict for them."""
    return [(rows, predictions(tritree.load(path), rows).tobytes()) for path, rows in files("damage", folder)]


def fuzz(family: str, n_changes: int, folder: Path) -> dict[str, Any]:
    """Return how many files were refused or loaded, what failed, and how much memory was used, in bytes."""
    path, outcomes, faults = folder / "changed", Counter[str](), []
    for original, _ in files(family, folder):
        use(tritree.load(original), folder / "again")
    expected, begin = original_predictions(folder), peak_memory()
    for number, (name, make) in enumerate(changed_files(family, n_changes, folder)):
        path.write_bytes(make())
        try:
            model = tritree.load(path)
            outcomes["loaded"] += 1
            if family != "damage":
                use(model, folder / "again", plot=outcomes["loaded"] % 10 == 0)
                continue
            rows, before = expected[number % len(expected)]
            assert predictions(model, rows).tobytes() == before, "other predictions"
        except ModelFileError as error:
            outcomes["refused"] += 1
            if not str(error).startswith(f"{path}: "):
                faults.append(f"{name}: a message of another file: {error}")
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(at.filename).name}:{at.lineno}"
            faults.append(f"{name}: {type(error).__name__}: {str(error)[:300]} ({where})")
    return {**outcomes, "faults": faults, "memory": peak_memory() - begin}


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(fuzz(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
