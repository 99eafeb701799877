"""Reads every table of cases.json with pandas too, and compares the counts of its values.

What our reader makes of each table is compared with the same expectations by
cli/tests/e2e/tables.rs; so both readers agree with each other.
"""

import json
import pathlib
import sys
import tempfile

import pandas as pd

HERE = pathlib.Path(__file__).parent


def write(case, folder):
    """Writes the case's file as the Rust test does."""
    path = pathlib.Path(folder) / case["name"]
    path.write_bytes(bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode())
    return path


def read(case, path):
    """Reads the table with pandas; cells stay text unless numbers are cut."""
    options = dict(case["pandas"])
    reader = options.pop("reader", "csv")
    cuts = options.pop("qcut", {})
    drop = options.pop("dropna", False)
    if reader == "jsonl":
        frame = pd.read_json(path, lines=True, dtype=False)
    elif reader == "json":
        frame = pd.read_json(path, dtype=False)
    else:
        if not cuts:
            options["dtype"] = str
        frame = pd.read_csv(path, **options)
    if drop:
        frame = frame.dropna()
    for column, parts in cuts.items():
        frame[column] = pd.qcut(frame[column], parts, labels=False)
    return frame


def counts(series):
    return sorted(int(count) for count in series.value_counts())


def main():
    cases = [case for case in json.loads((HERE / "cases.json").read_text()) if case.get("pandas") is not None]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            frame = read(case, write(case, folder))
            assert sorted(frame.columns) == sorted(case["expect"]), (case["name"], list(frame.columns))
            for column, expected in case["expect"].items():
                cut = column in case["pandas"].get("qcut", {})
                found = frame[column].astype(str).str.strip().value_counts().to_dict()
                if cut:
                    assert counts(frame[column]) == sorted(expected.values()), (case["name"], column)
                else:
                    assert found == expected, (case["name"], column, found, expected)
    print(f"{len(cases)} tables: pandas {pd.__version__} has the same counts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
