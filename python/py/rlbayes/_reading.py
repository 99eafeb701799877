"""How a table is read, by keyword."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from . import _engine
from ._tables import text


class Reading(TypedDict, total=False):
    """How a table is read."""

    names: Sequence[str] | None
    schema: str | os.PathLike[str] | None
    states: Mapping[str, Sequence[Any]] | None
    drop: Sequence[str] | None
    columns: Sequence[str] | None
    bins: str | Mapping[str, str] | Sequence[str] | None
    missing: str | None
    missing_markers: Sequence[str] | None
    separator: str | None
    decimal: str | None
    comment: str | None
    encoding: str | None
    header: bool | None


READING = frozenset(Reading.__annotations__) - {"names"}


def read_options(given: Mapping[str, Any], network: _engine.Network | None = None) -> _engine.ReadOptions:
    """Return how a table is read."""
    options = {name: given[name] for name in READING if given.get(name) is not None}
    bins = options.get("bins")
    if isinstance(bins, str):
        options["bins"] = [bins]
    elif isinstance(bins, Mapping):
        options["bins"] = [f"{column}={rule}" for column, rule in bins.items()]
    if "states" in options:
        states = options["states"].items()
        options["states"] = [(str(name), [text(state) for state in known]) for name, known in states]
    if "schema" in options:
        options["schema"] = os.fspath(options["schema"])
    for name in ("drop", "columns", "missing_markers"):
        if name in options:
            listed = options[name]
            options[name] = [listed] if isinstance(listed, str) else [str(one) for one in listed]
    return _engine.ReadOptions(network=network, **options)
