"""A drafted entry put into the laid-out file."""

from __future__ import annotations

import re

from denpex_kb.report.draft import Draft, front_signatures


def fill_scaffold(text: str, draft: Draft) -> str:
    """Put title, kind, versions, signatures and the quoted error of a draft into a scaffold."""
    text = re.sub(r"(?m)^title: .*$", lambda _: f'title: "{_plain(draft.title)}"', text, count=1)
    text = re.sub(r"(?m)^kind: .*$", lambda _: f"kind: {draft.kind}", text, count=1)
    signatures = front_signatures(draft.proposals)
    text = re.sub(r"(?ms)^signatures:\n.*?(?=^requires:)", lambda _: f"signatures:\n{signatures}", text, count=1)
    if draft.versions:
        affected = "".join(
            f"  - framework: {name}\n    note: seen with {_plain(version)}\n" for name, version in draft.versions
        )
        text = re.sub(r"(?ms)^affected:\n.*?(?=^signatures:)", lambda _: f"affected:\n{affected}", text, count=1)
    quoted = draft.proposals[0].example if draft.proposals else draft.title
    return text.replace("- What one sees.", f"- `{quoted.replace('`', chr(39))}`", 1)


def _plain(text: str) -> str:
    return text.replace("\\", "/").replace('"', "'")
