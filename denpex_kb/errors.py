"""Every error that Denpex raises on purpose.

DenpexError
├── UsageError            the arguments do not fit together
├── InputError            an input cannot be read at all
├── OutputError           an answer cannot be written
├── UnknownEntryError     no entry has that id
├── CatalogError          catalog or kb files are wrong
└── IndexUnusableError    no index could be opened, built or cached
"""

from __future__ import annotations


class DenpexError(Exception):
    """Something went wrong that the user can do something about."""


class UsageError(DenpexError):
    """The arguments do not fit together."""


class InputError(DenpexError):
    """An input cannot be read at all."""


class OutputError(DenpexError):
    """An answer cannot be written."""


class UnknownEntryError(DenpexError):
    """No entry has that id."""


class CatalogError(DenpexError):
    """Catalog or kb files are wrong."""


class IndexUnusableError(DenpexError):
    """No index could be opened, built or cached."""
