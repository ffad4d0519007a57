"""A tree that grows on demand gives the memory back that it does not need any more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from tritree import TrinaryTreeRegressor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
X = rng.normal(size=(300_000, 12))
tree = TrinaryTreeRegressor(max_depth=6, max_bins=255).fit(X, X @ np.linspace(2, 0.1, 12) + rng.normal(size=300_000))
rows = X[:20_000].copy()
rows[rng.random(rows.shape) < 0.3] = np.nan
before = peak()
tree.predict(rows)
print(tree.n_grown_, peak() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is asked for in the way of Unix")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer keeps what is freed")
def test_rows_of_thousands_of_nodes_do_not_stay_in_memory():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    grown, more = map(int, run.stdout.split())
    assert grown > 5_000
    assert more < 250e6  # the rows of all nodes that were grown are 400 MB
