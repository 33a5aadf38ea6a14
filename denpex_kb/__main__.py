"""`python -m denpex_kb` is `denpex`."""

from __future__ import annotations

from denpex_kb.cli.start import main

if __name__ == "__main__":
    main()
