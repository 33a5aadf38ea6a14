"""The public catalog as a site, built once; and ways to make small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from denpex_kb.hub.build import Report, Request, build_site
from denpex_kb.hub.config import SiteConfig
from denpex_kb.index.places import public_sources

from .browsing import served, watched

BASE = "https://example.org/kb"

Build = Callable[..., Report]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, _own_cache: None) -> Path:
    """Build the public site without Pagefind."""
    output = tmp_path_factory.mktemp("site") / "output"
    sources = public_sources()
    config = SiteConfig(base_url=BASE, repository="https://example.org/source")
    build_site(Request(output, sources.kb, sources.catalogs, config, search=False))
    return output


@pytest.fixture
def build(tmp_path: Path, private: Path) -> Build:
    """Build a site of the private catalog alone."""

    def build_(output: Path | None = None, **settings: str) -> Report:
        config = SiteConfig(**{"base_url": BASE, **settings})
        return build_site(Request(output or tmp_path / "site", public_sources().kb, (private,), config, search=False))

    return build_


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the public site."""
    with served(site) as address_:
        yield address_


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """Open a page of the public site that fails the test on an error or a request to elsewhere."""
    with watched(browser, (address, "file:")) as opened:
        yield opened
