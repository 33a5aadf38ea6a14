"""The index: compiled when its sources change, mended when damaged, safe among many processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.errors import CatalogError, UnknownEntryError
from denpex_kb.index.open import open_index
from denpex_kb.index.places import Sources, cache_folder, public_sources
from tests.conftest import CENTRAL, ENTRY, Ran


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_public: Sources) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("DENPEX_CACHE", str(folder))
    return folder


def test_a_private_catalog_stands_beside_the_public_one(own_cache: Path, private: Path) -> None:
    kb = KnowledgeBase.open([private])

    assert kb.entry("our-xyzzy-fails").origin == str(private)
    assert kb.entry(CENTRAL).origin == "denpex"
    assert kb.ask("RuntimeError: xyzzy plugh 7 failed").hypotheses[0].id == "our-xyzzy-fails"


def test_a_private_entry_replaces_the_public_one_of_the_same_id(own_cache: Path, private: Path) -> None:
    path = private / "deepspeed" / f"{CENTRAL}.md"
    path.write_text(ENTRY.format(id=CENTRAL), encoding="utf-8")

    assert KnowledgeBase.open([private]).entry(CENTRAL).meta.title == "A private failure that prints xyzzy"


def test_an_edited_entry_is_seen_at_once(own_cache: Path, private: Path) -> None:
    KnowledgeBase.open([private])
    path = private / "deepspeed" / "our-xyzzy-fails.md"
    path.write_text(path.read_text().replace("that prints xyzzy", "that prints frotz"))

    assert "frotz" in KnowledgeBase.open([private]).entry("our-xyzzy-fails").meta.title


@pytest.mark.parametrize(
    ("break_", "line", "says"),
    [
        (lambda text: text.replace("kind: crash", "kind: [crash"), 8, "malformed YAML"),
        (lambda text: text.replace("kind: crash", "kind: crush"), 7, "crush"),
        (lambda text: text.replace("role: initiating\n", ""), 2, "role"),
        (lambda text: text.replace("## Verify", "## Check"), 0, "Verify"),
        (lambda text: "no front matter\n" + text, 1, "front matter"),
    ],
)
def test_a_broken_private_entry_is_named_with_file_and_line_and_the_rest_works(
    own_cache: Path, private: Path, break_: Callable[[str], str], line: int, says: str
) -> None:
    path = private / "deepspeed" / "broken.md"
    path.write_text(break_(ENTRY.format(id="broken")))
    kb = KnowledgeBase.open([private])
    notice = next(notice for notice in kb.index.notices if "broken.md" in notice)

    assert says in notice
    assert f"broken.md:{line}" in notice or line == 0
    assert kb.entry("our-xyzzy-fails")
    with pytest.raises(UnknownEntryError):
        kb.entry("broken")


@pytest.mark.parametrize("damage", [b"", b"not a database", b"SQLite format 3\x00" + b"\x00" * 5000])
def test_a_damaged_index_is_compiled_anew_with_one_line_of_notice(own_cache: Path, damage: bytes) -> None:
    path = open_index().path
    path.chmod(0o644)
    path.write_bytes(damage)
    index = open_index()

    assert len(index.notices) == 1
    assert "compiled anew" in index.notices[0]
    assert index.entry(CENTRAL)


def test_a_cut_index_is_noticed_as_well(own_cache: Path) -> None:
    path = open_index().path
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])

    assert open_index().entry(CENTRAL)


def test_many_processes_may_compile_at_once(own_cache: Path, private: Path) -> None:
    program = (
        "from denpex_kb import KnowledgeBase\n"
        f"print(KnowledgeBase.open([{str(private)!r}]).entry('our-xyzzy-fails').id)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outputs = [process.communicate() for process in running]

    assert [out.strip() for out, _ in outputs] == ["our-xyzzy-fails"] * 4
    assert not list(own_cache.glob("*.sqlite.*"))


def test_a_cache_that_cannot_be_written_falls_back_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("DENPEX_CACHE", str(blocked / "below"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    assert cache_folder().is_relative_to(tmp_path)


def test_a_missing_private_catalog_is_said_and_stops_nothing(own_cache: Path, tmp_path: Path) -> None:
    index = open_index([tmp_path / "nowhere"])

    assert any("no such folder" in notice for notice in index.notices)
    assert index.entry(CENTRAL)


def test_a_kb_that_is_broken_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    from denpex_kb.index.build import build_index

    (tmp_path / "kb").mkdir()
    with pytest.raises(CatalogError, match="categories"):
        build_index(Sources(tmp_path / "kb", public_sources().catalogs), tmp_path / "index.sqlite")


def test_a_hyperscan_database_of_another_processor_is_compiled_once_and_cached(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index()
    monkeypatch.setattr(type(index), "_blob", _with_foreign_database(type(index)._blob))
    log = b"[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"

    assert KnowledgeBase(index).diagnose_stream([log]).hypotheses
    assert list(own_cache.glob("hyperscan-*.bin"))


def _with_foreign_database(original: Callable[..., bytes]) -> Callable[..., bytes]:
    return lambda self, name: b"foreign" if name == "hyperscan" else original(self, name)


def test_the_environment_names_private_catalogs(
    run: Callable[..., Ran], private: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENPEX_CATALOG", str(private))

    assert "our-xyzzy-fails" in run("show", "our-xyzzy-fails").out
