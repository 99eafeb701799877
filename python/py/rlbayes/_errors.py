"""What can go wrong, told by what one can do about it."""

from __future__ import annotations


class Error(Exception):
    """Every error of this package."""


class InputError(Error, ValueError):
    """A table, a network or a keyword cannot be used; the message says which and why."""


class UnreachableError(Error, ConnectionError):
    """No coordinator answers."""


class ProtocolError(Error):
    """The coordinator speaks another version of the protocol."""


class BugError(Error, RuntimeError):
    """Something happened that should not."""


class TableWarning(UserWarning):
    """Something about a table that one should know."""
