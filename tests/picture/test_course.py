"""The course of an attempt: lanes of ranks that did and met the same."""

from __future__ import annotations

from pathlib import Path

from denpex_kb import KnowledgeBase
from denpex_kb.model.diagnosis import Course
from tests.picture.jobs import mismatch_job, oom_job, watchdog, written


def course(kb: KnowledgeBase, path: Path, attempt: int = -1) -> Course:
    found = kb.diagnose(path).attempts[attempt].course
    assert found is not None
    return found


def test_ranks_that_met_the_same_share_a_lane_and_the_one_that_began_it_has_its_own(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    first, second, *_ = course(kb, written(tmp_path, oom_job(64, 5))).lanes

    assert (first.ranks, first.state) == ((5,), "initiating")
    assert second.ranks == tuple(rank for rank in range(64) if rank != 5)
    assert second.wait is not None
    assert (second.wait.op, second.wait.seq, second.wait.size) == ("ALLREDUCE", 41, "8192")


def test_every_mark_names_the_line_that_shows_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = written(tmp_path, oom_job(8, 3))
    lines = path.read_text(encoding="utf-8").splitlines()

    marks = [mark for lane in course(kb, path).lanes for mark in lane.marks]

    assert any(mark.kind == "began" for mark in marks)
    assert all(mark.first.text.strip() in lines[mark.first.line - 1] for mark in marks)


def test_times_count_from_the_first_and_a_wait_begins_before_its_report(kb: KnowledgeBase, tmp_path: Path) -> None:
    found = course(kb, written(tmp_path, oom_job(8, 3)))
    waiting = next(lane for lane in found.lanes if lane.wait is not None)
    report = next(mark for mark in waiting.marks if mark.kind == "follows")

    assert found.start == "2025-11-03T08:00:00.000"
    assert waiting.wait is not None
    assert waiting.wait.since == 40.0
    assert (report.at, report.exact) == (640.0, True)


def test_a_rank_that_calls_another_collective_is_told_apart(kb: KnowledgeBase, tmp_path: Path) -> None:
    lanes = course(kb, written(tmp_path, mismatch_job(16, 9))).lanes

    assert [lane.ranks for lane in lanes if lane.wait and lane.wait.op == "_ALLGATHER_BASE"] == [(9,)]


def test_the_same_at_clearly_different_times_is_told_apart(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = "\n".join(
        ["world_size: 8", *(watchdog(rank, 640) for rank in range(4)), *(watchdog(rank, 1240) for rank in range(4, 8))]
    )

    lanes = course(kb, written(tmp_path, text + "\n")).lanes

    assert {lane.ranks for lane in lanes if lane.wait} == {(0, 1, 2, 3), (4, 5, 6, 7)}


def test_a_launcher_that_writes_whole_seconds_does_not_tell_the_end_before_the_beginning(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    text = (
        "world_size: 2\n"
        "[rank1]: 2025-11-03 08:00:40,800 - train - INFO - step 4\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "/job/train.py", line 9, in <module>\n'
        "[rank1]: ValueError: bad record\n"
        "[rank0]: 2025-11-03 08:00:41,900 - train - INFO - step 4\n"
        "  time      : 2025-11-03_08:00:41\n"
        "  host      : node-1\n"
        "  rank      : 1 (local_rank: 1)\n"
        "  exitcode  : 1 (pid: 77)\n"
    )

    lane = next(lane for lane in course(kb, written(tmp_path, text)).lanes if lane.ranks == (1,))
    began = next(mark.at for mark in lane.marks if mark.kind == "began")

    assert began is not None
    assert all(mark.at is None or mark.at >= began for mark in lane.marks if mark.kind == "ended")


def test_stacks_say_where_each_rank_stood(kb: KnowledgeBase) -> None:
    folder = Path(__file__).parents[1] / "corpus" / "dev" / "inputs" / "moe-z3-hang-mixtral-pyspy"

    lanes = course(kb, folder).lanes

    assert all(any(mark.kind == "stands" and mark.note.startswith("in ") for mark in lane.marks) for lane in lanes)


def test_traces_say_in_which_collective_each_rank_waits(kb: KnowledgeBase) -> None:
    folder = Path(__file__).parents[1] / "corpus" / "dev" / "inputs" / "z3-uneven-flightrec"

    waits = {lane.ranks: lane.wait for lane in course(kb, folder).lanes}

    assert {ranks: (wait.op, wait.seq) for ranks, wait in waits.items() if wait is not None} == {
        (0,): ("all_gather", 115),
        (1,): ("barrier", 115),
    }


def test_each_attempt_has_a_course_of_its_own(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = (
        "[rank1]: 2025-11-03 08:00:40,800 - train - INFO - step 4\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "/job/train.py", line 9, in <module>\n'
        "[rank1]: ValueError: bad record\n"
        "I1103 08:01:00.000000 7 torch/distributed/elastic/agent/server/api.py:906] [default] Worker group FAILED. "
        "3/3 attempts left; will restart worker group\n"
        "[rank0]: 2025-11-03 08:02:40,800 - train - INFO - step 5\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/job/train.py", line 9, in <module>\n'
        "[rank0]: KeyError: 'input_ids'\n"
    )
    path = written(tmp_path, text)

    began = [
        [lane.ranks for lane in course(kb, path, number).lanes if any(mark.kind == "began" for mark in lane.marks)]
        for number in (0, 1)
    ]

    assert began == [[(1,)], [(0,)]]
