"""Stack dumps of living processes: py-spy (text, JSON), faulthandler, pystack, gdb and cuda-gdb."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from denpex_kb.model.events import Reading, Seen
from denpex_kb.model.rules import RuleSet
from denpex_kb.model.stacks import Frame, Process, Thread
from denpex_kb.read.headings import rank_headings
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.text import CLIP, by_lines, clean, to_utf8

LIMIT = 32 << 20  # bytes of dumps read from one file
_PROCESS = re.compile(r"^Process (\d+): (.*)$")
_ATTACHED = re.compile(r"^(?:Attaching to (?:program: .{1,300}, )?process|\[?Attached to process) (\d+)")
_PYSPY_THREAD = re.compile(r"^Thread (?:0x[0-9A-Fa-f]+|\d+) \([a-z+]+\)(?:: \"(.*)\")?")
_FAULT_THREAD = re.compile(r"^(?:Current t|T)hread 0x[0-9a-f]+(?: \[(.{0,60})\])? \(most recent call first\)")
_FAULT_AGAIN = re.compile(r"^Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!$")
_GDB_THREAD = re.compile(r"^Thread (\d+) \((?:Thread 0x[0-9a-f]+ \()?LWP (\d+)\)?(?: \"(.{0,60})\")?")
_PYSTACK_THREAD = re.compile(r"^Traceback for thread (\d+) \((.{0,60}?)\) .*\(most recent call last\)")
_PYSPY_FRAME = re.compile(r"^ {2,8}(\S.*?) \(([^()]+?)(?::(\d+))?\)$")
_FILE_FRAME = re.compile(r'^\s+(?:\((?:Python|C)\) )?File "([^"]+)", line (\d+),? in (.+?)\s*$')
_GDB_FRAME = re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(\S.*?) \((?:.*)\)(?: at ([^\s:]+):(\d+)| from (\S+))?\s*$")
_FATAL = re.compile(r"^Fatal Python error: ")
_LOCAL = re.compile(r"^\s{8,}(global_rank|rank|local_rank|_?world_rank)(?:: \w+)?\s*[:=] (\d{1,6})$")
_RANK_GIVEN = re.compile(r"(?:^|[\s;-])(?:--?(?:global[_-]?)?rank|RANK)[= ](\d{1,6})\b")
_LOCAL_GIVEN = re.compile(r"(?:--?local[_-]rank|LOCAL_RANK)[= ](\d{1,6})\b")
_PACKAGES = re.compile(r"^.*?/(?:site-packages|dist-packages)/")
_LIBRARY = re.compile(r"^.*/lib(?:64)?/python3\.\d+/")
_INSTALLED = re.compile(r"^.*/(?:src|repos?|workspace)/(?=[A-Za-z_]\w*/)")


def shorten(path: str) -> str:
    """Shorten a file as py-spy does: below `site-packages`, below the standard library, else its last name."""
    if not path.startswith(("/", "\\")) and ":" not in path[:3]:
        return path
    for root in (_PACKAGES, _LIBRARY):
        match = root.match(path)
        if match is not None:
            return path[match.end() :]
    match = _INSTALLED.match(path)
    return path[match.end() :] if match is not None else path.replace("\\", "/").rsplit("/", 1)[-1]


def is_json_dump(head: bytes) -> bool:
    """Say whether a file begins like py-spy's `--json`."""
    start = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"[") and b'"pid"' in start and b'"thread_' in start


def json_dump_as_text(data: bytes) -> bytes | None:
    """Write a `py-spy dump --json` as py-spy's text, each frame on the line where the JSON holds it.

    Several arrays may follow one another. None where the data is something else.
    """
    text = data.decode("utf-8-sig", "replace")
    threads = [item for item in _arrays(text) if isinstance(item, dict) and isinstance(item.get("frames"), list)]
    if not threads or not all("thread_id" in item or "thread_name" in item for item in threads):
        return None
    lines = text.split("\n")
    at_frames = [number for number, line in enumerate(lines) if '"filename":' in line]
    at_pids = [number for number, line in enumerate(lines) if re.match(r'\s*"pid":', line)]
    frames = sum(len(item["frames"]) for item in threads)
    aligned = len(at_frames) == frames and len(at_pids) >= len(threads)
    out: list[str] = [""] * len(lines) if aligned else []
    frame_number, known = 0, None
    for index, item in enumerate(threads):
        head = []
        if item.get("pid") != known:
            known = item.get("pid")
            head.append(f"Process {known}: {_command(item)}")
        head.append(_thread_head(item))
        shown = [_json_frame(frame) for frame in item["frames"]]
        if not aligned:
            out += [*head, *shown]
            continue
        for offset, line in enumerate(head):
            out[at_pids[index] + offset] = line
        for line in shown:
            out[at_frames[frame_number]] = line
            frame_number += 1
    return ("\n".join(out) + "\n").encode()


def _arrays(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    position = 0
    while (start := text.find("[", position)) >= 0 and not text[position:start].strip():
        try:
            items, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        if not isinstance(items, list):
            return
        yield from items


def _command(item: dict[str, Any]) -> str:
    info = item.get("process_info")
    command = info.get("command_line") if isinstance(info, dict) else None
    return " ".join(str(command).split()) if command else "python"


def _thread_head(item: dict[str, Any]) -> str:
    state = "active" if item.get("active") else "idle"
    state += "+gil" if item.get("owns_gil") else ""
    number = item.get("os_thread_id") or item.get("thread_id") or 0
    return f'Thread {number} ({state}): "{item.get("thread_name") or ""}"'


def _json_frame(frame: Any) -> str:
    if not isinstance(frame, dict):
        return ""
    file = frame.get("short_filename") or shorten(str(frame.get("filename") or "?"))
    line = frame.get("line")
    place = f"{file}:{line}" if isinstance(line, int) and line > 0 else str(file)
    return f"    {' '.join(str(frame.get('name') or '?').split())} ({place})"


class StackReader:
    """Reads the processes out of dumps, and tells the matched lines of each whose they are."""

    def __init__(self, rules: RuleSet, prefixes: PrefixReader) -> None:
        """Take the rules, whose marks say which lines are heads of stacks."""
        self._heads = frozenset(
            index
            for index, pattern in enumerate(rules.patterns)
            if pattern.target == "mark" and pattern.name == "stack"
        )
        self._patterns = rules.patterns
        self._prefixes = prefixes

    def has_stacks(self, reading: Reading) -> bool:
        """Say whether a file holds a stack dump at all."""
        return any(self._is_head(seen) for seen in reading.seen)

    def read(self, reading: Reading, chunks: Iterable[bytes], before: int = 0) -> list[Process]:
        """Read the processes of a file that was scanned, and give its matched lines their ranks.

        Args:
            reading: what the scan saw.
            chunks: the file's bytes, or the end of them.
            before: how many lines stand in front of these bytes.
        """
        origin = reading.origin
        lines = _lines(chunks, before)
        headings = rank_headings(reading, self._patterns)
        found = list(read_processes(lines, origin.name, origin.rank, origin.local_rank, self._prefixes, headings))
        unnamed = [process for process in found if process.pid is None and process.rank is None and not process.fatal]
        for process in found:
            if process.rank is not None:
                reading.ranks.add(process.rank)
            # without a pid an index of its own, which no process has as its pid, tells its lines from the others'
            pid = -1 - unnamed.index(process) if len(unnamed) > 1 and process in unnamed else process.pid
            for seen in reading.seen:
                line = seen.line
                if process.first <= line.number <= process.last and line.pid in (None, process.pid):
                    line.rank = process.rank if line.rank is None else line.rank
                    line.local_rank = process.local_rank if line.local_rank is None else line.local_rank
                    line.pid = pid if line.pid is None else line.pid
        return found

    def _is_head(self, seen: Seen) -> bool:
        return any(match.pattern in self._heads for match in seen.matches)


def _lines(chunks: Iterable[bytes], before: int = 0) -> Iterator[tuple[int, str]]:
    number = before
    for piece in by_lines(to_utf8(chunks)):
        for raw in clean(piece).removesuffix(b"\n").split(b"\n"):
            number += 1
            yield number, raw[:CLIP].decode("utf-8", "replace").rstrip()


def read_processes(
    lines: Iterable[tuple[int, str]],
    file: str,
    rank: int | None = None,
    local_rank: int | None = None,
    prefixes: PrefixReader | None = None,
    headings: Mapping[int, int | None] = MappingProxyType({}),
) -> list[Process]:
    """Read every process of a dump; of one that was dumped several times the last dump counts.

    Args:
        lines: the numbered lines of the file.
        file: its name.
        rank: the rank that the file's name states, which is that of its processes where it holds only one.
        local_rank: likewise.
        prefixes: what launchers put in front of a line, where ranks share the file.
        headings: the lines that name the rank of the dumps below them.
    """
    latest: dict[object, Process] = {}
    for process in _parse(lines, file, prefixes, headings):
        key = process.pid if process.pid is not None else (process.rank, process.local_rank, process.nameless)
        latest[key] = process
    found = sorted(latest.values(), key=lambda process: process.first)
    trainers = [process for process in found if not process.fatal]
    if len(trainers) == 1 or (trainers and len({process.pid for process in trainers}) == 1):
        for process in trainers:
            process.rank = rank if rank is not None else process.rank
            process.local_rank = local_rank if process.local_rank is None else process.local_rank
    elif rank is not None and trainers and all(process.rank is None for process in trainers):
        trainers[0].rank = rank  # the training process stands first, its workers behind it
    return found


def _parse(
    lines: Iterable[tuple[int, str]], file: str, prefixes: PrefixReader | None, headings: Mapping[int, int | None]
) -> Iterator[Process]:
    """Read every dump of every process, those of one prefix or of one heading apart from the others."""
    parsers: dict[tuple[int | None, int | None], _Parser] = {}
    heading: int | None = None
    for number, text in lines:
        if number in headings:
            heading = headings[number]
            continue
        who: tuple[int | None, int | None] = (heading, None)
        message = text
        if prefixes is not None and text[:1] in _PREFIXED:
            prefix = prefixes.read(text)
            if prefix.length:
                who, message = (prefix.rank if prefix.rank is not None else heading, prefix.local_rank), prefix.rest
        parser = parsers.get(who)
        if parser is None:
            parser = parsers[who] = _Parser(file, *who)
        parser.feed(number, message)
    for parser in parsers.values():
        yield from parser.finish()


_PREFIXED = frozenset("[(0123456789abcdefghijklmnopqrstuvwxyz ")


class _Parser:
    """The state of reading one process's, or one prefix's, lines."""

    def __init__(self, file: str, rank: int | None, local_rank: int | None) -> None:
        self._file = file
        self._rank = rank
        self._local_rank = local_rank
        self._found: list[Process] = []
        self._process: Process | None = None
        self._thread: Thread | None = None
        self._fatal = False
        self._outermost_first = False
        self._gdb_thread = 0
        self._current: str | None = None  # the current thread of this process, once seen
        self._nameless = 0  # processes that only their threads tell apart

    def feed(self, number: int, text: str) -> None:
        """Take the next line."""
        if not text or text.startswith("Traceback (most recent call first)"):  # py-bt, under the head of its thread
            return
        if self._head(number, text):
            return
        if self._thread is None:
            return
        frame = _frame(text, number)
        if frame is not None:
            frames = self._thread.frames
            frames.insert(0, frame) if self._outermost_first else frames.append(frame)
            self._extend(number)
            return
        local = _LOCAL.match(text)
        if local is not None and self._process is not None:
            self._extend(number)
            if local.group(1) == "local_rank":
                self._process.local_rank = int(local.group(2))
            elif self._process.rank is None:
                self._process.rank = int(local.group(2))
        elif not text[0].isspace():
            self._thread = None

    def finish(self) -> list[Process]:
        """Return the processes that have frames."""
        return [process for process in self._found if process.main is not None]

    def _extend(self, number: int) -> None:
        if self._process is not None:
            self._process.last = number

    def _head(self, number: int, text: str) -> bool:
        first = text[0]
        if first == "P" and (match := _PROCESS.match(text)) is not None:
            self._begin(number, int(match.group(1)), match.group(2))
        elif first == "F" and _FATAL.match(text):
            self._fatal = True
            self._process = None
        elif first == "T" and _FAULT_AGAIN.match(text):
            self._process, self._fatal = None, False
        elif first in "A[" and (match := _ATTACHED.match(text)) is not None:
            self._begin(number, int(match.group(1)), "")
        elif first in "CT":
            return self._thread_head(number, text)
        else:
            return False
        self._thread = None
        return True

    def _thread_head(self, number: int, text: str) -> bool:
        self._outermost_first = False
        if (match := _GDB_THREAD.match(text)) is not None:
            gdb_thread = int(match.group(1))
            if self._process is None or self._gdb_thread == 1:  # thread 1 is printed last
                self._begin(number, int(match.group(2)), "")
            if gdb_thread == 1 and self._process is not None:
                self._process.pid = int(match.group(2))
            self._gdb_thread = gdb_thread
            name = "MainThread" if gdb_thread == 1 else match.group(3) or ""
        elif (match := _PYSPY_THREAD.match(text)) is not None:
            name = match.group(1) or ""
        elif (match := _FAULT_THREAD.match(text)) is not None:
            name = match.group(1) or ""
            if text[0] == "C":
                self._current_thread(text.split(" ", 3)[2])
        elif (match := _PYSTACK_THREAD.match(text)) is not None:
            self._outermost_first = True
            if self._process is None:
                self._begin(number, int(match.group(1)), match.group(2))
            name = ""
        else:
            return False
        if self._process is None:
            self._begin(number, None, "")
        assert self._process is not None
        self._thread = Thread(name, number)
        self._process.threads.append(self._thread)
        self._extend(number)
        return True

    def _current_thread(self, thread: str) -> None:
        """Begin anew at a second current thread: a dump has one, so that it is another dump or another process."""
        if self._current is not None:
            self._process = None
            self._nameless += thread != self._current
        self._current = thread

    def _begin(self, number: int, pid: int | None, command: str) -> None:
        given, given_local = _RANK_GIVEN.search(command), _LOCAL_GIVEN.search(command)
        self._gdb_thread = 0
        self._process = Process(
            self._file,
            number,
            number,
            pid,
            int(given.group(1)) if given is not None else self._rank,
            int(given_local.group(1)) if given_local is not None else self._local_rank,
            command,
            fatal=self._fatal,
            nameless=self._nameless,
        )
        self._found.append(self._process)


def _frame(text: str, number: int) -> Frame | None:
    if (match := _FILE_FRAME.match(text)) is not None:
        return Frame(match.group(3), shorten(match.group(1)), int(match.group(2)), number)
    if text[0] == "#" and (match := _GDB_FRAME.match(text)) is not None:
        file = match.group(2) or match.group(4) or "?"
        return Frame(match.group(1), shorten(file), int(match.group(3)) if match.group(3) else None, number)
    if (match := _PYSPY_FRAME.match(text)) is not None:
        line = match.group(3)
        return Frame(match.group(1), shorten(match.group(2)), int(line) if line else None, number)
    return None
