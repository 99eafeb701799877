"""States as the values of the column that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._tables import kind_of, text

_TRUTHS = {"true": True, "false": False}


def values_of(
    states: list[str],
    node: str,
    data: Any,
    names: Sequence[str] | None = None,
    declared: Mapping[str, Sequence[Any]] | None = None,
) -> list[Any]:
    """Return the values that states stand for: of a column of numbers or truth values where each is one.

    Where the table has no such column, those of its declaration; else the states themselves.
    """
    kind = _kind(node, data, names)
    if kind is None:
        known = {text(value): value for value in (declared or {}).get(node, ())}
        return [known.get(state, state) for state in states]
    try:
        if kind == "b":
            return [_TRUTHS[state.lower()] for state in states]
        if kind in ("i", "u"):
            return [int(state.removesuffix(".0")) for state in states]
        if kind == "f":
            return [float(state) for state in states]
    except (KeyError, ValueError):
        pass
    return states


def _kind(node: str, data: Any, names: Sequence[str] | None) -> str | None:
    """Return the letter by which numpy tells the type of a column; none if there is no such column."""
    if kind_of(data) == "polars":
        dtype = data.schema.get(node)
        if dtype is None:
            return None
        return "i" if dtype.is_integer() else "f" if dtype.is_float() else "b" if str(dtype) == "Boolean" else "O"
    if hasattr(data, "iloc"):
        found = [at for at, name in enumerate(data.columns) if str(name) == node]
        if not found:
            return None
        dtype = data.dtypes.iloc[found[0]]
        dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        return str(getattr(dtype, "kind", "O"))
    if hasattr(data, "ndim") and hasattr(data, "dtype"):
        known = [f"x{at}" for at in range(data.shape[1])] if names is None else [str(name) for name in names]
        return str(data.dtype.kind) if node in known else None
    return None
