"""Entries and kb → one SQLite file (build), and that file → look-ups (open)."""
