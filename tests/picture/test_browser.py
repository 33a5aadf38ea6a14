"""The report in a browser: `pytest -m browser` with Playwright for Python and a chromium on the path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.pipeline.excerpts import read_excerpts
from denpex_kb.render.picture.page import diagnosis_page
from tests.conftest import CHROMIUM
from tests.picture.jobs import mismatch_job, oom_job, written

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", params=["oom", "mismatch", "stacks"])
def report(request: pytest.FixtureRequest, kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    path = Path(__file__).parents[1] / "corpus" / "dev" / "inputs" / "moe-z3-hang-mixtral-pyspy"
    if request.param == "oom":
        path = written(folder, oom_job(64, 5))
    elif request.param == "mismatch":
        path = written(folder, mismatch_job(16, 9))
    page = diagnosis_page(kb.diagnose(path), lambda places: read_excerpts(places, [path]))
    return written(folder, page, "report.html")


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_as_wide_as_the_window(browser: Any, report: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(report.as_uri())

    found = axe.Axe().run(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    context.close()

    assert found.violations_count == 0, found.generate_report()
    assert wide <= width


def test_it_asks_nobody_and_its_policy_stops_nothing_of_its_own(browser: Any, report: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text))
    page.on("request", lambda request: None if request.url.startswith("file:") else faults.append(request.url))
    page.goto(report.as_uri())
    page.locator(".ln-svg a, .marks a").first.click()
    target = page.wait_for_function("document.querySelector(':target')?.id").json_value()
    context.close()

    assert faults == []
    assert target.startswith("q")
