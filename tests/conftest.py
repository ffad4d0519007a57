"""What all tests share: the Hypothesis profiles and the folders of the reference material."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(
    0, str(Path(__file__).parent)
)  # so that tests find twin.py and places.py in every import mode

from places import DATA, GOLDEN

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=30, deadline=None, suppress_health_check=QUIET)
settings.register_profile("thorough", max_examples=500, deadline=None, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def golden_folder() -> Path:
    """The folder of the worked cases."""
    if not GOLDEN.is_dir():
        pytest.skip(f"no worked cases at {GOLDEN}; set TRITREE_GOLDEN")
    return GOLDEN


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the data sets."""
    if not DATA.is_dir():
        pytest.skip(f"no data sets at {DATA}; set TRITREE_DATA")
    return DATA
