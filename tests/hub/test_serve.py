"""`denpex site`: built by the command, served on the loopback address, reloaded after a change."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb.hub.serve import make_server, watch

from ..conftest import Ran
from .conftest import Build


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def test_the_command_builds_a_private_site(run: Callable[..., Ran], private: Path, tmp_path: Path) -> None:
    """`site build` says what it did and where the site lies."""
    ran = run("site", "build", "--only", "--catalog", str(private), "--output", str(tmp_path / "out"), "--no-search")
    assert ran.status == 0
    assert ran.out.strip() == str(tmp_path / "out" / "index.html")
    assert "1 entries" in ran.err
    assert (tmp_path / "out" / "e" / "our-xyzzy-fails" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only",), "--only needs a --catalog"),
        (("--catalog", "/nowhere/at/all"), "no such folder"),
        (("--config", "/nowhere/site.toml"), "a site's config is a TOML file"),
    ],
)
def test_wrong_arguments_are_told(
    run: Callable[..., Ran], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Each is one line and exit status 2, never a traceback."""
    ran = run("site", "build", "--output", str(tmp_path / "out"), "--no-search", *arguments)
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_show_opens_the_page(run: Callable[..., Ran], private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show --open` opens the page of the site that DENPEX_SITE names, by id or by an older one."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DENPEX_SITE", "https://example.org/kb/")
    ran = run("show", "deepspeed-moe-zero3-hang", "--open")
    assert ran.status == 0
    assert opened == ["https://example.org/kb/e/deepspeed-moe-zero3-leaf-modules/"]
    assert ran.out.strip() == opened[0]


def test_a_change_reaches_the_browser(build: Build, tmp_path: Path, private: Path) -> None:
    """The server answers on 127.0.0.1, adds the reloading script, and tells of a build."""
    build()
    server, changes = make_server(tmp_path / "site", 0)
    host, port = server.server_address[:2]
    stop = threading.Event()
    threads = [
        threading.Thread(target=server.serve_forever, daemon=True),
        threading.Thread(target=watch, args=([private], lambda: build() and None, changes, stop), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        address = f"http://127.0.0.1:{port}"
        assert host == "127.0.0.1"
        assert "/__reload.js" in get(f"{address}/")
        assert "/__reload.js" not in get(f"{address}/paste/")
        before = get(f"{address}/__changed?since=")
        path = private / "deepspeed" / "our-xyzzy-fails.md"
        path.write_text(path.read_text(encoding="utf-8").replace("Nobody said plugh.", "Changed."), encoding="utf-8")
        assert get(f"{address}/__changed?since={before}") != before
        assert "Changed." in get(f"{address}/e/our-xyzzy-fails/")
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join(5)
