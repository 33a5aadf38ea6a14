"""An incident or a question → ranked hypotheses."""
