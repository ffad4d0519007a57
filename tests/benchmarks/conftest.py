"""The benchmarks are a package at the root of the project, which only ``python -m pytest`` puts on the path."""

from __future__ import annotations

import sys

from data_paths import PROJECT

if str(PROJECT) not in sys.path:
    sys.path.append(str(PROJECT))
