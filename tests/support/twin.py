#!/usr/bin/env python3
"""A slow twin of `rlbayes bootstrap`, from the documentation alone and without any library.

It draws the rows of each replicate with the documented generator (common/src/support/resample.rs),
finds the best network of four variables by trying all 543, makes its equivalence class by comparing
all members, and counts marks. `twin.py check RLBAYES` compares the counts with the program's;
`twin.py rows SEED R COUNT OF [without]` prints the rows of a replicate.
"""

import csv
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(seed, number):
    """SplitMix64 of the seed and a number."""
    z = seed ^ ((number + 1) * GOLDEN & MASK)
    z = (z + GOLDEN) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class Xoshiro:
    """xoshiro256++ with the state mix(seed, 0) .. mix(seed, 3)."""

    def __init__(self, seed):
        self.s = [mix(seed, word) for word in range(4)]

    def bits(self):
        s = self.s
        rotate = lambda x, k: (x << k | x >> (64 - k)) & MASK
        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, limit):
        """Lemire: the high half of bits * limit, unless the low half is one of the surplus."""
        while True:
            product = self.bits() * limit
            if product & MASK >= (1 << 64) % limit:
                return product >> 64


def drawn(seed, replicate, count, of, replacement=True):
    """The row numbers of a replicate."""
    own = mix(mix(seed, 0x626F6F74), replicate)
    generator = Xoshiro(mix(own, 0))
    if replacement:
        return [generator.below(of) for _ in range(count)]
    rows = list(range(of))
    for at in range(count):
        other = at + generator.below(of - at)
        rows[at], rows[other] = rows[other], rows[at]
    return rows[:count]


def bic(columns, states, child, parents):
    """The local score of BIC: log-likelihood less ln(N) / 2 for each free parameter."""
    counts, totals = {}, {}
    for cells in zip(*[columns[p] for p in parents], columns[child]):
        counts[cells] = counts.get(cells, 0) + 1
        totals[cells[:-1]] = totals.get(cells[:-1], 0) + 1
    likelihood = sum(n * math.log(n / totals[cells[:-1]]) for cells, n in counts.items())
    parameters = (states[child] - 1) * math.prod(states[p] for p in parents)
    return likelihood - math.log(len(columns[child])) / 2 * parameters


def is_acyclic(nodes, edges):
    left = set(range(nodes))
    while left:
        sources = [n for n in left if not any(b == n and a in left for a, b in edges)]
        if not sources:
            return False
        left -= set(sources)
    return True


def all_dags(nodes):
    pairs = list(itertools.combinations(range(nodes), 2))
    for choice in itertools.product((None, 0, 1), repeat=len(pairs)):
        edges = [(a, b) if c == 0 else (b, a) for (a, b), c in zip(pairs, choice) if c is not None]
        if is_acyclic(nodes, edges):
            yield frozenset(edges)


def class_key(edges):
    skeleton = frozenset(frozenset(edge) for edge in edges)
    colliders = frozenset(
        (frozenset((a, c)), b)
        for (a, b), (c, d) in itertools.combinations(edges, 2)
        if b == d and frozenset((a, c)) not in skeleton
    )
    return skeleton, colliders


def classes_of(nodes):
    """Each class as {pair: mark} with its members: compelled edges are those that all agree on."""
    members = {}
    for dag in all_dags(nodes):
        members.setdefault(class_key(dag), []).append(dag)
    result = []
    for dags in members.values():
        marks = {}
        for a, b in dags[0]:
            agreed = all((a, b) in dag for dag in dags)
            first, second = min(a, b), max(a, b)
            marks[first, second] = "undirected" if not agreed else "forward" if a == first else "backward"
        result.append((dags[0], marks))
    return result


def counts_by_trying_all(names, rows, seed, replicates, count, replacement):
    """Counts of marks over the replicates: {(name, name): {mark: count}}."""
    nodes = len(names)
    values = [sorted({row[n] for row in rows}) for n in range(nodes)]
    full = [[values[n].index(row[n]) for row in rows] for n in range(nodes)]
    states = [len(value) for value in values]
    classes = classes_of(nodes)
    families = [(c, p) for c in range(nodes) for k in range(nodes)
                for p in itertools.combinations([x for x in range(nodes) if x != c], k)]
    tally = {}
    for replicate in range(replicates):
        chosen = drawn(seed, replicate, count, len(rows), replacement)
        columns = [[column[row] for row in chosen] for column in full]
        local = {(c, p): bic(columns, states, c, p) for c, p in families}
        scored = []
        for dag, marks in classes:
            score = sum(local[c, tuple(sorted(a for a, b in dag if b == c))] for c in range(nodes))
            scored.append((score, marks))
        scored.sort(key=lambda entry: -entry[0])
        # The twin can't know which of two equal classes a search finds.
        assert scored[0][0] - scored[1][0] > 1e-6, f"replicate {replicate}: two classes tie"
        for (a, b), mark in scored[0][1].items():
            pair = tally.setdefault((names[a], names[b]), {"forward": 0, "backward": 0, "undirected": 0})
            pair[mark] += 1
    return tally


def table(seed, rows):
    """Four variables: a -> c <- b, c -> d, noisy enough that replicates differ; d has a rare state."""
    draw = random.Random(seed)
    result = []
    for _ in range(rows):
        a, b = draw.random() < 0.5, draw.random() < 0.4
        c = draw.random() < (0.75 if a and b else 0.3 if a or b else 0.15)
        d = "rare" if draw.random() < 0.01 else "yes" if draw.random() < (0.62 if c else 0.4) else "no"
        result.append(["yes" if a else "no", "yes" if b else "no", "yes" if c else "no", d])
    return result


def check(program):
    names = ["a", "b", "c", "d"]
    compared = 0
    for data_seed, seed, rows, flags in [
        (1, 1, 120, []),
        (2, 7, 200, []),
        (3, 5, 150, ["--rows-per-replicate", "0.5", "--without-replacement"]),
    ]:
        data = table(data_seed, rows)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            with open(folder / "t.csv", "w", newline="") as file:
                csv.writer(file).writerows([names] + data)
            command = [program, "bootstrap", folder / "t.csv", "--replicates", "40", "--seed", str(seed),
                       "--quiet", "-o", folder / "s.csv", "-o", folder / "s.json", *flags]
            subprocess.run(command, check=True)
            found = json.loads((folder / "s.json").read_text())
            with open(folder / "s.csv", newline="") as file:
                lines = list(csv.DictReader(file))
        count = found["rows_per_replicate"]
        expected = counts_by_trying_all(names, data, seed, 40, count, not flags)
        assert found["replicates"] == 40 and found["rows"] == rows, found
        shares = {(x["from"], x["to"]): x for x in lines if x["from"] < x["to"]}
        assert set(shares) == set(expected), (set(shares), set(expected))
        assert len(lines) == 2 * len(shares)
        for pair, marks in expected.items():
            line = shares[pair]
            for mark, n in marks.items():
                assert abs(float(line[mark]) - n / 40) < 1e-9, (pair, mark, line, n)
            joined = sum(marks.values())
            assert abs(float(line["strength"]) - joined / 40) < 1e-9
            direction = (marks["forward"] + marks["undirected"] / 2) / joined
            assert abs(float(line["direction"]) - direction) < 1e-9
            compared += 1
        print(f"table {data_seed}: {len(expected)} pairs, the same counts")
    assert compared > 10, "the tables are too easy to tell anything"


def check_average(program):
    """`average` against the definition of bnlearn's custom.strength: of each network's class, strength
    is the share with an edge, direction the share that points so, an undirected edge counting half."""
    draw = random.Random(11)
    names = ["a", "b", "c", "d"]
    marks_of = {class_key(dag): marks for dag, marks in classes_of(4)}
    dags = [draw.choice(list(all_dags(4))) for _ in range(12)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for number, dag in enumerate(dags):
            parents = [sorted(names[a] for a, b in dag if b == n) for n in range(4)]
            text = "".join(f"[{names[n]}|{':'.join(p)}]" if p else f"[{names[n]}]" for n, p in enumerate(parents))
            files.append(folder / f"{number}.txt")
            files[-1].write_text(text)
        subprocess.run([program, "average", *files, "-o", folder / "s.csv"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with open(folder / "s.csv", newline="") as file:
            lines = {(x["from"], x["to"]): x for x in csv.DictReader(file)}
    arcs = {}
    for dag in dags:
        for (a, b), mark in marks_of[class_key(dag)].items():
            half = {"forward": (1, 0), "backward": (0, 1), "undirected": (0.5, 0.5)}[mark]
            for (x, y), weight in zip([(a, b), (b, a)], half):
                arcs[names[x], names[y]] = arcs.get((names[x], names[y]), 0) + weight / len(dags)
    assert set(lines) == set(arcs), (set(lines) ^ set(arcs))
    for (x, y), weight in arcs.items():
        strength = weight + arcs[y, x]
        assert abs(float(lines[x, y]["strength"]) - strength) < 1e-9, (x, y)
        assert abs(float(lines[x, y]["direction"]) - weight / strength) < 1e-9, (x, y)
    print(f"average: {len(arcs)} arcs of 12 networks, custom.strength by its definition")


if __name__ == "__main__":
    if sys.argv[1:2] == ["rows"]:
        seed, replicate, count, of = map(int, sys.argv[2:6])
        print(drawn(seed, replicate, count, of, "without" not in sys.argv))
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 3:
        check(sys.argv[2])
        check_average(sys.argv[2])
        print("the twin agrees")
    else:
        sys.exit(__doc__)
