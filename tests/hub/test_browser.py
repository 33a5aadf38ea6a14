"""The site in a browser: `pytest -m browser` with Playwright for Python and a chromium on the path."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHROMIUM

CENTRAL = "deepspeed-moe-zero3-leaf-modules"
PAGES = (
    "index.html",
    "hub/index.html",
    "hub/deepspeed/index.html",
    "hub/deepspeed/forward/index.html",
    f"e/{CENTRAL}/index.html",
    "e/cuda-oom-logits-fp32-vocab/index.html",
    "kind/index.html",
    "framework/torch/index.html",
    "message/index.html",
    "tag/index.html",
    "search/index.html?q=nccl",
    "paste/index.html",
    "about/index.html",
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the standard library's)
        """Stay quiet."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site as any static host would."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """Open a page that fails the test on an error or a request to elsewhere."""
    context = browser.new_context()
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
    opened.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "file:", "blob:", "data:")) else faults.append(request.url)
        ),
    )
    yield opened
    context.close()
    assert faults == []


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(browser: Any, address: str, path: str, scheme: str) -> None:
    """axe finds nothing to complain about, in both colours."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    opened = context.new_page()
    opened.goto(f"{address}/{path}")
    opened.wait_for_timeout(200)
    found = axe.Axe().run(opened).response["violations"]
    context.close()
    assert [(item["id"], item["nodes"][0]["html"][:120]) for item in found] == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_phone(page: Any, address: str, path: str) -> None:
    """Nothing but what scrolls by itself is wider than 360 pixels."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{address}/{path}")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_ticks_are_remembered(page: Any, address: str) -> None:
    """A ticked box is ticked after a reload, and Clear clears it."""
    page.goto(f"{address}/e/{CENTRAL}/index.html")
    page.check("#box-2")
    page.reload()
    assert page.is_checked("#box-2")
    assert not page.is_checked("#box-1")
    page.click(".reset")
    page.reload()
    assert not page.is_checked("#box-2")


def test_colours_are_remembered_and_set_before_the_first_paint(page: Any, address: str) -> None:
    """The button goes through system, dark and light, and the choice holds on the next page."""
    page.goto(f"{address}/index.html")
    page.click(".theme")
    page.goto(f"{address}/hub/index.html", wait_until="commit")
    page.wait_for_selector("h1")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"


def test_code_is_copied(browser: Any, address: str) -> None:
    """The button puts the code, and nothing else, on the clipboard."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    opened.click("#fix-1 .copy")
    text = opened.evaluate("navigator.clipboard.readText()")
    context.close()
    assert text.startswith("from deepspeed.utils import set_z3_leaf_modules\n")
    assert "Copy" not in text


def test_search_keeps_its_state_in_the_address(page: Any, address: str) -> None:
    """Words and filters are in the address, and the address gives them back."""
    page.goto(f"{address}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("zero3 mixtral")
    page.keyboard.press("Enter")
    page.wait_for_selector(".found li")
    page.select_option("#f-kind", "hang")
    page.wait_for_function("location.search.includes('kind=hang')")
    assert "q=zero3+mixtral" in page.url
    assert CENTRAL in page.get_attribute(".found li:first-child a", "href")
    page.reload()
    page.wait_for_selector(".found li")
    assert page.input_value("#q") == "zero3 mixtral"
    assert page.input_value("#f-kind") == "hang"
    page.fill("#q", "no such words anywhere xqzv")
    page.wait_for_function("document.querySelectorAll('.found li').length === 0")
    assert "0 entries" in page.inner_text(".count")


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_log_is_read_in_the_browser(page: Any, address: str, site: Path, scheme: str) -> None:
    """The example is answered, from a server as from a folder, with links to its entry."""
    page.goto(f"{address}/paste/index.html" if scheme == "http" else (site / "paste/index.html").as_uri())
    page.click(".example")
    page.wait_for_selector(".verdict h2 a")
    assert "/e/" in page.get_attribute(".verdict h2 a", "href")
    assert page.locator(".proof li").count() >= 1
    page.click(".verdict h2 a")
    assert page.locator("h1").count() == 1


def test_the_page_that_reads_logs_cannot_send_anything(browser: Any, address: str) -> None:
    """Neither the page nor its worker can make a request: the policy holds for both."""
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(f"{address}/paste/index.html")
    send = f"fetch('{address}/index.html').then(() => 'sent', () => 'blocked')"
    assert opened.evaluate(send) == "blocked"
    worker = f"""new Promise((done) => {{
      const source = "fetch('{address}/index.html').then(() => postMessage('sent'), () => postMessage('blocked'))";
      const made = new Worker(URL.createObjectURL(new Blob([source], {{type: 'text/javascript'}})));
      made.onmessage = (event) => done(event.data);
    }})"""
    assert opened.evaluate(worker) == "blocked"
    context.close()


def test_a_large_file_leaves_the_page_responsive(page: Any, address: str, tmp_path: Path) -> None:
    """While 50 MB are read the page goes on drawing, and shows how far it is."""
    log = tmp_path / "large.log"
    with log.open("w", encoding="utf-8") as stream:
        for step in range(500_000):
            stream.write(f"[rank{step % 8}]: step {step} loss 2.3 lr 1e-4 tokens/s 1234 grad_norm 0.41 {'.' * 40}\n")
        stream.write("[rank3]: RuntimeError: CUDA error: device-side assert triggered\n")
    page.goto(f"{address}/paste/index.html")
    page.evaluate(
        "() => { window.longest = 0; let last = performance.now(); const look = () => { const now = performance.now();"
        " window.longest = Math.max(window.longest, now - last); last = now; setTimeout(look, 5); }; look(); }"
    )
    page.set_input_files("#file", str(log))
    shares = set()
    while page.is_hidden(".result"):
        shares.add(page.evaluate("document.querySelector('progress').value"))
        page.wait_for_timeout(50)
    assert len(shares) > 3
    assert "500,001 lines" in page.inner_text(".status")
    assert page.evaluate("window.longest") < 1000


def test_reading_needs_no_script(browser: Any, address: str) -> None:
    """Without scripts the entry is whole: variants open by themselves, nothing that needs a script is shown."""
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    assert opened.is_visible("#fix-1 pre")
    opened.click("#fix-2 summary")
    assert opened.is_visible("#fix-2 .v-body")
    assert not opened.is_visible(".copy >> nth=0")
    assert not opened.is_visible(".theme")
    opened.goto(f"{address}/search/index.html")
    assert opened.locator(".rows.all li").count() > 100
    context.close()


def test_printing_shows_every_variant(browser: Any, address: str) -> None:
    """On paper all variants are open and the navigation is gone."""
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.is_visible("#fix-2 .v-body")
    assert not opened.is_visible(".top")
    context.close()


def test_pagefind_finds_words_of_the_text(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where Pagefind is installed, words of the body are found and marked, and filters hold."""
    from denpex_kb.hub.build import Request, build_site
    from denpex_kb.hub.config import SiteConfig
    from denpex_kb.hub.search import has_pagefind
    from denpex_kb.index.places import public_sources

    if not has_pagefind():
        pytest.skip("Pagefind is not installed")
    output = tmp_path_factory.mktemp("indexed") / "site"
    sources = public_sources()
    report = build_site(Request(output, sources.kb, sources.catalogs, SiteConfig()))
    assert report.search == "search: indexed with Pagefind"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(output)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        opened = browser.new_page()
        opened.goto(
            f"http://127.0.0.1:{server.server_address[1]}/search/index.html?q=set_z3_leaf_modules&hub=deepspeed"
        )
        opened.wait_for_selector(".found mark", timeout=10_000)
        links = opened.eval_on_selector_all(".found a", "items => items.map((item) => item.href)")
        assert any(CENTRAL in link for link in links)
        opened.close()
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
