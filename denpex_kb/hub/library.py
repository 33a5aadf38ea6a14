"""The catalog as the site sees it: entries in order, in groups, with their neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from denpex_kb.hub.text import slug
from denpex_kb.model.entry import Entry
from denpex_kb.model.kb import Kb, Named

Groups = dict[str, tuple[Entry, ...]]

KINDS = {
    "hang": ("Hangs", "Nothing fails and nothing moves: ranks wait for each other, for a lock, or for storage."),
    "crash": ("Crashes", "An exception, a signal or an exit code ends the run."),
    "oom": ("Out of memory", "Device or host memory runs out, at once or after hours."),
    "slow": ("Slow runs", "Steps complete, but slower than they should."),
    "divergence": ("Divergence", "The loss rises, jumps or becomes NaN."),
    "silent-wrong": ("Silently wrong", "The run ends well and its result is not what it should be."),
}
SEVERITIES = ("critical", "high", "medium", "low")
FREQUENCIES = ("very-common", "common", "occasional", "rare")


class Library:
    """All entries of one site."""

    def __init__(self, entries: Iterable[Entry], files: dict[str, Path], kb: Kb) -> None:
        """Order the entries by hub, phase of the run and frequency, as the pages list them."""
        self.kb = kb
        self.files = files
        self._phase = {phase.id: number for number, phase in enumerate(kb.phases)}
        self._hub = {hub.id: number for number, hub in enumerate(kb.hubs)}
        self.entries = tuple(sorted(entries, key=self._order))
        self.by_id = {entry.id: entry for entry in self.entries}

    def _order(self, entry: Entry) -> tuple[int, str, int, int, str]:
        meta = entry.meta
        return (
            self._hub.get(meta.hub, len(self._hub)),
            meta.hub,
            self._phase.get(meta.phase, len(self._phase)),
            FREQUENCIES.index(meta.frequency),
            meta.id,
        )

    def _grouped(self, keys: Callable[[Entry], Iterable[str]]) -> Groups:
        groups: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            for key in dict.fromkeys(keys(entry)):
                groups[key].append(entry)
        return {key: tuple(members) for key, members in groups.items()}

    @cached_property
    def by_hub(self) -> Groups:
        """The entries of each hub."""
        return self._grouped(lambda entry: (entry.meta.hub,))

    @cached_property
    def by_phase(self) -> Groups:
        """The entries of each phase of a run."""
        return self._grouped(lambda entry: (entry.meta.phase,))

    @cached_property
    def by_kind(self) -> Groups:
        """The entries of each kind of failure."""
        return self._grouped(lambda entry: (entry.meta.kind,))

    @cached_property
    def by_category(self) -> Groups:
        """The entries of each category."""
        return self._grouped(lambda entry: (entry.meta.category,))

    @cached_property
    def by_tag(self) -> Groups:
        """The entries of each tag, by the tag's slug."""
        return dict(sorted(self._grouped(lambda entry: map(slug, entry.meta.tags)).items()))

    @cached_property
    def by_framework(self) -> Groups:
        """The entries that affect each framework."""
        return self._grouped(lambda entry: (item.framework for item in entry.meta.affected))

    @cached_property
    def neighbours(self) -> dict[str, tuple[Entry | None, Entry | None]]:
        """The entries before and after each in its hub."""
        found: dict[str, tuple[Entry | None, Entry | None]] = {}
        for members in self.by_hub.values():
            for index, entry in enumerate(members):
                before = members[index - 1] if index else None
                after = members[index + 1] if index + 1 < len(members) else None
                found[entry.id] = before, after
        return found

    @cached_property
    def children(self) -> Groups:
        """The entries that specialise each generic one."""
        return self._grouped(lambda entry: (entry.meta.specialises,) if entry.meta.specialises else ())

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Older ids and the entries they lead to; an id in use is never an alias."""
        return {alias: entry.id for entry in self.entries for alias in entry.meta.aliases if alias not in self.by_id}

    def hub(self, hub: str) -> Named:
        """Return a hub's declaration; a private catalog may have hubs of its own."""
        return _named(self.kb.hubs, hub)

    def phase(self, phase: str) -> Named:
        """Return a phase's declaration."""
        return _named(self.kb.phases, phase)

    def framework(self, framework: str) -> Named:
        """Return a framework's declaration."""
        return _named(self.kb.frameworks, framework)

    def phases_of(self, entries: Iterable[Entry]) -> list[tuple[Named, tuple[Entry, ...]]]:
        """Group some entries by phase, in the order of a run."""
        groups: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            groups[entry.meta.phase].append(entry)
        order = sorted(groups, key=lambda phase: self._phase.get(phase, len(self._phase)))
        return [(self.phase(phase), tuple(groups[phase])) for phase in order]


def _named(values: Iterable[Named], wanted: str) -> Named:
    for value in values:
        if value.id == wanted:
            return value if value.title else Named(value.id, value.text, value.id)
    return Named(wanted, "", wanted.replace("-", " ").capitalize())
