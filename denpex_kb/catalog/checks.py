"""The checks behind `denpex kb check` that need only the files."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from denpex_kb.catalog import patterns, yamlfile
from denpex_kb.catalog.care import check_care, shared_patterns, unanswered_lookalikes
from denpex_kb.catalog.conditions import condition_faults, is_specifier
from denpex_kb.catalog.edits import check_edits
from denpex_kb.catalog.findings import Finding
from denpex_kb.catalog.load import Loaded
from denpex_kb.catalog.preflight import check_preflight
from denpex_kb.model.entry import Entry, Signature
from denpex_kb.model.kb import Kb

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_-]*\.[a-z_]+|world_size|nodes|precision)\}")
# written backwards, so that the check does not find itself
_REGISTRY_HOST = re.compile(
    "|".join(host[::-1] for host in (r"gro.\ipyp", "detsohnohtyp", r"sjmpn.\yrtsiger", r"naibed.\bed"))
)
_PLACEHOLDER_TALK = re.compile(
    r"\b(TODO|FIXME|TBD|lorem ipsum|contact (us|support))\b|\bUse Denpex to\b", re.IGNORECASE
)

Report = Callable[[str, str], None]  # (path within the front matter, message)


class Scope:
    """What an entry may refer to."""

    def __init__(self, kb: Kb, entries: Iterable[Entry]) -> None:
        """Collect the closed lists and the known ids."""
        self.kb = kb
        self.categories = {item.id for item in kb.categories}
        self.hubs = {item.id for item in kb.hubs}
        self.phases = {item.id for item in kb.phases}
        self.frameworks = {item.id for item in kb.frameworks}
        self.relations = {item.id for item in kb.relations}
        self.steps = [line for mark in kb.marks if mark.kind == "progress" for line in mark.examples]
        self.steps += [f"{head}step 100 loss 2.1" for head in _heads(kb)]
        self.facts = {fact.name: fact for fact in kb.facts}
        self.entries = {entry.id: entry for entry in entries}
        self.aliases = {alias: entry.id for entry in entries for alias in entry.meta.aliases}


def _heads(kb: Kb) -> Iterator[str]:
    """Return what launchers and loggers put in front of lines, as far as the examples show it."""
    for prefix in kb.prefixes:
        for example in prefix.examples:
            if (head := re.match(prefix.pattern, example)) is not None:
                yield head.group()


def check_catalog(loaded: Loaded, kb: Kb, scope: Scope | None = None) -> list[Finding]:
    """Check every entry of a catalog folder; findings of unreadable files included."""
    scope = scope or Scope(kb, loaded.entries)
    findings = list(loaded.findings)
    proofs: list[tuple[str, str, Callable[[], Finding]]] = []  # pattern, line, what to say if JavaScript finds it not
    patterns.compile_together(
        signature.pattern for entry in loaded.entries for signature in entry.meta.signatures if signature.pattern
    )
    for entry in loaded.entries:
        path = loaded.files[entry.id]
        head = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        head = head[4 : head.find("\n---\n", 3) + 1]

        def report(where: str, message: str, head: str = head, path: Path = path) -> None:
            findings.append(Finding(str(path), 2 + yamlfile.line_of(head, where), message))

        _check_lists(entry, path, scope, report)
        _check_signatures(entry, scope, report)
        _check_conditions(entry, scope, report)
        check_edits(entry, scope.facts, report)
        _check_versions(entry, report)
        _check_links(entry, scope, report)
        _check_body(entry, scope, report)
        _check_samples(entry, path, report)
        check_care(entry, report)
        check_preflight(entry, path, scope.facts, report)
        for index, signature in enumerate(entry.meta.signatures):
            if signature.pattern:
                for example in signature.examples:
                    says = f"signature {signature.name} does not match its own example in JavaScript: {example!r}"

                    def fails(head: str = head, path: Path = path, index: int = index, says: str = says) -> Finding:
                        line = 2 + yamlfile.line_of(head, f".signatures[{index}].pattern")
                        return Finding(str(path), line, says)

                    proofs.append((signature.pattern, example, fails))
    findings += _javascript(proofs)
    findings += _between(loaded, scope)
    aliases = Counter(alias for entry in loaded.entries for alias in entry.meta.aliases)
    for alias, count in aliases.items():
        if count > 1 or alias in scope.entries:
            findings.append(
                Finding(
                    str(loaded.files[scope.aliases[alias]]), 2, f"the alias {alias} leads to several entries; keep one"
                )
            )
    return sorted(set(findings))


def _between(loaded: Loaded, scope: Scope) -> Iterator[Finding]:
    """Check what entries say of each other; of the entries of other catalogs nothing is reported."""
    everything = tuple(scope.entries.values())
    for field, found in (("signatures", shared_patterns(everything)), ("lookalikes", unanswered_lookalikes(everything))):
        for entry_id, index, message in found:
            if entry_id in loaded.files:
                path = loaded.files[entry_id]
                head = path.read_text(encoding="utf-8").replace("\r\n", "\n")
                head = head[4 : head.find("\n---\n", 3) + 1]
                yield Finding(str(path), 2 + yamlfile.line_of(head, f".{field}[{index}]"), message)


def _check_lists(entry: Entry, path: Path, scope: Scope, report: Report) -> None:
    meta = entry.meta
    for field, value, allowed in (
        ("category", meta.category, scope.categories),
        ("hub", meta.hub, scope.hubs),
        ("phase", meta.phase, scope.phases),
    ):
        if value not in allowed:
            report(f".{field}", f"unknown {field} {value!r}; one of: {', '.join(sorted(allowed))}")
    if meta.id != path.stem:
        report(".id", f"the id {meta.id} differs from the file's name; rename the file to {meta.id}.md")
    if meta.hub != path.parent.name and path.parent.name in scope.hubs:
        report(".hub", f"the hub {meta.hub} differs from the folder; move the file to {meta.hub}/")
    for index, affected in enumerate(meta.affected):
        if affected.framework not in scope.frameworks:
            report(f".affected[{index}].framework", f"unknown framework {affected.framework!r}; see kb/frameworks.yaml")


def _check_signatures(entry: Entry, scope: Scope, report: Report) -> None:
    meta = entry.meta
    names = Counter(signature.name for signature in meta.signatures)
    for index, signature in enumerate(meta.signatures):
        where = f".signatures[{index}]"
        bodies = [
            signature.pattern,
            signature.fact,
            signature.relation,
            *map(bool, (signature.all_of, signature.any_of, signature.sequence)),
        ]
        if sum(bool(body) for body in bodies) != 1:
            report(
                where,
                f"signature {signature.name} needs exactly one of pattern, fact, relation, all_of, any_of, sequence",
            )
        _check_names(signature, names, where, report)
        if signature.relation and signature.relation not in scope.relations:
            report(
                f"{where}.relation",
                f"unknown relation {signature.relation!r}; one of: {', '.join(sorted(scope.relations))}",
            )
        if signature.fact:
            for message in condition_faults(signature.fact, scope.facts):
                report(f"{where}.fact", message)
        if signature.pattern:
            for message in (*pattern_faults(signature), *_step_faults(signature, scope)):
                report(f"{where}.pattern", f"signature {signature.name}: {message}")
    if meta.signatures and all(signature.strength == "part" for signature in meta.signatures):
        report(".signatures", "every signature is a `part`; nothing can ever match")


def _step_faults(signature: Signature, scope: Scope) -> Iterator[str]:
    """Refuse what matches the steps of training: a long log holds millions of them."""
    assert signature.pattern is not None
    try:
        pattern = re.compile(signature.pattern.removeprefix("^"))
    except re.error:
        return  # said already
    step = next((line for line in scope.steps if pattern.search(line)), None)
    if step is not None:
        yield f"the pattern matches a step of training ({step[:60]!r}); name more, or use `relation: steps-seen`"


def _check_names(signature: Signature, names: Counter[str], where: str, report: Report) -> None:
    if names[signature.name] > 1:
        report(where, f"two signatures are called {signature.name}; names are unique within an entry")
    for member in (*signature.members, *signature.forbidden):
        if member not in names:
            report(where, f"signature {signature.name} combines {member!r}, which this entry does not define")


def pattern_faults(signature: Signature) -> Iterator[str]:
    """Say what is wrong with a signature's pattern and its examples."""
    assert signature.pattern is not None
    wrong = patterns.faults(signature.pattern)
    yield from wrong
    if not signature.examples:
        yield "needs an `example`: a line as the software prints it"
    if wrong:
        return
    if signature.unless:
        yield from (f"in `unless`: {message}" for message in patterns.faults(signature.unless, scanned=False))
    for line in signature.examples:
        if not re.search(signature.pattern.removeprefix("^"), line):
            yield f"does not match its own example in Python: {line!r}"
        elif not patterns.hyperscan_matches(signature.pattern, line):
            yield f"does not match its own example in Hyperscan: {line!r}"
        elif signature.unless and re.search(signature.unless, line):
            yield f"`unless` matches the signature's own example: {line!r}"


def _javascript(proofs: list[tuple[str, str, Callable[[], Finding]]]) -> Iterator[Finding]:
    bad = patterns.javascript_mismatches((pattern.removeprefix("^"), line) for pattern, line, _ in proofs)
    for index in bad or ():
        yield proofs[index][2]()


def _check_conditions(entry: Entry, scope: Scope, report: Report) -> None:
    meta = entry.meta
    placed = [(f".requires[{index}]", text) for index, text in enumerate(meta.requires)]
    placed += [(f".excludes[{index}]", text) for index, text in enumerate(meta.excludes)]
    early = meta.preflight
    if early is not None:
        placed += [(".preflight", text) for text in (*early.requires, *early.excludes)]
        for index, rule in enumerate(early.rules):
            placed += [(f".preflight.rules[{index}]", text) for text in (*rule.requires, *rule.excludes)]
    for where, text in placed:
        for message in condition_faults(text, scope.facts):
            report(where, message)
    for variant in entry.body.fix.variants:
        for label, texts in (("When", variant.when), ("Needs", variant.needs)):
            for text in texts:
                for message in condition_faults(text, scope.facts):
                    report("", f"fix variant {variant.title!r}, {label}: {message}")
        for text in variant.needs:
            if not re.match(r"[a-z][\w-]*\.version\s", text):
                report(
                    "", f"fix variant {variant.title!r}, Needs: {text!r} is no version; put other conditions into When"
                )


def _check_versions(entry: Entry, report: Report) -> None:
    for index, affected in enumerate(entry.meta.affected):
        where = f".affected[{index}]"
        if affected.versions and not is_specifier(affected.versions):
            report(f"{where}.versions", f'{affected.versions!r} is no PEP 440 range; write e.g. ">=2.1,<2.4"')
        if affected.fixed_in:
            try:
                fixed = Version(affected.fixed_in)
            except InvalidVersion:
                report(f"{where}.fixed_in", f"{affected.fixed_in!r} is no version")
                continue
            if (
                affected.versions
                and is_specifier(affected.versions)
                and fixed in SpecifierSet(affected.versions, prereleases=True)
            ):
                report(f"{where}.fixed_in", f"fixed in {affected.fixed_in}, yet `versions` counts it as affected")


def _check_links(entry: Entry, scope: Scope, report: Report) -> None:
    meta = entry.meta
    if meta.specialises and meta.specialises not in scope.entries:
        report(".specialises", f"no entry {meta.specialises}; write it first, or leave `specialises` out")
    for index, lookalike in enumerate(meta.lookalikes):
        if lookalike.id == meta.id:
            report(f".lookalikes[{index}]", "an entry is no look-alike of itself")
        elif lookalike.id not in scope.entries:
            report(f".lookalikes[{index}]", f"no entry {lookalike.id}; write it, or leave the look-alike out")
    for index, reference in enumerate(meta.references):
        if _REGISTRY_HOST.search(reference.url):
            report(
                f".references[{index}]", "names a package registry; refer to the source or the documentation instead"
            )


def _check_body(entry: Entry, scope: Scope, report: Report) -> None:
    if _REGISTRY_HOST.search(entry.body.markdown):
        report("", "the body names a package registry's host; leave it out")
    if talk := _PLACEHOLDER_TALK.search(entry.body.markdown):
        report("", f"the body says {talk.group(0)!r}; say what to do instead")
    codes = [(snippet.language, snippet.text) for variant in entry.body.fix.variants for snippet in variant.snippets]
    codes.append((entry.body.verify.language, entry.body.verify.command))
    for language, text in codes:
        for name in PLACEHOLDER.findall(text):
            if name not in scope.facts and language not in ("python", "json", "bash", "sh"):
                report("", f"the code has the placeholder {{{name}}}, which is no fact")
        if fault := code_fault(language, text):
            report("", f"a {language} block does not parse: {fault}")
    listed = set(re.findall(r"\*\*([a-z0-9]+(?:-[a-z0-9]+)+)\*\*", entry.body.if_not))
    for missing in sorted(listed - {lookalike.id for lookalike in entry.meta.lookalikes}):
        report(".lookalikes", f"`If this is not it` names {missing}, which `lookalikes` does not")


def code_fault(language: str, text: str) -> str | None:
    """Say why a block of code does not parse; None where it does, or where nothing can tell."""
    text = PLACEHOLDER.sub("placeholder", text)
    try:
        if language in ("python", "py"):
            ast.parse(text)
        elif language == "json":
            json.loads(text)
        elif language in ("yaml", "yml"):
            yaml.safe_load(text)
    except (SyntaxError, ValueError, yaml.YAMLError) as error:
        return " ".join(str(error).split())
    return None


def _check_samples(entry: Entry, path: Path, report: Report) -> None:
    folder = path.parent / entry.id
    names = sorted(sample.name for sample in folder.iterdir()) if folder.is_dir() else []
    if entry.meta.signatures and not any(name.startswith("positive-") for name in names):
        report("", f"no positive sample; put one at {folder.name}/positive-<what>.log")
    if entry.meta.signatures and not any(name.startswith("negative-") for name in names):
        report("", f"no negative sample; put one at {folder.name}/negative-<other-id or healthy-what>.log")
