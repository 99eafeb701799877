#!/usr/bin/env python3
"""Checks that pgmpy gives the answers that we give: loglik, query and predict.

    inference_with_pgmpy.py PROGRAM FOLDER NETWORK...

For each network (BIF): rows are drawn, and the log-likelihood of the rows under the network's own
probabilities, posteriors under random evidence, and one predicted column agree within 1e-9. Exit code
1 if anything differs.
"""

import json
import logging
import math
import random
import subprocess
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import pandas  # noqa: E402
from pgmpy.inference import VariableElimination  # noqa: E402
from pgmpy.readwrite import BIFReader  # noqa: E402

TOLERANCE = 1e-9
QUESTIONS = 10


def run(*command):
    ran = subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return json.loads(ran.stdout)


def log_likelihood(model, rows):
    """By the definition, from pgmpy's tables."""
    total = 0.0
    for cpd in model.get_cpds():
        number = {name: {s: i for i, s in enumerate(cpd.state_names[name])} for name in cpd.variables}
        for row in rows.to_dict("records"):
            place = tuple(number[name][row[name]] for name in cpd.variables)
            total += math.log(cpd.values[place])
    return total


def posterior(engine, target, evidence):
    answer = engine.query([target], evidence=evidence, show_progress=False)
    return dict(zip(answer.state_names[target], (float(value) for value in answer.values)))


def check(program, folder, path):
    """Checks one network; returns how many answers differ and the largest difference."""
    model = BIFReader(str(path)).get_model()
    engine = VariableElimination(model)
    rng = random.Random(path.stem)
    table = folder / f"{path.stem}.csv"
    subprocess.run([program, "sample", path, "--rows", "200", "--seed", "5", "-o", table], check=True)
    rows = pandas.read_csv(table, dtype=str, keep_default_na=False)
    worst = 0.0
    failures = 0

    def compare(what, mine, theirs, scale=1.0):
        nonlocal worst, failures
        off = abs(mine - theirs) / max(abs(scale), 1.0)
        worst = max(worst, off)
        if not off <= TOLERANCE:
            failures += 1
            print(f"FAIL {path.stem} {what}: {mine!r}, pgmpy has {theirs!r}")

    theirs = log_likelihood(model, rows)
    mine = run(program, "loglik", table, path, "--json")["log_likelihood"]
    compare("loglik", mine, theirs, theirs)
    nodes = sorted(model.nodes())
    for _ in range(QUESTIONS):
        # Evidence from a row, so that it is possible.
        row = rows.iloc[rng.randrange(len(rows))]
        target = rng.choice(nodes)
        others = [name for name in nodes if name != target]
        known = {name: row[name] for name in rng.sample(others, min(len(others), rng.randint(0, 4)))}
        flags = [part for name, state in known.items() for part in ("--evidence", f"{name}={state}")]
        mine = run(program, "query", path, target, "--json", *flags)["posterior"][target]
        theirs = posterior(engine, target, known)
        for state, probability in theirs.items():
            compare(f"query {target}={state} given {known}", mine[state], probability)
    # One column of a few rows from a few of the others.
    target = rng.choice(nodes)
    kept = [name for name in rng.sample(nodes, min(len(nodes), 6)) if name != target]
    few = rows.loc[:9, [target, *kept]]
    few.to_csv(folder / "few.csv", index=False)
    # Columns with a single value are read like the others.
    found = run(program, "predict", folder / "few.csv", path, "--target", target, "--json", "--by-row")
    losses, right = 0.0, 0
    for number, (_, row) in enumerate(few.iterrows()):
        theirs = posterior(engine, target, {name: row[name] for name in kept})
        for state, probability in zip(found["states"], found["by_row"][number]):
            compare(f"predict {target}={state} in row {number}", probability, theirs[state])
        losses -= math.log(theirs[row[target]])
        best = max(found["states"], key=lambda state: theirs[state])
        right += best == row[target]
    compare("log loss", found["log_loss"], losses / len(few))
    compare("accuracy", found["accuracy"], right / len(few))
    print(f"{'FAIL' if failures else 'ok  '} {path.stem}: within {worst:.1e}")
    return failures


def main():
    if len(sys.argv) < 4:
        print(__doc__)
        return 2
    program, folder = sys.argv[1], Path(sys.argv[2])
    failures = sum(check(program, folder, Path(path)) for path in sys.argv[3:])
    print(f"{len(sys.argv) - 3} networks, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
