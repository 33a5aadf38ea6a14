"""The file of a new entry, laid out."""

from __future__ import annotations

import datetime as dt
import re

from denpex_kb.errors import UsageError

_TEMPLATE = """---
id: {id}
title: "What happens, in plain words (the sign)"
aliases: []
category: Distributed Training
hub: {hub}
phase: forward
kind: crash
role: initiating
severity: high
frequency: occasional
tags: [{hub}]
affected:
  - framework: torch
    versions: ">=2.0"
signatures:
  - name: message
    pattern: 'the part of the message that never varies'
    strength: strong
    where: log
    example: "[rank3]: RuntimeError: the part of the message that never varies"
requires: []
excludes: []
action: {{kind: fix_code, restart_helps: false, text: "What to do now, in one sentence."}}
lookalikes: []
questions:
  - "terse, as typed at night"
  - "vague, as a user sees it"
  - "with a tpyo"
references:
  - url: https://github.com/OWNER/PROJECT/blob/TAG/path/file.py
    establishes: the text of the message
verified: {{how: source, when: {today}, what: "file and version that were read"}}
---
## Summary
What happened, and what to do, in two sentences.

## Symptoms
- What one sees.

## Root cause
The mechanism.

- The same as bullets.

## Affected setups
- Versions, models, launchers, hardware.

## Fix
What the first fix does.

### The first fix
1. The step, with the place where it goes.

```python
pass
```

Cost: none. Undo: take the line out.

## Verify
```bash
command
```
Expect: what it prints when the fix worked.

## Checklist
- [ ] Reproduce from a clean start: `command`
- [ ] The signal: `command that shows it`
- [ ] The control experiment that would refute it: `command`
- [ ] The fix removes the symptom within one validation pass.

## If this is not it
- The look-alikes, each with the sign that tells it apart.
"""

# What has to be replaced by words about the failure; the checks look for what was left.
UNFILLED = frozenset(
    {
        "What happens, in plain words (the sign)",
        "the part of the message that never varies",
        "[rank3]: RuntimeError: the part of the message that never varies",
        "What to do now, in one sentence.",
        "terse, as typed at night",
        "vague, as a user sees it",
        "with a tpyo",
        "https://github.com/OWNER/PROJECT/blob/TAG/path/file.py",
        "file and version that were read",
        "What happened, and what to do, in two sentences.",
        "- What one sees.",
        "The mechanism.",
        "- The same as bullets.",
        "- Versions, models, launchers, hardware.",
        "What the first fix does.",
        "### The first fix",
        "1. The step, with the place where it goes.",
        "Expect: what it prints when the fix worked.",
        "- [ ] The signal: `command that shows it`",
        "- [ ] The control experiment that would refute it: `command`",
        "- The look-alikes, each with the sign that tells it apart.",
    }
)


def scaffold(entry_id: str, hub: str) -> str:
    """Return the text of a new entry's file.

    Raises:
        UsageError: the id is no slug.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry_id):
        raise UsageError(f"{entry_id!r} is no id; use lower case, digits and hyphens, e.g. my-failure")
    return _TEMPLATE.format(id=entry_id, hub=hub, today=dt.date.today().isoformat())
