"""A Python file → its syntax tree with names, calls and what a line stands under; nothing is imported or run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

MAX_SOURCE = 1 << 20  # bytes of one Python file
_RANK = re.compile(r"(?:^|[._])(?:ddp_|global_|world_|local_|my_|cur_|current_)?(?:rank|process_index)$", re.IGNORECASE)
_GROUP_RANK = re.compile(
    r"(?:tp|dp|pp|ep|cp|sp|tensor|data|pipeline|expert|model|group|parallel)\w*_rank$", re.IGNORECASE
)
_MAIN = re.compile(
    r"(?:^|[._])(?:is_(?:local_|world_)?(?:main|master|global_zero|rank_?(?:0|zero)|process_zero|rank_zero)(?:_process(?:_zero)?)?"
    r"|is_world_process_zero|is_first_rank|main_process|master_process|is_main|rank_?zero|is_rank_?0)$",
    re.IGNORECASE,
)
_PLAIN = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)  # shared and without a place
UNKNOWN = object()  # a value that only the running program knows


class Source:
    """One parsed Python file."""

    def __init__(self, name: str, text: str) -> None:
        """Parse a file.

        Raises:
            SyntaxError: the text is no Python (or nested too deeply to be read).
        """
        self.name = name
        self.text = text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes are the author's business
                self.tree = ast.parse(text)
        except (RecursionError, MemoryError, ValueError) as error:
            raise SyntaxError(str(error)) from error
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = [self.tree]
        for node in self.nodes:  # grows while it is walked: no recursion
            for field in node._fields:
                value = getattr(node, field, None)
                for child in value if type(value) is list else (value,):
                    if isinstance(child, ast.AST) and not isinstance(child, _PLAIN):
                        self.parents[child] = node
                        self.nodes.append(child)
        self._names: dict[str, str] = {}
        self._asked: dict[tuple[str, ...], list[ast.Call]] = {}
        self.imports: dict[str, int] = {}  # dotted name → line
        self.local_imports: set[str] = set()
        self._collect_imports()

    def _collect_imports(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for item in node.names:
                    self._names[item.asname or item.name.split(".")[0]] = (
                        item.name if item.asname else item.name.split(".")[0]
                    )
                    self.imports.setdefault(item.name, node.lineno)
                    self.local_imports.add(item.name)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                self.local_imports.add(base)
                for item in node.names:
                    joined = base + item.name if base.endswith(".") else f"{base}.{item.name}"
                    self._names.setdefault(item.asname or item.name, joined)
                    self.imports.setdefault(joined, node.lineno)
                    self.local_imports.add(joined)

    def name_of(self, node: ast.AST | None) -> str:
        """Return the dotted name of an expression, with imports resolved; "" where it has none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self._names.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            parts.append(self.name_of(node.func) + "()")
        elif node is not None:
            parts.append("?")
        return ".".join(reversed(parts))

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the text, in code, texts and comments."""
        return frozenset(re.findall(r"\w+", self.text))

    @cached_property
    def file_names(self) -> tuple[str, ...]:
        """The texts in the code that may name a config file."""
        return tuple(
            node.value
            for node in self.nodes
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.endswith((".json", ".yaml", ".yml"))
            and len(node.value) < 300
        )

    @cached_property
    def _bases(self) -> dict[str, str]:
        return {
            node.name: self.name_of(node.bases[0])
            for node in self.nodes
            if isinstance(node, ast.ClassDef) and node.bases
        }

    def called(self, call: ast.Call) -> str:
        """Return the dotted name of what is called; a class of this file counts as its first base."""
        name = self.name_of(call.func)
        for _ in range(5):
            if name not in self._bases:
                break
            name = self._bases[name]
        return name

    @cached_property
    def calls(self) -> list[tuple[str, ast.Call]]:
        """Every call with the name of what is called, in the order of the file."""
        found = [(self.called(node), node) for node in self.nodes if isinstance(node, ast.Call)]
        return sorted(found, key=lambda item: (item[1].lineno, item[1].col_offset))

    @cached_property
    def _by_last(self) -> dict[str, list[tuple[str, ast.Call]]]:
        """The calls by the last part of their name: most questions are about a handful of names."""
        found: dict[str, list[tuple[str, ast.Call]]] = {}
        for name, call in self.calls:
            found.setdefault(name.rpartition(".")[2], []).append((name, call))
        return found

    def calls_of(self, *names: str) -> list[ast.Call]:
        """Return the calls of some dotted names, in the file's order; `*.x` is a method or function x of anything."""
        if names not in self._asked:
            hits: dict[ast.Call, None] = {}
            for wanted in names:
                last = wanted.rpartition(".")[2]
                lasts = [key for key in self._by_last if matches(key, last)] if "*" in last else [last]
                for key in lasts:
                    for name, call in self._by_last.get(key, ()):
                        if matches(name, wanted):
                            hits[call] = None
            self._asked[names] = sorted(hits, key=lambda call: (call.lineno, call.col_offset))
        return self._asked[names]

    @cached_property
    def assigned(self) -> dict[str, list[ast.expr | None]]:
        """Name → the values that are assigned to it anywhere in the file; None where that is no plain assignment."""
        found: dict[str, list[ast.expr | None]] = {}
        for node in self.nodes:
            for target, value in _assignments(node):
                if isinstance(target, str):
                    found.setdefault(target, []).append(value)
                else:
                    self._note(target, value, found)
        return found

    def _note(self, target: ast.AST, value: ast.expr | None, found: dict[str, list[ast.expr | None]]) -> None:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Attribute):
            found.setdefault(self.name_of(target), []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            several = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            for index, one in enumerate(target.elts):
                if several and isinstance(value, ast.Tuple):
                    self._note(one, value.elts[index], found)
                else:  # the first of what a call returns stands for the call
                    self._note(one, value if index == 0 else None, found)

    def only_value(self, node: ast.expr | None) -> ast.expr | None:
        """Follow a name to the one value that it is ever given in this file; None where there are several or none."""
        if isinstance(node, ast.Name | ast.Attribute):
            key = node.id if isinstance(node, ast.Name) else self.name_of(node)
            values = self.assigned.get(key, [])
            return values[0] if len(values) == 1 else None
        return node

    def literal(self, node: ast.expr | None) -> Any:
        """Return the value of a literal, or of a name that is given one literal only; `UNKNOWN` where it has none."""
        for _ in range(3):
            try:
                return ast.literal_eval(node) if node is not None else UNKNOWN
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                following = self.only_value(node)
            if following is None or following is node:
                break
            node = following
        name = self.name_of(node)
        return name if name.startswith(("torch.float", "torch.bfloat", "torch.half")) else UNKNOWN

    def keyword(self, call: ast.Call, name: str) -> ast.expr | None:
        """Return the expression of a keyword argument; None where it is not given."""
        return next((item.value for item in call.keywords if item.arg == name), None)

    def argument(self, call: ast.Call, place: str | int) -> ast.expr | None:
        """Return an argument by keyword or by position."""
        if isinstance(place, str):
            return self.keyword(call, place)
        plain = not any(isinstance(item, ast.Starred) for item in call.args[: place + 1])
        return call.args[place] if plain and place < len(call.args) else None

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Go through what a node stands in, from the inside out."""
        at = self.parents.get(node)
        while at is not None:
            yield at
            at = self.parents.get(at)

    def function_of(self, node: ast.AST) -> ast.AST:
        """Return the function (or the module) that a node stands in."""
        return next(
            (at for at in self.ancestors(node) if isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)),
            self.tree,
        )

    def rank_test(self, test: ast.expr) -> bool | None:
        """Say whether a test holds on rank 0 only (True) or on all others only (False); None where it is neither."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.rank_test(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            inner_tests = [self.rank_test(item) for item in test.values]
            return True if True in inner_tests else None
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            if not self.is_rank(test.left):
                return None
            value = self.literal(test.comparators[0])
            if isinstance(test.ops[0], ast.Eq) and value in (0, "0"):
                return True
            if isinstance(test.ops[0], ast.NotEq | ast.Gt) and value in (0, "0"):
                return False
            if isinstance(test.ops[0], ast.In) and value in ([-1, 0], (-1, 0), [0, -1], (0, -1), {0, -1}):
                return True
            return None
        name = self.name_of(test).replace("()", "")
        return True if name and _MAIN.search(name) else None

    def is_rank(self, node: ast.expr) -> bool:
        """Say whether an expression is the rank of this process among all."""
        if isinstance(node, ast.Call) and self.name_of(node.func) == "int" and node.args:
            return self.is_rank(node.args[0])
        if isinstance(node, ast.Call):
            name = self.name_of(node.func)
            if name.endswith(("environ.get", "getenv")):
                return bool(node.args) and self.literal(node.args[0]) in ("RANK", "LOCAL_RANK")
            return name.endswith(("get_rank", "get_local_rank", "get_global_rank")) and not (node.args or node.keywords)
        if isinstance(node, ast.Subscript):
            return self.name_of(node.value).endswith("environ") and self.literal(node.slice) in ("RANK", "LOCAL_RANK")
        name = self.name_of(node)
        return bool(_RANK.search(name)) and not _GROUP_RANK.search(name)

    def only_on_rank0(self, node: ast.AST) -> ast.AST | None:
        """Return the branch, guard or decorator that lets only rank 0 come to a node; None where there is none."""
        inner = node
        for outer in self.ancestors(node):
            if isinstance(outer, ast.If):
                sense = self.rank_test(outer.test)
                if sense is True and inner in outer.body:
                    return outer
                if sense is False and inner in outer.orelse:
                    return outer
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                marked = [item for item in outer.decorator_list if self.name_of(item).endswith("rank_zero_only")]
                return marked[0] if marked else self._guard(outer, inner)
            if isinstance(outer, ast.Lambda | ast.ClassDef):
                return None
            inner = outer
        return None

    def _guard(self, function: ast.FunctionDef | ast.AsyncFunctionDef, inner: ast.AST) -> ast.AST | None:
        """Find `if rank != 0: return` in front of a statement of the same function body."""
        for statement in function.body:
            if statement is inner:
                return None
            if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], ast.Return):
                continue
            if self.rank_test(statement.test) is False:
                return statement
        return None

    def under_rank_test(self, node: ast.AST) -> ast.If | None:
        """Return the innermost condition on the rank (any comparison with it) that a node stands under."""
        for outer in self.ancestors(node):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                return None
            if isinstance(outer, ast.If):
                parts = [outer.test, *(item for item in ast.walk(outer.test))]
                if any(isinstance(item, ast.Compare) and self.is_rank(item.left) for item in parts):
                    return outer
        return None


def _assignments(node: ast.AST) -> Iterator[tuple[ast.AST | str, ast.expr | None]]:
    """Go through what a node assigns to; the value is None where it is not written beside the name."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, None
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, None


def matches(name: str, wanted: str) -> bool:
    """Say whether a dotted name is the wanted one; `*.x` is x of anything, `a.*X` any X-ending name below package a."""
    if wanted.startswith("*."):
        return name.endswith(wanted[1:])
    if "*" in wanted:
        front, _, back = wanted.partition("*")
        return name.startswith(front) and name.endswith(back)
    return name == wanted
