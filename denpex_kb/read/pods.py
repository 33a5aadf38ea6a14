"""Kubernetes manifests → what their pods ask for, and the commands that they start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

_GPU = ("nvidia.com/gpu", "amd.com/gpu")
_CARD = re.compile(r"(?:^|[-_])(v100|t4|p100|a100|h100|h200)(?:$|[-_])", re.IGNORECASE)
MAX_DOCUMENTS = 200


class Pod(Struct, frozen=True):
    """A container of a pod that asks for GPUs."""

    settings: dict[str, Any]  # gpus, shm, gpu_model
    command: str  # a shell text; empty where there is none
    line: int


def looks_like_manifest(text: str) -> bool:
    """Say whether a text may be a manifest with containers."""
    return bool(re.search(r"^\s*(?:- )?kind\s*:", text, re.MULTILINE)) and "containers" in text


def pods(text: str) -> list[Pod]:
    """Read all pods of a manifest; nothing where it is no valid YAML (a template, for instance)."""
    import yaml

    found: list[Pod] = []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for number, document in enumerate(yaml.load_all(text, Loader=loader)):
            if number >= MAX_DOCUMENTS:
                break
            for spec in _specs(document):
                found += _containers(spec, text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    return found


def _specs(value: Any) -> Iterator[dict[str, Any]]:
    pending = [value]
    seen = 0
    known: set[int] = set()  # anchors may make a document that contains itself
    while pending and seen < 100_000:
        item = pending.pop()
        seen += 1
        if isinstance(item, dict | list):
            if id(item) in known:
                continue
            known.add(id(item))
        if isinstance(item, dict):
            if isinstance(item.get("containers"), list):
                yield item
            pending += item.values()
        elif isinstance(item, list):
            pending += item


def _containers(spec: dict[str, Any], text: str) -> Iterator[Pod]:
    card = next(
        (
            match.group(1).lower()
            for value in _strings(spec.get("nodeSelector"))
            if (match := _CARD.search(value)) is not None
        ),
        None,
    )
    for container in spec["containers"]:
        if not isinstance(container, dict):
            continue
        resources = container.get("resources")
        limits = resources.get("limits") or resources.get("requests") if isinstance(resources, dict) else None
        gpus = next((limits[name] for name in _GPU if name in limits), None) if isinstance(limits, dict) else None
        if gpus is None or not str(gpus).isdigit():
            continue
        mounts = container.get("volumeMounts")
        paths = [item.get("mountPath") for item in mounts if isinstance(item, dict)] if isinstance(mounts, list) else []
        mounted = any(str(path).rstrip("/") == "/dev/shm" for path in paths)  # noqa: S108 (a path in the manifest)
        shm = "mounted" if mounted else "host" if spec.get("hostIPC") is True else "default"
        settings: dict[str, Any] = {"gpus": int(gpus), "shm": shm, "gpu_model": card}
        words = [*_words(container.get("command")), *_words(container.get("args"))]
        yield Pod(settings, _shell_text(words), _line(text, gpus))


def _words(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (str(item) for item in value.values())


def _shell_text(words: list[str]) -> str:
    import shlex

    if len(words) > 1 and re.fullmatch(r"(?:.*/)?(?:ba|da)?sh", words[0]):
        return words[-1]
    return shlex.join(words)


def _line(text: str, gpus: Any) -> int:
    found = re.search(rf"(?:nvidia|amd)\.com/gpu[\"']?\s*:\s*[\"']?{re.escape(str(gpus))}\b", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
