"""Bins on a scratch disk: the same models, nothing left on the disk, and errors instead of signals when it is full."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tritree import (
    TrinaryBoostingClassifier,
    TrinaryBoostingRegressor,
    TrinaryForestRegressor,
    TrinaryTreeClassifier,
    TrinaryTreeRegressor,
    _core,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no files without a name")

N = 2_000
SECONDS = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["text"] = rng.choice(["x", "y", None], N)
    frame["many"] = [f"t{i % 400}" for i in range(N)]  # bins of two bytes
    frame.loc[::7, "a"] = np.nan
    frame["y"] = frame.b + (frame.text == "x")
    return frame


ESTIMATORS = {
    "tree": TrinaryTreeRegressor(max_depth=4, max_bins=1_000),
    "tree of classes": TrinaryTreeClassifier(max_depth=4),
    "forest": TrinaryForestRegressor(n_estimators=3, random_state=0),
    "boosting": TrinaryBoostingRegressor(max_iter=3, random_state=0),
    "boosting of classes": TrinaryBoostingClassifier(max_iter=3, random_state=0, masked_copies=2),
    "boosting of fractions": TrinaryBoostingRegressor(max_iter=3, missing="fractional", random_state=0),
}


@pytest.mark.parametrize("narrow", [False, True], ids=["two bytes", "one byte"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_model_is_the_same(name, narrow, frame, tmp_path):
    estimator = ESTIMATORS[name]
    table = frame.drop(columns="many") if narrow else frame
    table = table.assign(y=table.y > 0) if hasattr(estimator, "predict_proba") else table
    parts = [table.iloc[:700], table.iloc[700:]]
    (tmp_path / "scratch").mkdir()
    contents = []
    for options in ({}, {"scratch": tmp_path / "scratch"}):
        estimator.fit(parts, "y", **options).predict(table.drop(columns="y"))
        estimator.save(tmp_path / "model")
        contents.append((tmp_path / "model").read_bytes())
    assert contents[0] == contents[1]
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_bins_are_in_a_file_as_long_as_the_model_has_them(tmp_path):
    n_rows, n_columns = 500_000, 20
    column = np.tile(np.arange(250.0), n_rows // 250)
    part = pd.DataFrame({f"x{j}": column for j in range(n_columns)}).assign(y=column)

    def mapped():
        lines = Path("/proc/self/maps").read_text().splitlines()
        spans = [line.split()[0].split("-") for line in lines if str(tmp_path) in line]
        return sum(int(end, 16) - int(begin, 16) for begin, end in spans)

    tree = TrinaryTreeRegressor(max_depth=1, max_bins=255).fit([part], "y", scratch=str(tmp_path))
    assert mapped() >= n_rows * n_columns
    del tree
    assert mapped() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_bins_are_not_in_anonymous_memory(tmp_path):
    program = """
import sys
from pathlib import Path
import numpy as np, pandas as pd
from tritree import TrinaryTreeRegressor
column = np.tile(np.arange(250.0), 2_000)
part = pd.DataFrame({f"x{j}": column for j in range(20)}).assign(y=column)
def anonymous():
    fields = Path("/proc/self/smaps_rollup").read_text().split("Anonymous:")[1]
    return int(fields.split()[0]) * 1024
def fit(scratch):
    before = anonymous()
    tree = TrinaryTreeRegressor(max_depth=1, max_bins=255, n_jobs=1).fit([part], "y", scratch=scratch)
    return anonymous() - before
fit(sys.argv[1])  # as warm-up
print(fit(sys.argv[1]), fit(None))
"""
    # large arrays are given back to the system when they are freed, so that they are not used again
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    on_disk, in_memory = map(int, found.stdout.split())
    assert in_memory - on_disk > 0.9 * 500_000 * 20


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("nosuch", "cannot create a file in the scratch folder '.*nosuch': No such file or directory"),
        ("file", "cannot create a file in the scratch folder '.*file': Not a directory; name another folder"),
    ],
)
def test_folder_is_checked_before_the_table_is_read(folder, message, tmp_path):
    (tmp_path / "file").touch()

    class Unread:
        columns_read = 0

        def __iter__(self):
            self.columns_read += 1
            yield pd.DataFrame({"x": [1.0], "y": [1.0]})

    table = Unread()
    with pytest.raises(OSError, match=message):
        TrinaryTreeRegressor().fit(table, "y", scratch=tmp_path / folder)
    assert table.columns_read == 1  # to find out what it is


def test_table_in_memory_needs_no_scratch(frame, tmp_path):
    with pytest.raises(
        ValueError, match="scratch is for tables that are read batch by batch, and X is in memory"
    ):
        TrinaryTreeRegressor().fit(frame[["a"]], frame.y, scratch=tmp_path)


TOO_LARGE = """
import resource, sys
import numpy as np, pandas as pd
from tritree import TrinaryBoostingRegressor
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
part = pd.DataFrame({f"x{j}": np.arange(100_000.0) for j in range(20)})
model = TrinaryBoostingRegressor(max_iter=1)
try:
    model.fit([part], "x0", scratch=sys.argv[1])
except OSError as error:
    print(error.errno, error.strerror)
    assert not hasattr(model, "n_trees_")
"""


def test_lack_of_room_is_an_error_with_the_bytes(tmp_path):
    done = subprocess.run([sys.executable, "-c", TOO_LARGE, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, _, message = done.stdout.partition(" ")
    assert int(code) == errno.EFBIG
    assert message.startswith(f"the scratch folder '{tmp_path}' has ")
    # 19 columns, and once more for the rows of boosting
    assert (
        "bytes free, and the binned table needs 3,800,000 bytes (File too large); free some, or name"
        in message
    )


def test_full_disk_is_an_error_and_no_signal(tmp_path):
    """A disk of a megabyte, where this user may mount one."""
    command = 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$0" -c "$2" "$1"'
    program = TOO_LARGE.replace("resource.setrlimit", "#")
    arguments = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command]
    try:
        done = subprocess.run(
            [*arguments, sys.executable, str(tmp_path), program], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "error" not in done.stderr and ("unshare:" in done.stderr or "mount:" in done.stderr):
        pytest.skip(f"no disk can be mounted: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"{errno.ENOSPC} the scratch folder '{tmp_path}' has 1,048,576 bytes free, and"
    )


KILLED = """
import sys, time
from pathlib import Path
import numpy as np, pandas as pd
from tritree import TrinaryBoostingRegressor

class Table:
    n_read = 0

    def __iter__(self):
        self.n_read += 1
        for number in range(3):
            if (self.n_read, number) == (3, 2):  # binning
                Path(sys.argv[2]).touch()
                time.sleep(60)
            yield pd.DataFrame({"x": np.arange(1e5) % 99, "y": np.arange(1e5)})

TrinaryBoostingRegressor().fit(Table(), "y", scratch=sys.argv[1])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_killed_fit(number, tmp_path):
    (scratch := tmp_path / "scratch").mkdir()
    arguments = [sys.executable, "-c", KILLED, str(scratch), str(tmp_path / "waiting")]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    until = time.monotonic() + SECONDS
    while not (tmp_path / "waiting").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    if sys.platform == "linux":
        assert f"{scratch}/" in Path(f"/proc/{process.pid}/maps").read_text()
    assert not list(scratch.iterdir())
    process.send_signal(number)
    assert process.wait(SECONDS) != 0
    assert not list(scratch.iterdir())


def test_reserved_room_is_used_and_given_back(tmp_path):
    scratch = _core.Scratch(str(tmp_path))
    bounds = [np.arange(3, dtype=np.uint64)] * 2
    n_files = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    binner = _core.TableBinner(1_000, bounds, [-1, -1], scratch, True)
    if sys.platform == "linux":  # the rows are reserved, the columns mapped
        assert len(list(Path("/proc/self/fd").iterdir())) == n_files + 1
    del binner, scratch
    if sys.platform == "linux":
        assert len(list(Path("/proc/self/fd").iterdir())) == n_files
