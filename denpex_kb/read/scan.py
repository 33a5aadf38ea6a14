"""One pass over a log: all patterns at once, and only lines that match reach Python."""

from __future__ import annotations

import copy
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate
from threading import Lock, local
from typing import TYPE_CHECKING

from msgspec import structs

from denpex_kb.model.display import printable
from denpex_kb.model.events import Identity, Line, Match, Origin, Reading, Seen, identity
from denpex_kb.model.facts import Fact, FactValue
from denpex_kb.model.rules import UNSCANNED_MARKS, RuleSet, ScanPattern
from denpex_kb.read.headings import apply_headings
from denpex_kb.read.hits import Scanned, lines_hit
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.reports import without_reports
from denpex_kb.read.tail import Repeats, Tail
from denpex_kb.read.text import CLIP, by_lines, clean, holds_traceback, last_written, to_utf8
from denpex_kb.read.timestamps import TimeReader
from denpex_kb.read.unfold import Unfolded, Unfolder
from denpex_kb.read.wrapped import MOST_LINES, MOST_TEXT, crosses, joined, wrapped_parts

if TYPE_CHECKING:
    import hyperscan

    from denpex_kb.read.ahead import Ahead

KEEP = 4000  # matched lines kept per pattern and file; beyond, they are counted, and the last of each rank is kept
_KEEP_WEAK = 100  # of a pattern that tells little alone, such as what every step or every checkpoint prints
_FEW = 100  # kept per pattern where a file holds very many
_VERY_MANY = 40_000  # matched lines of one file
_WORTH_COMPILING = 1000  # lines at the ends of files, from which on a database of their own finds progress in them
_SAMPLE = 400  # lines by which prefixes are believed
TAIL = 256 << 10  # bytes at the end of a file in which progress is looked for
_FRAME = re.compile(
    r'File "[^"]{1,500}", line \d+|^\s*\S.{0,300} \([^()\s]{1,300}:\d+\)|^\s*#\d+\s+(?:0x[0-9a-f]+ in )?\S|^\s*at \S'
)
_KERNEL = re.compile(
    r"NVRM|nvidia-nvswitch|kernel:|"
    r"\[\s*\d+\.\d{6}\]|dmesg|Out of memory|oom[-_]kill|EDAC|mce:|mlx5|SXid|Killed process|^\[\w{3} \w{3} "
)
_QUOTING = frozenset({"exception", "quotes"})  # marks of lines that hold a message to their end
_EPOCH = datetime(1970, 1, 1)
_EMITTERS = {"stack": _FRAME, "kernel": _KERNEL}


class Scanner:
    """Scans logs with one set of patterns; several threads may use it at once."""

    def __init__(self, rules: RuleSet, database: hyperscan.Database, prefixes: PrefixReader, times: TimeReader) -> None:
        """Keep the patterns; each is compiled for Python when a line first matches it."""
        self._patterns = rules.patterns
        self._database = database
        self._scratch = local()
        self._progress_database: hyperscan.Database | None = None
        self._looked_at = 0
        self._lock = Lock()
        self._prefixes = prefixes
        self.times = times
        self._compiled: dict[int, tuple[re.Pattern[str], re.Pattern[str] | None]] = {}
        self.exceptions = frozenset(
            index
            for index, pattern in enumerate(rules.patterns)
            if pattern.target == "mark" and pattern.name in _QUOTING
        )
        strong = {
            (rule.id, signature.name)
            for rule in rules.rules
            for signature in rule.signatures
            if signature.strength in {"decisive", "strong"}
        }
        self.keep = tuple(
            KEEP if pattern.target == "mark" or (pattern.owner, pattern.name) in strong else _KEEP_WEAK
            for pattern in rules.patterns
        )
        self._progress = tuple(index for index, pattern in enumerate(rules.patterns) if pattern.name in UNSCANNED_MARKS)

    def scan(self, chunks: Iterable[bytes], origin: Origin, ahead: Ahead | None = None, tail: int = TAIL) -> Reading:
        """Read one log to its end.

        Args:
            chunks: its bytes.
            origin: the file.
            ahead: looks at the pieces of large logs elsewhere; without it, this thread does all of it.
            tail: bytes at its end of which every line is looked at.
        """
        scan = FileScan(self, origin, tail)
        pieces = by_lines(to_utf8(chunks))
        for scanned in map(self.look, pieces) if ahead is None else ahead(pieces):
            scan.feed(scanned)
        return scan.finish()

    def look(self, piece: bytes) -> Scanned:
        """Clean a piece and find all patterns in it; Hyperscan works without holding the interpreter."""
        data = clean(piece)
        lines = tuple(lines_hit(data, self.hits(data)))
        counted = lines[-1].start if lines else 0
        feeds = (lines[-1].feeds if lines else 0) + data.count(b"\n", counted)
        return Scanned(data, lines, feeds, holds_traceback(data))

    def hits(self, data: bytes) -> list[tuple[int, int]]:
        """Return where which pattern ends, in the order of the places."""
        scratch = getattr(self._scratch, "own", None)
        if scratch is None:
            scratch = self._scratch.own = self._database.scratch.clone()
        return _hits(self._database, scratch, data)

    def progress_at(self, lines: Sequence[bytes]) -> dict[int, Sequence[int]]:
        """Return which of some lines may be progress, by their place, and the patterns that say so."""
        self._looked_at += len(lines)
        if self._looked_at < _WORTH_COMPILING or not self._progress:
            return dict.fromkeys(range(len(lines)), self._progress)
        with self._lock:
            if self._progress_database is None:
                from denpex_kb.index.progressdb import compile_some  # what small logs need not load

                self._progress_database = compile_some(self._patterns, self._progress)
            ends = list(accumulate(len(line) + 1 for line in lines))
            found: dict[int, set[int]] = {}
            for end, index in _hits(self._progress_database, self._progress_database.scratch, b"\n".join(lines)):
                found.setdefault(bisect_left(ends, end), set()).add(index)
        return {place: sorted(indices) for place, indices in found.items()}

    def compiled(self, index: int) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
        """Return a pattern and its `unless`, compiled."""
        if index not in self._compiled:
            pattern = self._patterns[index]
            self._compiled[index] = (
                re.compile(pattern.pattern),
                re.compile(pattern.unless) if pattern.unless else None,
            )
        return self._compiled[index]

    def likely(self, indices: set[int], raw: bytes) -> set[int]:
        """Return the patterns that may match a line: the scan looked for their literal texts only."""
        text = last_written(raw)[: 4 * CLIP].decode("utf-8", "replace")[:CLIP]
        return {
            index
            for index in indices
            if self._patterns[index].pattern.startswith("^") or self.compiled(index)[0].search(text)
        }

    def check(self, index: int, message: str, line: str) -> Match | None:
        """Confirm in Python what Hyperscan found, on the message behind the prefix, and take its groups."""
        pattern, unless = self.compiled(index)
        declared = self._patterns[index]
        found = pattern.search(message)
        if found is None and not declared.pattern.startswith("^"):
            found = pattern.search(line)
        if found is None or (unless is not None and unless.search(line)):
            return None
        emitter = _EMITTERS.get(declared.where)
        if emitter is not None and not emitter.search(line):
            return None
        return Match(index, tuple(group or "" for group in found.groups()))


class FileScan:
    """The state of one pass over one file: pieces are fed in their order, and the reading is taken at the end."""

    def __init__(self, scanner: Scanner, origin: Origin, tail: int = TAIL) -> None:
        """Begin at the first byte of a file."""
        self.scanner = scanner
        self.origin = origin
        self.prefixes = scanner._prefixes
        self.patterns: tuple[ScanPattern, ...] = scanner._patterns
        self.reading = Reading(origin)
        self.counts: Counter[int] = Counter()
        self.repeats = Repeats()
        self.year: int | None = None
        self.tail_size = tail
        self.tail = Tail(tail)
        self.line = 1  # the number of the next one
        self.trouble = False  # a line was seen that follows from a failure
        self.before: bytes = b""  # what was printed before the first of these: they may fill the end of the file
        self.before_line = 1
        self.unfolder = Unfolder(self.prefixes)
        self.labels: set[tuple[int | None, int | None]] = set()  # processes that launchers' prefixes tell apart

    def feed(self, scanned: Scanned) -> None:
        """Take the next piece."""
        piece = scanned.data
        if not self.reading.size:
            sample = piece[: 256 << 10].decode("utf-8", "replace").split("\n")
            self.prefixes = self.prefixes.sample(sample[:: len(sample) // _SAMPLE + 1])
            self.unfolder = Unfolder(self.prefixes)
            self.year = _year(sample)
        first = self.line
        self._piece(piece, first, scanned)
        self.line = first + scanned.feeds
        self.tail.add(piece, first)
        self.reading.size += len(piece)

    def finish(self) -> Reading:
        """Return what was seen; nothing can be fed afterwards."""
        self._keep_repeats()
        self.reading.lines = self.line - 1 + self.tail.open_end
        self.reading.counts = dict(self.counts)
        self._read_tail()
        self._named_by_path()
        return apply_headings(without_reports(self.reading, self.patterns), self.patterns)

    def so_far(self) -> Reading:
        """Return what was seen so far; more can be fed."""
        other = copy.copy(self)
        other.reading = copy.deepcopy(self.reading)
        other.labels = set(self.labels)
        return other.finish()

    def _of_launcher(self) -> bool:
        """Whether a launcher's account of all its processes stands in the file."""
        return any(
            self.patterns[match.pattern].name == "summary" for seen in self.reading.seen for match in seen.matches
        )

    def _of_node(self) -> bool:
        """Whether the agent of a node tells in the file which ranks are its own, or the cluster tells of a pod."""
        return any(
            {"first_rank", "node"} & set((pattern := self.patterns[match.pattern]).gives)
            or pattern.owner == "described-pod"
            for seen in self.reading.seen
            for match in seen.matches
        )

    def _named_by_path(self) -> None:
        """Give lines without a rank the one in the file's name, unless several processes wrote it."""
        origin, reading = self.origin, self.reading
        stated = origin.rank if origin.rank is not None else origin.local_rank
        if stated is None or len(self.labels) > 1 or len(reading.ranks) > 1 or self._of_launcher():
            return
        if origin.rank is None and self._of_node():
            return
        if origin.rank is not None and reading.ranks - {origin.rank}:
            return
        inside = {seen.line.group_rank for seen in reading.seen if seen.line.group_rank is not None}
        if len(inside) > 1:  # watchdogs of several ranks
            return
        for line in (
            *(seen.line for seen in reading.all_seen()),
            *reading.lasts.values(),
            *filter(None, (reading.last,)),
        ):
            if line.rank is None and origin.rank is not None:
                line.rank = origin.rank
            if line.local_rank is None:
                line.local_rank = origin.local_rank
        if origin.rank is not None:
            reading.ranks.add(origin.rank)
            reading.facts = [
                fact if fact.rank is not None else structs.replace(fact, rank=origin.rank) for fact in reading.facts
            ]
            if reading.last is not None:
                reading.lasts["rank", origin.rank] = reading.last

    def _piece(self, piece: bytes, first_line: int, scanned: Scanned) -> None:
        """Take the lines of a piece that match."""
        wanted = scanned.traceback or self.unfolder.open
        unfolded = self.unfolder.feed(piece, first_line, self.tail.take()[0]) if wanted else []
        told_otherwise = {item.number for item in unfolded if not item.beside}
        seen_before = len(self.reading.seen)
        for start, stop, feeds, indices in scanned.lines:
            line = first_line + feeds
            if line in told_otherwise:
                continue
            self._matched(piece[start:stop], line, self.reading.size + start, indices, (piece, stop))
            if self.trouble and not self.before:
                held = piece[max(0, start - self.tail_size) : start]
                held = self.tail.take()[0] + held if len(held) == start else held
                self.before = held[-self.tail_size :] or b"\n"
                self.before_line = line - self.before.count(b"\n")
        if unfolded:
            self._unfolded(unfolded)
            self.reading.seen[seen_before:] = sorted(
                self.reading.seen[seen_before:], key=lambda seen: (seen.line.number, seen.line.offset)
            )

    def _unfolded(self, unfolded: list[Unfolded]) -> None:
        """Look at lines as the patterns know them, and remember what matches at the lines of the file."""
        texts = [item.text.encode() for item in unfolded]
        buffer = b"\n".join(texts)
        ends = list(accumulate(len(text) + 1 for text in texts))
        for start, stop, _, indices in lines_hit(buffer, self.scanner.hits(buffer)):
            item = unfolded[bisect_right(ends, start)]
            self._matched(item.raw, item.number, self.reading.size + item.start, indices, (buffer, stop), item)

    def _matched(
        self,
        raw: bytes,
        number: int,
        offset: int,
        indices: tuple[int, ...],
        below: tuple[bytes, int],
        unfolded: Unfolded | None = None,
    ) -> None:
        keep, counts = self.scanner.keep, self.counts
        if len(self.reading.seen) < _VERY_MANY:
            wanted = {index for index in indices if counts[index] < keep[index]}
        else:
            wanted = {index for index in indices if counts[index] < _FEW}
        if len(wanted) < len(indices):
            often = tuple(index for index in indices if index not in wanted)
            self.counts.update(often)
            if unfolded is None:
                self.repeats.add(often, raw, number, offset)
        if unfolded is None:
            wanted = self.scanner.likely(wanted, raw)
        if not wanted:
            return
        line, text = self._line(raw, number, offset)
        message = line.text
        if unfolded is not None:
            message = text = printable(unfolded.text)
            line.text = message if unfolded.own else line.text
            line.rank = unfolded.rank if line.rank is None else line.rank
            line.local_rank = unfolded.local_rank if line.local_rank is None else line.local_rank
        matches = [match for index in sorted(wanted) if (match := self.scanner.check(index, message, text))]
        self.counts.update(match.pattern for match in matches)
        if not matches:
            return
        if any(match.pattern in self.scanner.exceptions for match in matches):
            matches += self._across_lines(message, set(indices), below, None if unfolded is not None else line)
        self._keep(line, matches)

    def _keep(self, line: Line, matches: list[Match]) -> None:
        """Remember what a line states, and the line where more than facts match."""
        self.trouble = self.trouble or any(self.patterns[match.pattern].name == "collateral" for match in matches)
        kept = tuple(match for match in matches if self.patterns[match.pattern].target != "fact")
        for match in matches:
            pattern = self.patterns[match.pattern]
            if pattern.target == "fact":
                self._fact(pattern, match, line)
        if kept:
            self.reading.seen.append(Seen(line, kept))

    def _across_lines(self, message: str, known: set[int], below: tuple[bytes, int], of: Line | None) -> list[Match]:
        """Return what an exception's message matches only where the lines that it was broken into are joined."""
        parts = wrapped_parts(message, self._below(below, of))
        found: dict[int, Match] = {}
        for text, seams in joined(parts) if len(parts) > 1 else ():
            indices = {index for _, index in self.scanner.hits(text.encode())}
            for index in sorted(indices - known - found.keys()):
                match = self.scanner.check(index, text, text) if self.counts[index] < KEEP else None
                place = self.scanner.compiled(index)[0].search(text) if match is not None else None
                if match is not None and place is not None and crosses(place.span(), seams):
                    found[index] = match
        self.counts.update(found.keys())
        return list(found.values())

    def _below(self, place: tuple[bytes, int], of: Line | None) -> Iterator[str]:
        """Go through the messages below a place, as far as no prefix says that they are another process's."""
        data, at = place
        for raw in data[at + 1 : at + 1 + 4 * MOST_TEXT].split(b"\n")[: MOST_LINES + 1]:
            text = last_written(raw).decode("utf-8", "replace")[:CLIP]
            if of is None:
                yield printable(text)
                continue
            prefix = self.prefixes.read(text)
            own = (of.rank, of.local_rank, of.task, of.pid)
            theirs = (prefix.rank, prefix.local_rank, prefix.task, prefix.pid)
            # what is broken in two has the outer prefixes only, or none, below its first line
            if any(their not in (None, our) for their, our in zip(theirs, own, strict=True)):
                return
            yield printable(prefix.rest)

    def _keep_repeats(self) -> None:
        """Keep the last of the matches that were only counted, of each process and pattern."""
        lasts: dict[tuple[int, Identity], Seen] = {}
        for indices, raw, number, offset in self.repeats.items():
            line, text = self._line(raw, number, offset)
            for index in indices:
                match = self.scanner.check(index, line.text, text)
                if match is not None and self.patterns[index].target != "fact":
                    lasts[index, identity(line)] = Seen(line, (match,))
        if not lasts:
            return
        together: dict[int, Seen] = {}
        for seen in lasts.values():
            held = together.get(seen.line.number)
            together[seen.line.number] = seen if held is None else Seen(held.line, (*held.matches, *seen.matches))
        known = {seen.line.number for seen in self.reading.seen}
        self.reading.seen += [seen for number, seen in together.items() if number not in known]
        self.reading.seen.sort(key=lambda seen: (seen.line.number, seen.line.offset))

    def _line(self, raw: bytes, number: int, offset: int) -> tuple[Line, str]:
        raw = last_written(raw)
        text = raw[: 4 * CLIP].decode("utf-8", "replace")[:CLIP]
        prefix = self.prefixes.read(text)
        stamp = self.scanner.times.parse_time(prefix.time_text or text, self.year)
        origin = self.origin
        rank = prefix.rank
        if rank is not None:
            self.reading.ranks.add(rank)
        elif prefix.task is not None or prefix.local_rank is not None:
            self.labels.add((prefix.task, prefix.local_rank))
        clock = (stamp.when - _EPOCH).total_seconds() if stamp is not None else None
        line = Line(
            file=origin.name,
            number=number,
            text=printable(prefix.rest),
            offset=offset,
            rank=rank,
            local_rank=prefix.local_rank,
            task=prefix.task,
            host=prefix.host or prefix.pod or origin.host,
            pid=prefix.pid,
            device=prefix.device,
            node=prefix.group_rank,
            group_rank=prefix.pg_rank,
            ip=prefix.ip,
            role=prefix.role,
            attempt=origin.attempt or 0,
            time=stamp.when.isoformat() if stamp is not None and stamp.known == "full" else None,
            clock=clock,
        )
        return line, text

    def _fact(self, pattern: ScanPattern, match: Match, line: Line) -> None:
        value: FactValue = (
            pattern.value if pattern.value is not None else (match.groups[0] if match.groups else line.text)
        )
        if isinstance(value, str) and value.isdigit() and not pattern.owner.endswith(".version"):
            value = int(value)
        origin = "stack" if _FRAME.search(line.text) else "log"
        self.reading.facts.append(
            Fact(pattern.owner, value, origin, line.file, line.number, line.rank, line.text[:200])  # type: ignore[arg-type]
        )

    def _read_tail(self) -> None:
        """Look at the end of the file: the last line, and progress where the scan did not look for it."""
        tail, first = self.tail.take()
        if self.before:
            self._read_lines(self.before, self.before_line, first)
        self._read_lines(tail, first, None)

    def _read_lines(self, data: bytes, first: int, stop: int | None) -> None:
        lines = data.split(b"\n")[: None if stop is None else max(stop - first, 0)]
        progress = self.scanner.progress_at(lines)
        for place, raw in enumerate(lines):
            if not raw or raw.isspace():
                continue
            line, text = self._line(raw, first + place, 0)
            self._ended(line)
            matches = tuple(
                match for index in progress.get(place, ()) if (match := self.scanner.check(index, line.text, text))
            )
            if matches:
                self.reading.progress.append(Seen(line, matches))

    def _ended(self, line: Line) -> None:
        """Remember the line as the last one so far, of the file and of its process."""
        reading = self.reading
        reading.last = line
        if line.rank is not None:
            reading.lasts["rank", line.rank] = line
        elif line.local_rank is not None:
            reading.lasts[f"local@{line.host or line.task}", line.local_rank] = line
        elif line.task is not None:
            reading.lasts["task", line.task] = line
        if line.clock is not None and (not reading.times or reading.times[-1][1] != line.clock):
            reading.times.append((line.number, line.clock))


def _hits(database: hyperscan.Database, scratch: hyperscan.Scratch, data: bytes) -> list[tuple[int, int]]:
    hits: list[tuple[int, int]] = []
    append = hits.append
    database.scan(
        data,
        match_event_handler=lambda index, _start, end, _flags, _context: append((end, index)),
        scratch=scratch,
    )
    hits.sort()
    return hits


def _year(sample: list[str]) -> int | None:
    """Return the year of the first full time stamp, for those that name none."""
    for line in sample[:400]:
        if (match := re.search(r"\b(20[12]\d)[-/]\d\d[-/]\d\d", line)) is not None:
            return int(match.group(1))
    return None
