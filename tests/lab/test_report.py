"""The report is one file that shows what the tables say, fetches nothing and takes no text for markup."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import simulated
from lab.small_experiment import made, small

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from tritree.lab.ranks import curves, judge, mean_ranks, scenario_scores  # noqa: E402
from tritree.lab.report import render_report, write_report  # noqa: E402

EVIL = '</style></script><script>document.title = "broken into"</script><img src=x onerror="alert(1)"> ${title} $style'


class Elements(HTMLParser):
    """The elements of a page, with what attributes they have, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def page() -> str:
    table = simulated(8)
    table.attrs["about"] = {"protocol": "author", "depths": {"set 0": 3, "set 1": None}, "rates": [0.0, 0.1]}
    return render_report(table, title="Eight sets")


def pictures(page: str) -> list[str]:
    """Return the SVG of all pictures."""
    return [
        base64.b64decode(data).decode() for data in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)
    ]


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes long, for tests that are about text."""
    monkeypatch.setattr("tritree.lab.report.elements.picture", lambda draw, alt, caption: "")


def test_report_is_written_completely_and_its_path_returned(tmp_path: Path, without_pictures: None) -> None:
    table, path = simulated(1, scenarios=["mcar"]), tmp_path / "report.html"
    assert write_report(table, path) == path.resolve()
    assert path.read_text(encoding="utf-8") == render_report(table)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_unwritable_path_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .* to save the report in"):
        write_report(None, tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(None, tmp_path)


def test_failure_leaves_the_old_report(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="no column"):
        write_report(pd.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"


def test_same_results_give_the_same_page() -> None:
    table = simulated(2, scenarios=["mcar"])
    assert render_report(table) == render_report(table.sample(frac=1, random_state=0))


def test_numbers_on_the_page_are_those_of_the_tables(page: str) -> None:
    table = simulated(8)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    for point in curves(table).itertuples():
        assert f"{point.excess:z.3f}" in cells
    for line in mean_ranks(table).table.itertuples():
        assert f"{line.mean_rank:.2f}" in cells
    assert Elements(page).text.count("trinary ranks first") == 2


def test_cells_can_be_sorted_by_their_values(page: str) -> None:
    for cell in re.findall(r"<td[^>]*>[0-9.]+</td>", page):
        value, text = re.fullmatch(r'<td[^>]* data-value="([^"]+)">([^<]+)</td>', cell).groups()
        assert float(value) == pytest.approx(float(text), abs=0.5 * 10 ** -len(text.partition(".")[2]))


def test_configuration_and_versions_are_shown(page: str) -> None:
    text = Elements(page).text
    for said in (
        "protocolauthor",
        "set 03",
        "set 1none",
        "0.0, 0.1",
        "matplotlib" + __import__("matplotlib").__version__,
    ):
        assert said in text
    assert "8 data sets, 2 scenarios, 3 rates, 3 methods, 2 seeds, 3 folds" in text


def test_about_overrides_the_description_in_the_results(without_pictures: None) -> None:
    table = simulated(1, scenarios=["mcar"])
    table.attrs["about"] = {"who": "the results"}
    text = Elements(render_report(table, about={"who": "the caller"})).text
    assert "the caller" in text
    assert "the results" not in text
    assert "The run is not described." in render_report(simulated(1, scenarios=["mcar"]))


def test_every_picture_is_there_for_light_and_dark_wide_and_narrow(page: str) -> None:
    elements = Elements(page)
    assert len(elements.named("img")) == 2
    assert len(elements.named("source")) == 6
    assert all(image["alt"] for image in elements.named("img"))
    assert [("#14171b" in svg, "#ffffff" in svg) for svg in pictures(page)] == [
        (True, False), (False, True), (True, False), (False, True)
    ] * 2  # fmt: skip


def test_one_data_set_is_compared_instead_of_ranked(without_pictures: None) -> None:
    text = Elements(render_report(simulated(1, folds=10))).text
    assert "Use trinary: it is best, or not significantly worse than the best, in both scenarios." in text
    assert "corrected resampled t-test" in text
    assert "By rate" in text
    assert "Mean ranks" not in text


def test_report_of_an_unfinished_experiment_reports_the_omissions(without_pictures: None) -> None:
    table = simulated(3)
    begun = table[(table["dataset"] != "set 2") | (table["method"] != "mia") | (table["fold"] == 0)]
    text = Elements(render_report(begun)).text
    assert "losses are omitted because not all of their folds have been run" in text
    shared_nothing = table[(table["method"] == "mia") == (table["dataset"] == "set 0")]
    assert "No losses can be compared yet" in render_report(shared_nothing)


def test_results_without_rate_0_and_without_seconds_have_a_report(without_pictures: None) -> None:
    table = simulated(2, rates=[0.3]).drop(columns=["fit_seconds", "predict_seconds"])
    text = Elements(render_report(table)).text
    assert "have no loss at rate 0, and therefore no excess loss" in text
    assert "Time per fold" not in text


def test_style_of_the_user_does_not_leak_into_the_page_nor_the_pages_out_of_it() -> None:
    import matplotlib as mpl

    table = simulated(1, scenarios=["mcar"])
    plain = render_report(table)
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 30.0}):
        assert render_report(table) == plain
        assert mpl.rcParams["font.size"] == 30


# ------------------------------------------------------------------------------------------------------------- safety


@pytest.fixture(scope="module")
def evil_page() -> str:
    table = simulated(3, slopes={"trinary": 1.0, EVIL: 2.0, '"><i>': 3.0}, scenarios=[EVIL, "mcar"])
    table = table.replace({"dataset": {"set 1": EVIL}})
    about = {EVIL: {EVIL: [EVIL, np.float64(1.5)]}, "deep": {"a": {"b": {"c": {"d": {"e": {"f": EVIL}}}}}}}
    return render_report(table[table["fold"].ne(2) | table["rate"].lt(0.5)], title=EVIL, about=about)


def test_text_of_the_user_is_never_markup(evil_page: str) -> None:
    elements = Elements(evil_page)
    assert {name: len(elements.named(name)) for name in ("script", "style", "i", "b", "iframe")} == {
        "script": 1, "style": 1, "i": 0, "b": 0, "iframe": 0
    }  # fmt: skip
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in elements.named("img"))
    assert html.escape(EVIL) in evil_page
    assert "${title} $style" in elements.text


def test_pictures_hold_no_text_of_the_user_as_markup(evil_page: str) -> None:
    for svg in pictures(evil_page):
        assert "<script" not in re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
        assert "onerror" not in re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)


def test_policy_allows_the_one_script_and_the_one_style(page: str) -> None:
    policy = Elements(page).named("meta")[1]["content"]
    for kind in ("script", "style"):
        [content] = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_page_has_no_external_references(page: str) -> None:
    assert not re.search(r"https?://|@import|url\(|<link(?![^>]*data:,)", page)
    assert 'style="' not in page  # the policy would refuse it


# ------------------------------------------------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def browser() -> Any:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromedriver on PATH")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.set_page_load_timeout(30)
    yield chrome
    chrome.quit()


@pytest.mark.parametrize("width", [390, 1400])
def test_page_has_no_overflow_and_no_errors(browser: Any, tmp_path: Path, evil_page: str, width: int) -> None:
    path = tmp_path / "report.html"
    path.write_text(evil_page, encoding="utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    assert browser.title.startswith("</style>")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    images = "return [...document.images].map(image => image.naturalWidth > 100)"
    assert browser.execute_script(images) == [True, True]
    assert browser.get_log("browser") == []


def test_click_on_a_column_sorts_the_table_by_it(browser: Any, tmp_path: Path, page: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    browser.get(path.as_uri())
    click = "document.querySelector('table').tHead.rows[0].cells[3].querySelector('button').click()"
    read = "return [...document.querySelector('table').tBodies[0].rows].map(row => row.cells[0].textContent)"
    orders = [browser.execute_script(read)]
    for _ in range(2):
        browser.execute_script(click)
        orders.append(browser.execute_script(read))
    assert orders == [
        ["majority", "mia", "trinary"],
        ["trinary", "mia", "majority"],
        ["majority", "mia", "trinary"],
    ]


def test_unchanged_table_with_missing_values_of_its_own_has_conclusions() -> None:
    table = simulated(1)
    assert "unchanged" not in Elements(render_report(table)).text
    at_zero = table["rate"] == 0
    table.loc[at_zero, "loss"] *= table["method"].map({"majority": 1.0, "mia": 1.2, "trinary": 1.1})[at_zero]
    assert "Use majority: it is best, or not significantly worse than the best, on the unchanged table." in (
        Elements(render_report(table)).text
    )


def test_report_on_one_table_begins_with_the_verdict_and_the_metrics() -> None:
    results = small(datasets=made(task="classification"), methods=["mia", "trinary", "constant"]).run(1)
    text = Elements(render_report(results)).text
    scores = scenario_scores(results)
    assert text.index(judge(scores).text) < text.index("The table as it is") < text.index("Differences")
    for name in ("log loss", "AUC", "accuracy", "Brier score", "against the best", "baseline"):
        assert name in text
    assert "constant" not in text.partition("Differences")[2].partition("Time")[0]
