"""Whatever holds a table in Python, as a table of the engine."""

from __future__ import annotations

import math
import os
import sys
import warnings
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _engine
from ._errors import InputError, TableWarning

Column = tuple[str, str, bytes, "list[str] | None", bool]

_RAW = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
)


def make_table(
    data: Any,
    options: _engine.ReadOptions,
    *,
    name: str | None = None,
    names: Sequence[str] | None = None,
    searched: bool = True,
) -> _engine.Table:
    """Take over a table; what a person should know of it becomes a warning.

    That a column is constant matters to those who search.
    """
    table = _make(data, options, name or "data", names)
    for sentence in table.warnings(searched):
        warnings.warn(sentence, TableWarning, stacklevel=4)
    return table


def _make(data: Any, options: _engine.ReadOptions, name: str, names: Sequence[str] | None) -> _engine.Table:
    if isinstance(data, _engine.Table):
        return data
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and isinstance(data, numpy.ndarray)
    if names is not None and not is_array:
        raise InputError(f"names= is for arrays, and this {type(data).__name__} names its columns itself")
    if isinstance(data, (str, os.PathLike)):
        return _engine.Table.read(os.fspath(data), options)
    if _has_no_columns(data):
        raise InputError("the table has no columns")
    if _is_pandas(data):
        return _engine.Table.from_columns(_pandas_columns(data), name, options)
    if _is_polars(data):
        data = _without_nulls(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _engine.Table.from_stream(data.__arrow_c_stream__(), name, options)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InputError("a lazy table has no rows yet: call .collect() first")
    if is_array:
        return _engine.Table.from_columns(_array_columns(data, names), name, options)
    if isinstance(data, Mapping):
        return _engine.Table.from_columns(_mapping_columns(data), name, options)
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        keys = list(dict.fromkeys(key for row in data for key in row))
        cells = {key: [row.get(key) for row in data] for key in keys}
        return _engine.Table.from_columns(_mapping_columns(cells), name, options)
    raise InputError(
        f"a {type(data).__name__} is no table (expected a data frame, an Arrow table, a two-dimensional "
        "array with names=, a dict of lists, or a path)"
    )


def _has_no_columns(data: Any) -> bool:
    if isinstance(data, Mapping):
        return not data
    return bool(getattr(data, "shape", (1, 1))[-1:] == (0,))


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _is_polars(data: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.DataFrame)


def _without_nulls(frame: Any) -> Any:
    """Return a frame of polars whose columns without a type are texts: no other library reads them."""
    polars = sys.modules["polars"]
    if polars.Null not in frame.dtypes:
        return frame
    return frame.with_columns(polars.col(polars.Null).cast(polars.String))


def kind_of(data: Any) -> str:
    """Return the library that a table is of, so that answers can be of the same."""
    module = type(data).__module__.partition(".")[0]
    return module if module in ("pandas", "polars", "pyarrow") else "pandas"


def text(value: Any) -> str:
    """Return the name of a state: the text that the value would have in a file."""
    if isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if hasattr(value, "item"):
        value = value.item()
    return str(value)


def _pandas_columns(frame: Any) -> Iterator[Column]:
    for at, name in enumerate(frame.columns):
        yield _series(str(name), frame.iloc[:, at])


def _series(name: str, series: Any) -> Column:
    import pandas

    if isinstance(series.dtype, pandas.CategoricalDtype):
        codes = series.cat.codes
        categories = series.cat.categories
        if categories.dtype.kind == "f" and (codes < 0).any() and all(value.is_integer() for value in categories):
            # As in a column of whole numbers with missing cells.
            categories = categories.astype("int64")
        values = [text(value) for value in categories]
        kind = str(codes.dtype) if len(values) < 2**31 else "int32"
        return name, kind, codes.to_numpy().tobytes(), values, True
    if str(series.dtype) in _RAW:
        return name, str(series.dtype), series.to_numpy().tobytes(), None, False
    try:
        codes, uniques = pandas.factorize(series)
    except TypeError:
        raise InputError(f"the column {name!r} has cells that are no single values") from None
    return name, "int32", codes.astype("int32").tobytes(), [text(value) for value in uniques], False


def _array_columns(data: Any, given: Sequence[str] | None) -> Iterator[Column]:
    if data.ndim != 2:
        raise InputError(f"expected a two-dimensional array, not one of {data.ndim} dimensions")
    names = [f"x{at}" for at in range(data.shape[1])] if given is None else [str(name) for name in given]
    if len(names) != data.shape[1]:
        raise InputError(f"{len(names)} names for {data.shape[1]} columns")
    for at, name in enumerate(names):
        yield _cells(name, data[:, at])


def _mapping_columns(data: Mapping[Any, Any]) -> Iterator[Column]:
    rows: int | None = None
    for name, cells in data.items():
        if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__"):
            raise InputError(f"the column {str(name)!r} is a {type(cells).__name__}, not a list of cells")
        if rows is not None and len(cells) != rows:
            raise InputError(f"the column {str(name)!r} has {len(cells)} rows where the first has {rows}")
        rows = len(cells)
        yield _given(str(name), cells)


def _given(name: str, cells: Any) -> Column:
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        if isinstance(cells, (pandas.Index, pandas.api.extensions.ExtensionArray)):
            cells = pandas.Series(cells)
        if isinstance(cells, pandas.Series):
            return _series(name, cells)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(cells, polars.Series) and isinstance(cells.dtype, polars.Enum):
        codes = cells.to_physical().cast(polars.Int32).fill_null(-1)
        return name, "int32", array("i", codes.to_list()).tobytes(), cells.dtype.categories.to_list(), True
    return _cells(name, cells)


def _cells(name: str, cells: Any) -> Column:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(cells, numpy.ma.MaskedArray):
        # A list has None where a cell is masked; floats have a value for it.
        cells = cells.filled(numpy.nan) if cells.dtype.kind == "f" else cells.tolist()
    kind = str(getattr(cells, "dtype", ""))
    if numpy is not None and kind in _RAW:
        return name, kind, numpy.asarray(cells).tobytes(), None, False
    return _by_value(name, cells.tolist() if hasattr(cells, "tolist") else cells)


def _by_value(name: str, cells: Iterable[Any]) -> Column:
    known: dict[str, int] = {}
    codes = array("i")
    for cell in cells:
        if _is_missing(cell):
            codes.append(-1)
        else:
            codes.append(known.setdefault(text(cell), len(known)))
    return name, "int32", codes.tobytes(), list(known), False


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or type(cell).__name__ in ("NAType", "NaTType", "MaskedConstant")
