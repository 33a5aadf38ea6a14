"""Put a ready index into the wheel, so that an installed Denpex answers at once."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IndexHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # a checkout compiles its index on first use and whenever a file changes
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from denpex_kb.index.build import build_index
        from denpex_kb.index.places import Sources

        target = Path(tempfile.mkdtemp(prefix="denpex-index-")) / "index.sqlite"
        build_index(Sources(kb=root / "kb", catalogs=(root / "catalog",)), target)
        build_data["force_include"][str(target)] = "denpex_kb/_data/index.sqlite"
