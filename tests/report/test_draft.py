"""`denpex kb new --from LOG`: signatures that fit the log and its like, and warn where healthy logs hold them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb.catalog.load import parse_entry
from denpex_kb.catalog.patterns import faults
from denpex_kb.report.draft import generalise, propose
from tests.conftest import Ran

LOG = (
    "DeepSpeed info: version=0.15.4, git-hash=unknown\n"
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/home/alice/proj/train.py", line 80, in <module>\n'
    "[rank3]:     main(cfg)\n"
    '[rank3]:   File "/opt/venv/lib/python3.11/site-packages/quuxlib/core/frob.py", line 12, in frobnicate\n'
    "[rank3]:     raise FrobnicationError(x)\n"
    "[rank3]: quuxlib.errors.FrobnicationError: shard 77 of '/data/alice/x.bin' is not a valid quux (1024, got 17)\n"
)


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("shard 77 is not a valid quux, expected 1,024", "shard 8 is not a valid quux, expected 99"),
        ("cannot open /data/alice/x.bin for reading", "cannot open /other/y for reading"),
        ("key 'layers.0.weight' is missing in the checkpoint", "key 'head' is missing in the checkpoint"),
        ("bad pointer 0x7f00aa in frobnicator (a+b)?", "bad pointer 0x1 in frobnicator (a+b)?"),
        ("peer 10.1.2.3 refused the handshake", "peer 192.168.0.17 refused the handshake"),
    ],
)
def test_what_varies_is_generalised_in_the_common_subset(text: str, like: str) -> None:
    pattern = generalise(text)

    assert faults(pattern) == []
    assert re.search(pattern, text)
    assert re.search(pattern, like)
    assert not re.search(pattern, "something else entirely")


def test_a_line_that_healthy_logs_hold_is_no_sign(tmp_path: Path) -> None:
    found = propose(
        "m",
        "cannot find the cache of the frobnicator, building it",
        "x",
        {"deepspeed/a/negative-healthy-b.log": "cannot find the cache of the frobnicator, building it now"},
    )

    assert found is not None
    assert found.strength == "part"
    assert "negative-healthy-b.log" in found.doubts[0]


def test_a_line_without_fixed_words_is_not_proposed() -> None:
    assert propose("m", "77 88 99", "77 88 99", {}) is None


def test_a_draft_is_an_entry_that_can_be_read_and_matches_its_log(run: Callable[..., Ran], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(LOG)
    catalog = tmp_path / "catalog"
    ran = run("kb", "new", "our-frobnication", "--hub", "deepspeed", "--catalog", str(catalog), "--from", str(log))
    path = catalog / "deepspeed" / "our-frobnication.md"
    entry = parse_entry(path.read_text(encoding="utf-8"), str(path))
    message = entry.meta.signatures[0]
    sample = (path.parent / "our-frobnication" / "positive-1.log").read_text(encoding="utf-8")

    assert ran.status == 0
    assert message.strength == "strong"
    assert message.pattern is not None
    assert re.search(message.pattern, LOG)
    assert re.search(message.pattern, sample)
    assert "77" not in message.pattern
    assert "alice" not in path.read_text(encoding="utf-8") + sample
    assert any(item.where == "stack" and "quuxlib/core/frob" in (item.pattern or "") for item in entry.meta.signatures)
    assert any(item.framework == "deepspeed" for item in entry.meta.affected)


def test_a_log_without_an_error_gives_no_draft(run: Callable[..., Ran], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("all is well\n")
    ran = run("kb", "new", "our-x", "--hub", "deepspeed", "--catalog", str(tmp_path), "--from", str(log))

    assert ran.status == 2
    assert "no error line" in ran.err
