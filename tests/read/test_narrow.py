"""What a scan looks for of a pattern: never less than the pattern matches."""

from __future__ import annotations

import re

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog.narrow import narrowed
from denpex_kb.catalog.patterns import hyperscan_matches


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        pytest.param("Watchdog caught (a|b) time", "Watchdog caught (a|b) time", id="it begins with what tells"),
        pytest.param(r"trainer\w*\.py, line \d+, in compute_it", ",\\ in\\ compute_it", id="a frame of a common file"),
        pytest.param(r"\[rank[1-7]\]:.*out of memory", r":out\ of\ memory"[1:], id="a prefix of every line"),
        pytest.param(r"(Cannot open \w+|: )GPU is lost\.", r"GPU\ is\ lost\.", id="one branch is weak"),
        pytest.param(r"\b\w*(sum|cum)\w*_?loss \+=", r"loss \+=", id="a weak beginning is left out"),
        pytest.param(r"(?:rank|Rank)[ =]{0,2}(\d{1,6}):$", r"\d:$", id="a line that ends in a number and a colon"),
        pytest.param(r"(loss|Loss)['\"]?[ :=]+(nan|inf)\b", r"(nan|inf)\b", id="what tells comes later"),
        pytest.param(r"rank \d+, ", r"rank \d+, ", id="nothing in it tells more"),
        pytest.param("(broken", "(broken", id="malformed, which is told elsewhere"),
    ],
)
def test_a_pattern_that_begins_with_everyday_words_is_narrowed(pattern: str, wanted: str) -> None:
    assert narrowed(pattern) == wanted


def test_every_signature_is_still_found_in_its_examples(kb: KnowledgeBase) -> None:
    examples = [
        (signature.pattern, line)
        for summary in kb.entries()
        for signature in kb.entry(summary.id).meta.signatures
        if signature.pattern and narrowed(signature.pattern) != signature.pattern
        for line in ([signature.example] if isinstance(signature.example, str) else signature.example or ())
        if re.search(signature.pattern, line)
    ]

    assert len(examples) > 50
    assert [pattern for pattern, line in examples if not hyperscan_matches(pattern, line)] == []
