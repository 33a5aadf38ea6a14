"""The page that reads a log, in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from denpex_kb import KnowledgeBase
from tests.conftest import ROOT

from .browsing import expect, in_browser

pytestmark = in_browser

CORPUS = ROOT / "tests/corpus/dev"
AGREEMENT = 0.98


def single_files() -> list[Path]:
    """Return the inputs of the development corpus that are one file."""
    cases = map(json.loads, (CORPUS / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    paths = (CORPUS / case["input"] for case in cases if case["form"] != "query")
    return sorted(path for path in paths if path.is_file())


def told(kb: KnowledgeBase, path: Path) -> str:
    """Return the command line's first answer."""
    diagnosis = kb.diagnose(path)
    return diagnosis.hypotheses[0].id if diagnosis.recognised else ""


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_log_is_read_in_the_browser(page: Any, address: str, site: Path, scheme: str) -> None:
    """The example is answered, from a server as from a folder, with links to its entry."""
    page.goto(f"{address}/paste/index.html" if scheme == "http" else (site / "paste/index.html").as_uri())
    page.click(".example")
    link = page.locator(".verdict h2 a")
    expect(link).to_have_attribute("href", re.compile("/e/"))
    expect(page.locator(".proof li").first).to_be_visible()
    title = link.inner_text()
    link.click()
    page.wait_for_url("**/e/**")
    expect(page.locator("h1")).to_have_text(title)


def test_ten_pasted_logs_are_answered_as_on_the_command_line(page: Any, address: str, kb: KnowledgeBase) -> None:
    """Text in the box gives the entry that the command line gives, with a line of it as proof."""
    paths = [path for path in single_files() if path.stat().st_size < 20_000][::30][:10]
    assert len(paths) == 10
    page.goto(f"{address}/paste/index.html")
    for path in paths:
        wanted = told(kb, path)
        page.evaluate("document.querySelector('.result').hidden = true")  # so that the last answer is not taken for it
        page.fill("#log", path.read_text(encoding="utf-8", errors="replace"))
        page.click(".go")
        expect(page.locator(".result")).to_be_visible()
        if not wanted:
            expect(page.locator(".verdict h2 a"), path.name).to_have_count(0)
            continue
        expect(page.locator(".verdict h2 a"), path.name).to_have_attribute("href", re.compile(f"/e/{wanted}/"))
        expect(page.locator(".proof li").first, path.name).to_contain_text("line ")


def test_the_page_agrees_with_the_command_line_on_the_corpus(page: Any, address: str, kb: KnowledgeBase) -> None:
    """On single files the first answers are the same but for what relations between ranks and attempts decide."""
    page.goto(f"{address}/paste/index.html")
    page.evaluate("window.reader = denpexMatcher({}); window.ready = reader.prepare(DENPEX_RULES); null")
    paths = single_files()
    other = []
    for path in paths:
        text = path.read_bytes().decode("latin-1")  # each byte as a character, back to bytes there
        got = page.evaluate(
            "async (text) => (await reader.diagnose(new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]), ready))"
            ".hypotheses[0]?.id ?? ''",
            text,
        )
        if got != (wanted := told(kb, path)):
            other.append(f"{path.name}: {got}, not {wanted}")
    assert len(paths) > 300
    assert 1 - len(other) / len(paths) >= AGREEMENT, "\n".join(other)


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


def test_a_hostile_log_is_shown_as_text(page: Any, address: str) -> None:
    """Elements in a line that proves an answer, and in facts, become text."""
    evil = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    page.goto(f"{address}/paste/index.html")
    page.fill(
        "#log",
        f"torch version {evil}\n[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered {evil}\n",
    )
    page.click(".go")
    expect(page.locator(".verdict h2 a")).to_be_visible()
    expect(page.locator(".proof").first).to_contain_text(evil)
    expect(page.locator(".result img, .result script")).to_have_count(0)


WATCH = """() => {
  window.seen = { longest: 0, shares: new Set(), from: performance.now(), last: performance.now() };
  const look = () => {
    const now = performance.now();
    seen.longest = Math.max(seen.longest, now - seen.last);
    seen.last = now;
    seen.shares.add(document.querySelector("progress").value);
    if (document.querySelector(".result").hidden) setTimeout(look, 5);
  };
  look();
}"""
SEEN = "({ longest: seen.longest, shares: seen.shares.size, whole: seen.last - seen.from })"


def test_a_large_file_leaves_the_page_responsive(page: Any, address: str, tmp_path: Path) -> None:
    """While 50 MB are read the page goes on drawing, and shows how far it is."""
    log = tmp_path / "large.log"
    with log.open("w", encoding="utf-8") as stream:
        for step in range(500_000):
            stream.write(f"[rank{step % 8}]: step {step} loss 2.3 lr 1e-4 tokens/s 1234 grad_norm 0.41 {'.' * 40}\n")
        stream.write("[rank3]: RuntimeError: CUDA error: device-side assert triggered\n")
    page.goto(f"{address}/paste/index.html")
    page.evaluate(WATCH)
    page.set_input_files("#file", str(log))
    page.wait_for_selector(".result:not([hidden])", timeout=180_000)
    expect(page.locator(".status")).to_contain_text("500,001 lines")
    seen = page.evaluate(SEEN)
    assert seen["shares"] > 3
    assert seen["longest"] < max(1000, seen["whole"] / 4), seen  # milliseconds; a busy machine slows both
