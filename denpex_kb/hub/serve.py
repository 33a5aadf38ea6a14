"""The site on this machine's loopback address, built again and reloaded when a source changes."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_PULSE = 0.7  # seconds between looks at the sources
_WAIT = 25.0  # seconds that a browser's question for changes is held
_SCRIPT = b'<script src="/__reload.js"></script></body>'
_RELOAD = b"""(async () => {
  for (let seen = null; ; ) {
    try {
      const answer = await (await fetch(`/__changed?since=${seen ?? ""}`)).text();
      if (seen !== null && answer !== seen) location.reload();
      seen = answer;
    } catch {
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
})();
"""


class Changes:
    """Counts the builds, and lets browsers wait for the next one."""

    def __init__(self) -> None:
        """Begin with the first build."""
        self._count = 1
        self._bell = threading.Condition()

    def ring(self) -> None:
        """Announce a build."""
        with self._bell:
            self._count += 1
            self._bell.notify_all()

    def wait(self, since: str, seconds: float = _WAIT) -> str:
        """Return the number of the current build, at once where it is another than `since`."""
        with self._bell:
            if str(self._count) == since:
                self._bell.wait(seconds)
            return str(self._count)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the output folder; pages get a script that reloads them."""

    changes: Changes

    def do_GET(self) -> None:
        """Answer a request."""
        if self.path == "/__reload.js":
            self._send(_RELOAD, "text/javascript")
        elif self.path.startswith("/__changed"):
            self._send(self.changes.wait(self.path.partition("since=")[2]).encode(), "text/plain")
        elif self.path.split("?")[0].endswith(("/", ".html")) and (page := self._page()) is not None:
            self._send(page, "text/html; charset=utf-8")
        else:
            super().do_GET()

    def _page(self) -> bytes | None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return None
        data = path.read_bytes()
        if b"connect-src 'none'" in data:  # the page that reads logs asks for nothing, not even here
            return data
        return data.replace(b"</body>", _SCRIPT)

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the standard library's)
        """Stay quiet."""


def stamp(folders: Iterable[Path]) -> int:
    """Return a number that changes when a file below the folders does."""
    total = 0
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                status = path.stat()
                total += hash((str(path), status.st_mtime_ns, status.st_size))
    return total


def make_server(output: Path, port: int) -> tuple[http.server.ThreadingHTTPServer, Changes]:
    """Open the server on the loopback address; port 0 takes any free one."""
    changes = Changes()
    kind = type("BoundHandler", (Handler,), {"changes": changes})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(kind, directory=str(output)))
    server.daemon_threads = True
    return server, changes


def watch(folders: Iterable[Path], build: Callable[[], None], changes: Changes, stop: threading.Event) -> None:
    """Build again whenever a source changed, until told to stop."""
    held = list(folders)
    before = stamp(held)
    while not stop.wait(_PULSE):
        now = stamp(held)
        if now != before:
            time.sleep(0.1)  # an editor may still be writing
            before = stamp(held)
            build()
            changes.ring()
