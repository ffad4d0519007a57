"""Puts the root of the project, which holds the package of the benchmarks, on the import path."""

from __future__ import annotations

import sys

from data_paths import PROJECT

if str(PROJECT) not in sys.path:
    sys.path.append(str(PROJECT))
