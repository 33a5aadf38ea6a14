"""A training script with the local modules that it imports, and the settings that its calls hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from denpex_kb.check.pieces import Piece, Settings, is_deepspeed
from denpex_kb.model.facts import CodePattern, Fact, FactDeclaration
from denpex_kb.model.kb import Kb
from denpex_kb.read.settings import convert
from denpex_kb.read.source import UNKNOWN, Source

MAX_MODULES = 60
# calls whose keyword arguments are settings, and of which kind
_HOLDERS = (
    ("transformers.*TrainingArguments", "trainer"),
    ("trl.*Config", "trainer"),
    ("accelerate.Accelerator", "accelerate"),
    ("*.DeepSpeedPlugin", "accelerate"),
    ("lightning.*Trainer", "lightning"),
    ("pytorch_lightning.Trainer", "lightning"),
)


class Program:
    """One script and what it imports from beside it."""

    def __init__(self, piece: Piece, modules: list[Source], *, imported: bool) -> None:
        """Take a script's piece.

        Args:
            piece: the script.
            modules: the local modules that it imports, directly or not.
            imported: whether another file of the set-up imports the script, so that it is only a part of a program.
        """
        assert piece.source is not None
        self.piece = piece
        self.main = piece.source
        self.sources = [piece.source, *modules]
        self.imported = imported

    def mentions(self, *words: str) -> bool:
        """Say whether any of some words stands anywhere in the program, in code, text or comment."""
        return any(not source.words.isdisjoint(words) for source in self.sources)

    def contains(self, *parts: str) -> bool:
        """Say whether any of some pieces of text stands anywhere in the program."""
        return any(part in source.text for source in self.sources for part in parts)

    def calls(self, *names: str) -> Iterator[tuple[Source, ast.Call]]:
        """Go through the calls of some dotted names in all of its files."""
        for source in self.sources:
            for call in source.calls_of(*names):
                yield source, call

    def strings(self) -> Iterator[str]:
        """Go through the texts in the code that may name a config file."""
        for source in self.sources:
            yield from source.file_names


def code_facts(program: Program, kb: Kb, cache: dict[str, list[list[Fact]]]) -> Iterator[Fact]:
    """Go through the facts that imports and calls state, as `kb/facts` declares them.

    Args:
        program: the script with its modules.
        kb: the declarations.
        cache: what each file states, by pattern; several programs share modules.
    """
    patterns = [(declaration, pattern) for declaration in kb.facts for pattern in declaration.code]
    for source in program.sources:
        if source.name not in cache:
            cache[source.name] = [list(_pattern_facts(*item, source, kb)) for item in patterns]
    settled: set[str] = set()
    for number, (declaration, _) in enumerate(patterns):
        found = [fact for source in program.sources for fact in cache[source.name][number]]
        if declaration.name not in settled:
            yield from found
        if found and declaration.type == "enum":
            settled.add(declaration.name)  # the first pattern that fits


def _pattern_facts(declaration: FactDeclaration, pattern: CodePattern, source: Source, kb: Kb) -> Iterator[Fact]:
    if pattern.import_ is not None:
        line = source.imports.get(pattern.import_)
        if line is not None and pattern.value is not None:
            yield Fact(declaration.name, pattern.value, "code", source.name, line, None, f"imports {pattern.import_}")
        return
    for call in source.calls_of(pattern.call or ""):
        value = pattern.value
        if pattern.argument is not None:
            given = source.argument(call, pattern.argument)
            if given is None:
                continue
            if value is None:
                literal = source.literal(given)
                value = None if literal is UNKNOWN else convert(literal, pattern.map, pattern.as_, kb)
        if value is not None:
            yield Fact(declaration.name, value, "code", source.name, call.lineno, None, f"{source.called(call)}(…)")


def call_settings(source: Source, kb: Kb) -> list[Settings]:
    """Return the settings that the calls and dictionaries of a file hold."""
    return list(_call_settings(source, kb))


def _call_settings(source: Source, kb: Kb) -> Iterator[Settings]:
    for wanted, kind in _HOLDERS:
        for call in source.calls_of(wanted):
            yield _of_call(source, source.called(call), call, kind)
    if "zero_optimization" not in source.text:
        return
    for node in source.nodes:
        if isinstance(node, ast.Dict) and not isinstance(source.parents.get(node), ast.Dict):
            data, lines, whole = _mapping(source, node)
            if "zero_optimization" in data and is_deepspeed(data, kb):
                yield Settings("deepspeed", data, source.name, _finder(lines, node.lineno), whole, "code")


def _of_call(source: Source, name: str, call: ast.Call, kind: str) -> Settings:
    data: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for item in call.keywords:
        if item.arg is not None:
            data[item.arg] = source.literal(item.value)
            lines[item.arg] = item.value.lineno
    whole = all(item.arg is not None for item in call.keywords) and len(call.args) <= 1
    return Settings(kind, data, source.name, _finder(lines, call.lineno), whole, "code", name)


def _mapping(source: Source, node: ast.Dict, depth: int = 0) -> tuple[dict[str, Any], dict[str, int], bool]:
    data: dict[str, Any] = {}
    lines: dict[str, int] = {}
    whole = True
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            whole = False
            continue
        lines[key.value] = key.lineno
        if isinstance(value, ast.Dict) and depth < 6:
            inner, inner_lines, inner_whole = _mapping(source, value, depth + 1)
            data[key.value] = inner
            lines |= {f"{key.value}.{name}": line for name, line in inner_lines.items()}
            whole = whole and inner_whole
        else:
            data[key.value] = source.literal(value)
    return data, lines, whole


def _finder(lines: dict[str, int], default: int) -> Callable[[str], int | None]:
    return lambda key: lines.get(key, default)


class Programs:
    """All Python files of a set-up, by path, with who imports whom."""

    def __init__(self, pieces: list[Piece]) -> None:
        """Take the pieces."""
        self.by_path: dict[Path, Piece] = {piece.text.path: piece for piece in pieces if piece.source is not None}
        # what may be the first part of an import from here: the names of files and of the folders above them
        self._tops = {part for path in self.by_path for part in (path.stem, *path.parent.parts)}
        self._known = {str(path): path for path in self.by_path}
        self._imports = {path: self._imported_by(path) for path in self.by_path}
        self._imported = {target for targets in self._imports.values() for target in targets}
        self._made: dict[Path, Program] = {}

    def program(self, path: Path) -> Program | None:
        """Return the program that begins in a file."""
        if path not in self.by_path:
            return None
        if path not in self._made:
            modules: list[Path] = []
            pending = list(self._imports[path])
            while pending and len(modules) < MAX_MODULES:
                module = pending.pop(0)
                if module != path and module not in modules:
                    modules.append(module)
                    pending += self._imports[module]
            sources = [self.by_path[module].source for module in modules]
            self._made[path] = Program(
                self.by_path[path],
                [source for source in sources if source is not None],
                imported=path in self._imported,
            )
        return self._made[path]

    def all(self) -> Iterator[Program]:
        """Go through the programs that begin in each file."""
        for path in self.by_path:
            program = self.program(path)
            if program is not None:
                yield program

    def _imported_by(self, path: Path) -> list[Path]:
        piece = self.by_path[path]
        assert piece.source is not None
        found: list[Path] = []
        for name in sorted(piece.source.local_imports):
            level = len(name) - len(name.lstrip("."))
            parts = [part for part in name[level:].split(".") if part]
            if not parts or (not level and parts[0] not in self._tops):
                continue
            base = path.parent
            for _ in range(level - 1):
                base = base.parent
            bases = [base] if level else [base, *self._roots(path, piece)]
            for folder in bases:
                target = "/".join((str(folder), *parts)).removeprefix("./")
                names = (f"{target}.py", f"{target}/__init__.py")
                hits = [self._known[item] for item in names if item in self._known]
                if hits:
                    found += [item for item in hits if item not in found and item != path]
                    break
        return found

    @staticmethod
    def _roots(path: Path, piece: Piece) -> list[Path]:
        """Return the folders above a file, up to the folder that was named: packages are imported from there."""
        above = []
        for folder in path.parent.parents:
            above.append(folder)
            if folder == piece.text.root or len(above) > 8:
                break
            if not PurePosixPath(str(folder)).is_relative_to(str(piece.text.root)):
                above.pop()
                break
        return above
