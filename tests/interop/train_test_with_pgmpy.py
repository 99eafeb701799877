#!/usr/bin/env python3
"""Checks held-out rows of tables with numbers: fit on some rows, loglik on others, beside pgmpy.

    train_test_with_pgmpy.py PROGRAM FOLDER

Numbers of every size and precision are cut on the training rows. The structure is learned and fitted on
them; `loglik` of other rows, which are numbers still, must be what pgmpy has with the cut points of the
schema and its own counts: within 1e-9. Exit code 1 if anything differs.
"""

import csv
import json
import logging
import math
import random
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import pandas  # noqa: E402
from pgmpy.models import DiscreteBayesianNetwork  # noqa: E402
from pgmpy.parameter_estimator import DiscreteBayesianEstimator  # noqa: E402

TOLERANCE = 1e-9
NAMES = ["length", "width", "tiny", "huge", "group", "years"]


def write(path, draw, rows):
    """Writes rows of numbers that depend on each other: long, tiny, huge and whole ones, and a category."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(NAMES)
        for _ in range(rows):
            length = draw.gauss(0, 1)
            width = length + draw.gauss(0, 0.7)
            group = draw.choice("xyz")
            tiny = math.exp(width) * 1e-7
            huge = (length if group == "x" else -length) * 3e12 + draw.gauss(0, 1e12)
            years = min(99, max(0, round(40 + 15 * width)))
            table.writerow([repr(length), repr(width), repr(tiny), repr(huge), group, years])


def place(cuts, number):
    """The interval of a number: values up to a cut point are below it."""
    return sum(number > cut for cut in cuts)


def read(path, columns):
    """Reads a table as states, by the schema's cut points."""
    table = pandas.read_csv(path, dtype=str)
    for name, column in columns.items():
        if isinstance(column, dict):
            states, cuts = column["states"], column["cuts"]
            table[name] = [states[place(cuts, float(cell))] for cell in table[name]]
    return table


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    program, folder = sys.argv[1], Path(sys.argv[2])
    draw = random.Random(41)
    failures = 0
    for bins in ["quantile:4", "width:5", "quantile:7"]:
        train, test, model, schema = (folder / name for name in ["train.csv", "test.csv", "model.bif", "schema.toml"])
        write(train, draw, 1500)
        write(test, draw, 400)
        quiet = {"check": True, "capture_output": True}
        edges = folder / "edges.csv"
        learn = [program, "learn", train, "--bins", bins, "--evaluations", "200000", "--threads", "1"]
        subprocess.run([*learn, "-o", edges], **quiet)
        subprocess.run([program, "fit", train, edges, "--bins", bins, "--alpha", "1", "-o", model], **quiet)
        subprocess.run([program, "check", train, "--bins", bins, "--write-schema", schema], **quiet)
        columns = tomllib.loads(schema.read_text(encoding="utf-8"))["columns"]
        states = {name: column["states"] if isinstance(column, dict) else column for name, column in columns.items()}
        with open(edges, encoding="utf-8") as file:
            pairs = [(row["from"], row["to"]) for row in csv.DictReader(file)]
        theirs = DiscreteBayesianNetwork(pairs)
        theirs.add_nodes_from(NAMES)
        rows = read(train, columns)
        # One is added to every count, as by --alpha 1.
        theirs.fit(rows, estimator=DiscreteBayesianEstimator(prior_type="K2", state_names=states))
        held_out = read(test, columns)
        expected = 0.0
        for cpd in theirs.get_cpds():
            number = {name: {s: i for i, s in enumerate(cpd.state_names[name])} for name in cpd.variables}
            for row in held_out.to_dict("records"):
                expected += math.log(cpd.values[tuple(number[name][row[name]] for name in cpd.variables)])
        for flags in [[], ["--schema", schema]]:
            ran = subprocess.run([program, "loglik", test, model, "--json", *flags], **quiet)
            found = json.loads(ran.stdout)["log_likelihood"]
            off = abs(found - expected) / abs(expected)
            failures += not off <= TOLERANCE
            how = "by the schema" if flags else "by the network"
            print(f"{'ok  ' if off <= TOLERANCE else 'FAIL'} {bins} {how}: {found!r}, pgmpy has {expected!r}")
    print(f"held-out rows with cut points: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
