"""Input of every kind, good and bad: a clear error, or a diagnosis of what can be read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from denpex_kb import KnowledgeBase
from denpex_kb.errors import InputError
from tests.conftest import Ran

OOM = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/train/train.py", line 20, in <module>\n'
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of"
    " 79.15 GiB of which 1.10 GiB is free. Process 4242 has 78.05 GiB memory in use. Of the allocated memory"
    " 76.20 GiB is allocated by PyTorch, and 310.50 MiB is reserved by PyTorch but unallocated.\n"
)


def found(kb: KnowledgeBase, path: Path) -> str:
    diagnosis = kb.diagnose(path)
    return diagnosis.hypotheses[0].id if diagnosis.hypotheses else diagnosis.verdict


@pytest.fixture(scope="module")
def expected(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> str:
    plain = tmp_path_factory.mktemp("plain") / "train.log"
    plain.write_text(OOM)
    answer = found(kb, plain)
    assert answer.startswith("cuda-oom")
    return answer


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zst)]
)
def test_a_compressed_log_is_read_like_a_plain_one(
    kb: KnowledgeBase, tmp_path: Path, expected: str, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"train.log{suffix}"
    path.write_bytes(pack(OOM.encode()))

    assert found(kb, path) == expected


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, zst])
def test_a_compressed_stream_is_unpacked_as_well(
    kb: KnowledgeBase, expected: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(OOM.encode()[:90]) + pack(OOM.encode()[90:])
    pieces = [packed[at : at + 50] for at in range(0, len(packed), 50)]

    assert kb.diagnose_stream(pieces).hypotheses[0].id == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_a_log_is_read_in_any_encoding(kb: KnowledgeBase, tmp_path: Path, expected: str, encoding: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(("Größe der Welt\n" + OOM).encode(encoding))

    assert found(kb, path) == expected


@pytest.mark.parametrize(
    "garble",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="windows line ends"),
        pytest.param(lambda text: text.replace("CUDA", "\x1b[31mCU\x1b[0mDA"), id="colours inside a message"),
        pytest.param(
            lambda text: "\r".join(f" {n}%|## | {n}/100" for n in range(100)) + "\n" + text, id="progress bar"
        ),
        pytest.param(lambda text: text.replace("CUDA", "CU\x00DA"), id="NUL bytes"),
        pytest.param(lambda text: text.rstrip("\n"), id="no line feed at the end"),
        pytest.param(lambda text: "x" * 3_000_000 + "\n" + text, id="a long line before"),
    ],
)
def test_what_terminals_and_collectors_do_to_a_log_does_not_hide_the_failure(
    kb: KnowledgeBase, tmp_path: Path, expected: str, garble: Callable[[str], str]
) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(garble(OOM).encode())

    assert found(kb, path) == expected


def test_invalid_utf8_is_kept_readable(kb: KnowledgeBase, tmp_path: Path, expected: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"\xfa\xfb broken \xc3\x28\n" * 3 + OOM.encode())

    assert found(kb, path) == expected


def test_a_gz_cut_short_is_diagnosed_as_far_as_it_goes_and_that_is_said(
    kb: KnowledgeBase, tmp_path: Path, expected: str
) -> None:
    path = tmp_path / "train.log.gz"
    filler = "".join(f"step {number} loss 1.{number}\n" for number in range(20_000))
    path.write_bytes(gzip.compress((OOM + filler).encode())[:-2000])
    diagnosis = kb.diagnose(path)

    assert diagnosis.hypotheses[0].id == expected
    assert any("only in part" in note for note in diagnosis.input.notes)


def test_a_gzip_bomb_is_cut_off_and_named(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("denpex_kb.read.unpack.MAX_UNPACKED", 8 << 20)
    path = tmp_path / "bomb.log.gz"
    path.write_bytes(gzip.compress(b"step 1\n" * (4 << 20)))
    notes = kb.diagnose(path).input.notes

    assert any("the rest was left out" in note for note in notes)


def test_one_endless_line_does_not_fill_the_memory(kb: KnowledgeBase) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * (1 << 20)
        yield b"\n" + OOM.encode()

    assert kb.diagnose_stream(endless()).hypotheses


def test_per_rank_files_give_their_ranks_by_name(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("rank0.log", "rank1.log"):
        (tmp_path / name).write_text("step 1 loss 2.0\n")
    (tmp_path / "rank2.log").write_text(OOM.replace("[rank1]: ", ""))
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.initiating is not None
    assert diagnosis.initiating.rank == 2
    assert diagnosis.initiating.file == "rank2.log"


def test_a_config_beside_a_log_states_facts_with_their_line(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(OOM)
    (tmp_path / "ds_config.json").write_text(
        '{\n  "train_batch_size": 8,\n  "zero_optimization": {\n    "stage": 3\n  }\n}\n'
    )
    value = kb.diagnose(tmp_path).facts["zero.stage"][0]

    assert (value.value, value.from_) == (3, "ds_config.json:4")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda folder: folder / "missing.log", "no such file or folder", id="missing file"),
        pytest.param(lambda folder: folder, "no logs in there", id="folder without logs"),
        pytest.param(lambda folder: _write(folder / "empty.log", b""), "nothing in there can be read", id="empty file"),
        pytest.param(
            lambda folder: _write(folder / "a.log", bytes(range(256)) * 64), "a binary file", id="binary file"
        ),
        pytest.param(lambda folder: _fifo(folder / "pipe"), "a pipe or device", id="named pipe"),
        pytest.param(
            lambda folder: _write(folder / "ds_config.json", b'{"zero_optimization": {"stage": 3}}'),
            "only configs were given",
            id="only a config",
        ),
    ],
)
def test_bad_input_is_refused_with_status_2_and_the_reason(
    run: Callable[..., Ran], tmp_path: Path, make: Callable[[Path], Path], says: str
) -> None:
    ran = run("diagnose", str(make(tmp_path)))

    assert ran.status == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_an_unreadable_file_among_others_is_noted_and_the_rest_diagnosed(
    kb: KnowledgeBase, tmp_path: Path, expected: str
) -> None:
    (tmp_path / "rank0.log").write_text(OOM)
    (tmp_path / "rank1.log").symlink_to(tmp_path / "gone.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses[0].id == expected
    assert any("rank1.log" in note for note in diagnosis.input.notes)


def test_an_empty_question_is_refused(run: Callable[..., Ran]) -> None:
    ran = run("ask", "  ")

    assert ran.status == 2
    assert "denpex ask" in ran.err


def test_the_python_interface_raises_what_the_command_line_prints(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        kb.diagnose(tmp_path / "missing.log")


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path
