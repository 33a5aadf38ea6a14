"""Denpex: a catalog of training failures, and what finds the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from denpex_kb.api import KnowledgeBase

__all__ = ["KnowledgeBase", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import the API only when it is used: the command line starts without it."""
    if name == "KnowledgeBase":
        from denpex_kb.api import KnowledgeBase

        return KnowledgeBase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
