"""Write corpus.json anew, and print which cases have changed.

    python tests/corpus/record.py

The corpus holds predictions that must not change unless on purpose. Run this only when behaviour changes on purpose,
and say in the commit why the cases that it prints have changed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus.cases import CASES
from corpus.measure import CORPUS, digest, measure, onnxruntime_version, probe

__all__ = ["described"]


def described(found: dict[str, Any]) -> dict[str, str]:
    """Return the digest of each quantity of a case, or the name of an earlier one that is the same to the bit."""
    names: dict[str, str] = {}
    quantities = {}
    for name, values in found.items():
        text = digest(values)
        first = names.setdefault(text, name)
        quantities[name] = text if first == name else f"= {first}"
    return quantities


def main() -> None:
    """Measure all cases, write them, and print what is new, changed or gone."""
    if onnxruntime_version() is None:
        sys.exit("the corpus records exported models, too; pip install onnx onnxruntime")
    before = json.loads(CORPUS.read_text(encoding="utf-8"))["cases"] if CORPUS.exists() else {}
    now = {name: described(measure(case)) for name, case in CASES.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in now.items())
    about = f'"probe": "{probe()}",\n"onnxruntime": "{onnxruntime_version()}"'
    CORPUS.write_text(f'{{\n{about},\n"cases": {{\n{lines}\n}}\n}}\n', encoding="utf-8")
    for name in now | before:
        if now.get(name) != before.get(name):
            print("new" if name not in before else "gone" if name not in now else "changed", name)
    print(f"{len(now)} cases")


if __name__ == "__main__":
    main()
