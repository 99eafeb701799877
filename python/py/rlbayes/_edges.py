"""Edges, however they are written down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._errors import InputError


def edge_pairs(keyword: str, edges: Any) -> list[tuple[str, str]]:
    """Return edges (from, to): of a list of pairs, or of a table with such columns."""
    pairs = []
    for edge in () if edges is None else _rows(keyword, edges):
        if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InputError(f'{keyword} is a list of edges such as ("smokes", "coughs"), not {edge!r}')
        start, end = edge
        pairs.append((str(start), str(end)))
    return pairs


def tier_lists(keyword: str, tiers: Any) -> list[list[str]]:
    """Return lists of names."""
    lists = []
    for tier in [tiers] if isinstance(tiers, str) else tiers:
        if isinstance(tier, (str, bytes)) or not isinstance(tier, Iterable):
            raise InputError(f'{keyword} is a list of lists of names such as [["age"], ["smokes"]], not {tiers!r}')
        lists.append([str(name) for name in tier])
    return lists


def _rows(keyword: str, edges: Any) -> Iterable[Any]:
    # Not any mapping: the edges of networkx are one.
    names = edges if isinstance(edges, dict) else getattr(edges, "column_names", getattr(edges, "columns", ()))
    if "from" in names and "to" in names:
        columns = (edges["from"], edges["to"])
        return zip(*(each.to_pylist() if hasattr(each, "to_pylist") else each for each in columns), strict=True)
    if isinstance(edges, (str, bytes, dict)) or not isinstance(edges, Iterable):
        raise InputError(f'{keyword} is a list of edges such as ("smokes", "coughs"), not {type(edges).__name__}')
    return edges
