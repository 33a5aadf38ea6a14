"""Stack dumps: py-spy as text and JSON, faulthandler, pystack, gdb; one file per rank or one for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from denpex_kb.catalog import yamlfile
from denpex_kb.model.prefix import PrefixFormat
from denpex_kb.model.stacks import Process
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.stacks import is_json_dump, json_dump_as_text, read_processes, shorten

ROOT = Path(__file__).parents[2]
PREFIXES = PrefixReader(
    yamlfile.read((ROOT / "kb" / "prefixes.yaml").read_text(encoding="utf-8"), "prefixes", tuple[PrefixFormat, ...])
)
PACKAGES = "/opt/venv/lib/python3.11/site-packages"


def read(text: str, rank: int | None = None) -> list[Process]:
    return read_processes(enumerate(text.splitlines(), 1), "dump.txt", rank, None, PREFIXES)


def pyspy(pid: int, command: str, *frames: str, thread: str = "MainThread") -> str:
    body = "\n".join(f"    {frame}" for frame in frames)
    return (
        f'Process {pid}: {command}\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "{thread}"\n{body}\n'
    )


def test_a_dump_of_pyspy() -> None:
    (process,) = read(
        pyspy(42, "python train.py", "barrier (torch/distributed/distributed_c10d.py:5356)", "<module> (train.py:9)"), 3
    )

    assert (process.pid, process.rank, process.first, process.last) == (42, 3, 1, 6)
    assert process.main is not None
    assert [frame.text for frame in process.main.frames] == [
        "barrier (torch/distributed/distributed_c10d.py:5356)",
        "<module> (train.py:9)",
    ]
    assert [frame.number for frame in process.main.frames] == [5, 6]


def test_one_file_holds_many_processes_and_their_commands_tell_the_ranks() -> None:
    text = "".join(
        pyspy(100 + rank, f"python -u train.py --local_rank={rank} --epochs 3", "step (train.py:7)")
        for rank in range(8)
    )

    found = read(text)

    assert [process.local_rank for process in found] == list(range(8))
    assert [process.rank for process in found] == [None] * 8


@pytest.mark.parametrize(
    ("command", "rank", "local_rank"),
    [
        ("python train.py --rank 12 --world-size 16", 12, None),
        ("python train.py --rank=3", 3, None),
        ("env RANK=5 LOCAL_RANK=1 python train.py", 5, 1),
        ("python train.py --local-rank 2", None, 2),
        ("python train.py --lora_rank 16", None, None),
        ("python train.py --lora-rank=64 --node_rank 1", None, None),
    ],
)
def test_ranks_of_a_command_line(command: str, rank: int | None, local_rank: int | None) -> None:
    (process,) = read(pyspy(42, command, "step (train.py:7)"))

    assert (process.rank, process.local_rank) == (rank, local_rank)


def test_locals_tell_the_rank() -> None:
    text = pyspy(42, "python train.py", "step (train.py:7)") + (
        "        Arguments:\n            rank: 6\n            model: <Model at 0x7f>\n"
        "        Locals:\n            loss: 2.3\n"
        "    main (train.py:90)\n        Locals:\n            local_rank: 2\n"
    )

    (process,) = read(text)

    assert (process.rank, process.local_rank) == (6, 2)
    assert process.main is not None
    assert len(process.main.frames) == 2


def test_the_rank_of_the_file_is_that_of_the_training_process_not_of_its_workers() -> None:
    worker = pyspy(43, "python train.py", "_worker_loop (torch/utils/data/_utils/worker.py:374)")

    found = read(pyspy(42, "python train.py", "step (train.py:7)") + worker, 5)

    assert [(process.pid, process.rank) for process in found] == [(42, 5), (43, None)]


def test_the_main_thread_is_found_wherever_it_stands() -> None:
    text = (
        'Process 42: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 44 (idle): "Thread-1"\n'
        '    wait (threading.py:331)\nThread 42 (active+gil): "MainThread"\n    step (train.py:7)\n'
    )

    (process,) = read(text)

    assert process.main is not None
    assert process.main.frames[0].text == "step (train.py:7)"


def test_native_frames() -> None:
    (process,) = read(
        pyspy(
            42,
            "python train.py",
            "cuStreamSynchronize (libcuda.so.1)",
            "c10::cuda::device_synchronize (libc10_cuda.so)",
            "synchronize (torch/cuda/__init__.py:566)",
        )
    )

    assert process.main is not None
    assert [frame.line for frame in process.main.frames] == [None, None, 566]


FAULTHANDLER = f'''Thread 0x00007f5c2b7fe640 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Current thread 0x00007fa2725ccb80 (most recent call first):
  File "{PACKAGES}/torch/distributed/distributed_c10d.py", line 5356 in barrier
  File "/home/user/train/train.py", line 166 in <module>
'''


def test_a_dump_of_faulthandler() -> None:
    (process,) = read(FAULTHANDLER, 1)

    assert process.rank == 1
    assert process.main is not None
    assert [frame.text for frame in process.main.frames] == [
        "barrier (torch/distributed/distributed_c10d.py:5356)",
        "<module> (train.py:166)",
    ]


def test_dumps_of_several_ranks_may_be_interleaved_in_one_log() -> None:
    pairs = zip(
        [f"[rank0]: {line}" for line in FAULTHANDLER.splitlines()],
        [f"[rank1]: {line}" for line in FAULTHANDLER.splitlines()],
        strict=True,
    )

    found = read("step 10\n" + "\n".join(line for pair in pairs for line in pair))

    assert [process.rank for process in found] == [0, 1]
    assert all(process.main is not None and len(process.main.frames) == 2 for process in found)


def test_of_dumps_that_repeat_the_last_one_counts() -> None:
    text = "Timeout (0:05:00)!\n" + FAULTHANDLER + "Timeout (0:05:00)!\n" + FAULTHANDLER.replace("166", "170")

    (process,) = read(text)

    assert process.main is not None
    assert process.main.frames[-1].line == 170


def test_a_process_that_is_told_twice_to_dump_is_one_process() -> None:
    (process,) = read(FAULTHANDLER + FAULTHANDLER.replace("166", "170"))

    assert process.main is not None
    assert process.main.frames[-1].line == 170


def test_dumps_of_several_processes_without_pids() -> None:
    other = FAULTHANDLER.replace("0x00007fa2725ccb80", "0x00007f1111111180").replace("166", "170")

    found = read(FAULTHANDLER + other)

    assert [process.main.frames[-1].line for process in found if process.main is not None] == [166, 170]


def test_a_dump_of_a_crash_is_marked() -> None:
    (process,) = read("Fatal Python error: Segmentation fault\n\n" + FAULTHANDLER)

    assert process.fatal


GDB = """Attaching to process 4242
[New LWP 4250]
Thread 2 (Thread 0x7f12 (LWP 4250) "cuda-EvtHandlr"):
#0  0x00007f1299 in poll () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f1200 in ?? () from /lib/x86_64-linux-gnu/libcuda.so.1

Thread 1 (Thread 0x7ffff7d8a740 (LWP 4242) "python"):
#0  0x00007f12aa in __futex_abstimed_wait_common64 (private=0, cancel=true) at ./nptl/futex-internal.c:57
#1  0x00007f12bb in gloo::transport::tcp::UnboundBuffer::waitRecv(int*) () from /site-packages/torch/lib/libtorch.so
#2  _PyEval_EvalFrameDefault (tstate=0x1, frame=0x2, throwflag=0) at Python/ceval.c:4945
"""


def test_a_backtrace_of_gdb() -> None:
    (process,) = read(GDB)

    assert process.pid == 4242
    assert process.main is not None
    assert [frame.text for frame in process.main.frames] == [
        "__futex_abstimed_wait_common64 (./nptl/futex-internal.c:57)",
        "gloo::transport::tcp::UnboundBuffer::waitRecv(int*) (torch/lib/libtorch.so)",
        "_PyEval_EvalFrameDefault (Python/ceval.c:4945)",
    ]


def test_python_frames_of_gdb() -> None:
    text = (
        'Thread 1 (Thread 0x7ffff7d8a740 (LWP 4242) "python"):\nTraceback (most recent call first):\n'
        '  File "/home/user/train.py", line 12, in step\n    loss.backward()\n'
        '  File "/home/user/train.py", line 90, in <module>\n'
    )

    (process,) = read(text)

    assert process.main is not None
    assert [frame.text for frame in process.main.frames] == ["step (train.py:12)", "<module> (train.py:90)"]


def test_backtraces_of_several_processes_follow_one_another() -> None:
    second = GDB.replace("Attaching to process 4242\n", "").replace("4242", "5252").replace("4250", "5260")

    assert [process.pid for process in read(GDB + second)] == [4242, 5252]


def test_a_dump_of_pystack_has_the_innermost_frame_last() -> None:
    text = (
        "Traceback for thread 4242 (python) [] (most recent call last):\n"
        '    (Python) File "/home/user/train.py", line 9, in <module>\n        main()\n'
        f'    (Python) File "{PACKAGES}/torch/distributed/distributed_c10d.py", line 5356, in barrier\n'
    )

    (process,) = read(text)

    assert process.pid == 4242
    assert process.main is not None
    assert process.main.frames[0].function == "barrier"


def json_thread(pid: int, name: str, *frames: tuple[str, str, int]) -> dict[str, object]:
    return {
        "pid": pid,
        "thread_id": 140335680113536,
        "thread_name": name,
        "os_thread_id": pid,
        "active": False,
        "owns_gil": False,
        "frames": [
            {"name": function, "filename": f"{PACKAGES}/{file}", "module": None, "short_filename": file, "line": line}
            for function, file, line in frames
        ],
    }


JSON = [
    json_thread(42, "Thread-1", ("Condition.wait", "threading.py", 327)),
    json_thread(
        42, "MainThread", ("barrier", "torch/distributed/distributed_c10d.py", 5356), ("<module>", "train.py", 9)
    ),
    json_thread(43, "MainThread", ("fetch", "torch/utils/data/_utils/fetch.py", 54)),
]


@pytest.mark.parametrize("indent", [1, 2, None])
def test_json_becomes_the_text_of_pyspy(indent: int | None) -> None:
    data = json.dumps(JSON, indent=indent).encode()

    assert is_json_dump(data)
    text = json_dump_as_text(data)

    assert text is not None
    assert [line for line in text.decode().split("\n") if line] == [
        "Process 42: python",
        'Thread 42 (idle): "Thread-1"',
        "    Condition.wait (threading.py:327)",
        'Thread 42 (idle): "MainThread"',
        "    barrier (torch/distributed/distributed_c10d.py:5356)",
        "    <module> (train.py:9)",
        "Process 43: python",
        'Thread 43 (idle): "MainThread"',
        "    fetch (torch/utils/data/_utils/fetch.py:54)",
    ]
    found = read(text.decode())
    assert [process.pid for process in found] == [42, 43]
    assert [process.main.frames[0].function for process in found if process.main is not None] == ["barrier", "fetch"]


def test_frames_of_json_stay_on_their_lines() -> None:
    data = json.dumps(JSON, indent=1).encode()

    text = json_dump_as_text(data)

    assert text is not None
    shown = [number for number, line in enumerate(text.split(b"\n")) if line.startswith(b"    ")]
    assert shown == [number for number, line in enumerate(data.split(b"\n")) if b'"filename"' in line]


def test_arrays_of_several_processes_may_follow_one_another() -> None:
    data = json.dumps(JSON[:2], indent=1).encode() + b"\n" + json.dumps(JSON[2:], indent=1).encode() + b"\n"

    text = json_dump_as_text(data)

    assert text is not None
    assert text.count(b"Process ") == 2


@pytest.mark.parametrize(
    "data", [b"[1, 2]", b"[", b"{}", b'[{"pid": 1}]', b'[{"pid": 1, "thread_id": 2, "frames": [3]}', b"[]"]
)
def test_other_json_is_left_alone(data: bytes) -> None:
    assert json_dump_as_text(data) is None


@pytest.mark.parametrize(
    ("path", "short"),
    [
        (f"{PACKAGES}/deepspeed/runtime/zero/stage3.py", "deepspeed/runtime/zero/stage3.py"),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", "torch/nn/modules/module.py"),
        ("/usr/lib/python3.11/threading.py", "threading.py"),
        ("/home/user/project/train.py", "train.py"),
        ("/workspace/LLaMA-Factory/src/llamafactory/train/tuner.py", "llamafactory/train/tuner.py"),
        ("train.py", "train.py"),
        ("torch/cuda/__init__.py", "torch/cuda/__init__.py"),
    ],
)
def test_files_are_shortened_as_pyspy_does(path: str, short: str) -> None:
    assert shorten(path) == short


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thread pool of 8 started\nProcess group ready\n",
        "#1 item in the list (see docs)\n",
        "step 10 (train.py:7)\n",
    ],
)
def test_other_text_holds_no_process(text: str) -> None:
    assert read(text) == []
