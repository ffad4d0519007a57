"""Coverage-guided fuzzing of model files with atheris: ``make fuzz SECONDS=60``.

    python tests/serialization/fuzz_target.py FOLDER [OPTIONS OF LIBFUZZER]

The seeds are the files that ``fuzz.py`` changes. Half of the mutations keep a file well-formed, with a valid checksum:
they reach what is behind it. Inputs that reach new code stay in the folder for the next run. To run an input again that
has failed, pass its name as an option.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import warnings
from pathlib import Path
from types import FunctionType

import atheris
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from serialization.fuzz import files
from serialization.mutations import craft_arrays, craft_description
from serialization.samples import description_and_arrays
from serialization.usage import use

import tritree
from tritree import ModelFileError


def instrument() -> None:
    """Record the coverage of tritree's functions; an import hook would not see an editable install."""
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and str(function.__module__).startswith("tritree."):
            atheris.instrument_func(function)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Return a changed file: well-formed with a valid checksum if it was and the seed is even, else any bytes."""
    rng = np.random.default_rng(seed)
    if seed % 2 == 0:
        try:
            parts = description_and_arrays(data)
            changed = (craft_description if rng.random() < 0.5 else craft_arrays)(*parts, rng)
            if len(changed) <= max_size:
                return changed
        except Exception:  # a file that damage has made unreadable, or that cannot be changed in this way
            pass
    return bytes(atheris.Mutate(data, max_size))


def main() -> None:
    folder, *options = sys.argv[1:]
    seeds, corpus = Path(folder, "seeds"), Path(folder, "corpus")
    for path in (seeds, corpus):
        path.mkdir(parents=True, exist_ok=True)
    for family in ("arrays", "arrays of format 1"):
        for path, _ in files(family, seeds):
            (seeds / path.name).write_bytes(path.read_bytes())
    for path in seeds.iterdir():  # which imports all modules
        use(tritree.load(path), corpus / "again")
    (corpus / "again").unlink()
    instrument()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        changed, again = Path(scratch, "changed"), Path(scratch, "again")

        def load_and_use(data: bytes) -> None:
            changed.write_bytes(data)
            try:
                model = tritree.load(changed)
            except ModelFileError:
                return
            use(model, again)

        inputs = [] if any(Path(option).is_file() for option in options) else [str(corpus), str(seeds)]
        atheris.Setup([sys.argv[0], *options, *inputs], load_and_use, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
