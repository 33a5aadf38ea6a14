"""The catalog's care: pinned references, whole fixes, patterns of no single log, entries that know their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog.care import copied
from denpex_kb.catalog.checks import Scope, check_catalog
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.load import load_catalog
from denpex_kb.catalog.scaffold import UNFILLED, scaffold
from denpex_kb.index.places import Sources, public_sources
from denpex_kb.model.entry import Signature
from denpex_kb.model.kb import Kb
from denpex_kb.score.overlaps import check_overlaps
from tests.conftest import ENTRY

ID = "our-xyzzy-fails"


@pytest.fixture(scope="module")
def shared() -> Kb:
    return load_kb(public_sources().kb)


@pytest.fixture
def says(private: Path, shared: Kb) -> Callable[..., list[str]]:
    """Check the private catalog after changes of its entry, and of a second one beside it."""

    def run(*changes: tuple[str, str], second: tuple[tuple[str, str], ...] | None = None) -> list[str]:
        folder = private / "deepspeed"
        texts = {ID: (folder / f"{ID}.md").read_text()}
        if second is not None:
            texts["our-second"] = ENTRY.format(id="our-second")
        for name, changed in ((ID, changes), ("our-second", second or ())):
            for right, wrong in changed:
                assert right in texts[name]
                texts[name] = texts[name].replace(right, wrong)
        for name, text in texts.items():
            (folder / f"{name}.md").write_text(text)
        loaded = load_catalog(private)
        found = check_catalog(loaded, shared, Scope(shared, loaded.entries))
        return [item.message for item in found if "sample" not in item.message]

    return run


PATTERN = r"pattern: 'xyzzy plugh \d{1,4} failed'"
EXAMPLE = 'example: "RuntimeError: xyzzy plugh 7 failed"'
ALONE = ((PATTERN, "pattern: 'frotz glows dimly'"), (EXAMPLE, 'example: "frotz glows dimly"'))


@pytest.mark.parametrize("branch", ["blob/main/a.py", "tree/master/a", "raw/HEAD/a", "blob/refs/heads/x/a.py"])
def test_a_reference_to_a_branch_is_a_finding(says: Callable[..., list[str]], branch: str) -> None:
    found = says(("https://example.org/a", f"https://github.com/o/p/{branch}"))

    assert ["link to a tag or a commit" in message for message in found] == [True]


@pytest.mark.parametrize("pinned", ["blob/v2.8.0/main/a.py", "blob/0d77035ea39e28f30/master.py", "issues/7"])
def test_a_reference_to_a_tag_a_commit_or_a_thread_is_none(says: Callable[..., list[str]], pinned: str) -> None:
    assert says(("https://example.org/a", f"https://github.com/o/p/{pinned}")) == []


@pytest.mark.parametrize(
    ("line", "lacks"),
    [("", "`Cost:` and `Undo:`"), ("Cost: a word.", "lacks `Undo:`"), ("Undo: hush.", "lacks `Cost:`")],
)
def test_a_variant_says_what_it_costs_and_how_to_undo_it(says: Callable[..., list[str]], line: str, lacks: str) -> None:
    found = says(("Cost: a word. Undo: silence.", line))

    assert [lacks in message for message in found] == [True]


def test_every_word_of_the_scaffold_that_has_to_go_stands_in_it() -> None:
    laid_out = scaffold("my-failure", "deepspeed")

    assert [line for line in UNFILLED if line not in laid_out] == []


@pytest.mark.parametrize(
    ("right", "left"),
    [("plugh does not answer", "vague, as a user sees it"), ("Nobody said plugh.", "The mechanism.")],
)
def test_what_the_scaffold_laid_out_and_nobody_replaced_is_a_finding(
    says: Callable[..., list[str]], right: str, left: str
) -> None:
    assert ["the scaffold's words" in message for message in says((right, left))] == [True]


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (r"communicator 7f3a9c0012d4 was lost", "hexadecimal id"),
        (r"failed on 2026-11-30 with", "a date"),
        (r"stopped at 14:02:59 with code", "a time of day"),
        (r"worker \(pid: 41354\) failed", "a process id"),
        (r"connect to 10\.0\.3\.17 refused", "an address"),
        (r"engine\.py:1873 raised", "a line number"),
        (r'File "engine\.py", line 1873, in step', "a line number"),
        (r"cannot read /home/ada/data", "a path of one machine"),
        (r"lost contact with gpu-node-017", "a host's name"),
    ],
)
def test_a_pattern_holds_nothing_that_one_log_happened_to_say(pattern: str, what: str) -> None:
    found = list(copied(Signature("message", strength="strong", pattern=pattern)))

    assert [what in message for message in found] == [True]


@pytest.mark.parametrize(
    "pattern",
    [
        r"pid: \d{1,9} failed",
        r"[0-9a-f]{8,16} was lost",
        r"0x00000000000000[2-9a]0 row",
        r"connect to 127\.0\.0\.1 refused",
        r"engine\.py:\d{1,5} raised",
        r"exitcode: -11 \(SIGSEGV\) of rank",
        r"for /dev/shm of size 65536",
    ],
)
def test_what_the_software_always_prints_may_stand_in_a_pattern(pattern: str) -> None:
    assert list(copied(Signature("message", strength="strong", pattern=pattern))) == []


def test_one_line_is_no_two_signatures(says: Callable[..., list[str]]) -> None:
    twin = f"{EXAMPLE}\n  - name: again\n    {PATTERN}\n    strength: strong\n    {EXAMPLE}"

    assert ["have the same pattern" in message for message in says((EXAMPLE, twin))] == [True]


def test_two_entries_that_share_a_telling_pattern_know_of_each_other(says: Callable[..., list[str]]) -> None:
    assert ["name it as a look-alike" in message for message in says(second=())] == [True]


def test_a_pattern_decides_for_one_entry_only(says: Callable[..., list[str]]) -> None:
    def neighbour(name: str) -> tuple[str, str]:
        return "action:", f"lookalikes: [{{id: {name}, sign: it differs}}]\naction:"

    found = says(neighbour("our-second"), second=(neighbour(ID),))

    assert ["it can decide for one only" in message for message in found] == [True]


def test_a_lookalike_points_back(says: Callable[..., list[str]]) -> None:
    found = says(("action:", "lookalikes: [{id: our-second, sign: it glows}]\naction:"), second=ALONE)

    assert ["our-second does not point back" in message for message in found] == [True]


def test_a_generic_lookalike_gives_way_without_pointing_back(says: Callable[..., list[str]]) -> None:
    generic = (*ALONE, ("role: initiating", "role: initiating\nstanding: generic"))

    assert says(("action:", "lookalikes: [{id: our-second, sign: it glows}]\naction:"), second=generic) == []


@pytest.mark.parametrize(
    ("affected", "what"),
    [
        ('versions: ">=0.5", fixed_in: "0.4"', "is not above where"),
        ('versions: ">=0.1,<0.9", fixed_in: "0.5"', "counts it as affected"),
        ('versions: ">=0.9,<0.5"', "holds no version at all"),
    ],
)
def test_the_affected_range_and_the_fix_meet(says: Callable[..., list[str]], affected: str, what: str) -> None:
    found = says(("{framework: deepspeed}", f"{{framework: deepspeed, {affected}}}"))

    assert any(what in message for message in found), found


def test_a_range_that_ends_where_it_was_fixed_is_right(says: Callable[..., list[str]]) -> None:
    assert says(("{framework: deepspeed}", '{framework: deepspeed, versions: ">=0.1,<0.5", fixed_in: "0.5"}')) == []


def test_a_signature_that_hits_a_strangers_positive_is_a_finding(private: Path, small_public: Sources) -> None:
    folder = private / "deepspeed"
    second = ENTRY.format(id="our-second").replace("xyzzy plugh \\d{1,4} failed", "plugh \\d{1,4} failed at")
    (folder / "our-second.md").write_text(second.replace("xyzzy plugh 7 failed", "plugh 7 failed at"))
    (folder / ID).mkdir()
    (folder / ID / "positive-log.log").write_text("RuntimeError: xyzzy plugh 7 failed at last\n")
    kb = KnowledgeBase.open([private])
    found = list(check_overlaps(kb, {ID: folder / f"{ID}.md"}))

    assert ["our-second hits it too" in finding.message for finding in found] == [True]
