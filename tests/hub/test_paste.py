"""The page that reads a log answers as the command line does, on single files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.errors import DenpexError
from denpex_kb.index.places import public_sources

from .conftest import Build

NODE = shutil.which("node")
RUNNER = Path(__file__).with_name("read.mjs")
AGREEMENT = 0.98

needs_node = pytest.mark.skipif(NODE is None, reason="Node.js runs the page's matcher")


def read_in_page(site: Path, files: list[Path]) -> dict[str, dict[str, object]]:
    """Run the matcher over files, as the page's worker does."""
    assert NODE is not None
    command = [NODE, str(RUNNER), str(site / "static/matcher.js"), str(site / "api/rules.json")]
    done = subprocess.run(command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True)
    return {item["name"]: item for item in map(json.loads, done.stdout.splitlines())}


def answer_of(item: dict[str, object]) -> str:
    answer = item["answer"]
    assert isinstance(answer, dict)
    return answer["hypotheses"][0]["id"] if answer["hypotheses"] else "none"


@needs_node
def test_the_page_agrees_with_the_command_line_on_single_files(site: Path, kb: KnowledgeBase) -> None:
    """The first answer is the same on at least 98 % of the catalog's single-file samples."""
    folder = public_sources().catalogs[0]
    files = [
        path
        for path in sorted(folder.glob("*/*/*"))
        if path.is_file() and path.name.startswith(("positive-", "negative-"))
    ]
    read = read_in_page(site, files)
    same, other = 0, []
    for path in files:
        try:
            diagnosis = kb.diagnose(path)
        except DenpexError:
            continue
        wanted = diagnosis.hypotheses[0].id if diagnosis.recognised else "none"
        got = answer_of(read[str(path)])
        same += got == wanted
        other += [f"{path.parent.name}/{path.name}: {got}, not {wanted}"] if got != wanted else []
    assert same + len(other) > 300
    assert same / (same + len(other)) >= AGREEMENT, "\n".join(other)


TIME_OUT = (
    "[rank{0}]:[E1129 11:56:57.6 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=28956, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600053 milliseconds "
    "before timing out.\n"
)
LOGS = {
    "an exception that another attempt overcame": (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "train.py", line 19, in <module>\n'
        "[rank0]: OSError: [Errno 5] Input/output error\n"
        "[rank1]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
        "[10.20.0.11]:3308. This is typically caused by a remote worker crashing.\n"
        "E1130 22:42:01.4 16 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 "
        "(pid: 20) of binary: /usr/bin/python3\n"
        "rank 0: starting at step 30\nrank 1: starting at step 30\nrank 1: finished\nrank 0: finished\nexit code 0\n"
    ),
    "a message that the launcher's label broke": (
        "5: [rank5]:[E ProcessGroupNCCL.cpp:1414] [PG 0 Rank 5] Process group watchdog thread terminated with "
        "exception: CUD\n"
        "5: A error: unspecified launch failure\n" + "".join(f"{rank}: {TIME_OUT.format(rank)}" for rank in range(5))
    ),
    "a killed process that only its launcher names": (
        "[1,0]<stdout>:Epoch 1/1\n[1,1]<stdout>:Epoch 1/1\n[1,7]<stdout>:Epoch 1/1\n"
        "mpirun noticed that process rank 7 with PID 0 on node gpu-host-04 exited on signal 9 (Killed).\n"
    ),
    "an exit code after a time-out": (
        "[rank0] Evaluation done, test CER: 25.80\n[rank0] process finished with exit code 0\n"
        + TIME_OUT.format(1)
        + "E0328 15:30:03.4 210 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) "
        "local_rank: 1 (pid: 243) of binary: /usr/bin/python3\n"
    ),
    "a bar that is drawn once more as it closes": (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 88, in <module>\n'
        "    loss.backward()\n"
        "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.78 GiB total capacity; 13.92 GiB "
        "already allocated; 301.69 MiB free; 14.20 GiB reserved in total by PyTorch)\n"
        "  0%|          | 2/4210 [00:11<6:36:11,  5.65s/it]\n"
    ),
    "a failure of an earlier launch": (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "train.py", line 12, in <module>\n'
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.17 GiB. GPU 0 has a total capacity "
        "of 79.11 GiB of which 312.62 MiB is free.\n"
        "srun: error: node-1: task 0: Exited with exit code 1\n"
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being "
        "overloaded, please further tune the variable for optimal performance in your application as needed.\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "train.py", line 40, in <module>\n'
        "[rank0]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    ),
    "one rank of which the number tells that there are others": (
        "[rank3]: Traceback (most recent call last):\n"
        '[rank3]:   File "/job/train.py", line 9, in <module>\n'
        "[rank3]: UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 3: invalid continuation byte\n"
    ),
    "an exception that the interpreter ignores": (
        "[rank0]: Exception ignored in: <function Pool.__del__ at 0x7f>\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/usr/lib/python3.11/multiprocessing/pool.py", line 268, in __del__\n'
        "[rank0]: AttributeError: 'NoneType' object has no attribute '_state'\n"
        + TIME_OUT.format(0)
        + TIME_OUT.format(1)
    ),
}


@needs_node
@pytest.mark.parametrize("what", LOGS)
def test_the_page_orders_lines_as_the_command_line_does(
    site: Path, kb: KnowledgeBase, tmp_path: Path, what: str
) -> None:
    """What began it, and what only follows, decide the answer: the page and the command line agree on it."""
    log = tmp_path / "train.log"
    log.write_text(LOGS[what], encoding="utf-8")
    diagnosis = kb.diagnose(log)
    wanted = [item.id for item in diagnosis.hypotheses] if diagnosis.recognised else []
    answer = read_in_page(site, [log])[str(log)]["answer"]
    assert isinstance(answer, dict)
    assert [item["id"] for item in answer["hypotheses"]] == wanted
    assert [item["confidence"] for item in answer["hypotheses"]] == pytest.approx(
        [item.confidence for item in diagnosis.hypotheses[: len(wanted)]], abs=0.001
    )


@needs_node
def test_every_pattern_can_be_read_by_javascript(site: Path) -> None:
    """Patterns, exclusions and prefixes compile in Node.js."""
    program = (
        "const d=JSON.parse(require('fs').readFileSync(0,'utf8'));const bad=[];"
        "for(const p of d.patterns)for(const r of [p[0],p[1]])if(r)try{new RegExp(r)}catch(e){bad.push(String(e))}"
        "for(const p of d.prefixes)try{new RegExp(p.pattern,'y')}catch(e){bad.push(String(e))}"
        "console.log(JSON.stringify(bad))"
    )
    assert NODE is not None
    data = (site / "api/rules.json").read_bytes()
    done = subprocess.run([NODE, "-e", program], input=data, capture_output=True, check=True)
    assert json.loads(done.stdout) == []


@needs_node
@pytest.mark.parametrize(
    ("version", "range_"),
    [
        ("2.6.0", ">=2.6,<2.8"), ("2.8.0", ">=2.6,<2.8"), ("2.8.0rc1", ">=2.6,<2.8"), ("2.6.0+cu124", ">=2.6"),
        ("0.15.4", "<0.18"), ("0.15", "==0.15.0"), ("1.2.3", "~=1.2"), ("2.0", "~=1.2"), ("1.10.0", ">1.9"),
        ("0.8.9.post1", ">0.8.9"), ("0.8.9.post1", ">=0.8.9"), ("4.57.6", "!=4.57.*"), ("2.9.0.dev20250801", "<2.9"),
    ],
)  # fmt: skip
def test_versions_compare_as_pep_440_says(site: Path, version: str, range_: str) -> None:
    """The page reads version ranges as the command line does."""
    from denpex_kb.model.conditions import version_in

    matcher = (site / "static/matcher.js").read_text(encoding="utf-8")
    program = matcher.replace("return { prepare, diagnose }", "return { versionIn }")
    program += f"console.log(denpexMatcher({{}}).versionIn({json.dumps(version)}, {json.dumps(range_)}))"
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(version_in(version, range_)).lower()


@needs_node
def test_a_large_log_is_read_in_pieces(build: Build, tmp_path: Path) -> None:
    """Lines that cross a piece's border are whole, and their numbers are right."""
    build()
    log = tmp_path / "large.log"
    filler = "step 1 loss 2.0 " + "x" * 83 + "\n"
    log.write_text(filler * 60_000 + "RuntimeError: xyzzy plugh 7 failed\n", encoding="utf-8")
    item = read_in_page(tmp_path / "site", [log])[str(log)]
    answer = item["answer"]
    assert isinstance(answer, dict)
    assert answer["hypotheses"][0]["id"] == "our-xyzzy-fails"
    assert answer["hypotheses"][0]["evidence"][0]["line"] == 60_001
    assert answer["lines"] == 60_001


@needs_node
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_other_encodings_are_read(build: Build, tmp_path: Path, encoding: str) -> None:
    """PowerShell and editors write other encodings than UTF-8."""
    build()
    log = tmp_path / "other.log"
    log.write_text("epoch 1\r\nRuntimeError: xyzzy plugh 7 failed\r\n", encoding=encoding)
    assert answer_of(read_in_page(tmp_path / "site", [log])[str(log)]) == "our-xyzzy-fails"
