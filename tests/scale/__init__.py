"""Logs of jobs of 16 to 1,024 ranks that fail in known ways, and how well the diagnosis reads them.

`python -m tests.scale` measures; `lines.yaml` holds what the software prints, with where that was read.
"""
