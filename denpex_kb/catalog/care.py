"""The checks that keep a growing catalog trustworthy: pinned references, whole fixes, patterns not copied from one log."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from denpex_kb.catalog.scaffold import UNFILLED
from denpex_kb.model.entry import Affected, Entry, Signature

Report = Callable[[str, str], None]  # (path within the front matter, message)

_BRANCH = re.compile(
    r"/(?:blob|tree|raw|blame|edit)/(?:refs/heads/\S+|(main|master|develop|dev|trunk|HEAD|nightly|next|latest)(?:/|$))"
    r"|^https://raw\.githubusercontent\.com/[^/]+/[^/]+/(main|master|develop|dev|trunk|HEAD)/"
)
# What one log happened to hold. A pattern is looked at as text, with its classes and counts taken out.
_COPIED = (
    (
        re.compile(r"(?<![0-9a-zA-Z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,}(?![0-9a-zA-Z])"),
        "a long hexadecimal id",
    ),
    (re.compile(r"(?<!\d)(?:19|20)\d\d-[01]\d-[0-3]\d(?!\d)"), "a date"),
    (re.compile(r"(?<!\d)[0-2]\d:[0-5]\d:[0-5]\d(?!\d)"), "a time of day"),
    (re.compile(r"\bpid(?::| ?=|\)?) ?\(?\d{2,}"), "a process id"),
    (re.compile(r"(?<!\d)(?:\d{1,3}\.){3}\d{1,3}(?!\d)"), "an address"),
    (
        re.compile(r"\.(?:py|cpp|cc|cu|h|hpp|go|rs):\d{2,}(?!\d)|\bline \d{2,}\b"),
        "a line number, which every release moves",
    ),
    (re.compile(r"(?:^|[^\w])/(?:home|mnt|data|scratch|Users)/\w+"), "a path of one machine"),
    (re.compile(r"\b(?:node|host|worker|gpu|dgx|ip)-?\d{2,}\b"), "a host's name"),
)
_NOT_IDS = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255"})


def check_care(entry: Entry, report: Report) -> None:
    """Check what one entry owes its readers beyond its form."""
    meta = entry.meta
    for index, reference in enumerate(meta.references):
        if (moving := _BRANCH.search(reference.url)) is not None:
            report(
                f".references[{index}]",
                f"{moving.group(0)} is a branch, and what it shows will change; link to a tag or a commit",
            )
    for index, signature in enumerate(meta.signatures):
        for what in copied(signature):
            report(f".signatures[{index}].pattern", f"signature {signature.name} holds {what}; generalise it")
    for message in (*_unfilled(entry), *_variants(entry), *_twins(meta.signatures)):
        report("", message)
    for index, affected in enumerate(meta.affected):
        for message in _bounds(affected):
            report(f".affected[{index}].versions", message)


def copied(signature: Signature) -> Iterator[str]:
    """Say what of a pattern was copied from one log: ids, dates, hosts, line numbers."""
    if signature.pattern is None:
        return
    text = re.sub(r"(?<!\\)\{\d*,?\d*\}", "", re.sub(r"(?<!\\)\[\^?\]?(?:\\.|[^\]\\])*\]", "", signature.pattern))
    text = text.replace("\\.", ".").replace("\\-", "-").replace("\\(", "(").replace("\\)", ")")
    for shape, what in _COPIED:
        found = next((match.group(0) for match in shape.finditer(text) if match.group(0) not in _NOT_IDS), None)
        if found is not None:
            yield f"{what} ({found.strip()!r})"


def _unfilled(entry: Entry) -> Iterator[str]:
    """Name the lines that `denpex kb new` laid out and nobody has replaced."""
    meta = entry.meta
    said = {
        meta.title,
        meta.action.text,
        meta.verified.what,
        *meta.questions,
        *(line for signature in meta.signatures for line in (signature.pattern or "", *signature.examples)),
        *(text for reference in meta.references for text in (reference.url, reference.establishes)),
        *(line.strip() for line in entry.body.markdown.splitlines()),
    }
    for line in sorted(said & UNFILLED):
        yield f"still the scaffold's words: {line!r}; say what is the case here"


def _variants(entry: Entry) -> Iterator[str]:
    for variant in entry.body.fix.variants:
        text = "\n".join((*variant.notes, *variant.steps))
        missing = [word for word in ("Cost:", "Undo:") if word not in text]
        if missing:
            yield f"fix variant {variant.title!r} lacks `{'` and `'.join(missing)}`; write `Cost: … Undo: …` below it"


def _twins(signatures: Iterable[Signature]) -> Iterator[str]:
    """Name signatures of one entry that are the same line counted twice; one combination may well want it twice."""
    signatures = tuple(signatures)
    together = [{*signature.all_of, *signature.sequence} for signature in signatures]
    first: dict[tuple[str, str | None], Signature] = {}
    for signature in signatures:
        if signature.pattern is None:
            continue
        before = first.setdefault((signature.pattern, signature.unless), signature)
        if before is not signature and not any({before.name, signature.name} <= names for names in together):
            yield f"the signatures {before.name} and {signature.name} have the same pattern; keep one"


def _bounds(affected: Affected) -> Iterator[str]:
    """Say where the affected range and the version that fixed it do not meet."""
    if not affected.versions:
        return
    try:
        specifiers = list(SpecifierSet(affected.versions))
        fixed = Version(affected.fixed_in) if affected.fixed_in else None
    except (InvalidSpecifier, InvalidVersion):
        return  # said already
    lower = [Version(item.version) for item in specifiers if item.operator in (">=", ">")]
    upper = [Version(item.version) for item in specifiers if item.operator in ("<=", "<")]
    if lower and upper and max(lower) > min(upper):
        yield f"{affected.versions!r} holds no version at all"
    if fixed is None:
        return
    if lower and fixed <= max(lower):
        yield f"fixed in {fixed}, which is not above where {affected.versions!r} begins"
    if not upper:
        yield f"fixed in {fixed}, yet {affected.versions!r} has no upper end; write `<{fixed}`"
    elif fixed < max(Version(item.version) for item in specifiers if item.operator in ("<=", "<")):
        yield f"fixed in {fixed}, yet {affected.versions!r} goes beyond it"


def unanswered_lookalikes(entries: Iterable[Entry]) -> Iterator[tuple[str, int, str]]:
    """Find look-alikes that do not point back: (entry, index of its look-alike, message).

    Who is led to a generic entry or to a consequence has nothing to be led back to by name: those give way by themselves.
    """
    by_id = {entry.id: entry for entry in entries}
    for entry in by_id.values():
        for index, lookalike in enumerate(entry.meta.lookalikes):
            other = by_id.get(lookalike.id)
            if other is None or other.meta.standing != "specific" or other.meta.role == "collateral":
                continue
            if entry.id not in {item.id for item in other.meta.lookalikes}:
                yield (
                    entry.id,
                    index,
                    f"{other.id} does not point back; give it the look-alike {entry.id} with the sign of that one",
                )


def related(one: Entry, other: Entry) -> bool:
    """Say whether two entries know of each other: look-alikes, parent and child, or children of one parent."""
    pairs = ((one.meta, other.meta), (other.meta, one.meta))
    if any(to.id in {item.id for item in of.lookalikes} or of.specialises == to.id for of, to in pairs):
        return True
    return one.meta.specialises is not None and one.meta.specialises == other.meta.specialises


def shared_patterns(entries: Iterable[Entry]) -> Iterator[tuple[str, int, str]]:
    """Find a telling pattern that two entries hold without knowing of each other: (entry, index, message)."""
    holders: dict[tuple[str, str | None], list[tuple[Entry, int]]] = defaultdict(list)
    for entry in entries:
        for index, signature in enumerate(entry.meta.signatures):
            if signature.pattern and signature.strength in ("decisive", "strong"):
                holders[(signature.pattern, signature.unless)].append((entry, index))
    for places in holders.values():
        for number, (entry, index) in enumerate(places):
            for other, _ in places[:number]:
                if other.id == entry.id or "specific" not in (other.meta.standing, entry.meta.standing):
                    continue
                name = entry.meta.signatures[index].name
                if not related(entry, other):
                    yield entry.id, index, f"signature {name} is one of {other.id}'s too; name it as a look-alike"
                elif entry.meta.standing == other.meta.standing == "specific" and _both_decide(entry, other, index):
                    yield (
                        entry.id,
                        index,
                        f"signature {name} decides for {other.id} as well; it can decide for one only",
                    )


def _both_decide(entry: Entry, other: Entry, index: int) -> bool:
    signature = entry.meta.signatures[index]
    return signature.strength == "decisive" and any(
        item.strength == "decisive" and (item.pattern, item.unless) == (signature.pattern, signature.unless)
        for item in other.meta.signatures
    )
