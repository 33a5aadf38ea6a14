"""Logs of every shape, made up by hypothesis, and what fuzzing once found: no reader fails, hangs or grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from denpex_kb import KnowledgeBase
from denpex_kb.errors import InputError
from denpex_kb.render.json import to_json
from denpex_kb.render.markdown import diagnosis_markdown
from tests import fuzz

QUICK = settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
RANK = st.integers(0, 12)
STAMP = st.builds(
    "{:04d}-{:02d}-{:02d} {:02d}:{:02d}:{:02d},{:03d}".format,
    st.sampled_from([1969, 2000, 2026, 9999]),
    st.integers(0, 13),
    st.integers(0, 32),
    st.integers(0, 25),
    st.integers(0, 61),
    st.integers(0, 61),
    st.integers(0, 999),
)
PREFIX = st.one_of(
    st.just(""),
    st.builds("[rank{}]: ".format, RANK),
    st.builds("[default{}]:".format, RANK),
    st.builds("{}: ".format, RANK),
    st.builds("(RayTrainWorker pid={}) ".format, st.integers(0, 99_999)),
    st.builds("[{}] ".format, STAMP),
    st.builds("gpu-{}:{}:{} [{}] NCCL INFO ".format, RANK, RANK, RANK, RANK),
)
MESSAGE = st.one_of(
    st.builds("step {} loss {}".format, st.integers(0, 10**12), st.floats()),
    st.sampled_from(
        [
            "Traceback (most recent call last):",
            '  File "/a/train.py", line 3, in <module>',
            "    loss.backward()",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "RuntimeError: NCCL error in: a.cpp:1, unhandled system error",
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000)",
            "Root Cause (first observed failure):",
            "  rank      : 3 (local_rank: 3)",
            "  exitcode  : -9 (pid: 4242)",
            "srun: error: gpu-1: task 3: Exited with exit code 1",
            "NVRM: Xid (PCI:0000:4e:00): 79, pid=4242, GPU has fallen off the bus.",
            "world_size=64",
            "===== rank 3 =====",
            'Thread 0x7f00 (idle): "MainThread"',
            "    wait (threading.py:300)",
        ]
    ),
    st.text(max_size=80),
)
LINE = st.builds("{}{}{}".format, PREFIX, PREFIX, MESSAGE)
LOG = st.lists(LINE, max_size=60).map("\n".join)


@QUICK
@given(text=LOG, encoding=st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1"]), cut=st.integers(1, 400))
def test_any_log_gets_an_answer_that_can_be_shown(kb: KnowledgeBase, text: str, encoding: str, cut: int) -> None:
    data = text.encode(encoding, "replace")
    try:
        diagnosis = kb.diagnose_stream(data[at : at + cut] for at in range(0, len(data), cut))
    except InputError:
        return
    to_json(diagnosis)
    diagnosis_markdown(diagnosis)


@QUICK
@given(logs=st.lists(LOG, min_size=2, max_size=4))
def test_any_folder_of_logs_gets_an_answer(
    kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory, logs: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for rank, text in enumerate(logs):
        (folder / f"rank{rank}.log").write_text(text, encoding="utf-8", errors="replace")
    try:
        to_json(kb.diagnose(folder))
    except InputError:
        return


@pytest.mark.parametrize("reader", sorted(fuzz.TARGETS))
@settings(QUICK, max_examples=15)
@given(data=st.one_of(st.binary(max_size=400), LOG.map(str.encode)))
def test_any_bytes_are_taken_by_every_reader(kb: KnowledgeBase, reader: str, data: bytes) -> None:
    assert fuzz.fault(fuzz.TARGETS[reader], data) is None


@pytest.mark.parametrize(("reader", "path"), [pytest.param(*find, id=find[1].name) for find in fuzz.finds()])
def test_what_was_found_once_is_none_any_more(kb: KnowledgeBase, reader: str, path: Path) -> None:
    assert fuzz.fault(fuzz.TARGETS[reader], path.read_bytes()) is None
