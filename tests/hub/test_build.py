"""Building: incremental, deterministic, careful with what is already there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from denpex_kb.errors import CatalogError
from denpex_kb.hub.config import load_config

from .conftest import Build


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_second_build_touches_nothing(build: Build, tmp_path: Path) -> None:
    """Where nothing changed, no file is written."""
    first = build()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*") if path.is_file()}
    second = build()
    assert first.pages.written > 10
    assert second.pages.written == second.pages.rendered == 0
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_two_builds_are_equal_byte_for_byte(build: Build, tmp_path: Path) -> None:
    """The same sources give the same site."""
    build(tmp_path / "one")
    build(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_incremental_build_equals_a_fresh_one(build: Build, tmp_path: Path, private: Path) -> None:
    """After a change the site is what a build from nothing gives, and only what it touches is written."""
    path = private / "deepspeed" / "our-xyzzy-fails.md"
    text = path.read_text(encoding="utf-8")
    (private / "deepspeed" / "our-other.md").write_text(
        text.replace("our-xyzzy-fails", "our-other").replace("xyzzy", "other"), encoding="utf-8"
    )
    build(tmp_path / "one")
    path.write_text(text.replace("Nobody said plugh.", "Nobody said it."), encoding="utf-8")
    report = build(tmp_path / "one")
    build(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert set(report.pages.paths) == {"e/our-xyzzy-fails/index.html", "e/our-xyzzy-fails/index.md"}


def test_a_removed_entry_takes_its_page_along(build: Build, tmp_path: Path, private: Path) -> None:
    """Pages whose entry is gone are removed, other files of the folder stay."""
    path = private / "deepspeed" / "our-xyzzy-fails.md"
    (private / "deepspeed" / "our-other.md").write_text(
        path.read_text(encoding="utf-8").replace("our-xyzzy-fails", "our-other"), encoding="utf-8"
    )
    build()
    (tmp_path / "site" / "CNAME").write_text("kb.example.org", encoding="utf-8")
    path.unlink()
    build()
    assert not (tmp_path / "site" / "e" / "our-xyzzy-fails").exists()
    assert (tmp_path / "site" / "e" / "our-other" / "index.html").exists()
    assert (tmp_path / "site" / "CNAME").exists()


def test_a_folder_of_something_else_is_left_alone(build: Build, tmp_path: Path) -> None:
    """A folder with files that no build made is refused."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(CatalogError, match="no build made"):
        build(tmp_path / "home")


def test_a_broken_entry_is_reported_and_left_out(build: Build, private: Path) -> None:
    """The rest of the site is built."""
    (private / "deepspeed" / "broken.md").write_text("---\nid: broken\n---\n", encoding="utf-8")
    report = build()
    assert report.entries == 1
    assert "broken.md" in report.findings[0]


def test_a_site_has_its_own_name_logo_and_notice(build: Build, tmp_path: Path) -> None:
    """A private catalog's site carries what its config says."""
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>', encoding="utf-8")
    file = tmp_path / "site.toml"
    file.write_text('name = "Cluster notes"\nlogo = "logo.svg"\nnotice = "internal"\n', encoding="utf-8")
    config = load_config(file)
    build(name=config.name, logo=config.logo, notice=config.notice)
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "Cluster notes" in page
    assert "static/logo.svg" in page
    assert '<p class="notice">internal</p>' in page
    assert (tmp_path / "site" / "static" / "logo.svg").read_bytes() == logo.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 3", "Expected `str`"),
        ('colour = "red"', "unknown field"),
        ('base_url = "javascript:alert(1)"', "must be an address"),
        ('logo = "missing.svg"', "logo must name"),
        ("name = ", "Invalid value"),
    ],
)
def test_a_wrong_config_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    """Each fault names the file and the setting."""
    file = tmp_path / "site.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=message):
        load_config(file)


def test_without_an_address_there_is_neither_sitemap_nor_canonical_link(tmp_path: Path, build: Build) -> None:
    """What needs an absolute address is left out where none is known."""
    build(base_url="")
    assert not (tmp_path / "site" / "sitemap.xml").exists()
    assert 'rel="canonical"' not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
