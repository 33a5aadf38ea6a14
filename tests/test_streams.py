"""Where answers go: full disks, streams that are closed, caches that cannot be written."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb.index import build
from denpex_kb.index.open import write_atomically
from denpex_kb.index.places import Sources
from tests.conftest import Ran

_FULL = Path("/dev/full")


def _shell(command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    words = command.replace("denpex", f"{sys.executable} -m denpex_kb")
    return subprocess.run(
        ["/bin/sh", "-c", words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **settings},
    )


@pytest.mark.skipif(not _FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["ask 'xid 79'", "show nccl-ib-memlock", "list --format json"])
def test_output_to_a_full_disk_is_an_error_that_says_so(command: str) -> None:
    done = _shell(f"denpex {command} > /dev/full")

    assert done.returncode == 2
    assert done.stderr.strip() == "denpex: the output cannot be written: No space left on device"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("denpex ask -q 'xid 79' >&-", 0),
        ("denpex ask -q 'xid 79' 2>&-", 0),
        ("denpex diagnose - <&-", 2),
        ("denpex ask - <&-", 2),
        ("denpex chat <&-", 2),
    ],
)
def test_a_closed_stream_is_an_empty_one(command: str, status: int) -> None:
    done = _shell(command)

    assert done.returncode == status
    assert "fault" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["ask -q -", "chat"])
def test_a_question_is_read_in_any_encoding_and_not_from_a_binary_file(tmp_path: Path, command: str) -> None:
    (tmp_path / "words").write_text("Xid 79 in dmesg", encoding="utf-16")
    (tmp_path / "bytes").write_bytes(random.Random(1).randbytes(5000))

    words, binary = (_shell(f"denpex {command} < {tmp_path / name}") for name in ("words", "bytes"))

    assert "gpu-xid-79-fell-off-bus" in words.stdout
    assert (binary.returncode, binary.stdout) == (2, "")
    assert "binary" in binary.stderr


def test_many_words_to_begin_a_conversation_with_are_no_path() -> None:
    done = _shell(f"denpex chat '{'hang ' * 1000}' < /dev/null")

    assert done.returncode in (0, 1)
    assert "SUMMARY" in done.stdout


def test_a_full_cache_gives_way_to_the_temporary_folder(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A used-up quota of the home is common on clusters, and no reason to give no answer."""
    full, other = tmp_path / "full", tmp_path / "other"
    other.mkdir()
    real = build.build_index

    def build_index(sources: object, target: Path) -> None:
        if target.parent == full:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(sources, target)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "build_index", build_index)
    monkeypatch.setattr("tempfile.tempdir", str(other))
    monkeypatch.setenv("DENPEX_CACHE", str(full))

    first, second = run("ask", "-q", "xid 79"), run("ask", "-q", "xid 79")

    assert (first.status, second.status) == (0, 0)
    assert f"cannot write the index {full}" in first.err
    assert len(list(other.glob("denpex-*/index-*.sqlite"))) == 1, "the second run finds it there"


def test_what_cannot_be_written_whole_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x.bin"
    target.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", _refuse)

    with pytest.raises(OSError, match="space"):
        write_atomically(target, b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]
    assert target.read_bytes() == b"old"


def _refuse(_source: Path, _target: Path) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_private_catalog_that_is_not_there_is_named(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENPEX_CATALOG", str(tmp_path / "gone"))

    ran = run("ask", "-q", "xid 79")

    assert ran.status == 0
    assert f"{tmp_path}/gone: no such folder" in ran.err


def test_a_pipe_in_a_private_catalog_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "deepspeed").mkdir()
    (tmp_path / "deepspeed/our-entry.md").write_text("---\n")
    os.mkfifo(tmp_path / "deepspeed/our-pipe.md")

    assert list(Sources(tmp_path / "no-kb", (tmp_path,)).files()) == [str(tmp_path / "deepspeed/our-entry.md")]
