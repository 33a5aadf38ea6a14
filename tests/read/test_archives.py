"""Archives of logs are read like folders, and nothing in them does any harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from denpex_kb import KnowledgeBase
from denpex_kb.read.files import InputFile, open_parts
from tests.test_inputs import OOM

STEPS = "".join(f"step {number} loss 1.{number}\n" for number in range(20))


def tar_of(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def same(data: bytes) -> bytes:
    return data


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def opened(path: Path) -> tuple[dict[str, bytes], list[str]]:
    notes: list[str] = []
    parts = {part.name: b"".join(part.chunks) for part in open_parts(InputFile(path, path.name, named=True), notes)}
    return parts, notes


FLOOD = b"step 1\n" * (3 << 20)
RANKS = {"job/rank0.log": STEPS.encode(), "job/rank1.log": STEPS.encode()}
RANKS["job/rank2.log"] = OOM.replace("[rank1]: ", "").encode()
PACKS = [
    pytest.param("logs.tar", tar_of, same, id="tar"),
    pytest.param("logs.tar.gz", tar_of, gzip.compress, id="tar.gz"),
    pytest.param("logs.tgz", tar_of, gzip.compress, id="tgz"),
    pytest.param("logs.tar.xz", tar_of, lzma.compress, id="tar.xz"),
    pytest.param("logs.tar.bz2", tar_of, bz2.compress, id="tar.bz2"),
    pytest.param("logs.tar.zst", tar_of, zst, id="tar.zst"),
    pytest.param("logs.zip", zip_of, same, id="zip"),
]


@pytest.mark.parametrize(("name", "pack", "squeeze"), PACKS)
def test_an_archive_is_diagnosed_like_the_folder_in_it(
    kb: KnowledgeBase,
    tmp_path: Path,
    name: str,
    pack: Callable[[dict[str, bytes]], bytes],
    squeeze: Callable[[bytes], bytes],
) -> None:
    (tmp_path / name).write_bytes(squeeze(pack(RANKS)))
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.initiating is not None
    assert diagnosis.initiating.rank == 2
    assert diagnosis.initiating.file == f"{name}!/job/rank2.log"
    assert diagnosis.input.files == 3


def test_a_tar_on_standard_input_is_opened_too(kb: KnowledgeBase) -> None:
    diagnosis = kb.diagnose_stream([gzip.compress(tar_of(RANKS))])

    assert diagnosis.initiating is not None
    assert diagnosis.initiating.file == "standard input!/job/rank2.log"


def test_the_traceback_of_a_member_is_read_again_for_the_answer(kb: KnowledgeBase, tmp_path: Path) -> None:
    log = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 7, in main\n'
        "    frobnicate(batch)\n"
        "FrobnicationError: the frobnicator is out of order\n"
    )
    (tmp_path / "logs.tar").write_bytes(tar_of({"a/train.log": log.encode()}))
    diagnosis = kb.diagnose(tmp_path / "logs.tar")

    assert diagnosis.core is not None
    assert diagnosis.core.frames[-1].code == "frobnicate(batch)"


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x.log", "/etc/x.log", "a/../../x.log", "..\\..\\x.log", "\x1b[2J.log"]
)
@pytest.mark.parametrize(("suffix", "pack"), [(".tar", tar_of), (".zip", zip_of)])
def test_a_name_that_climbs_out_of_the_archive_stays_a_name(
    tmp_path: Path, name: str, suffix: str, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    inside = tmp_path / "deep" / "deeper"
    inside.mkdir(parents=True)
    (inside / f"x{suffix}").write_bytes(pack({name: OOM.encode()}))
    before = sorted(tmp_path.rglob("*"))
    parts, _ = opened(inside / f"x{suffix}")

    assert sorted(tmp_path.rglob("*")) == before
    assert list(parts.values()) == [OOM.encode()]
    assert all(".." not in part.split("!/", 1)[1].split("/") for part in parts)


def test_links_and_devices_in_an_archive_are_passed_over_and_that_is_said(tmp_path: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (tarfile.CHRTYPE, "dev")):
            info = tarfile.TarInfo(f"{name}.log")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("rank0.log")
        info.size = len(OOM)
        archive.addfile(info, io.BytesIO(OOM.encode()))
    (tmp_path / "x.tar").write_bytes(target.getvalue())
    parts, notes = opened(tmp_path / "x.tar")

    assert list(parts) == ["x.tar!/rank0.log"]
    assert notes == ["x.tar: 3 links or devices in it passed over"]


def test_a_link_in_a_zip_is_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        info = zipfile.ZipInfo("link.log")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("rank0.log", OOM)
    parts, notes = opened(tmp_path / "x.zip")

    assert list(parts) == ["x.zip!/rank0.log"]
    assert "1 link or device" in notes[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("bomb.tar.gz", gzip.compress(tar_of({"zeros.log": FLOOD})), id="tar.gz"),
        pytest.param("bomb.tar.xz", lzma.compress(tar_of({"zeros.log": FLOOD})), id="tar.xz"),
        pytest.param("bomb.tar.zst", zst(tar_of({"zeros.log": FLOOD})), id="tar.zst"),
        pytest.param("bomb.zip", zip_of({"zeros.log": FLOOD}), id="zip"),
        pytest.param("bomb.zip", zip_of({"a.log.gz": gzip.compress(FLOOD)}), id="gz in zip"),
        pytest.param("bomb.zip", zip_of({"a.zip": zip_of({"b.log": FLOOD})}), id="zip in zip"),
        pytest.param("bomb.log.gz", gzip.compress(gzip.compress(FLOOD)), id="gz in gz"),
    ],
)
def test_a_bomb_is_cut_off_and_named_and_the_rest_is_diagnosed(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes
) -> None:
    monkeypatch.setattr("denpex_kb.read.unpack._FREE", 1 << 20)
    (tmp_path / name).write_bytes(data)
    (tmp_path / "rank1.log").write_text(OOM)
    monkeypatch.setattr("denpex_kb.read.unpack.MAX_RATIO", 20)
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses
    assert any("unpacks to more than" in note and "bomb" in note for note in diagnosis.input.notes)
    assert diagnosis.input.bytes < 4 << 20


def test_many_layers_of_compression_are_not_followed(tmp_path: Path) -> None:
    data = OOM.encode()
    for _ in range(6):
        data = gzip.compress(data)
    (tmp_path / "deep.log.gz").write_bytes(data)
    _, notes = opened(tmp_path / "deep.log.gz")

    assert any("compressed more than" in note for note in notes)


def test_archives_in_archives_are_opened_a_few_levels_deep_and_no_more(tmp_path: Path) -> None:
    inner = {"rank0.log": OOM.encode()}
    (tmp_path / "two.tar").write_bytes(tar_of({"inner.zip": zip_of(inner)}))
    (tmp_path / "six.tar").write_bytes(tar_of({"a.tar": tar_of({"b.tar": tar_of({"c.tar": tar_of(inner)})})}))

    assert list(opened(tmp_path / "two.tar")[0]) == ["two.tar!/inner.zip!/rank0.log"]
    assert opened(tmp_path / "six.tar") == (
        {},
        ["six.tar!/a.tar!/b.tar!/c.tar: an archive inside 3 others; passed over"],
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("cut.tar", tar_of(RANKS)[:1700], id="tar cut short"),
        pytest.param("cut.tar.gz", gzip.compress(tar_of(RANKS))[:-60], id="tar.gz cut short"),
        pytest.param("cut.zip", zip_of(RANKS)[:-30], id="zip without its end"),
        pytest.param("liar.zip", zip_of(RANKS)[:-10] + struct.pack("<LLH", 0x7FFFFFFF, 0, 0), id="zip that lies"),
        pytest.param("flip.zip", zip_of(RANKS)[:60] + b"XXXX" + zip_of(RANKS)[64:], id="zip with broken contents"),
    ],
)
def test_a_broken_archive_is_said_and_does_not_stop_the_rest(
    kb: KnowledgeBase, tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / "whole.log").write_text(OOM)
    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses
    assert any(name in note for note in diagnosis.input.notes)


def test_a_header_that_claims_gigabytes_is_not_believed(tmp_path: Path) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 4 << 30
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    parts, notes = opened(tmp_path / "x.tar")

    assert not parts
    assert len(notes) == 1


def test_what_an_archive_holds_beside_logs_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(tar_of({"model.safetensors": bytes(100), "rank0.log": OOM.encode()}))
    parts, notes = opened(tmp_path / "x.tar")

    assert list(parts) == ["x.tar!/rank0.log"]
    assert notes == ["x.tar: 1 file that holds no log passed over"]


def test_an_encrypted_zip_is_named(tmp_path: Path) -> None:
    data = bytearray(zip_of({"rank0.log": OOM.encode()}))
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + flags] |= 1
    (tmp_path / "x.zip").write_bytes(data)

    assert opened(tmp_path / "x.zip") == ({}, ["x.zip!/rank0.log: encrypted; passed over"])
