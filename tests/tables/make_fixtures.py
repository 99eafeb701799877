"""Writes the small tables that the readers of common/src/data/read are tested with.

Run it in an environment with pandas, polars, pyarrow and openpyxl:

    python tests/tables/make_fixtures.py

The files are committed, since the tests must not need Python. Each holds the same six rows where
its format allows it; what is expected of each stands beside the tests.
"""

import datetime as dt
import decimal
import lzma
import pathlib

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "common" / "src" / "data" / "read" / "fixtures"

# `level` has a level that never occurs, and its levels are in no other order.
LEVELS = ["low", "medium", "high", "never"]
VALUES = {
    "name": ["Ann", "Bob", None, "New York, \"NY\"", "été", "Bob"],
    "level": ["high", "low", "low", None, "medium", "high"],
    "flag": [True, False, None, True, False, True],
    "whole": [3, -1, None, 3, 0, 9007199254740993],
    "number": [0.5, 1.0, None, 1e-7, 1e22, 0.1],
    "day": [dt.date(2024, 1, 31), None] + [dt.date(1969, 12, 31)] * 4,
    "at": [dt.datetime(2024, 1, 31, 12, 30), None] + [dt.datetime(2024, 2, 29, 0, 0, 0, 1500)] * 4,
}


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "name": VALUES["name"],
            "level": pd.Categorical(VALUES["level"], categories=LEVELS, ordered=True),
            "flag": pd.array(VALUES["flag"], dtype="boolean"),
            "whole": pd.array(VALUES["whole"], dtype="Int64"),
            "number": VALUES["number"],
            "day": VALUES["day"],
            "at": pd.to_datetime(pd.Series(VALUES["at"])),
        }
    )
    # A filter leaves an index that is no range: pandas writes it as a column.
    frame.index = [10, 11, 12, 13, 14, 15]
    return frame


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(VALUES).with_columns(
        pl.col("level").cast(pl.Enum(LEVELS)),
        pl.col("name").cast(pl.Categorical).alias("category"),
    )


def arrow_table() -> pa.Table:
    """Two chunks, with dictionaries of their own and every type that is read."""

    def column(values, type_, at=3):
        return pa.chunked_array([pa.array(values[:at], type_), pa.array(values[at:], type_)])

    small = [1, None, 3, 4, 5, 6]
    columns = {
        "string": column(VALUES["name"], pa.string()),
        "large_string": column(VALUES["name"], pa.large_string()),
        "string_view": column(VALUES["name"], pa.string_view()),
        "dictionary": pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), ["b", "a", "c"]),
                pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int8()), ["d", "a", "b"]),
            ]
        ),
        "whole_dictionary": pa.chunked_array(
            [pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1, 1, 0], pa.uint32()), [20, 10, 30])]
        ),
        "nothing": pa.chunked_array([pa.nulls(6)]),
        "float16": column([np.float16(v) if v else None for v in [0.1, None, 1.5, 2, 3, 4]], pa.float16()),
        "float32": column([0.1, None, 1.5, 1e16, float("nan"), 4], pa.float32()),
        "decimal": column(
            [decimal.Decimal(v) if v else None for v in ["1.50", None, "-0.05", "3", "4", "5"]],
            pa.decimal128(9, 2),
        ),
        "time": column([dt.time(12, 30), None, dt.time(0, 0, 1, 500000), *[dt.time(1)] * 3], pa.time64("us")),
        "zoned": column(VALUES["at"], pa.timestamp("ms", tz="Europe/Berlin")),
        "span": column([dt.timedelta(seconds=90), None, *[dt.timedelta(milliseconds=-1500)] * 4], pa.duration("ms")),
    }
    for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]:
        columns[name] = column(small, getattr(pa, name)())
    return pa.table(columns)


def write_parquet() -> None:
    pandas_frame().to_parquet(OUT / "pandas.parquet")
    polars_frame().write_parquet(OUT / "polars.parquet")
    table = arrow_table()
    pq.write_table(table, OUT / "types.parquet", row_group_size=4, compression="zstd")
    text = pa.table({"a": ["x", "y", "x", None, "z", "x"], "b": [1, 2, 1, 2, None, 3]})
    for packing in ["none", "snappy", "gzip", "lz4", "brotli"]:
        pq.write_table(text, OUT / f"{packing}.parquet", compression=packing, data_page_version="2.0")
    pq.write_table(text, OUT / "plain.parquet", use_dictionary=False, row_group_size=2)
    nested = text.append_column("list", pa.array([[1], [2], [], None, [3], [4]]))
    pq.write_table(nested, OUT / "list.parquet")
    pq.write_table(text.slice(0, 0), OUT / "empty.parquet")


def write_arrow() -> None:
    table = arrow_table()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5, 6], pa.int32()), ["p", "q", "p"])
    table = table.combine_chunks().append_column("runs", runs)
    feather.write_feather(pa.Table.from_pandas(pandas_frame()), OUT / "pandas.feather", compression="lz4")
    polars_frame().write_ipc(OUT / "polars.arrow", compression="zstd")
    with pa.ipc.new_file(OUT / "types.arrow", table.schema) as writer:
        writer.write(table)
    # A stream may replace dictionaries between batches; a file may not.
    chunks = arrow_table()
    with pa.ipc.new_stream(OUT / "types.arrows", chunks.schema) as writer:
        writer.write_table(chunks)


def write_text() -> None:
    frame = pandas_frame()[["name", "level", "flag", "whole", "number"]].reset_index(drop=True)
    frame.to_json(OUT / "pandas.jsonl", orient="records", lines=True)
    frame.to_json(OUT / "pandas.json", orient="records", indent=1)
    text = "a,b\n" + "x,1\ny,2\n" * 50
    (OUT / "text.csv.xz").write_bytes(lzma.compress(text.encode()))
    (OUT / "text.csv.zst").write_bytes(pa.compress(text.encode(), codec="zstd", asbytes=True))


def write_workbooks() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    # The table does not begin in the first row, and one row is empty.
    sheet.append([])
    sheet.append([None, "name", "whole", "number", "day", "at", "flag", "error"])
    for row in range(6):
        values = {key: column[row] for key, column in VALUES.items()}
        # Excel knows thousandths of a second.
        if values["at"] and values["at"].microsecond:
            values["at"] = values["at"].replace(microsecond=250_000)
        sheet.append(
            [row]
            + [values[key] for key in ["name", "whole", "number", "day", "at", "flag"]]
            + ["#N/A" if row == 1 else None]
        )
        if row == 2:
            sheet.append([])
    book.create_sheet("further").append(["x"])
    book.save(OUT / "openpyxl.xlsx")
    empty = openpyxl.Workbook()
    empty.save(OUT / "empty.xlsx")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    write_parquet()
    write_arrow()
    write_text()
    write_workbooks()
    for path in sorted(OUT.iterdir()):
        print(f"{path.stat().st_size:7d} {path.name}")
