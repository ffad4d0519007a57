"""A tree frees memory that it no longer needs, and stays valid when memory runs out."""

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

OUT_OF_MEMORY = """
import resource
from pathlib import Path
import numpy as np
from tritree import TrinaryTreeRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(3_000, 12))
tree = TrinaryTreeRegressor(max_depth=4, min_samples_leaf=5, n_jobs=1).fit(X, X.sum(axis=1))
expected = tree.predict(X)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2_000_000, resource.RLIM_INFINITY))
try:
    tree.grow_all(400_000)
except MemoryError:
    print("ran out")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
arrays = tree._model.core.state(with_rows=False)["trees"]
print(len({len(arrays[name]) for name in ("column", "left", "third", "left_fraction", "depth", "rows", "value")}))
print(np.array_equal(tree.predict(X), expected))
"""

under_sanitizer = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer uses memory differently"
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc are used as on Linux")
@under_sanitizer
def test_tree_stays_valid_when_growth_runs_out_of_memory():
    run = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.split("\n")[:3] == ["ran out", "1", "True"]


@pytest.mark.skipif(sys.platform == "win32", reason="getrusage is not available on Windows")
@under_sanitizer
def test_row_indices_of_thousands_of_nodes_are_freed():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    grown, more = map(int, run.stdout.split())
    assert grown > 5_000
    assert more < 250e6  # the rows of all nodes that were grown are 400 MB
