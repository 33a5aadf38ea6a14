"""A diagnosis or an entry → terminal, Markdown, JSON. Nothing is computed here."""
