"""Write interactive pages of boosting and of a tree: change the values of a row, and watch its prediction.

Run it with ``python examples/interactive_page.py [folder]``; it writes ``what_if.html`` and ``tree.html`` to that
folder and, if Chromium is installed, screenshots, ``what_if.png`` and ``page.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from tritree import TrinaryBoostingRegressor, TrinaryTreeRegressor

NAMES = {"s5": "log triglycerides", "s6": "blood sugar", "bp": "blood pressure"}


def main() -> None:
    """Write the pages."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[["age", "sex", "bmi", "bp", "s5", "s6"]].rename(columns=NAMES)
    X["sex"] = X["sex"].map({1.0: "female", 2.0: "male"})
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)

    boosting = TrinaryBoostingRegressor(learning_rate=0.05, random_state=0).fit(X, y)
    boosting.to_html(folder / "what_if.html", rows=X.head(20))
    tree = TrinaryTreeRegressor(max_depth=3).fit(X, y)
    tree.to_html(folder / "tree.html", rows=X.head(20))
    for page, picture in {"what_if.html": "what_if.png", "tree.html": "page.png"}.items():
        print(folder / page)
        if screenshot((folder / page).resolve(), folder / picture):
            print(folder / picture)


def screenshot(page: Path, picture: Path) -> bool:
    """Save a screenshot of the page; return False if no browser is installed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return False
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=1280,760",
    ]
    command = [browser, *options, "--virtual-time-budget=2000", f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return True


if __name__ == "__main__":
    main()
