"""Collecting from a job that hangs now: read-only, after consent, into a folder that `denpex diagnose` reads."""
