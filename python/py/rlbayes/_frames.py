"""Answers as data frames, of the library that the question came with."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any


def frame(
    columns: dict[str, list[Any]],
    kind: str = "pandas",
    floats: Iterable[str] = (),
    truths: Iterable[str] = (),
    texts: Iterable[str] = (),
) -> Any:
    """Return columns as a frame; as a plain dict where the library is not installed.

    A column of numbers, truth values or texts is one also where it is empty.
    """
    try:
        library = importlib.import_module(kind)
    except ImportError:
        return columns
    types = {name: "float" for name in floats if name in columns}
    types |= {name: "bool" for name in truths if name in columns}
    types |= {name: "str" for name in texts if name in columns}
    if kind == "polars":
        known = {"float": library.Float64, "bool": library.Boolean, "str": library.String}
        return library.DataFrame(columns, schema_overrides={name: known[of] for name, of in types.items()})
    if kind == "pyarrow":
        known = {"float": library.float64(), "bool": library.bool_(), "str": library.string()}
        return library.table(
            {name: library.array(cells, known.get(types.get(name, ""))) for name, cells in columns.items()}
        )
    return library.DataFrame(columns).astype(types)
