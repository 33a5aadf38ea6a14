"""The checks of the catalog: every mistake is named with its line and with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog import patterns
from denpex_kb.catalog.checks import Scope, check_catalog
from denpex_kb.catalog.findings import Finding
from denpex_kb.catalog.kbfiles import load_kb
from denpex_kb.catalog.load import load_catalog, parse_entry
from denpex_kb.index.places import Sources, public_sources
from denpex_kb.model.kb import Kb
from denpex_kb.score.samples import check_samples
from tests.conftest import CENTRAL, ENTRY, ROOT, Ran

ENTRIES = sorted((ROOT / "catalog").glob("*/*.md"))


@pytest.fixture(scope="module")
def shared() -> Kb:
    return load_kb(public_sources().kb)


def checked(folder: Path, shared: Kb) -> list[Finding]:
    loaded = load_catalog(folder)
    return check_catalog(loaded, shared, Scope(shared, loaded.entries))


@pytest.fixture
def clean(private: Path) -> Path:
    """Give the private catalog the samples that every entry needs."""
    samples = private / "deepspeed" / "our-xyzzy-fails"
    samples.mkdir()
    (samples / "positive-log.log").write_text("RuntimeError: xyzzy plugh 7 failed\n")
    (samples / "negative-healthy-run.log").write_text("xyzzy plugh 7 answered\n")
    return private


def test_a_right_entry_has_no_findings(clean: Path, shared: Kb) -> None:
    assert checked(clean, shared) == []


MISTAKES = [
    ("category: Configuration", "category: Cooking", 4, "unknown category 'Cooking'"),
    ("phase: init", "phase: lunch", 6, "unknown phase 'lunch'"),
    ("hub: deepspeed", "hub: nowhere", 5, "unknown hub 'nowhere'"),
    ("id: our-xyzzy-fails", "id: another-id", 2, "rename the file to another-id.md"),
    ("id: our-xyzzy-fails", "id: Our_Xyzzy", 2, "lower case"),
    ("severity: low", "severity: low\nfavourite: yes", 10, "favourite"),
    ("framework: deepspeed", "framework: fax", 12, "unknown framework 'fax'"),
    ("{framework: deepspeed}", "{framework: deepspeed, versions: 0.15}", 12, "into quotes"),
    (
        "{framework: deepspeed}",
        '{framework: deepspeed, versions: ">=0.1", fixed_in: "0.2"}',
        12,
        "counts it as affected",
    ),
    (r"pattern: 'xyzzy plugh \d{1,4} failed'", "pattern: 'xyzzy(?=plugh)'", 15, "no look-around"),
    (r"pattern: 'xyzzy plugh \d{1,4} failed'", "pattern: 'xyzzy .* failed'", 15, "bound it"),
    (r"pattern: 'xyzzy plugh \d{1,4} failed'", "pattern: 'xyzzy (plugh'", 15, "malformed"),
    (r"pattern: 'xyzzy plugh \d{1,4} failed'", "pattern: 'x.y'", 15, "literal characters"),
    (r"pattern: 'xyzzy plugh \d{1,4} failed'", "pattern: 'frotz is lit'", 15, "does not match its own example"),
    (
        r"pattern: 'xyzzy plugh \d{1,4} failed'",
        r"pattern: '(\[rank\d{1,5}\]:|xyzzy plugh)'",
        15,
        "matches a step of training",
    ),
    ('    example: "RuntimeError: xyzzy plugh 7 failed"\n', "", 15, "needs an `example`"),
    ("strength: decisive", "strength: overwhelming", 16, "overwhelming"),
    ("strength: decisive", "strength: part", 13, "nothing can ever match"),
    ("    strength: decisive", "    relation: odd-stack\n    strength: decisive", 14, "exactly one of"),
    ("action:", 'requires: ["zero.stage = three"]\naction:', 18, "is a whole number"),
    ("action:", 'requires: ["zero.stge = 3"]\naction:', 18, "unknown fact 'zero.stge'"),
    ("action:", 'requires: ["trainer = abacus"]\naction:', 18, "is no value of trainer"),
    ("action:", "specialises: no-such-entry\naction:", 18, "no entry no-such-entry"),
    ("action:", "lookalikes: [{id: no-such-entry, sign: it differs}]\naction:", 18, "no entry no-such-entry"),
    ("kind: fix_config", "kind: fix_everything", 18, "fix_everything"),
    ("https://example.org/a", "ftp://example.org/a", 20, "begins with https://"),
    ("when: 2026-11-30", "when: yesterday", 21, "when"),
    ("1. Say it aloud.", "When: `zero.stage`\n\n1. Say it aloud.", 0, "is no condition"),
    ("1. Say it aloud.", "```python\ndef (:\n```", 0, "python block does not parse"),
    ("1. Say it aloud.", "TODO", 0, "say what to do instead"),
    ("Expect: silence.", "", 0, "Expect:"),
    ("- [ ] Three: `true`\n", "", 0, "at least three"),
    ("## Symptoms", "## Signs", 0, "the heading `## Symptoms` is missing"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "says"), MISTAKES)
def test_every_mistake_is_named_with_its_line(
    clean: Path, shared: Kb, right: str, wrong: str, line: int, says: str
) -> None:
    path = clean / "deepspeed" / "our-xyzzy-fails.md"
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    found = [finding for finding in checked(clean, shared) if says in finding.message]

    assert found, checked(clean, shared)
    assert not line or found[0].line == line


@pytest.mark.parametrize("which", ["positive", "negative"])
def test_an_entry_without_samples_is_incomplete(clean: Path, shared: Kb, which: str) -> None:
    for sample in (clean / "deepspeed" / "our-xyzzy-fails").glob(f"{which}-*"):
        sample.unlink()

    assert any(f"no {which} sample" in finding.message for finding in checked(clean, shared))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("positive-log.log", "nothing of note\n", "must be answered by our-xyzzy-fails"),
        ("negative-healthy-run.log", "RuntimeError: xyzzy plugh 7 failed\n", "yet answered by it"),
    ],
)
def test_a_sample_that_the_matcher_answers_otherwise_is_a_finding(
    clean: Path, small_public: Sources, name: str, text: str, says: str
) -> None:
    (clean / "deepspeed" / "our-xyzzy-fails" / name).write_text(text)
    kb = KnowledgeBase.open([clean])
    found = list(check_samples(kb, {"our-xyzzy-fails": clean / "deepspeed" / "our-xyzzy-fails.md"}))

    assert [says in finding.message for finding in found] == [True]


@pytest.mark.parametrize("path", ENTRIES, ids=[path.stem for path in ENTRIES])
def test_the_samples_of_every_entry_are_answered_right(kb: KnowledgeBase, path: Path) -> None:
    assert list(check_samples(kb, {path.stem: path})) == []


@pytest.mark.parametrize("log", sorted((ROOT / "tests" / "healthy").glob("*.log")), ids=lambda path: path.stem)
def test_a_healthy_log_full_of_warnings_matches_nothing(kb: KnowledgeBase, log: Path) -> None:
    diagnosis = kb.diagnose(log)

    assert not diagnosis.recognised, diagnosis.hypotheses[0]


def test_the_central_entry_names_every_way_to_apply_the_fix(kb: KnowledgeBase) -> None:
    fix = kb.entry(CENTRAL).body.fix
    conditions = " ".join(condition for variant in fix.variants for condition in variant.when)

    assert fix.variants[0].snippets[0].text.startswith("from deepspeed.utils import set_z3_leaf_modules")
    for trainer in ("accelerate", "hf-trainer", "trl", "llama-factory", "ms-swift", "axolotl", "openrlhf"):
        assert trainer in conditions


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"abcd.{0,200}efgh", "abcd 12 efgh"),
        (r"^ValueError: bad \w{1,10} here", "[rank0]: ValueError: bad value here"),
        (r"[A-Za-z]{1,40}Error: no", "ValueError: no"),
    ],
)
def test_what_hyperscan_is_given_finds_at_least_what_the_pattern_finds(pattern: str, line: str) -> None:
    assert patterns.hyperscan_matches(pattern, line)


def test_a_new_entry_is_laid_out_and_says_what_is_missing(run: Callable[..., Ran], tmp_path: Path) -> None:
    made = run("kb", "new", "my-failure", "--hub", "deepspeed", "--catalog", str(tmp_path))
    path = tmp_path / "deepspeed" / "my-failure.md"

    assert made.status == 0
    assert parse_entry(path.read_text(), str(path)).id == "my-failure"
    assert run("kb", "new", "my-failure", "--hub", "deepspeed", "--catalog", str(tmp_path)).status == 2
    assert run("kb", "new", "My Failure", "--hub", "deepspeed", "--catalog", str(tmp_path)).status == 2
    assert run("kb", "new", "my-failure", "--hub", "nowhere", "--catalog", str(tmp_path)).status == 2


def test_kb_check_ends_with_1_on_findings_and_0_when_clean(
    run: Callable[..., Ran], clean: Path, small_public: Sources
) -> None:
    assert run("kb", "check", str(clean)).status == 0

    (clean / "deepspeed" / "our-xyzzy-fails.md").write_text(
        ENTRY.format(id="our-xyzzy-fails").replace("phase: init", "phase: lunch")
    )
    ran = run("kb", "check", str(clean), "--no-samples")
    assert ran.status == 1
    assert "our-xyzzy-fails.md:6: unknown phase" in ran.out
