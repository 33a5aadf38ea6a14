"""Time stamps: every shape that logs of training runs use, and its traps."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from denpex_kb.catalog import yamlfile
from denpex_kb.model.prefix import TimeFormat
from denpex_kb.read.timestamps import Stamp, TimeReader

KB = Path(__file__).parents[2] / "kb"
FORMATS = yamlfile.read((KB / "times.yaml").read_text(encoding="utf-8"), "times.yaml", tuple[TimeFormat, ...])
READER = TimeReader(FORMATS)


def parse(text: str, year: int | None = 2025) -> Stamp:
    stamp = READER.parse_time(text, year)
    assert stamp is not None
    return stamp


NOON = dt.datetime(2025, 11, 3, 12, 0, 1)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("[2025-11-03 12:00:01,123] [INFO] [engine.py:1:step] text", NOON.replace(microsecond=123000)),
        ("2025-11-03 12:00:01,123 - logger - INFO - text", NOON.replace(microsecond=123000)),
        ("  time      : 2025-11-03_12:00:01", NOON),
        ("slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2025-11-03T12:00:01 DUE TO TIME LIMIT ***", NOON),
        ("[2025-11-03 12:00:01] host:42:43 [2] misc/socket.cc:49 NCCL WARN text", NOON),
        ("[Mon Nov  3 12:00:01 2025] NVRM: Xid", NOON),
        ("Nov  3 12:00:01 gpu-07 kernel: text", NOON),
        ("11/03/2025 12:00:01 - INFO - __main__ - text", NOON),
        ("[11/03/25 12:00:01] INFO     text", NOON),
        ("(APIServer pid=854) INFO 11-03 12:00:01 [loggers.py:127] text", NOON),
        ("W1103 12:00:01.000000 84933 torch/distributed/elastic/agent/server/api.py:719] text", NOON),
        ("2025/11/03 12:00:01 - mmengine - INFO - text", NOON),
        ("[2024-02-03 10:11:12,345] torch.distributed: [WARNING] text", dt.datetime(2024, 2, 3, 10, 11, 12, 345000)),
        ("[rank3]:[E1206 18:44:12.715298746 x.cpp:6] text", dt.datetime(2025, 12, 6, 18, 44, 12, 715298)),
    ],
)
def test_a_local_stamp_is_taken_as_it_stands(text: str, when: dt.datetime) -> None:
    stamp = parse(text)

    assert (stamp.when, stamp.zone, stamp.known, stamp.uptime) == (when, "local", "full", None)


@pytest.mark.parametrize(
    ("text", "month", "day"),
    [
        ("E321 02:07:08.4", 3, 21),
        ("E1101 02:07:08.4", 11, 1),
        ("E101 02:07:08.4", 1, 1),
        ("E1231 02:07:08.4", 12, 31),
        ("W0920 09:10:41.194000", 9, 20),
        ("E229 02:07:08.4", 2, 29),
    ],
)
def test_c10_writes_the_month_without_a_leading_zero(text: str, month: int, day: int) -> None:
    stamp = parse(f"[rank3]:[{text} ProcessGroupNCCL.cpp:607] text", 2024)

    assert (stamp.when.month, stamp.when.day) == (month, day)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2025-11-03T12:00:01.001125857Z stdout F text", 12),
        ("2025-11-03T12:00:01+0100 gpu-07 kernel: text", 11),
        ("2025-11-03T12:00:01-05:00 text", 17),
        ("2025-11-03 12:00:01 UTC text", 12),
        ("Mon Nov  3 12:00:01 UTC 2025", 12),
    ],
)
def test_a_stamp_with_a_zone_becomes_utc(text: str, hour: int) -> None:
    stamp = parse(text)

    assert (stamp.when.hour, stamp.when.tzinfo, stamp.zone) == (hour, None, "utc")


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("2025-11-03_12:00:01", 1.0),
        ("2025-11-03 12:00:01,123", 1e-3),
        ("W1103 12:00:01.000000", 1e-6),
        ("E1103 12:00:01.715298746", 1e-9),
    ],
)
def test_the_precision_is_that_of_the_last_digit(text: str, precision: float) -> None:
    assert parse(text).precision_s == pytest.approx(precision)


@pytest.mark.parametrize(
    "text", ["E1103 12:00:01.5", "Nov  3 12:00:01 gpu-07 kernel: x", "INFO 11-03 12:00:01 [x.py:1] x"]
)
def test_without_a_year_the_stamp_says_so(text: str) -> None:
    assert parse(text, None).known == "no-year"
    assert parse(text, 2023).when.year == 2023


@pytest.mark.parametrize("text", ["[17:21:20] [rank0] step 0", "17:21:20.000 text", "17:21:20"])
def test_a_time_of_day_has_no_date(text: str) -> None:
    stamp = parse(text)

    assert (stamp.when.time(), stamp.known) == (dt.time(17, 21, 20), "clock")


@pytest.mark.parametrize(
    ("text", "uptime"),
    [
        ("[1843.308145] NVRM: Xid", 1843.308145),
        ("[    5.100000] NVRM: x", 5.1),
        ("host kernel: [12.000001] x", 12.000001),
    ],
)
def test_a_kernels_uptime_orders_lines_of_one_machine(text: str, uptime: float) -> None:
    stamp = parse(text)

    assert stamp.uptime == pytest.approx(uptime)
    assert stamp.known == "uptime"


def test_the_first_stamp_counts() -> None:
    assert parse("2025-11-03 12:00:01 - x - ERROR - since 2025-11-02 08:00:00").when == NOON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "loading weights",
        " 12%|█▏        | 12/100 [1:02:03<2:00:00,  1.10it/s]",
        "elapsed 01:02:03",
        "saving to /ckpt/2025-11-03_12-00-01/model.pt",
        "version 2025-11-03",
        "E1399 12:00:01.5 is no date",
        "PCI:0000:4f:00",
        "x" * 120 + " 2025-11-03 12:00:01",
    ],
)
def test_what_is_no_stamp_near_the_start_gives_none(text: str) -> None:
    assert READER.parse_time(text, 2025) is None


def test_digits_that_are_no_date_do_not_hide_the_stamp_behind_them() -> None:
    assert parse("E1399 12:00:01.5 2025-11-03 12:00:01").when == NOON


def test_29_february_needs_a_year_that_has_it() -> None:
    assert READER.parse_time("E229 12:00:01.5", 2025) is None
    assert parse("E229 12:00:01.5", None).when.day == 29


@pytest.mark.parametrize("shape", FORMATS, ids=lambda shape: shape.id)
def test_every_format_reads_its_own_examples(shape: TimeFormat) -> None:
    for line in shape.examples:
        assert TimeReader((shape,)).parse_time(line, 2025) is not None
        assert READER.parse_time(line, 2025) is not None
