"""A hypothesis and the facts → action, the fix for this set-up, verification, checklist, the next question."""
