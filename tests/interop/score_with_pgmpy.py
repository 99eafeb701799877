#!/usr/bin/env python3
"""Checks that pgmpy gives a network the scores that we give it.

    score_with_pgmpy.py TABLE EDGES FOLDER

TABLE is a CSV file, EDGES a network over its columns as from,to,directed lines, FOLDER holds what `rlbayes score --json` printed: loglik.json, aic.json, bic.json,
bdeu_1.json, bdeu_10.json, k2.json. The scores and the part of each node agree within 1e-6
relative, or the exit code is 1.

pgmpy's K2 adds lgamma(states of the node) for every configuration of the parents that no row has;
by definition (and in bnlearn) such a configuration adds nothing. That surplus is taken off.
"""

import csv
import json
import logging
import math
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import pandas  # noqa: E402
from pgmpy.structure_score import AIC, BIC, K2, BDeu, LogLikelihood  # noqa: E402

TOLERANCE = 1e-6

SCORES = {
    "loglik": lambda table: LogLikelihood(table),
    "aic": lambda table: AIC(table),
    "bic": lambda table: BIC(table),
    "bdeu_1": lambda table: BDeu(table, equivalent_sample_size=1),
    "bdeu_10": lambda table: BDeu(table, equivalent_sample_size=10),
    "k2": lambda table: K2(table),
}


def read_parents(path, names):
    """Reads an edge list and returns the parents of every column."""
    parents = {name: [] for name in names}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) >= 2 and row[:2] != ["from", "to"] and row[0]:
                parents[row[1]].append(row[0])
    return parents


def k2_surplus(table, node, parents):
    """Returns what pgmpy's K2 adds for configurations that no row has."""
    if not parents:
        return 0.0
    possible = math.prod(table[parent].nunique() for parent in parents)
    seen = len(table[parents].drop_duplicates())
    return (possible - seen) * math.lgamma(table[node].nunique())


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    table = pandas.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
    parents = read_parents(sys.argv[2], table.columns)
    failures = 0
    for name, make in SCORES.items():
        ours = json.loads((Path(sys.argv[3]) / f"{name}.json").read_text(encoding="utf-8"))
        score = make(table)
        parts = {node: float(score.local_score(node, tuple(parents[node]))) for node in parents}
        if name == "k2":
            parts = {node: parts[node] - k2_surplus(table, node, parents[node]) for node in parts}
        worst = 0.0
        for node, theirs in [("all nodes", sum(parts.values())), *parts.items()]:
            mine = ours["score"] if node == "all nodes" else ours["by_node"][node]
            off = abs(mine - theirs) / max(abs(theirs), 1.0)
            worst = max(worst, off)
            if not off <= TOLERANCE:
                print(f"FAIL {name} of {node}: {mine!r}, pgmpy has {theirs!r}")
                failures += 1
        if set(ours["by_node"]) != set(parts):
            print(f"FAIL {name}: the nodes differ")
            failures += 1
        print(f"{'ok  ' if worst <= TOLERANCE else 'FAIL'} {sys.argv[1]} {name}: within {worst:.1e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
