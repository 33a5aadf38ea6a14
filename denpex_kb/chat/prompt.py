"""The prompt on a terminal: history in memory, completion, pastes of any length; the only user of prompt_toolkit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, Output

_LONG = 1000  # characters from which on a paste is shown by its size
_CHUNK = 1 << 14  # bytes of one reading: of a long paste the small default takes thousands
_END = "\x1b[201~"
_SHOWN = re.compile(r"\[pasted (?:text )?#(\d+): [\d,]+ lines?\]")
_TITLES = re.compile(r"^(show|why not|why)\s+(\S*)$")


class _PasteParser(Vt100Parser):
    """Collects a paste piece by piece: the parser's own way takes time with the square of its length."""

    def __init__(self, feed_key_callback: Callable[[KeyPress], None]) -> None:
        super().__init__(feed_key_callback)
        self._pieces: list[str] = []
        self._tail = ""

    def feed(self, data: str) -> None:
        if not self._in_bracketed_paste:
            super().feed(data)
            return
        joined = self._tail + data
        at = joined.find(_END)
        if at < 0:
            keep = len(_END) - 1
            self._pieces.append(joined[:-keep] if len(joined) > keep else "")
            self._tail = joined[-keep:]
            return
        text = "".join(self._pieces) + joined[:at]
        self._pieces, self._tail = [], ""
        self._in_bracketed_paste = False
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, text))
        self.feed(joined[at + len(_END) :])


class _Completer(Completer):
    """Completes commands at the beginning, ids behind `show` and `why not`, and paths."""

    def __init__(self, commands: Sequence[str], ids: Callable[[], Sequence[str]]) -> None:
        self._commands = commands
        self._ids = ids
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        titled = _TITLES.match(text)
        if titled is not None:
            word = titled.group(2)
            for entry_id in self._ids():
                if word in entry_id:
                    yield Completion(entry_id, start_position=-len(word))
            return
        if text.startswith(("/", "~", "./", "../")):
            yield from self._paths.get_completions(document, complete_event)
            return
        for command in self._commands:
            if command.startswith(text.lower()):
                yield Completion(command, start_position=-len(text))
        if len(text) >= 3 and " " not in text:
            for entry_id in self._ids():
                if entry_id.startswith(text):
                    yield Completion(entry_id, start_position=-len(text))


class Prompt:
    """Asks for one input after another; long pastes stand in the line by their size and come back whole."""

    def __init__(
        self,
        commands: Sequence[str],
        ids: Callable[[], Sequence[str]],
        *,
        colour: bool,
        source: Input | None = None,
        target: Output | None = None,
    ) -> None:
        """Prepare the prompt.

        Args:
            commands: what is completed at the beginning of a line.
            ids: gives the ids of entries.
            colour: whether the prompt may be coloured.
            source: the terminal's input; the process's own when left out.
            target: the terminal's output; the process's own when left out.
        """
        self._pastes: dict[int, str] = {}
        self._colour = colour
        self.typed = False  # whether the line held anything when it was left
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            completer=_Completer(commands, ids),
            complete_while_typing=False,
            key_bindings=self._keys(),
            multiline=False,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            input=source,
            output=target,
        )
        terminal = self._session.app.input
        if isinstance(terminal, Vt100Input):
            terminal.vt100_parser = _PasteParser(_into(terminal))
            terminal.stdin_reader.read = partial(terminal.stdin_reader.read, _CHUNK)  # type: ignore[method-assign]

    def ask(self) -> tuple[str, bool]:
        """Return what was typed, pastes put in whole, and whether it is nothing but a paste.

        Raises:
            EOFError: the user left with Ctrl-D.
            KeyboardInterrupt: the user pressed Ctrl-C.
        """
        style = "bold" if self._colour else ""
        try:
            typed = self._session.prompt(FormattedText([(style, "> ")]), prompt_continuation="  ")
        except KeyboardInterrupt:
            self.typed = bool(self._session.default_buffer.text)
            self._pastes.clear()
            raise
        pasted = bool(_SHOWN.fullmatch(typed.strip()))
        text = _SHOWN.sub(lambda match: self._pastes.get(int(match.group(1)), match.group(0)), typed)
        self._pastes.clear()
        return text, pasted

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            text = event.data.replace("\r\n", "\n").replace("\r", "\n")
            stripped = text.strip("\n")
            lines = stripped.count("\n") + 1
            if lines == 1 and len(stripped) <= _LONG:
                event.current_buffer.insert_text(stripped)
                return
            number = len(self._pastes) + 1
            self._pastes[number] = text
            event.current_buffer.insert_text(f"[pasted #{number}: {lines:,} line{'s' * (lines != 1)}]")

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys


def _into(terminal: Vt100Input) -> Callable[[KeyPress], None]:
    def put(press: KeyPress) -> None:
        terminal._buffer.append(press)  # the terminal begins a new list with every reading

    return put
