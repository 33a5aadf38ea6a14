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
_WORDS = re.compile(rf"\b({_NAMES})\b|(?<![\w.])v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|dev|rc)\d+)?)\b(?!\.\d|[a-z%])")
_REACH = 90  # characters from a package's name to a version of it


def named_versions(text: str) -> Iterator[Fact]:
    """Find versions and the packages they belong to: each belongs to the package named last before it.

    "Fine on transformers 4.52.4, stuck from 4.53 on" names two versions of one package.
    """
    package: str | None = None
    since = 0
    for match in _WORDS.finditer(text.lower()):
        if match.group(1):
            package, since = match.group(1), match.end()
        elif package is not None and match.start() - since <= _REACH:
            since = match.end()
            name = _SPELT.get(package, package)
            yield Fact(f"{name}.version", match.group(2), "question", text=f"{name} {match.group(2)}")
