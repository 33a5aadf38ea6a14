"""Config files → facts, by the keys that the fact declarations name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from denpex_kb.model.facts import Fact
from denpex_kb.model.kb import Kb
from denpex_kb.read.settings import stated

_SUFFIXES = (".json", ".yaml", ".yml")
MAX_SIZE = 4 << 20
# What a file is, by the keys at its top.
_KINDS = (
    ("deepspeed", {"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}),
    ("accelerate", {"compute_environment", "distributed_type", "deepspeed_config", "fsdp_config"}),
    ("model", {"architectures", "model_type"}),
    ("trainer", {"output_dir", "per_device_train_batch_size", "model_name_or_path", "base_model", "learning_rate"}),
)


def looks_like_config(name: str) -> bool:
    """Say whether a file's name is that of a config."""
    return PurePath(name).suffix.lower() in _SUFFIXES


def read_config(text: str, name: str, kb: Kb, *, named: bool) -> list[Fact] | None:
    """Read the facts that a config states; None where the text is no config of a known kind.

    Args:
        text: the file's content.
        name: the file's name, as shown to the user.
        kb: the declarations of the facts.
        named: whether the user named this file, which makes its facts as good as said.
    """
    data = parse_config(text, name)
    kind = kind_of(data)
    if kind is None:
        return None
    facts = list(stated(data, kind, name, kb, lambda key: line_of_key(text, key), named=named, complete=True))
    if kind == "model":
        facts += _model_facts(data, text, name, kb, named=named)
    return facts


def config_kind(text: str, name: str) -> str | None:
    """Say what kind of config a text is: deepspeed, accelerate, model, trainer; None where it is none of them."""
    return kind_of(parse_config(text, name))


def kind_of(data: Any) -> str | None:
    """Say what kind of config some data are, by the keys at their top."""
    if not isinstance(data, dict):
        return None
    return next((kind for kind, keys in _KINDS if keys & data.keys()), None)


def parse_config(text: str, name: str) -> Any:
    """Read JSON or YAML; None where the text is neither."""
    text = text.removeprefix("\ufeff")
    try:
        if name.endswith(".json"):
            return json.loads(text)
        import yaml  # 30 ms that only a YAML file is worth

        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
    except (ValueError, RecursionError):
        return None
    except Exception as error:  # yaml's own error tree, not imported unless needed
        if type(error).__module__.startswith("yaml"):
            return None
        raise


def line_of_key(text: str, path: str) -> int | None:
    """Return the line (from 1) on which the last key of a dotted path stands, below the keys before it."""
    at = 0
    for step in path.split("."):
        found = re.compile(rf'["\']?\b{re.escape(step)}["\']?\s*:').search(text, at)
        if found is None:
            return None
        at = found.start()
    return text.count("\n", 0, at) + 1


def _model_facts(data: dict[str, Any], text: str, name: str, kb: Kb, *, named: bool) -> Iterator[Fact]:
    model_type = str(data.get("model_type", ""))
    architectures = {str(item) for item in data.get("architectures") or ()}
    for family in kb.models:
        if family.id == model_type or architectures & set(family.architectures):
            line = line_of_key(text, "model_type") or line_of_key(text, "architectures")
            said = f"model_type: {model_type}"
            yield Fact("model.family", family.id, "config", name, line, None, said, named)
            yield Fact("model.moe", family.moe, "config", name, line, None, said, named)
            return
    experts = next((key for key in ("num_experts", "num_local_experts", "n_routed_experts") if data.get(key)), None)
    if experts:
        yield Fact(
            "model.moe", True, "config", name, line_of_key(text, experts), None, f"{experts}: {data[experts]}", named
        )
