"""Tracebacks in fields, in JSON, in notebooks and in boxes tell what plain ones tell, at the lines of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from denpex_kb import KnowledgeBase
from denpex_kb.catalog import yamlfile
from denpex_kb.model.prefix import PrefixFormat
from denpex_kb.pipeline.core import traceback_core
from denpex_kb.read.drawn import Box, Notebook
from denpex_kb.read.prefixes import PrefixReader
from denpex_kb.read.unfold import Unfolder, unfold_json

ROOT = Path(__file__).parents[2]
READER = PrefixReader(
    yamlfile.read((ROOT / "kb" / "prefixes.yaml").read_text(encoding="utf-8"), "prefixes", tuple[PrefixFormat, ...])
)
ENTRY = "hf-metric-for-best-model-missing"
TRAINER = "/opt/conda/lib/python3.10/site-packages/transformers/trainer.py"
PLAIN = f"""Traceback (most recent call last):
  File "/train/train.py", line 12, in <module>
    trainer.train()
  File "{TRAINER}", line 2368, in _save_checkpoint
    metric_value = metrics[metric_to_check]
KeyError: 'eval_loss'
"""
FAILED = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-11_09:14:21
  host      : node-3
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 77)
  error_file: /tmp/torchelastic_x/attempt_0/1/error.json
  traceback : """
FIELD = FAILED + PLAIN.rstrip().replace("\n", "\n  ") + "\n" + "=" * 60 + "\n"
ERROR_FILE = {"message": {"message": "KeyError: 'eval_loss'", "extraInfo": {"py_callstack": PLAIN, "timestamp": "17"}}}
LOGGED = {"time": "2026-03-11T09:14:21", "level": "ERROR", "rank": 5, "message": "failed", "exc_info": PLAIN}
JUPYTER = f"""---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
Cell In[7], line 12
     11 x = 1
---> 12 trainer.train()

File {TRAINER}:2368, in Trainer._save_checkpoint(self, model, trial, metrics)
   2367     # comment
-> 2368     metric_value = metrics[metric_to_check]
   2369     x = 1

KeyError: 'eval_loss'
"""
IPYTHON = f"""---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
<ipython-input-7-3f> in <module>
----> 1 trainer.train()

{TRAINER} in _save_checkpoint(self, model, trial, metrics)
   2367     # comment
-> 2368     metric_value = metrics[metric_to_check]

KeyError: 'eval_loss'
"""
RICH = f"""╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /train/train.py:12 in <module>                                               │
│                                                                              │
│ ❱ 12 trainer.train()                                                         │
│                                                                              │
│ {TRAINER}:2368 in           │
│ _save_checkpoint                                                             │
│                                                                              │
│   2367 │   │   # comment                                                     │
│ ❱ 2368 │   │   metric_value = metrics[metric_to_check]                       │
╰──────────────────────────────────────────────────────────────────────────────╯
KeyError: 'eval_loss'
"""
WINDOWS = PLAIN.replace(TRAINER, TRAINER.replace("/", "\\").replace("\\opt", "C:\\Users\\u"))
FORMS = {
    "plain": (PLAIN, 6, None),
    "field": (FIELD, 20, 5),
    "error file": (json.dumps(ERROR_FILE), 1, None),
    "JSON log": ('{"level": "INFO", "message": "step 1"}\n' + json.dumps(LOGGED) + "\n", 2, 5),
    "Jupyter": (JUPYTER, 12, None),
    "old IPython": (IPYTHON, 10, None),
    "rich": (RICH, 12, None),
    "Windows": (WINDOWS, 6, None),
    "Jupyter on a rank": ("".join(f"[rank5]: {line}\n" for line in JUPYTER.splitlines()), 12, 5),
}


def unfold(text: str, pieces: int = 1) -> list[tuple[int, str]]:
    unfolder = Unfolder(READER)
    lines = text.encode().splitlines(keepends=True)
    size = -(-len(lines) // pieces)
    found, number, before = [], 1, b""
    for at in range(0, len(lines), size):
        piece = b"".join(lines[at : at + size])
        found += [(item.number, item.text) for item in unfolder.feed(piece, number, before)]
        number += size
        before += piece
    return found


@pytest.mark.parametrize(("text", "line", "rank"), FORMS.values(), ids=FORMS)
def test_every_form_of_a_traceback_names_the_same_entry_at_its_line_and_rank(
    kb: KnowledgeBase, text: str, line: int, rank: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text(text, encoding="utf-8")

    diagnosis = kb.diagnose(path)

    assert [item.id for item in diagnosis.hypotheses[:1]] == [ENTRY]
    assert diagnosis.first_error is not None
    assert (diagnosis.first_error.line, diagnosis.first_error.rank) == (line, rank)
    assert diagnosis.hypotheses[0].evidence[0].text.strip(" │") in text.replace("\\", "") + PLAIN


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_traceback_shows_the_same_frames(form: str) -> None:
    text, line, _ = FORMS[form]

    core = traceback_core(text.splitlines()[:line], READER)

    assert core is not None
    assert core.exception == "KeyError: 'eval_loss'"
    assert [frame.function for frame in core.frames] == ["<module>", "_save_checkpoint"]
    assert core.frames[-1].line == 2368
    assert [frame.code for frame in core.frames] == ["trainer.train()", "metric_value = metrics[metric_to_check]"]


def test_an_error_file_is_of_the_rank_that_its_path_names(kb: KnowledgeBase, tmp_path: Path) -> None:
    for local_rank in (0, 1):
        folder = tmp_path / "run_x" / "attempt_0" / str(local_rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text("step 1\nstep 2\n")
    (folder / "error.json").write_text(json.dumps(ERROR_FILE))

    diagnosis = kb.diagnose(tmp_path)

    assert diagnosis.hypotheses[0].id == ENTRY
    assert diagnosis.first_error is not None
    assert diagnosis.first_error.file.endswith("attempt_0/1/error.json")


@pytest.mark.parametrize("text", [FIELD, JUPYTER, IPYTHON, RICH], ids=["field", "Jupyter", "old IPython", "rich"])
def test_a_traceback_that_several_pieces_share_is_read_as_in_one(text: str) -> None:
    assert unfold(text)
    for pieces in (2, 3, 7, 100):
        assert unfold(text, pieces) == unfold(text)


def test_a_frame_of_windows_has_the_slashes_that_patterns_know() -> None:
    assert unfold(PLAIN + '[rank1]:   File "C:\\u\\a.py", line 3, in f\n') == [(7, '  File "C:/u/a.py", line 3, in f')]


def test_frames_and_code_are_written_as_python_prints_them() -> None:
    frames = [f'  File "{TRAINER}", line 2368, in _save_checkpoint', "    metric_value = metrics[metric_to_check]"]

    for text, first in ((JUPYTER, 7), (RICH, 7), (IPYTHON, 6)):
        told = [line for number, line in unfold(text) if number >= first and line]
        assert [line.replace("line 0,", "line 2368,") for line in told] == frames


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("File ~/venv/lib/x.py:7, in f.<locals>.g(x)", '  File "~/venv/lib/x.py", line 7, in g'),
        ("Input In [3], in <cell line: 4>()", '  File "Input In [3]", line 0, in <module>'),
        ("Cell In[7], line 212, in main()", '  File "Cell In[7]", line 212, in main'),
        ("~/lib/a.py in <module>", '  File "~/lib/a.py", line 0, in <module>'),
        ("---> 12 loss.backward()", "    loss.backward()"),
        ("     11 x = 1", ""),
        ("a line of another kind", None),
        ("step 12 loss 2.3", None),
    ],
)
def test_a_line_of_a_notebook_is_a_frame_or_code_or_none_of_it(line: str, expected: str | None) -> None:
    assert Notebook("KeyError").take(line) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["│ /a/very/long/path/      │", "│ b.py:7 in f    │"], ["", '  File "/a/very/long/path/b.py", line 7, in f']),
        (["│ /a/b.py:7 in     │", "│ initialize   │"], ["", '  File "/a/b.py", line 7, in initialize']),
        (["│ ╭─── locals ───╮ │", "│ │ x = 1 │ │", "│ ╰──────────────╯ │"], ["", "", ""]),
        (["| > 7     f(x)   |"], ["    f(x)"]),
    ],
)
def test_a_narrow_box_spreads_a_frame_over_lines(lines: list[str], expected: list[str]) -> None:
    box = Box()

    assert [box.take(line) for line in lines] == expected


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "the words Traceback (most recent call last) in a sentence\n",
        '{"message": "Traceback (most recent call last)"',
        "{" * 100_000 + '"Traceback (most recent call last)"\n',
        '{"traceback": ["Traceback (most recent call last)"]}\n',
        "│ a table │\n" * 50,
    ],
)
def test_what_is_no_folded_traceback_is_left_alone(text: str) -> None:
    assert unfold(text) == []


def test_a_traceback_that_never_ends_is_given_up() -> None:
    unfolder = Unfolder(READER)
    head = "KeyError      Traceback (most recent call last)\n"

    assert len(unfolder.feed((head + "[rank1]: step\n" * 6000).encode(), 1, b"")) == 1
    assert unfolder.feed(b"   12 text\n", 6002, b"") == []


def test_json_beyond_bounds_is_not_parsed_and_long_tracebacks_are_cut() -> None:
    assert unfold_json(json.dumps({"exc_info": PLAIN, "pad": "x" * (2 << 20)}).encode()) is None
    told = unfold_json(json.dumps({"exc_info": PLAIN + "x\n" * 100_000}).encode())
    assert told is not None
    assert len(told.lines) == 2000


@pytest.mark.parametrize(
    ("fields", "rank", "local_rank"),
    [
        ({"rank": 3}, 3, None),
        ({"extra": {"global_rank": "3", "local_rank": 1}}, 3, 1),
        ({"rank": "three"}, None, None),
        ({"rank": -1}, None, None),
        ({"rank": None}, None, None),
    ],
)
def test_fields_of_a_json_line_state_the_rank(
    fields: dict[str, object], rank: int | None, local_rank: int | None
) -> None:
    told = unfold_json(json.dumps({**fields, "msg": "failed", "exception": PLAIN}).encode())

    assert told is not None
    assert (told.rank, told.local_rank) == (rank, local_rank)
    assert told.lines == ("failed", *PLAIN.splitlines())
