"""Search in a browser: with Pagefind's index of the whole text, and without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from denpex_kb.hub.build import Request, build_site
from denpex_kb.hub.config import SiteConfig
from denpex_kb.hub.search import has_pagefind
from denpex_kb.index.places import public_sources
from tests.conftest import CENTRAL

from .browsing import expect, in_browser, served, watched

pytestmark = in_browser


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, _own_cache: None) -> Iterator[str]:
    """Build and serve the public site with its index."""
    if not has_pagefind():
        pytest.skip("Pagefind is not installed")
    output: Path = tmp_path_factory.mktemp("indexed") / "site"
    sources = public_sources()
    report = build_site(Request(output, sources.kb, sources.catalogs, SiteConfig()))
    assert report.search == "search: indexed with Pagefind"
    with served(output) as address:
        yield address


@pytest.fixture
def found(browser: Any, indexed: str) -> Iterator[Any]:
    """Open a page of the indexed site."""
    with watched(browser, (indexed,)) as opened:
        yield opened


def first(page: Any, count: int = 3) -> list[str]:
    """Return the ids of the first results."""
    links = page.eval_on_selector_all(".found a", "items => items.map((item) => item.href)")
    return [link.split("/e/")[1].split("/")[0] for link in links[:count]]


def search(page: Any, address: str, text: str, **filters: str) -> None:
    """Open the search page as a link would, and wait for the results of the whole text."""
    chosen = "".join(f"&{name}={value}" for name, value in filters.items())
    page.goto(f"{address}/search/index.html?q={quote(text)}{chosen}")
    expect(page.locator(".count")).to_have_attribute("data-searched", "text")  # titles come before it


def test_search_keeps_its_state_in_the_address(page: Any, address: str) -> None:
    """Words and filters are in the address, and the address gives them back."""
    page.goto(f"{address}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("zero3 mixtral")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/**")
    best = page.locator(".found li:first-child a")
    expect(best).to_be_visible()
    page.select_option("#f-kind", "hang")
    expect(page).to_have_url(re.compile(r"\?q=zero3\+mixtral&kind=hang$"))
    expect(best).to_have_attribute("href", re.compile(CENTRAL))
    page.reload()
    expect(best).to_have_attribute("href", re.compile(CENTRAL))
    expect(page.locator("#q")).to_have_value("zero3 mixtral")
    expect(page.locator("#f-kind")).to_have_value("hang")
    page.fill("#q", "no such words anywhere xqzv")
    expect(page.locator(".found li")).to_have_count(0)
    expect(page.locator(".count")).to_contain_text("0 entries")
    expect(page.locator(".nothing")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "value"), [("hub", "deepspeed"), ("phase", "forward"), ("kind", "hang"), ("framework", "transformers")]
)
def test_each_filter_holds_alone_and_is_in_the_address(page: Any, address: str, name: str, value: str) -> None:
    """A filter without words lists what has it, and nothing else."""
    page.goto(f"{address}/search/index.html")
    page.select_option(f"#f-{name}", value)
    expect(page).to_have_url(re.compile(rf"\?{name}={value}$"))
    expect(page.locator(".found li").first).to_be_visible()
    values = page.eval_on_selector_all(".found li", f"items => items.map((item) => item.dataset.{name})")
    assert values
    assert all(value in held.split() for held in values)


def test_words_of_the_text_are_found_and_marked(found: Any, indexed: str) -> None:
    """Words of the body are found, what matches is shown with marks, and filters hold."""
    search(found, indexed, "set_z3_leaf_modules", hub="deepspeed")
    assert CENTRAL in first(found)
    expect(found.locator(".found mark").first).to_contain_text("leaf")
    hubs = found.eval_on_selector_all(".found li", "items => items.map((item) => item.dataset.hub)")
    assert set(hubs) == {"deepspeed"}


@pytest.mark.parametrize(
    ("message", "entry"),
    [
        ("[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
         "dist-tcpstore-address-in-use"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "cuda-illegal-memory-access"),
        ("mat1 and mat2 shapes cannot be multiplied (8x768 and 512x10)", "numerics-matmul-shape-mismatch"),
        ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
         "numerics-element0-no-grad"),
        ("watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, Timeout(ms)=600000)",
         "dist-nccl-watchdog-timeout"),
    ],
)  # fmt: skip
def test_a_message_is_found_with_its_signs_and_numbers(found: Any, indexed: str, message: str, entry: str) -> None:
    """Brackets, colons and numbers of another run do not stand in the way."""
    search(found, indexed, message)
    assert entry in first(found)
