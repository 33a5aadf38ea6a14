"""Take the README's pictures of a report and of the site.

python benchmarks/pictures.py [NAME…]   with Playwright, Pagefind and a chromium
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from denpex_kb import KnowledgeBase  # noqa: E402
from denpex_kb.hub.build import Request, build_site  # noqa: E402
from denpex_kb.hub.config import SiteConfig  # noqa: E402
from denpex_kb.hub.serve import make_server  # noqa: E402
from denpex_kb.index.places import public_sources  # noqa: E402
from denpex_kb.pipeline.excerpts import read_excerpts  # noqa: E402
from denpex_kb.render.picture.page import diagnosis_page  # noqa: E402

CENTRAL = "e/deepspeed-moe-zero3-leaf-modules/index.html"
REPORTED = ROOT / "tests/corpus/dev/inputs/scale-two-failures-64-srun"
WIDE, PHONE = (1280, 860), (390, 844)
SHRUNK_FROM = 1000  # width of a window, from which on its picture is made smaller
LARGEST = 60_000  # bytes of a picture
SHOTS = (  # name, page, window, colours, what to wait for, what to click first
    ("report", "report.html", (1064, 1330), "light", "h1", ""),
    ("home", "index.html", WIDE, "light", "h1", ""),
    ("hub", "hub/deepspeed/index.html", (1280, 940), "light", "h1", ""),
    ("entry", CENTRAL, (1280, 1400), "light", "#variants.ready", ""),
    ("entry-dark", CENTRAL, (1280, 1400), "dark", "#variants.ready", ""),
    ("entry-phone", CENTRAL, PHONE, "light", "#variants.ready", ""),
    ("search", "search/index.html?q=watchdog+timeout+allreduce", WIDE, "light", ".count[data-searched=text]", ""),
    ("paste", "paste/index.html", (1280, 1220), "light", ".verdict", ".example"),
)


def small(page: Any, wide: bool) -> bytes:
    """Take a picture as WebP, at the best quality that keeps it below the limit."""
    size = page.viewport_size
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 0.75 if wide else 1}
    session = page.context.new_cdp_session(page)
    for quality in range(90, 20, -10):
        shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality, "clip": clip})
        data = base64.b64decode(shot["data"])
        if len(data) <= LARGEST:
            return data
    raise SystemExit(f"{page.url}: the picture stays above {LARGEST} bytes")


def report() -> str:
    """Return what `denpex diagnose --html` writes of a job in which two ranks failed on their own."""
    return diagnosis_page(KnowledgeBase.open().diagnose(REPORTED), lambda places: read_excerpts(places, [REPORTED]))


def main() -> None:
    """Build the public site and a report, look at their pages and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(shot[0] for shot in SHOTS))
    parser.add_argument("--output", type=Path, default=ROOT / "site" / "pictures")
    parser.add_argument("--png", action="store_true", help="PNG of full size, to look at")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    sources = public_sources()
    with tempfile.TemporaryDirectory(prefix="denpex-pictures-") as folder, sync_playwright() as playwright:
        build_site(Request(Path(folder) / "site", sources.kb, sources.catalogs, SiteConfig()))
        (Path(folder) / "site/report.html").write_text(report(), encoding="utf-8")
        server, _ = make_server(Path(folder) / "site", 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        browser: Any = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        wanted = [shot for shot in SHOTS if not arguments.names or shot[0] in arguments.names]
        for name, path, (width, height), colours, awaited, click in wanted:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
            page.goto(f"{address}/{path}")
            if click:
                page.click(click)
            page.wait_for_selector(awaited)
            if arguments.png:
                page.screenshot(path=arguments.output / f"{name}.png")
                continue
            data = small(page, width > SHRUNK_FROM)
            (arguments.output / f"{name}.webp").write_bytes(data)
            print(f"{name}.webp: {len(data):,} bytes")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
