"""How long rlbayes, polars and pyarrow take to read the same table, in one run.

    speed.py PROGRAM FOLDER [ROWS] [--check]

Prints wall and CPU seconds, the least of five runs each. With --check it fails if our CSV reader needs
more than 1.3 times the CPU time of polars' or our Parquet reader more than 1.5 times pyarrow's.
"""

import pathlib
import resource
import subprocess
import sys
import time

import numpy as np
import polars as pl

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
ROWS = next((int(word) for word in sys.argv[3:] if word.isdigit()), 1_000_000)
COLUMNS = 40
RUNS = 5


def make():
    draw = np.random.default_rng(1)
    words = pl.Series(["low", "mid", "high", "none at all"])
    columns = {}
    for column in range(COLUMNS):
        codes = draw.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])
        columns[f"v{column:02}"] = words.gather(codes) if column % 2 else pl.Series(codes)
    frame = pl.DataFrame(columns)
    frame.write_csv(FOLDER / "big.csv")
    frame.write_parquet(FOLDER / "big.parquet")


def measured(command):
    """Returns the least wall and CPU seconds."""
    walls, cpus = [], []
    for _ in range(RUNS):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(time.perf_counter() - began)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(walls), min(cpus)


def in_python(code):
    return [sys.executable, "-c", code]


def main():
    make()
    csv, parquet = FOLDER / "big.csv", FOLDER / "big.parquet"
    peers = {
        "polars": (csv, "polars", f"polars.read_csv({str(csv)!r})", 1.3),
        "pyarrow": (parquet, "pyarrow.parquet", f"pyarrow.parquet.read_table({str(parquet)!r})", 1.5),
    }
    print(f"{ROWS} rows x {COLUMNS} columns         wall s    CPU s")
    slow = []
    for name, (path, module, call, most) in peers.items():
        # What starting Python and importing costs is taken off.
        start = measured(in_python(f"import {module}"))
        whole = measured(in_python(f"import {module}; {call}"))
        peer = [max(a - b, 0.001) for a, b in zip(whole, start)]
        ours = measured([PROGRAM, "check", str(path), "--json"])
        print(f"{path.suffix[1:]:8} {name:20} {peer[0]:9.2f} {peer[1]:9.2f}")
        print(f"{path.suffix[1:]:8} {'rlbayes check':20} {ours[0]:9.2f} {ours[1]:9.2f}   {ours[1] / peer[1]:.2f} times its CPU")
        if ours[1] > most * peer[1]:
            slow.append(f"{path.name}: {ours[1]:.2f} s of CPU, {name} {peer[1]:.2f} s, at most {most} times")
    for line in slow:
        print("slow:", line)
    return int(bool(slow) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
