"""The command line: statuses, formats, what reaches the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from markdown_it import MarkdownIt

from denpex_kb.cli.console import Format
from denpex_kb.model.display import spans
from tests.conftest import CENTRAL, Ran

QUESTION = "hang first forward mixtral zero3"
COMMANDS = [
    "ask",
    "diagnose",
    "show",
    "list",
    "checklist",
    "schema",
    "kb check",
    "kb build",
    "kb new",
    "kb stats",
    "kb score",
]
HOSTILE = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]: \x1b]0;owned\x07\x1b[31mValueError: \x1b[2J\u202egnp.exe \x9b5n `rm -rf` <script>alert(1)</script>\n"
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "train\x1b[31m\n.log"
    path.write_text(HOSTILE, encoding="utf-8")
    return path


def test_the_question_of_the_readme_is_answered(run: Callable[..., Ran]) -> None:
    ran = run("ask", QUESTION)

    assert ran.status == 0
    assert ran.out.startswith("MATCHED")
    assert CENTRAL in ran.out
    assert "MixtralSparseMoeBlock" in ran.out


def test_the_answer_fits_one_screen(run: Callable[..., Ran]) -> None:
    lines = run("ask", QUESTION, columns=100).out.splitlines()

    assert len(lines) <= 45
    assert max(len(line) for line in lines if not line.startswith("           ")) <= 100


def test_what_tells_candidates_apart_comes_before_what_to_do_about_one_of_them(run: Callable[..., Ran]) -> None:
    out = run("ask", "training slow on 8 gpus").out

    assert out.startswith("AMBIGUOUS")
    assert "DO NOW" not in out
    assert 0 < out.index("\nOR ELSE ") < out.index("\nIF SO ") < out.index("\nFIX ")


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_prose_fits_the_width_of_the_terminal(run: Callable[..., Ran], columns: int) -> None:
    lines = run("ask", QUESTION, columns=columns).out.splitlines()
    prose = [line for line in lines if not line.startswith(" ")]

    assert max(map(len, prose)) <= max(columns, 40)


def test_piped_output_has_no_colour_and_asked_for_colour_comes(run: Callable[..., Ran]) -> None:
    assert "\x1b" not in run("ask", QUESTION).out
    assert "\x1b[" in run("ask", QUESTION, "--color", "always").out


@pytest.mark.parametrize("form", list(Format))
def test_control_sequences_of_a_log_never_reach_the_output(
    run: Callable[..., Ran], hostile: Path, form: Format
) -> None:
    ran = run("diagnose", str(hostile), "--format", form.value)

    for control in ("\x1b", "\x07", "\x9b", "\u202e"):
        assert control not in ran.out + ran.err


def test_html_of_a_log_is_inert_in_markdown(run: Callable[..., Ran], hostile: Path) -> None:
    tokens = MarkdownIt("commonmark").parse(run("diagnose", str(hostile), "--format", "markdown").out)
    kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}

    assert "code_inline" in kinds
    assert not kinds & {"html_block", "html_inline"}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["ask", QUESTION], 0),
        (["ask", "how do I cook rice"], 1),
        (["show", CENTRAL], 0),
        (["show", "deepspeed-"], 0),
        (["show", "no-such-entry"], 2),
        (["list", "--hub", "nowhere"], 2),
        (["checklist", CENTRAL], 0),
        (["frobnicate"], 2),
        (["ask"], 2),
        (["diagnose", "--format", "xml", "x"], 2),
        (["schema", "nothing"], 2),
        ([], 0),
        (["--help"], 0),
    ],
)
def test_exit_statuses_mean_what_the_contract_says(run: Callable[..., Ran], arguments: list[str], status: int) -> None:
    assert run(*arguments).status == status


def test_an_unknown_id_names_the_nearest_ones(run: Callable[..., Ran]) -> None:
    assert (
        CENTRAL
        in run("show", "deepspeed-moe-zero3-leaf-module").err + run("show", "deepspeed-moe-zero3-leaf-modul3s").err
    )


def test_a_fault_of_the_program_is_status_70_and_shows_a_traceback_only_with_debug(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("denpex_kb.api.KnowledgeBase.ask", broken)
    ran = run("ask", QUESTION)
    assert ran.status == 70
    assert "Traceback" not in ran.err

    assert "Traceback" in run("--debug", "ask", QUESTION).err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_stands_in_the_readme(run: Callable[..., Ran], command: str) -> None:
    ran = run(*command.split(), "--help")

    assert ran.status == 0
    assert "Usage: denpex" in ran.out
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"denpex {command}" in readme


def test_json_fits_the_published_schema(run: Callable[..., Ran], hostile: Path) -> None:
    schema = json.loads(run("schema", "diagnosis").out)
    for arguments in (["ask", QUESTION], ["ask", "how do I cook rice"], ["diagnose", str(hostile)]):
        printed = json.loads(run(*arguments, "--format", "json").out)
        jsonschema.validate(printed, schema)
        assert printed["schema"] == "denpex.diagnosis/1"


def test_a_list_in_json_holds_every_entry_with_the_fields_of_the_contract(run: Callable[..., Ran]) -> None:
    printed = json.loads(run("list", "--format", "json").out)

    assert printed["schema"] == "denpex.entries/1"
    assert CENTRAL in [entry["id"] for entry in printed["entries"]]
    fields = {"id", "title", "hub", "phase", "kind", "category", "role", "tags", "frameworks", "summary", "frequency"}
    assert all(fields <= entry.keys() for entry in printed["entries"])


def test_filters_of_the_list_are_joined_by_and(run: Callable[..., Ran]) -> None:
    printed = json.loads(run("list", "--hub", "deepspeed", "--kind", "hang", "--format", "json").out)["entries"]

    assert printed
    assert all((entry["hub"], entry["kind"]) == ("deepspeed", "hang") for entry in printed)


def test_a_closed_pipe_is_no_fault() -> None:
    ran = subprocess.run(
        f"{sys.executable} -m denpex_kb list | head -1", shell=True, capture_output=True, text=True, check=False
    )

    assert "Traceback" not in ran.stderr
    assert ran.returncode == 0


def test_a_plain_question_loads_only_what_it_needs() -> None:
    program = (
        "import sys; sys.argv = ['denpex', 'ask', 'hang first forward mixtral zero3']\n"
        "from denpex_kb.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "costly = {'rich', 'jinja2', 'markdown_it', 'sqlite_utils', 'hyperscan', 'yaml', 'rapidfuzz'}\n"
        "print(sorted(set(sys.modules) & costly))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines()[-1] == "[]"


def test_standard_input_is_read_for_a_dash() -> None:
    log = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has 79 GiB\n"
    ran = subprocess.run(
        [sys.executable, "-m", "denpex_kb", "diagnose", "-"], input=log, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0
    assert "standard input:1" in ran.stdout


def test_a_diagnosis_of_a_large_job_fits_one_screen(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Many ranks, a deep folder, a long proof and a deep traceback give way to the fix."""
    log = tmp_path / ("a-long-folder-" * 6) / "train.log"
    log.parent.mkdir()
    log.write_text(
        "".join(f"[rank{rank}]: step 1 loss 2.0\n" for rank in range(256))
        + "[rank7]: Traceback (most recent call last):\n"
        + "".join(
            f'[rank7]:   File "/home/u/model{n}.py", line {n}, in forward\n[rank7]:     x = y\n' for n in range(9)
        )
        + "[rank7]: RuntimeError: The size of tensor a (5) must match the size of tensor b (6) "
        + "at non-singleton dimension 1 of a batch cut behind its last token\n"
        + "".join(
            f"[rank{rank}]:[E ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 "
            "milliseconds before timing out.\n"
            for rank in range(0, 256, 2)
        )
    )

    lines = run("diagnose", str(log), columns=100).out.splitlines()

    assert len(lines) <= 45
    assert "behind its last token" in " ".join(map(str.strip, lines)), "the proof is quoted whole"
    assert sum(str(log) in line for line in lines) <= 1, "the folder is named once"


def test_several_ranks_are_named_as_a_span() -> None:
    assert spans([7, 1, 2, 3]) == "1-3, 7"
    assert spans(range(0, 40, 2), most=3) == "0, 2, 4, … (20 in all)"


@pytest.mark.parametrize("columns", [60, 100])
def test_an_entry_is_readable_and_its_addresses_are_whole_at_any_width(run: Callable[..., Ran], columns: int) -> None:
    """A list's further lines stand under its text; a broken address cannot be opened."""
    lines = run("show", "nccl-ib-memlock", columns=columns).out.splitlines()

    assert "  https://github.com/NVIDIA/nccl/blob/v2.27.3-1/src/misc/ibvwrap.cc" in lines
    items = [(line, lines[at + 1]) for at, line in enumerate(lines) if line.startswith("    - ")]
    assert items
    assert all(not after.strip() or after[:6] in ("    - ", " " * 6) for _, after in items)


def test_boxes_of_a_checklist_hang(run: Callable[..., Ran]) -> None:
    lines = run("checklist", "deepspeed-zero3-conditional-module-skip", columns=60).out.splitlines()

    boxes = lines[lines.index("", 1) :]
    assert all(line.startswith(("[ ] ", " " * 7)) for line in boxes if line)


@pytest.mark.parametrize("kept", [b'{"a":' * 100_000, b"\x00\xff", b"[]", b'{"schema": 1}'])
def test_answers_of_a_checklist_that_are_none_are_an_error(
    run: Callable[..., Ran], tmp_path: Path, kept: bytes
) -> None:
    state = tmp_path / "answers.json"
    state.write_bytes(kept)

    ran = run("checklist", "nccl-ib-memlock", "--state", str(state))

    assert ran.status == 2
    assert f"{state}: no answers of a checklist" in ran.err
    assert state.read_bytes() == kept


def test_one_kind_of_collateral_left_is_no_plural(run: Callable[..., Ran]) -> None:
    folder = Path(__file__).parent / "corpus/dev/inputs/multinode-rank3-error-node1"

    said = run("diagnose", str(folder)).out

    assert "and 1 more kind\n" in said


def test_a_question_without_its_command_is_told_where_to_go(run: Callable[..., Ran], tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1\n")

    assert 'denpex ask "nccl hangs at start"' in run("nccl hangs at start").err
    assert f"denpex diagnose {log}" in run(str(log)).err
    assert f"denpex diagnose {log}" in run("ask", str(log)).err
    assert run("x" * 5000).status == run("ask", "x" * 5000).status + 1


def test_a_site_that_cannot_be_put_where_it_should_go_is_no_fault_of_the_program(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file\n")
    ran = run("site", "build", "--no-search", "--output", str(tmp_path / "taken" / "site"))

    assert ran.status == 2
    assert "no folder can be made there" in ran.err
