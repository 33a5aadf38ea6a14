"""A conversation as Markdown, without secrets, and the one place that writes: a new file, on request."""

from __future__ import annotations

from pathlib import Path

from denpex_kb.chat.conversation import Conversation
from denpex_kb.errors import InputError
from denpex_kb.model.conditions import spell
from denpex_kb.model.display import one_line
from denpex_kb.model.secrets import hide_secrets
from denpex_kb.render.markdown import diagnosis_markdown, escape, quoted

_MOST_SAID = 300  # characters of one message


def conversation_markdown(talk: Conversation) -> str:
    """Write the conversation: the diagnosis, the facts and where from, what was asked and said."""
    lines = [diagnosis_markdown(talk.diagnosis).rstrip(), ""]
    if not talk.settled:
        lines += ["> The conversation ended unsure: take what stands above for the likeliest, not for certain.", ""]
    if len(talk.case.facts):
        lines += ["## Facts", "", "| fact | value | from |", "|---|---|---|"]
        for fact in talk.case.facts:
            cells = (fact.name, spell(fact.value), fact.text if fact.origin == "derived" else fact.source)
            lines.append("| " + " | ".join(escape(cell) for cell in cells) + " |")
        lines.append("")
    lines += ["## The conversation", ""]
    for turn in talk.turns:
        said = one_line(turn.said)
        said = said if len(said) <= _MOST_SAID else said[:_MOST_SAID] + " ..."
        asked = f"*{escape(turn.asked)}* " if turn.asked else ""
        lines.append(f"- {asked}{quoted(said)}")
    return hide_secrets("\n".join(lines).rstrip() + "\n")


def save(talk: Conversation, name: str) -> Path:
    """Write the conversation into a new file.

    Raises:
        InputError: the file exists already, or cannot be written.
    """
    path = Path(name.strip().strip("'\"")).expanduser()
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(conversation_markdown(talk))
    except FileExistsError:
        raise InputError(f"{path} exists already and is left as it is; name another file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be written: {reason}") from error
    return path
