"""A real browser for the pages: one Chromium per worker, which opens files and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--lang=en-US",
)
SECONDS = 20  # that a page may take for anything before a test gives up

# the page paints in the frame after a change, and in the one after that if its size has changed
FRAMES = """
let [left, done] = arguments;
const next = () => (left-- ? requestAnimationFrame(next) : done());
next();
"""


def _lacking(what: str) -> None:
    """Skip the tests, or let them fail where there has to be a browser."""
    (pytest.fail if os.environ.get("TRITREE_NEEDS_BROWSER") else pytest.skip)(what)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """Return a headless browser, the same one for all tests of a worker."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        _lacking(f"needs a browser on PATH: {', '.join(BROWSERS)}")
    chromedriver = shutil.which("chromedriver")
    if chromedriver is None:
        _lacking("needs chromedriver on PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
    # with a path given, selenium looks for no driver elsewhere
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    chrome.set_page_load_timeout(SECONDS)
    chrome.set_script_timeout(SECONDS)
    yield chrome
    chrome.quit()


@pytest.fixture
def open_page(driver: Any, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Return how to open a page, from its source or from a tree; what it logs as an error fails the test."""
    opened: list[Page] = []

    def close() -> None:
        driver.switch_to.default_content()
        assert not opened or opened[-1].errors() == []

    def open_it(
        page: Any, *, width: int = 1000, height: int = 700, dark: bool = False, **options: Any
    ) -> Page:
        close()
        place = tmp_path / f"page{len(opened)}.html"
        if isinstance(page, str):
            place.write_text(page, encoding="utf-8")
        else:
            page.to_html(place, **options)
        opened.append(Page(driver, place.as_uri()))
        opened[-1].resize(width, height)
        opened[-1].emulate(dark=dark)
        opened[-1].load()
        return opened[-1]

    yield open_it
    close()


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """Return the folder for screenshots: one to keep, if TRITREE_SCREENSHOTS names it."""
    place = Path(os.environ.get("TRITREE_SCREENSHOTS", tmp_path))
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(scope="session")
def small_tree() -> tuple[Any, Any]:
    """Return a tree of numbers and categories with every branch, and the first rows of its table."""
    import numpy as np
    import pandas as pd

    from tritree import TrinaryTreeRegressor

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["height", "width", "depth"])
    table["colour"] = rng.choice(["red", "green", "blue"], 400)
    target = 2 * table["height"] + table["width"] + 1.5 * (table["colour"] == "red")
    tree = TrinaryTreeRegressor(max_depth=3, min_samples_leaf=5).fit(table, target)
    return tree.grow_all(), table.head(5)


@pytest.fixture(scope="session")
def small_source(small_tree: tuple[Any, Any]) -> str:
    """Return the page of that tree and those rows."""
    tree, rows = small_tree
    source: str = tree.to_html(rows=rows)
    return source


@pytest.fixture
def page(open_page: Callable[..., Page], small_source: str) -> Page:
    """Return the page of the small tree, opened."""
    return open_page(small_source)


class Page:
    """A page in the browser, by what a reader can see of it and do with it."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver = driver
        self.url = url
        self.known: dict[str, Any] | None = None
        self.expected: tuple[str, ...] = ()  # parts of errors that a test has brought about itself

    # the window

    def load(self) -> None:
        """Open the page, with nothing of those before it left in the logs."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(self.url)
        self.settle(2)

    def wait_for(self, what: str, is_there: Callable[[], Any]) -> None:
        """Wait until something is in the page; fail after a while, and say what."""
        end = time.monotonic() + SECONDS
        while not is_there():
            assert time.monotonic() < end, f"no {what} after {SECONDS} seconds"
            self.settle()

    def resize(self, width: int, height: int) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700},
        )

    def emulate(self, *, dark: bool = False, media: str = "") -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})

    def command(self, name: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a command of the DevTools protocol."""
        found: dict[str, Any] = self.driver.execute_cdp_cmd(name, options or {})
        return found

    def settle(self, frames: int = 1) -> None:
        """Wait until the page has painted."""
        self.driver.execute_async_script(FRAMES, frames)

    def errors(self) -> list[str]:
        """Return what the page has logged as errors."""
        severe = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in severe if not any(part in message for part in self.expected)]

    def requests(self) -> list[str]:
        """Return the addresses that were requested since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    # looking

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def text(self, selector: str) -> str:
        """Return the text of an element as it is in the document."""
        content: str = self.run("return document.querySelector(arguments[0]).textContent", selector)
        return content

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((element) => element.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def value(self) -> list[float]:
        """Return what the row is predicted: one number, or the probabilities of the classes."""
        return [float(number) for number in json.loads(self.one("#prediction").get_attribute("data-value"))]

    def data(self) -> dict[str, Any]:
        """Return the data of the page."""
        if self.known is None:
            self.known = json.loads(self.text("#data"))
        return self.known

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes of the page."""
        nodes: list[dict[str, Any]] = self.data()["nodes"]
        return nodes

    def third(self, number: int = 0) -> Any:
        """Return the third branch of a node."""
        return self.nodes()[number]["third"]

    def is_on_path(self, key: int | str) -> bool:
        """Return whether a node is on the path of the row."""
        return "on" in self.node(key).get_attribute("class").split()

    def off_path(self) -> int:
        """Return the child of the root that the row does not go to; it has children itself."""
        children: list[int] = [self.nodes()[0][side] for side in ("left", "right")]
        return next(child for child in children if not self.is_on_path(child))

    def shown(self) -> set[str]:
        """Return the keys of the nodes in the document: those in sight."""
        return set(self.run("return [...document.querySelectorAll('g.node')].map((g) => g.dataset.key)"))

    def node(self, key: int | str) -> Any:
        return self.one(f'g.node[data-key="{key}"]')

    def focused(self) -> str | None:
        """Return the key of the node that has the focus."""
        key: str | None = self.run("return document.activeElement?.dataset?.key")
        return key

    def view(self) -> tuple[float, float, float]:
        """Return where the tree has been moved to, and its scale."""
        x, y, scale = self.run(
            "const m = document.getElementById('world').transform.baseVal.consolidate().matrix; return [m.e, m.f, m.a]"
        )
        return x, y, scale

    # doing

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.settle()

    def click(self, element: Any, *, twice: bool = False) -> None:
        """Click on an element, or on the first one that a selector finds, with the mouse."""
        from selenium.webdriver import ActionChains

        element = self.one(element) if isinstance(element, str) else element
        mouse = ActionChains(self.driver, duration=0)
        (mouse.double_click if twice else mouse.click)(element).perform()
        self.settle()

    def click_box(self, key: int | str, *, twice: bool = False) -> None:
        """Click on the box of a node."""
        self.click(self.one(f'g.node[data-key="{key}"] rect.box'), twice=twice)

    def drag(self, element: Any, x: int, y: int) -> None:
        from selenium.webdriver import ActionChains

        mouse = ActionChains(self.driver, duration=0).move_to_element(element).click_and_hold()
        for _ in range(4):
            mouse = mouse.move_by_offset(x // 4, y // 4)
        mouse.release().perform()
        self.settle()

    def search(self, wanted: str, times: int = 1) -> None:
        """Search for something, and go to what is found so many times."""
        from selenium.webdriver import Keys

        field = self.one("#search")
        field.clear()
        # as a text is pasted: a driver cannot type every character there is
        self.run(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', { bubbles: true }))",
            field,
            wanted,
        )
        field.send_keys(*[Keys.ENTER] * times)
        self.settle()

    def focus_tree(self) -> None:
        """Put the focus into the tree as the tab key does."""
        self.run("document.querySelector('g.node[tabindex=\"0\"]').focus()")

    def cell(self, column: int) -> Any:
        """Return the cell of a column in the panel."""
        return self.one(f'.cell[data-column="{column}"]')

    def open_unused(self) -> None:
        """Show the inputs of the columns that the tree does not use, if there are any."""
        self.run("document.getElementById('unused').open = true")
        self.settle()

    def screenshot(self, place: Path) -> None:
        self.settle(2)
        self.driver.save_screenshot(str(place))
