"""Feeds readers what nobody would write: `python -m tests.fuzz READER --minutes 10`.

An input is a find when a reader raises what is no `DenpexError`, takes longer than `SLOW` seconds, or makes the process
grow by more than `GROWTH`. Finds are kept in `tests/finds`, and the tests run every one of them again. With atheris
installed, `--coverage` lets it choose the inputs by the lines of code that they reach; otherwise catalog samples and
healthy logs are mutated.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import pickle
import random
import resource
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from denpex_kb import KnowledgeBase
from denpex_kb.errors import DenpexError
from denpex_kb.model.events import Origin
from denpex_kb.read.configs import read_config
from denpex_kb.read.files import InputFile, open_parts
from denpex_kb.read.flight import RefusedError, read_flight
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.stacks import json_dump_as_text, read_processes
from denpex_kb.read.timestamps import TimeReader
from denpex_kb.read.unfold import unfold_lines

ROOT = Path(__file__).parents[1]
FINDS = Path(__file__).parent / "finds"
SLOW = 5.0  # seconds of CPU for one input of at most a few hundred KiB
GROWTH = 400 << 20  # bytes
_MOST = 200_000  # bytes of one input

Target = Callable[[bytes], object]


@cache
def _kb() -> KnowledgeBase:
    return KnowledgeBase.open()


@cache
def _prefixes() -> PrefixReader:
    return PrefixReader(_kb().index.kb.prefixes)


@cache
def _times() -> TimeReader:
    return TimeReader(_kb().index.kb.times)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def log(data: bytes) -> None:
    """Diagnose as a log, in chunks of several sizes."""
    _kb().diagnose_stream([data[:100], data[100:5000], data[5000:]])


def scan(data: bytes) -> None:
    """Scan only, without concluding."""
    _kb()._logs.scanner.scan([data], Origin("fuzz.log", rank=1))


def prefixes(data: bytes) -> None:
    """Read every line's prefixes."""
    lines = _lines(data)
    reader = _prefixes().sample(lines)
    for line in lines:
        reader.read(line)


def timestamps(data: bytes) -> None:
    """Read every line's time."""
    for line in _lines(data):
        _times().parse_time(line, 2026)


def stacks(data: bytes) -> None:
    """Read stack dumps, and tracebacks in other clothes."""
    lines = _lines(data)
    list(read_processes(enumerate(lines, 1), "fuzz.txt", None, None, _prefixes()))
    unfold_lines(lines, _prefixes())
    json_dump_as_text(data)


def flight(data: bytes) -> None:
    """Read a flight-recorder trace, as a pickle or JSON."""
    with contextlib.suppress(RefusedError):
        read_flight(data, "trace_rank_3", None)


def configs(data: bytes) -> None:
    """Read a config, as JSON and as YAML."""
    for name in ("ds_config.json", "accelerate.yaml"):
        read_config(data.decode("utf-8", "replace"), name, _kb().index.kb, named=True)


def archives(data: bytes) -> None:
    """Open an archive."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("x.tar.gz", "x.zip"):
            path = Path(folder) / name
            path.write_bytes(data)
            for part in open_parts(InputFile(path, name, named=True), []):
                for _ in part.chunks:
                    pass


def question(data: bytes) -> None:
    """Answer a question."""
    _kb().ask(data.decode("utf-8", "replace")[:5000])


TARGETS: dict[str, Target] = {
    function.__name__: function
    for function in (log, scan, prefixes, timestamps, stacks, flight, configs, archives, question)
}


def seeds(reader: str) -> list[bytes]:
    """Return inputs to begin with."""
    if reader == "archives":
        return _archives()
    if reader == "question":
        texts = (ROOT / "tests" / "questions").glob("*.yaml")
        return [
            line.encode() for path in texts for line in path.read_text(encoding="utf-8").split("\n") if line.strip()
        ]
    patterns = {
        "flight": ("*/*/*.pkl", "*/*/*/*.pkl", "*/*/*/*trace*", "*/*/*trace*"),
        "configs": ("*/*/*.json", "*/*/*/*.json", "*/*/*.yaml", "*/*/*/*.yaml"),
    }.get(reader, ("*/*/*.log", "*/*/*.txt", "*/*/*/*.log", "*/*/*/*.txt"))
    paths = [path for pattern in patterns for path in sorted((ROOT / "catalog").glob(pattern)) if path.is_file()]
    if reader not in ("flight", "configs"):
        paths += sorted((ROOT / "tests" / "healthy").glob("*.log"))
    return [path.read_bytes()[:_MOST] for path in paths] + _made(reader)


def _made(reader: str) -> list[bytes]:
    trace = {
        "version": "2.4",
        "rank": 3,
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
        "pg_status": {
            "0": {"last_enqueued_collective": 9, "last_started_collective": 8, "last_completed_collective": 7}
        },
        "entries": [
            {
                "frames": [{"name": "all_reduce", "filename": "train.py", "line": 7}],
                "record_id": 1,
                "pg_id": 0,
                "process_group": ("0", "default_pg"),
                "collective_seq_id": 9,
                "profiling_name": "nccl:all_reduce",
                "input_sizes": ((4, 2),),
                "output_sizes": ((4, 2),),
                "state": "started",
                "time_created_ns": 1750000000000000000,
            }
        ],
    }
    if reader == "flight":
        return [pickle.dumps(trace), json.dumps(trace).encode(), json.dumps([trace, trace]).encode()]
    if reader == "configs":
        zero = {"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}
        return [json.dumps(zero, indent=1).encode(), b"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"]
    return []


def _archives() -> list[bytes]:
    found: list[bytes] = []
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w", format=form) as archive:
            for name in ("rank0.log", "a/" * 80 + "rank1.log", "\N{SNOWMAN}.log"):
                info = tarfile.TarInfo(name)
                info.size = 40
                archive.addfile(info, io.BytesIO(b"step 1 loss 2.0, a line of a log, so long"[:40]))
        found += [target.getvalue(), gzip.compress(target.getvalue())]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("rank0.log", "step 1\n" * 50)
        zipped.writestr("in.tar", found[0])
    return [*found, target.getvalue()]


_WORDS = (
    b"\x00",
    b"\x1b[31m",
    b"\r",
    b"\n\n",
    b"\xff\xfe",
    b"\xe2\x80\xae",
    b"[rank99999999]: ",
    b"Traceback (most recent call last):",
    b'  File "x.py", line 99999999999999999999, in f',
    b"2026-13-45 99:99:99,999",
    b"[" * 50,
    b'{"a":' * 50,
    b"9" * 400,
    b" " * 3000,
    b"rank=-1",
    b"None",
    b"1e999",
    b"\\u0000",
    b"NaN",
)


def mutated(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change an input in a few places."""
    held = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(held) + 1)
        until = min(len(held), at + chance.choice((1, 4, 30, 300, 3000)))
        match chance.randrange(7):
            case 0:
                held[at:until] = b""
            case 1:
                held[at:at] = chance.choice(_WORDS)
            case 2:
                held[at:until] = bytes(held[at:until]) * chance.randint(2, 20)
            case 3:
                start = chance.randrange(len(other) + 1)
                held[at:at] = other[start : start + chance.choice((10, 200, 4000))]
            case 4 if at < len(held):
                held[at] ^= 1 << chance.randrange(8)
            case 5 if at < len(held):
                held[at] = chance.randrange(256)
            case _:
                lines = bytes(held).split(b"\n")
                chance.shuffle(lines)
                held = bytearray(b"\n".join(lines))
    return bytes(held[:_MOST])


def fault(target: Target, data: bytes) -> str | None:
    """Say what is wrong with how a reader takes an input; None where all is well."""
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    try:
        target(data)
    except DenpexError:
        pass
    except Exception as error:  # whatever it is, it is a find
        return f"{type(error).__name__}: {error}"[:200]
    spent = time.process_time() - began
    if spent > SLOW:
        return f"{spent:.1f} s of CPU"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown
    return f"grew by {grown >> 10} MiB" if grown << 10 > GROWTH else None


def finds() -> Iterator[tuple[str, Path]]:
    """Go through the kept finds: the reader and the file."""
    for path in sorted(FINDS.glob("*-*")):
        yield path.name.partition("-")[0], path


def keep(reader: str, data: bytes) -> Path:
    """Keep an input for the tests."""
    FINDS.mkdir(exist_ok=True)
    path = FINDS / f"{reader}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def smallest(target: Target, data: bytes, seconds: float = 20.0) -> bytes:
    """Cut a find down as long as it stays one."""
    until = time.monotonic() + seconds
    step = len(data) // 2
    while step and time.monotonic() < until:
        at = 0
        while at < len(data) and time.monotonic() < until:
            shorter = data[:at] + data[at + step :]
            if fault(target, shorter) is not None:
                data = shorter
            else:
                at += step
        step //= 2
    return data


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Fuzz one reader for some minutes; the exit status is 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=sorted(TARGETS))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="repeat a run")
    parser.add_argument("--coverage", action="store_true", help="let atheris choose the inputs")
    wanted = parser.parse_args()
    target = TARGETS[wanted.reader]
    if wanted.coverage:
        _with_atheris(wanted.reader, target, wanted.minutes)
        return
    seed = random.SystemRandom().randrange(1 << 30) if wanted.seed is None else wanted.seed
    chance = random.Random(seed)
    held = seeds(wanted.reader)
    say(f"{wanted.reader}: {len(held)} inputs to begin with, seed {seed}")
    target(held[0])  # what is loaded once is no growth
    until = time.monotonic() + 60 * wanted.minutes
    tried, found = 0, {}
    while time.monotonic() < until:
        data = mutated(chance.choice(held), chance.choice(held), chance)
        tried += 1
        wrong = fault(target, data)
        if wrong is not None and wrong[:60] not in found:
            found[wrong[:60]] = path = keep(wanted.reader, smallest(target, data))
            say(f"found: {wrong}\n  {path}")
        elif wrong is None and chance.random() < 0.02:
            held.append(data)
    say(f"{wanted.reader}: {tried} inputs, {len(found)} found")
    sys.exit(1 if found else 0)


def _with_atheris(reader: str, target: Target, minutes: float) -> None:
    import atheris  # type: ignore[import-not-found,unused-ignore,import-untyped]

    atheris.instrument_all()

    def once(data: bytes) -> None:
        wrong = fault(target, data)
        if wrong is not None:
            raise RuntimeError(f"{wrong}: {keep(reader, data)}")

    target(seeds(reader)[0])  # what is loaded once is neither growth nor slow
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(reader)[:200]):
            (Path(folder) / str(number)).write_bytes(data[:20_000])
        atheris.Setup([sys.argv[0], folder, f"-max_total_time={round(60 * minutes)}", "-max_len=20000"], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
