"""Real pandas, polars and pyarrow write one table in every format; rlbayes must read the same counts.

    frames.py PROGRAM FOLDER
"""

import gzip
import json
import lzma
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import zstandard

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
ROWS = 500


def table():
    """Words, whole numbers, truth values, levels of which one never occurs, and unicode."""
    draw = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "level": pd.Categorical(draw.choice(["mid", "high"], ROWS), ["low", "mid", "high"]),
            "city": draw.choice(["New York", "Köln", "東京"], ROWS),
            "children": draw.integers(0, 4, ROWS),
            "smoker": draw.choice([True, False], ROWS),
        }
    )


def read(path, *flags):
    """Returns what rlbayes counts in each column."""
    command = [PROGRAM, "check", str(path), "--json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert not found["problems"], (path.name, found["problems"])
    return {
        column["name"]: dict(column["counts"]) for column in found["columns"] if column["counts"]
    }


def main():
    frame = table()
    expected = {
        name: {str(value): int(count) for value, count in frame[name].value_counts().items()}
        for name in frame
    }
    without_levels = {name: dict(counts) for name, counts in expected.items()}
    del without_levels["level"]["low"]
    plain = frame.astype({"level": str})
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    polar = pl.from_pandas(plain).with_columns(pl.col("level").cast(pl.Enum(["low", "mid", "high"])))
    with_levels, others = [], []

    def make(name, write, levels):
        path = FOLDER / name
        write(path)
        (with_levels if levels else others).append(path)

    make("pandas.parquet", lambda path: frame.to_parquet(path), True)
    make("filtered.parquet", lambda path: frame.sample(frac=1, random_state=1).to_parquet(path), True)
    for packing in ("snappy", "gzip", "zstd", "lz4", "none"):
        make(f"{packing}.parquet", lambda path: frame.to_parquet(path, compression=packing), True)
    make("groups.parquet", lambda path: pa.parquet.write_table(arrow, path, row_group_size=70), True)
    make("polars.parquet", lambda path: polar.write_parquet(path), True)
    make("pandas.feather", lambda path: frame.to_feather(path), True)
    make("polars.arrow", lambda path: polar.write_ipc(path), True)
    make("stream.arrows", lambda path: polar.write_ipc_stream(path), True)
    make("pandas.csv", lambda path: frame.to_csv(path), False)
    make("windows.csv", lambda path: frame.to_csv(path, index=False, sep=";", encoding="utf-16"), False)
    make("pandas.jsonl", lambda path: plain.to_json(path, orient="records", lines=True), False)
    make("polars.jsonl", lambda path: polar.write_ndjson(path), False)
    make("records.json", lambda path: plain.to_json(path, orient="records", force_ascii=False), False)
    make("pandas.xlsx", lambda path: plain.to_excel(path, index=False), False)
    text = frame.to_csv(index=False).encode()
    make("packed.csv.gz", lambda path: path.write_bytes(gzip.compress(text)), False)
    make("packed.csv.xz", lambda path: path.write_bytes(lzma.compress(text)), False)
    make("packed.csv.zst", lambda path: path.write_bytes(zstandard.compress(text)), False)

    for path in with_levels:
        assert read(path) == expected, (path.name, read(path))
    for path in others:
        found = read(path)
        # JSON and workbooks have truth values, CSV has their names: written alike.
        assert found == without_levels, (path.name, found)
    levels = [name for name in read(with_levels[0])["level"]]
    assert levels == ["low", "mid", "high"], levels
    print(f"{len(with_levels) + len(others)} files of pandas, polars and pyarrow have the same counts")


main()
