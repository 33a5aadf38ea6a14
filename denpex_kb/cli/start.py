"""Where the command `denpex` begins."""

from __future__ import annotations

import gc

_LOADED = 20_000  # containers made between two looks for garbage; Python's own 700 means 150 looks while modules load


def main() -> None:
    """Run the command line: loading makes many objects and hardly any garbage, so it is looked for less often."""
    gc.set_threshold(_LOADED)
    from denpex_kb.cli.main import main as run  # after the line above, which is for its imports

    run()
