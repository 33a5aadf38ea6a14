"""Flight-recorder traces of PyTorch (`TORCH_NCCL_TRACE_BUFFER_SIZE`): pickle or JSON, mostly a file per rank."""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from msgspec import Struct

from denpex_kb.model.facts import Fact
from denpex_kb.model.flight import GroupInfo, Progress, Record, Sizes, Trace
from denpex_kb.model.stacks import Frame
from denpex_kb.read.stacks import shorten

LIMIT = 256 << 20  # bytes of one trace
_SHOWN = 40  # pending operations of one rank that are written out
_DEEP = 120  # frames of one operation
_SIGNS = (b"pg_config", b"pg_status", b"profiling_name")
_LAST_NUMBER = re.compile(r"(\d+)\D*$")


class RefusedError(ValueError):
    """A trace that is no plain data; the message names what it holds."""


class Flight(Struct, frozen=True):
    """The traces of one file, the text in which signatures look for them, and what they state."""

    traces: tuple[Trace, ...]
    text: bytes
    facts: tuple[Fact, ...] = ()


class _PlainUnpickler(pickle._Unpickler):
    """Reads dictionaries, lists, tuples, strings, numbers, bytes, booleans and None, and nothing else.

    The unpickler written in Python: in the one written in C a broken file may ask for a memo of many gigabytes.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class and function.

        Raises:
            RefusedError: always.
        """
        raise RefusedError(f"it names {module}.{name}, and only plain data is read")

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002 (the name that pickle calls it by)
        """Refuse every reference to something outside.

        Raises:
            RefusedError: always.
        """
        raise RefusedError("it refers to objects outside of itself, and only plain data is read")

    def _refuse_bytearray(self) -> None:
        """Refuse what would be allocated at the length that the file states, before its bytes are looked for.

        Raises:
            RefusedError: always.
        """
        raise RefusedError("it holds a bytearray, and only plain data is read")

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BYTEARRAY8[0]: _refuse_bytearray,
    }


def looks_like_trace(head: bytes) -> bool:
    """Say whether a file begins like a flight-recorder trace."""
    if len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5:
        return any(sign in head for sign in _SIGNS)
    start = head[: 64 << 10].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start[:1] in (b"{", b"[") and any(b'"' + sign + b'"' in start for sign in _SIGNS)


def read_flight(data: bytes, name: str, rank: int | None) -> Flight | None:
    """Read the traces of one file; None where it holds none.

    Args:
        data: the file's bytes.
        name: the file's name, as shown to the user.
        rank: the rank that its path states.

    Raises:
        RefusedError: the file is a pickle of more than plain data, or broken.
    """
    plain = _plain(data)
    dumps = list(_dumps(plain))
    if not dumps:
        return None
    if rank is None and len(dumps) == 1:
        rank = _number_in(name)
    traces = [_trace(dump, name, stated if stated is not None else rank) for stated, dump in dumps]
    text, traces = _render(traces, _lines_of(data))
    return Flight(tuple(traces), text, tuple(_facts(dumps, traces, name)))


def _number_in(name: str) -> int | None:
    """Return the last number of a file's name, else of its folder's."""
    path = PurePath(name)
    for part in (path.stem, path.parent.name):
        if (number := _LAST_NUMBER.search(part)) is not None:
            return int(number.group(1))
    return None


def _plain(data: bytes) -> Any:
    if data[:1] == b"\x80":
        try:
            return _PlainUnpickler(io.BytesIO(data)).load()
        except RefusedError:
            raise
        except Exception as error:  # a broken pickle raises whatever its opcodes run into
            raise RefusedError(f"a broken pickle: {type(error).__name__}") from error
    try:
        return json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def _dumps(plain: Any, stated: int | None = None, depth: int = 0) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Find the dumps: the object itself, or several in a list or by rank."""
    if isinstance(plain, list) and depth < 2:
        for item in plain:
            yield from _dumps(item, None, depth + 1)
        return
    if not isinstance(plain, dict):
        return
    if isinstance(plain.get("entries"), list) or isinstance(plain.get("pg_status"), dict):
        own = plain.get("rank")
        yield (own if isinstance(own, int) else stated), plain
        return
    if depth < 2:
        for key, item in plain.items():
            number = _LAST_NUMBER.search(str(key))
            yield from _dumps(item, int(number.group(1)) if number is not None else None, depth + 1)


def _trace(dump: Mapping[str, Any], name: str, rank: int | None) -> Trace:
    groups = {
        str(key): GroupInfo(str(key), str(value.get("desc", "")), _ranks(value.get("ranks")))
        for key, value in _mapping(dump.get("pg_config")).items()
        if isinstance(value, dict)
    }
    progress = {
        int(key): Progress(
            _integer(value.get("last_enqueued_collective")),
            _integer(value.get("last_started_collective")),
            _integer(value.get("last_completed_collective")),
        )
        for key, value in _mapping(dump.get("pg_status")).items()
        if str(key).isdigit() and isinstance(value, dict)
    }
    entries = dump.get("entries")
    held = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    records = []
    for entry in held:
        group = _group(entry)
        groups.setdefault(group.name, group)
        records.append(_record(entry, group.name))
    records.sort(key=lambda record: record.number)
    return Trace(name, _own_rank(rank, groups.values()), tuple(records), groups, progress, str(dump.get("version", "")))


def _own_rank(stated: int | None, groups: Iterable[GroupInfo]) -> int | None:
    """Return the rank of a trace: it is a member of every group that the trace knows."""
    known = [set(group.ranks) for group in groups if group.ranks]
    common = set.intersection(*known) if known else set()
    if stated is not None and (not common or stated in common):
        return stated
    return common.pop() if len(common) == 1 else (stated if not known else None)


def _group(entry: Mapping[str, Any]) -> GroupInfo:
    stated = [str(part) for part in _list(entry.get("process_group"))]
    name = stated[0] if stated else str(entry.get("pg_name", entry.get("pg_id", "")))
    return GroupInfo(name, stated[1] if len(stated) > 1 else "")


def _record(entry: Mapping[str, Any], group: str) -> Record:
    library, _, op = str(entry.get("profiling_name", "?")).rpartition(":")
    p2p = bool(entry.get("is_p2p")) or op.split(" ")[0] in ("send", "recv")
    seq = _integer(entry.get("p2p_seq_id") if p2p else entry.get("collective_seq_id", entry.get("seq_id")))
    frames = entry.get("frames")
    done = bool(entry.get("retired")) or entry.get("state") == "completed"
    return Record(
        group=group,
        pg_id=_integer(entry.get("pg_id")),
        seq=seq if seq is not None else -1,
        op=op,
        inputs=_sizes(entry.get("input_sizes")),
        outputs=_sizes(entry.get("output_sizes")),
        dtypes=tuple(map(str, _list(entry.get("input_dtypes")))),
        state=str(entry.get("state", "")),
        retired=bool(entry.get("retired")),
        p2p=p2p,
        library=library,
        number=_integer(entry.get("record_id")) or 0,
        created=_integer(entry.get("time_created_ns")) or 0,
        frames=tuple(_frames(frames)) if isinstance(frames, list) and not done else (),
    )


def _frames(frames: Iterable[Any]) -> Iterator[Frame]:
    for frame in list(frames)[:_DEEP]:
        if isinstance(frame, dict):
            line = _integer(frame.get("line"))
            function = " ".join(str(frame.get("name", "?")).split()) or "?"
            yield Frame(function, shorten(str(frame.get("filename", "?"))), line or None)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sizes(value: Any) -> Sizes | None:
    if not isinstance(value, (list, tuple)):
        return None
    return tuple(tuple(number for item in _list(size) if (number := _integer(item)) is not None) for size in value)


def _ranks(value: Any) -> tuple[int, ...]:
    if isinstance(value, str):
        return tuple(map(int, re.findall(r"\d+", value))) if "." not in value else ()
    return tuple(number for item in _list(value) if (number := _integer(item)) is not None)


def _lines_of(data: bytes) -> list[int]:
    """Return the lines on which a JSON trace names its operations."""
    if data[:1] == b"\x80":
        return []
    return [number for number, line in enumerate(data.split(b"\n")) if b'"profiling_name"' in line]


def _render(traces: list[Trace], places: list[int]) -> tuple[bytes, list[Trace]]:
    """Write the pending operations and their frames, each where a JSON trace holds it if its lines are known."""
    placed = len(places) == sum(len(trace.records) for trace in traces) and len(traces) == 1
    out: list[str] = []
    shown: list[Trace] = []
    for trace in traces:
        prefix = f"[rank{trace.rank}]: " if len(traces) > 1 and trace.rank is not None else ""
        records: list[Record] = []
        written = 0
        for index, record in enumerate(trace.records):
            if record.done or written >= _SHOWN:
                records.append(record)
                continue
            written += 1
            if placed:
                out += [""] * (places[index] - len(out))
            records.append(_at_line(record, len(out) + 1))
            out.append(prefix + describe(record, trace))
            out += [f"{prefix}    {frame.text}" for frame in record.frames]
        shown.append(Trace(trace.file, trace.rank, tuple(records), trace.groups, trace.progress, trace.version))
    return ("\n".join(out) + "\n").encode("utf-8", "replace") if out else b"", shown


def _at_line(record: Record, line: int) -> Record:
    from msgspec import structs

    return structs.replace(record, line=line)


def describe(record: Record, trace: Trace) -> str:
    """Write one pending operation on a line."""
    who = f"rank {trace.rank}" if trace.rank is not None else "a rank"
    desc = trace.groups[record.group].desc if record.group in trace.groups else ""
    kind = f"{record.library}:{record.op}" if record.library else record.op
    return (
        f"flight recorder: {who} waits in {kind} seq={record.seq} group={record.group} ({desc or 'undefined'})"
        f" in={_spell(record.inputs)} out={_spell(record.outputs)} state={record.state}"
    )


def _spell(sizes: Sizes | None) -> str:
    return str([list(size) for size in sizes[:8]]).replace(" ", "") if sizes is not None else "?"


def _facts(dumps: Iterable[tuple[int | None, Mapping[str, Any]]], traces: Iterable[Trace], name: str) -> Iterator[Fact]:
    world = {len(group.ranks) for trace in traces for group in trace.groups.values() if group.desc == "default_pg"} - {
        0
    }
    if len(world) == 1:
        yield Fact("world_size", world.pop(), "log", name, None, None, "the ranks of default_pg in the trace")
    for _, dump in dumps:
        version = str(dump.get("nccl_version") or dump.get("comm_lib_version") or "")
        if re.fullmatch(r"\d+\.\d+\.\d+", version):
            yield Fact("nccl.version", version, "log", name, None, None, f"version {version} in the trace")
            return
