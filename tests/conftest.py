"""Hypothesis profiles, and the import path of test helpers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# test helpers and reference implementations are importable in every import mode
sys.path.insert(0, str(Path(__file__).parent))

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=30, deadline=None, suppress_health_check=QUIET)
settings.register_profile("thorough", max_examples=500, deadline=None, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
