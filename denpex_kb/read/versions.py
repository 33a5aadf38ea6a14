"""The versions that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from denpex_kb.model.facts import Fact

_NAMES = (
    "torch|pytorch|deepspeed|transformers|accelerate|trl|peft|datasets|lightning|vllm|jax|nccl|cuda|python"
    r"|bitsandbytes|llama-?factory|ms-swift|axolotl|openrlhf"
)
_SPELT = {"pytorch": "torch", "llamafactory": "llama-factory"}
_NUMBER = r"v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|dev|rc)\d+)?)(?![\w.-]*[a-z%])"
_FIRST = re.compile(rf"\b({_NAMES})\b[\s=<>:~(]*(?:version)?(?:\s+(?:is|was)\b)?[\s=<>:~]*{_NUMBER}")
# "fine on transformers 4.52.4, stuck from 4.53 on" names two versions of one package
_FURTHER = re.compile(
    rf".{{0,60}}?\b(?:from|since|to|on|in|with|after|before|until|and|or|vs|than|at|version|upgraded)\s+{_NUMBER}"
)


def named_versions(text: str) -> Iterator[Fact]:
    """Find the versions that stand behind a package's name, and further ones of the same package."""
    text = text.lower()
    matches = list(_FIRST.finditer(text))
    ends = [following.start() for following in matches[1:]] + [len(text)]
    for match, end in zip(matches, ends, strict=False):
        name = _SPELT.get(match.group(1), match.group(1))
        versions = [match.group(2)]
        at = match.end()
        while (further := _FURTHER.match(text, at, end)) is not None:
            versions.append(further.group(1))
            at = further.end()
        for version in versions:
            yield Fact(f"{name}.version", version, "question", text=f"{name} {version}")
