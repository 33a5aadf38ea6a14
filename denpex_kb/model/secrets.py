"""Secrets in text: the one place that knows their shapes and hides them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar

HIDDEN = "[hidden]"
T = TypeVar("T")

# What only a credential looks like; the minimum lengths are low, so that one that was cut off is hidden too.
_SHAPES = (
    # digits or capitals, or length: hf_transfer is none
    r"\b(?:hf_|api_org_)(?:(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}|[a-z]{20,})",
    r"\bgh[pousr]_[A-Za-z0-9]{8,}|\bgithub_pat_[A-Za-z0-9_]{8,}",
    r"\bglpat-[\w-]{8,}",
    r"\b(?:sk|rk|pk)-(?:ant-|proj-|live-|test-|or-)?(?=[\w-]*\d)[A-Za-z0-9_-]{16,}",
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"\b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{8,}",
    r"\bAIza[\w-]{16,}|\bya29\.[\w.-]{10,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}",
    r"\bnpm_[A-Za-z0-9]{16,}|\bpypi-(?=[\w-]*\d)[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{16,}|\bnvapi-[\w-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]{2,})?",
    r"\bwandb_v\d_[A-Za-z0-9_]{8,}",
)
# A value that its name gives away; group 1 is the name with its sign, the rest is hidden.
_NAME = (
    r"[\w.-]{0,40}(?:api[_-]?key|secret|passw(?:or)?d|passwd|pwd|credential|private[_-]?key|access[_-]?key"
    r"|auth[_-]?token|(?<![a-z])token|apikey|session[_-]?key)(?:[_-]?(?:id|key|value))?"
)
_NAMED = (
    rf"(?P<name>\b{_NAME}(?:\\?[\"'])?\s{{0,3}}(?:=|:|=>)\s{{0,3}}(?:\\?[\"'])?)(?P<value>[^\s\"'\\,;)}}\]]{{6,}})",
    r"(?P<flag>--?[\w-]{0,30}(?:api-?key|secret|password|token)[ =])(?P<given>[^\s\"'\\,;]{6,})",
    # keys of whatever service: only what looks like one, for a sort key or a column's key is none
    r"(?P<option>--[\w-]{0,30}[-_]key[ =][\"']?)(?P<argument>(?=[A-Za-z_+/-]*\d)[A-Za-z0-9+/=_-]{20,})",
    r"(?P<variable>(?-i:\b[A-Z][A-Z0-9_]{0,40}_KEY)[\"']?\s?[=:]\s?[\"']?)(?P<content>(?=[A-Za-z_+/-]*\d)[A-Za-z0-9+/=_-]{20,})",
    r"(?P<said>\b(?:api|access|secret|private) key:?\s{1,3})(?P<told>(?=[A-Za-z_+/-]*\d)[A-Za-z0-9+/=_-]{20,})",
    r"(?P<bearer>\b(?:Bearer|Basic)\s{1,3})(?P<ticket>[A-Za-z0-9+/_.=-]{8,})",
    r"(?P<login>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{1,100}:)(?P<pass>[^\s/@\"']{1,200})(?=@)",
    r"(?P<netrc>\blogin \S{1,100} password )(?P<word>\S{1,200})",
)
_KEY_BLOCK = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.{0,8000}?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
# One of these stands, in small letters, in every text that holds a secret: most lines are done after this one look.
_HINTS = (
    *("hf_", "api_org_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "akia", "asia", "agpa", "aroa"),
    *("sk-", "rk-", "pk-", "sk_", "rk_", "pk_", "aiza", "ya29", "xox", "npm_", "pypi-", "dop_v1", "nvapi", "eyj"),
    *("wandb_v", "key", "secret", "passw", "pwd", "credential", "token", "bearer", "basic", "://", "private"),
)
# What a tokenizer's or a config's `token` holds and no secret does.
_HARMLESS = (
    r"^(?:<|\[|\{|\$|\*|None|null|true|false|\d[\d.,/]*$|int|str|Tensor|tensor|torch|self\b|auto|unused"
    r"|\w{0,20}(?:Error|ids?|count|length)\b|[a-z_]{1,40}(?:\.[a-z_]{1,40}){1,6}[(\[]?$)"
)

Replace = Callable[[str], str]


def _always_hidden(_: str) -> str:
    return HIDDEN


def hide_secrets(text: str, replace: Replace = _always_hidden) -> str:
    """Put a mark in place of every token, key and password in a text.

    Args:
        text: one line or many.
        replace: what to put in place of a secret; the same mark for all when left out.
    """
    if not _may_hold_secrets(text):
        return text
    block, shape, *pairs = _compiled()
    text = block.sub(lambda match: replace(match.group(0)), text)
    text = shape.sub(lambda match: replace(match.group(0)), text)
    for pattern in pairs:
        text = pattern.sub(lambda match: _pair(match, replace), text)
    return text


def _may_hold_secrets(text: str) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)


@cache
def _compiled() -> list[re.Pattern[str]]:
    """Compile the patterns when a text first asks for them: most commands never do."""
    pairs = [re.compile(pattern, re.IGNORECASE if "bearer" not in pattern else 0) for pattern in _NAMED]
    return [re.compile(_KEY_BLOCK), re.compile("|".join(_SHAPES)), *pairs]


def _pair(match: re.Match[str], replace: Replace) -> str:
    name, value = (part or "" for part in match.groups()[:2])
    if HIDDEN in value or re.match(_HARMLESS, value, re.IGNORECASE) or not _is_telling(name, value):
        return match.group(0)
    return name + replace(value)


def _is_telling(name: str, value: str) -> bool:
    """Say whether a value is no word of prose, as it may stand behind `token:` or `key:`."""
    if re.search(r"passw|pwd|secret|://|login", name, re.IGNORECASE):
        return True
    return bool(re.search(r"\d", value)) or len(value) >= 20


def without_secrets(value: T) -> T:
    """Return a struct of which no text holds a secret; the same object where there was none."""
    import msgspec

    encoded = msgspec.json.encode(value).decode()
    if not _may_hold_secrets(encoded):
        return value
    data = msgspec.to_builtins(value)
    cleaned = _cleaned(data)
    return value if cleaned == data else msgspec.convert(cleaned, type(value))


def _cleaned(data: object) -> object:
    if isinstance(data, str):
        return hide_secrets(data)
    if isinstance(data, dict):
        return {key: _cleaned(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [_cleaned(item) for item in data]
    return data
