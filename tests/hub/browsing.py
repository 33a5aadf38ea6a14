"""Pages in a browser: what serves them, what must not happen on them, what marks their tests."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHROMIUM

PATIENCE = 30_000  # milliseconds that a page gets on a machine with much else to do

in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def expect(subject: Any, about: str = "") -> Any:
    """Wait until something holds of a page or an element: what a page does after a click takes its time."""
    api = pytest.importorskip("playwright.sync_api")
    api.expect.set_options(timeout=PATIENCE)
    return api.expect(subject, about or None)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the standard library's)
        """Stay quiet."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as any static host would; gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextmanager
def watched(browser: Any, allowed: tuple[str, ...], **options: Any) -> Iterator[Any]:
    """Open a page on which an error, a dialog or a request to elsewhere is a fault."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    faults: list[str] = []

    def refuse(dialog: Any) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
    opened.on("console", lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None)
    opened.on("dialog", refuse)
    opened.on(
        "request",
        lambda request: None if request.url.startswith((*allowed, "blob:", "data:")) else faults.append(request.url),
    )
    yield opened
    context.close()
    assert faults == []
