"""The site's pages in a browser: `pytest -m browser` with Playwright for Python and a chromium on the path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CENTRAL

from .browsing import expect, in_browser, served, watched
from .conftest import Build
from .test_hostile import EVIL, make_hostile

PAGES = (  # one of every template, and of every kind of list
    "index.html",
    "hub/index.html",
    "hub/deepspeed/index.html",
    "hub/deepspeed/forward/index.html",
    "hub/numerics/index.html",
    f"e/{CENTRAL}/index.html",
    "e/cuda-oom-logits-fp32-vocab/index.html",
    "e/dist-nccl-watchdog-timeout/index.html",
    "phase/forward/index.html",
    "kind/index.html",
    "category/distributed-training/index.html",
    "framework/torch/index.html",
    "message/index.html",
    "tag/index.html",
    "search/index.html?q=nccl",
    "search/index.html?q=xqzv",
    "paste/index.html",
    "about/index.html",
)
SET_UP = "#fix-2"  # of the central entry: a variant that one framework needs

pytestmark = in_browser


def settled(page: Any, path: str) -> None:
    """Wait until the page's script has done what it does by itself."""
    expect(page.locator("html")).to_have_class("js")
    if "?q=" in path:
        expect(page.locator(".rows.all")).to_be_hidden()
    if path.startswith("e/"):
        expect(page.locator(".script-only")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(browser: Any, address: str, path: str, scheme: str) -> None:
    """axe finds nothing to complain about, in both colours."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    opened = context.new_page()
    opened.goto(f"{address}/{path}")
    settled(opened, path)
    found = axe.Axe().run(opened).response["violations"]
    context.close()
    assert [(item["id"], item["nodes"][0]["html"][:120]) for item in found] == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_phone(page: Any, address: str, path: str) -> None:
    """Nothing but what scrolls by itself is wider than 360 pixels."""
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{address}/{path}")
    settled(page, path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("path", ["index.html", f"e/{CENTRAL}/index.html", "search/index.html", "paste/index.html"])
def test_pages_open_from_a_folder(page: Any, site: Path, path: str) -> None:
    """From file:// too a page opens without an error, with its style."""
    page.goto((site / path).as_uri())
    expect(page.locator("h1")).to_have_count(1)
    expect(page.locator("main")).not_to_have_css("max-width", "none")


def test_ticks_are_remembered(page: Any, address: str) -> None:
    """A ticked box is ticked after a reload, and Clear clears it."""
    page.goto(f"{address}/e/{CENTRAL}/index.html")
    page.check("#box-2")
    page.reload()
    expect(page.locator("#box-2")).to_be_checked()
    expect(page.locator("#box-1")).not_to_be_checked()
    page.click(".reset")
    expect(page.locator("#box-2")).not_to_be_checked()
    page.reload()
    expect(page.locator(".script-only")).to_be_visible()
    expect(page.locator("#box-2")).not_to_be_checked()


def test_colours_are_remembered_and_set_before_the_first_paint(page: Any, address: str) -> None:
    """The button goes through system, dark and light, and the choice holds on the next page."""
    page.goto(f"{address}/index.html")
    page.click(".theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.goto(f"{address}/hub/index.html", wait_until="commit")
    page.wait_for_selector("h1", state="attached")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"  # at once: before anything is drawn
    expect(page.locator("body")).to_have_css("background-color", "rgb(14, 18, 23)")


def test_dark_needs_no_script(browser: Any, address: str) -> None:
    """The system's choice of colours is followed by the style sheet alone."""
    context = browser.new_context(color_scheme="dark", java_script_enabled=False)
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    expect(opened.locator("body")).to_have_css("background-color", "rgb(14, 18, 23)")
    context.close()


def test_code_is_copied(browser: Any, address: str) -> None:
    """The button puts the code, and nothing else, on the clipboard."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    opened.click("#fix-1 .copy")
    text = opened.wait_for_function("navigator.clipboard.readText()").json_value()
    context.close()
    assert text.startswith("from deepspeed.utils import set_z3_leaf_modules\n")
    assert "Copy" not in text


def test_a_tab_shows_the_fix_for_a_set_up_and_the_address_keeps_it(page: Any, address: str) -> None:
    """A framework's tab shows its variants alone; the address leads back to it."""
    page.goto(f"{address}/e/{CENTRAL}/index.html")
    tab = page.get_by_role("tab", name="LLaMA-Factory")
    first, second = page.locator("#fix-1 pre").first, page.locator(f"{SET_UP} h3")
    expect(first).to_be_visible()
    expect(second).to_be_hidden()
    tab.click()
    expect(second).to_be_visible()
    expect(first).to_be_hidden()
    expect(page).to_have_url(re.compile(f"{SET_UP}$"))
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(second).to_be_visible()


def test_the_chosen_set_up_holds_on_the_next_entry(page: Any, address: str) -> None:
    """Whoever chose Accelerate sees its variant first where there is one, and the first variant elsewhere."""
    page.goto(f"{address}/e/{CENTRAL}/index.html")
    page.get_by_role("tab", name="Accelerate").click()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Accelerate")
    page.goto(f"{address}/e/deepspeed-save-checkpoint-rank0-only-hang/index.html")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Accelerate")
    page.goto(f"{address}/e/dist-tcpstore-address-in-use/index.html")
    expect(page.get_by_role("tab").first).to_have_attribute("aria-selected", "true")


def test_the_keyboard_reaches_everything(page: Any, address: str) -> None:
    """From search over a result to the tabs and boxes of an entry, without a mouse; what has the focus is outlined."""
    page.goto(f"{address}/index.html")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("input:focus")).to_have_count(1)
    page.keyboard.type("leaf modules")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/**")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator(".found li a").first).to_be_visible()
    for _ in range(8):  # the filters, Clear, then the first result
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.found') !== null"):
            break
    expect(page.locator(".found a:focus")).to_have_css("outline-style", "solid")
    page.keyboard.press("Enter")
    page.wait_for_url("**/e/**")
    page.wait_for_selector("#variants.ready")
    page.locator("[role=tab]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-2")).to_be_focused()
    expect(page.locator("#tab-2")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    expect(page.locator("#tab-1")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#variants :focus")).to_have_count(1)
    page.locator("#box-1").focus()
    page.keyboard.press("Space")
    expect(page.locator("#box-1")).to_be_checked()


def test_reading_needs_no_script(browser: Any, address: str) -> None:
    """Without scripts the entry is whole: every variant is open, nothing that needs a script is shown."""
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(f"{address}/e/{CENTRAL}/index.html")
    variants = opened.locator(".variant")
    expect(variants.last).to_be_visible()
    assert variants.count() > 10
    assert all(variants.nth(index).is_visible() for index in range(variants.count()))
    for needs_script in ("[role=tablist]", ".copy", ".theme"):
        expect(opened.locator(needs_script).first).to_be_hidden()
    opened.goto(f"{address}/search/index.html")
    expect(opened.locator(".rows.all li").last).to_be_visible()
    assert opened.locator(".rows.all li").count() > 100
    context.close()


def test_printing_shows_every_variant(page: Any, address: str) -> None:
    """On paper all variants are open, the navigation is gone and the boxes are there to tick."""
    page.goto(f"{address}/e/{CENTRAL}/index.html")
    page.wait_for_selector("#variants.ready")
    page.emulate_media(media="print")
    for shown in (f"{SET_UP} h3", "#fix-1 pre", "#box-1"):
        expect(page.locator(shown).first).to_be_visible()
    for left_out in (".top", "[role=tablist]"):
        expect(page.locator(left_out).first).to_be_hidden()


def test_an_older_id_leads_to_the_entry(page: Any, address: str) -> None:
    """The page of an alias sends the browser on."""
    page.goto(f"{address}/e/deepspeed-moe-zero3-hang/index.html")
    page.wait_for_url(f"**/e/{CENTRAL}/index.html")


def test_a_hostile_entry_is_inert(browser: Any, build: Build, private: Path, tmp_path: Path) -> None:
    """Scripts and pictures in an entry's text do nothing, on any page that shows it."""
    make_hostile(private)
    build()
    with served(tmp_path / "site") as address, watched(browser, (address,)) as opened:
        for path in ("index.html", "e/our-xyzzy-fails/index.html", "hub/deepspeed/index.html", "tag/index.html"):
            opened.goto(f"{address}/{path}")
            settled(opened, path)
            expect(opened.locator("main img")).to_have_count(0)
        opened.goto(f"{address}/search/index.html?q={EVIL}")
        settled(opened, "search/?q=")
        expect(opened.locator("main img")).to_have_count(0)
