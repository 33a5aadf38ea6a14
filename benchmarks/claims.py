"""Print what the catalog says of every exception that installed packages can raise.

    python benchmarks/claims.py SITE_PACKAGES/torch/distributed SITE_PACKAGES/deepspeed …

Takes each `raise` and `assert` with a message, and each warning, out of the sources, makes a traceback (or a line amid
steps that go on) of it, and lists by entry what a specific entry answers: each should be that failure. A warning that a
run outlives should be claimed only by an entry about what goes wrong silently.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from denpex_kb import KnowledgeBase

_SURE = 0.5
_SHOWN = 10
_WARNING_CALLS = frozenset({"warn", "warning", "warning_once", "warning_rank0", "rank_zero_warn"})
_TESTS = frozenset({"test", "tests", "testing"})
_STEP = "2026-03-01 10:00:{0:02d} step {0} loss 2.1\n"
_FILLED = {
    "type": "<class 'str'>",
    "shape": "torch.Size([4, 128])",
    "size": "4",
    "path": "/data/run1",
    "file": "/data/run1",
}


class Message(Struct, frozen=True):
    """A text that a program can print, and where it stands."""

    kind: str  # the exception's name, or "warning"
    text: str
    file: str
    line: int
    function: str
    source: str


def messages(root: Path) -> Iterator[Message]:
    """Go through the messages of a package."""
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
        if _TESTS.isdisjoint(path.parts):
            try:
                source = path.read_text(encoding="utf-8", errors="replace")
                yield from _of(ast.parse(source), "<module>", path, source.splitlines())
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue


def _of(node: ast.AST, function: str, path: Path, lines: list[str]) -> Iterator[Message]:
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        found = _said(child)
        if found is not None and len(found[1]) > 8:
            line = child.lineno if isinstance(child, ast.stmt | ast.expr) else 1
            yield Message(*found, str(path), line, inner, lines[line - 1].strip())
        yield from _of(child, inner, path, lines)


def _said(node: ast.AST) -> tuple[str, str] | None:
    """Return the kind and the text of what a statement prints."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        return ast.unparse(node.exc.func).rpartition(".")[2], _filled(node.exc.args[0])
    if isinstance(node, ast.Assert) and node.msg is not None:
        return "AssertionError", _filled(node.msg)
    if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in _WARNING_CALLS:
        return "warning", _filled(node.args[0])
    return None


def _filled(node: ast.expr) -> str:
    """Return a text with something plausible in its holes; empty where it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _filling(ast.unparse(part)) for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        right = _filled(node.right) if isinstance(node.op, ast.Add) else ""
        return re.sub(r"%[ds]", "3", _filled(node.left)) + right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return re.sub(r"\{[^}]*\}", "3", _filled(node.func.value))
    return ""


def _filling(expression: str) -> str:
    return next((text for word, text in _FILLED.items() if word in expression.lower()), "3")


def log_of(message: Message) -> str:
    """Return a log in which the message stands: the end of a traceback, or a line amid steps."""
    if message.kind == "warning":
        line = f"2026-03-01 10:00:05 WARNING {Path(message.file).name}:{message.line}: {message.text}\n"
        steps = [_STEP.format(number) for number in range(10)]
        return "".join([*steps[:5], line, *steps[5:], "Training completed. train_runtime: 120.5\n"])
    return (
        "Traceback (most recent call last):\n"
        '  File "/workspace/train.py", line 212, in <module>\n    main()\n'
        f'  File "{message.file}", line {message.line}, in {message.function}\n    {message.source}\n'
        f"{message.kind}: {message.text}\n"
    )


def claims(kb: KnowledgeBase, found: Iterable[Message]) -> tuple[int, dict[str, list[tuple[float, Message]]]]:
    """Return how many messages there are, and by entry those that it claims."""
    claimed: dict[str, list[tuple[float, Message]]] = defaultdict(list)
    once = {(message.kind, message.text): message for message in found}
    for message in once.values():
        diagnosis = kb.diagnose_stream([log_of(message).encode("utf-8", "replace")])
        best = diagnosis.hypotheses[0] if diagnosis.recognised and diagnosis.hypotheses else None
        if best is not None and best.confidence >= _SURE:
            claimed[best.id].append((best.confidence, message))
    return len(once), claimed


def main() -> None:
    """Print what is claimed, the entries with most of it first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", type=Path, nargs="+", help="packages or files of Python source")
    wanted = parser.parse_args()
    kb = KnowledgeBase.open()
    count, claimed = claims(kb, (message for root in wanted.roots for message in messages(root)))
    print(f"{count} messages, {sum(map(len, claimed.values()))} claimed by {len(claimed)} entries")
    for entry, held in sorted(claimed.items(), key=lambda item: -len(item[1])):
        print(f"\n{entry}: {len(held)}")
        for confidence, message in held[:_SHOWN]:
            text = " ".join(message.text.split())[:160]
            print(f"  {confidence:.2f}  {message.kind}: {text}  ({Path(message.file).name}:{message.line})")


if __name__ == "__main__":
    main()
