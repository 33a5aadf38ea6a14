"""The parts that pages are made of: drawings, samples, introductions, templates of messages, literals."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog.literals import literals
from denpex_kb.hub.diagrams import draw, read_diagram
from denpex_kb.hub.highlight import highlight
from denpex_kb.hub.introductions import read_introductions
from denpex_kb.hub.library import Library
from denpex_kb.hub.messages import messages_by_letter
from denpex_kb.hub.samples import best_sample, sample_choices
from denpex_kb.hub.svg import balanced, card
from denpex_kb.index.places import public_sources
from denpex_kb.read.prefixes import PrefixReader

RANKS: dict[str, object] = {
    "kind": "ranks",
    "caption": "Two ranks",
    "lanes": [
        {"name": "rank 0", "steps": [{"call": "a"}, {"wait": "b"}]},
        {"name": "rank 1", "steps": [{"call": "a"}, {"skip": "c"}]},
    ],
    "meets": [{"column": 2, "text": "they do not meet"}],
}
MEMORY: dict[str, object] = {
    "kind": "memory",
    "caption": "Too much",
    "phases": ["one", "two"],
    "layers": [{"name": "weights", "values": [1, 1]}, {"name": "activations", "values": [0, 3]}],
    "limit": 3,
    "fails_at": "two",
}


@pytest.mark.parametrize("data", [RANKS, MEMORY])
def test_a_drawing_is_well_formed_and_says_what_it_shows(data: dict[str, object]) -> None:
    """The SVG can be parsed and has a title and a description in words."""
    diagram = read_diagram(data)
    assert diagram is not None
    svg = ET.fromstring(str(draw(diagram, "dg")))
    assert svg.findtext("title") == data["caption"]
    assert len(svg.findtext("desc") or "") > 20


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**RANKS, "kind": "cake"}, "cake"),
        ({**RANKS, "lanes": []}, "needs lanes"),
        ({**RANKS, "meets": [{"column": 9, "text": "x"}]}, "column 9"),
        ({**RANKS, "lanes": [{"name": "x", "steps": [{"call": "a", "wait": "b"}]}]}, "a step is one of"),
        ({**RANKS, "colour": "red"}, "unknown field"),
        ({**MEMORY, "fails_at": "three"}, "none of the phases"),
        ({**MEMORY, "layers": [{"name": "weights", "values": [1]}]}, "1 values for 2 phases"),
        ({**MEMORY, "limit": 0}, "limit above 0"),
    ],
)
def test_a_wrong_drawing_says_what_is_wrong(data: dict[str, object], message: str) -> None:
    """The message names the part that does not fit."""
    with pytest.raises(ValueError, match=message):
        read_diagram(data)


def test_labels_are_broken_evenly() -> None:
    """No label leaves a single number on a line of its own."""
    assert balanced("all-gather expert 1", 18) == ["all-gather", "expert 1"]
    assert balanced("short", 18) == ["short"]


def test_a_card_is_well_formed() -> None:
    """Long titles with signs are escaped and cut."""
    ET.fromstring(card("a < b & " + "long words " * 40, "hub · hang", "Name", "#123456"))


def test_every_example_of_a_pattern_holds_one_of_its_literals(kb: KnowledgeBase) -> None:
    """A line that lacks all literals cannot match: the browser may pass it over."""
    for summary in kb.entries():
        for signature in kb.entry(summary.id).meta.signatures:
            if signature.pattern:
                needed = literals(signature.pattern)
                assert needed, signature.pattern
                for example in signature.examples:
                    assert any(text in example for text in needed), (signature.pattern, example)


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("Address already in use", ("Address already in use",)),
        (r"(cat|mouse) trap", (" trap",)),
        (r"(error|failed) \d", ("error", "failed")),
        (r"(error|\d+) \d", ()),
        (r"(?:NCCL ){2}x", ("NCCL ",)),
        (r"(NCCL )?x", ()),
    ],
)
def test_literals_of_a_pattern(pattern: str, needed: tuple[str, ...]) -> None:
    """Alternatives count together; what may be absent does not count."""
    assert literals(pattern) == needed


def test_the_sample_marks_the_lines_that_prove_the_entry(kb: KnowledgeBase) -> None:
    """The lines that the entry's own signatures match are marked, with context, and gaps are left out."""
    sources = public_sources()
    path = sources.catalogs[0] / "pytorch-distributed" / "dist-tcpstore-address-in-use.md"
    entry = kb.entry(path.stem)
    files = best_sample(entry, sample_choices(path), PrefixReader(kb.index.kb.prefixes))
    marked = [line for file in files for stretch in file.stretches for line in stretch if line.telling]
    assert marked
    for line in marked:
        shapes = [
            signature.pattern
            for signature in entry.meta.signatures
            if signature.pattern and signature.name in line.names
        ]
        assert any(re.search(shape.removeprefix("^"), line.text) for shape in shapes)


def test_messages_are_found_by_what_they_say(kb: KnowledgeBase) -> None:
    """Prefixes, the exception's type and what varies are taken off."""
    sources = public_sources()
    entries = [kb.entry(summary.id) for summary in kb.entries()]
    library = Library(entries, {entry.id: sources.catalogs[0] / "x.md" for entry in entries}, kb.index.kb)
    letters = messages_by_letter(library, PrefixReader(kb.index.kb.prefixes))
    assert len(letters) > 15
    texts = [message.text for held in letters.values() for message in held]
    assert not any(re.match(r"\[rank\d", text) for text in texts)
    assert any(message.text.startswith("The server socket has failed") for message in letters["t"])


def test_introductions_name_phases(kb: KnowledgeBase) -> None:
    """Every hub introduction is of a hub, and its headings are phases of a run."""
    known = {phase.id for phase in kb.index.kb.phases}
    found = read_introductions(public_sources().kb / "hubs")
    assert set(found) == {item.id for item in kb.index.kb.hubs}
    for hub, introduction in found.items():
        assert hub in {item.id for item in kb.index.kb.hubs}
        assert introduction.lead
        assert set(introduction.phases) <= known, hub


def test_every_hub_is_introduced_for_each_phase_in_which_it_fails(kb: KnowledgeBase) -> None:
    """No page of a hub, nor of a phase in it, begins with the phase's bare definition."""
    found = read_introductions(public_sources().kb / "hubs")
    wanted = {(summary.hub, summary.phase) for summary in kb.entries()}
    assert sorted(f"{hub}/{phase}" for hub, phase in wanted if phase not in found[hub].phases) == []


def test_highlighting_keeps_the_text() -> None:
    """Only spans are added."""
    code = 'def f(x):  # why\n    return "a < b" if x else 1e-5\n'
    html = str(highlight(code, "python"))
    assert '<span class="tc"># why</span>' in html
    assert re.sub(r"</?span[^>]*>", "", html).replace("&lt;", "<").replace("&#34;", '"') == code


def test_neighbours_stay_in_their_hub(kb: KnowledgeBase) -> None:
    """Previous and next never leave the hub, and go through all of it."""
    entries = [kb.entry(summary.id) for summary in kb.entries()]
    library = Library(entries, {entry.id: Path("x.md") for entry in entries}, kb.index.kb)
    for entry in entries:
        for other in library.neighbours[entry.id]:
            assert other is None or other.meta.hub == entry.meta.hub
