#!/usr/bin/env python3
"""Tampers with a certificate and requires check_proof to reject it:  tamper.py TABLE CERTIFICATE [--count 100] [--seed 1]

Half of the tampered files have plain damage to their bytes; the other half say something false under a correct sha256. Each change
is one that must break the proof; the reason stands beside it. The tree's changes are judged by a second, naive replay in here.
"""
import argparse, copy, hashlib, itertools, json, pathlib, random, sys, tempfile
from collections import Counter
import check_proof
from check_proof import Problem, bits, mask_of


def damage(text, rng):
    """Changes, adds or removes bytes: the sha256 or its own line no longer fits."""
    at, kind = rng.randrange(len(text)), rng.choice(["byte changed", "bytes deleted", "byte added", "cut off", "lines swapped"])
    if kind == "byte changed":
        return kind, text[:at] + bytes([text[at] ^ rng.randrange(1, 256)]) + text[at + 1:]
    if kind == "bytes deleted":
        return kind, text[:at] + text[at + rng.randrange(1, 20):]
    if kind == "byte added":
        return kind, text[:at] + bytes([rng.randrange(256)]) + text[at:]
    if kind == "cut off":
        return kind, text[:at]
    lines = text.splitlines(keepends=True)
    i, j = rng.sample(range(len(lines)), 2)
    lines[i], lines[j] = lines[j], lines[i]
    return kind, b"".join(lines)


def seal(lines):
    body = "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines).encode()
    return body + b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()


def naive(lines, lists, cost, tolerance):
    """The highest score that a tree leaves possible, with Python sets and recursion; None if it has a wrong `empty`."""
    lines, highest = list(lines), [-10**30]

    def settle(left):  # drops families that close a cycle with forced edges
        while all(left):
            forced = {(p, x) for x, own in enumerate(left) for p in frozenset.intersection(*[s for _, s in own])}
            reach = {x: {x} for x in range(len(left))}
            for _ in left:
                for a, b in forced:
                    reach[a] |= reach[b]
            kept = [[f for f in own if not any(p in reach[x] for p in f[1])] for x, own in enumerate(left)]
            if kept == left:
                return left
            left = kept
        return None

    def shown(left, multipliers):
        def reduced(x, family):
            value = family[0]
            for kind, members, units in multipliers:
                if x in members and kind == "c" and family[1].isdisjoint(members):
                    value -= units
                if x in members and kind == "p" and set(members) - {x} <= family[1]:
                    value += units
            return value
        table = [[reduced(x, f) for f in own] for x, own in enumerate(left)]
        return sum(map(min, table)) + sum(u if kind == "c" else -u for kind, _, u in multipliers), table

    def node(left):
        left = left and settle(left)
        (kind, value), = lines.pop(0).items()
        while kind == "fix":
            if left:
                least, table = shown(left, value)
                kept = [[f for f, v in zip(own, vs) if least + v - min(vs) < cost - tolerance] for own, vs in zip(left, table)]
                if kept != left:
                    highest.append(tolerance - cost)
                left = settle(kept)
            (kind, value), = lines.pop(0).items()
        if kind == "branch":
            for there in (True, False):
                node(left and [[f for f in own if x != value[1] or (value[0] in f[1]) == there] for x, own in enumerate(left)])
        elif left:
            highest.append(10**30 if kind == "empty" else -shown(left, value)[0])

    node(lists)
    return max(highest)


class Tamper:
    def __init__(self, table, text, rng):
        self.table, self.rng = table, rng
        self.lines = [json.loads(line) for line in text.decode().split("\n")[:-2]]
        self.problem = Problem(table, self.lines[0])
        self.n, self.tree = self.problem.n, self.lines[2]["method"] == "tree"
        self.nat = int(self.problem.unit)

    def lists(self, lines):
        return [[(-units, frozenset(parents)) for units, parents in line["sets"]] for line in lines[3:3 + self.n]]

    def lacking(self, lines):
        """Is there a set that the header and the coverage of these lines allow, that is not listed and beats all of its subsets?
        Looks one parent above the listed sets only, so that no enumeration is needed."""
        problem, coverage = Problem(self.table, lines[0]), lines[2]["coverage"]
        for x, line in enumerate(lines[3:3 + self.n]):
            listed = {mask_of(parents, self.n) for _, parents in line["sets"]}
            for old, y in itertools.product(sorted(listed), bits(problem.possible[x])):
                new = old | 1 << y
                if new in listed or not problem.allowed(x, new) or new.bit_count() > (self.n if coverage[x] is None else coverage[x]):
                    continue
                within = [sum(c) for k in range(new.bit_count()) for c in itertools.combinations([1 << v for v in bits(new)], k)]
                if problem.local(x, new) > 1e-5 + max([problem.local(x, s) for s in within if problem.allowed(x, s)], default=-1e300):
                    return True
        return False

    def unproven(self, lines):
        """Does the tree of these lines fail to show the bound?"""
        return naive(lines[3 + self.n:], self.lists(lines), -lines[1]["units"], lines[2]["tolerance_units"]) > lines[2]["bound_units"]

    # Each of these changes the lines and returns whether the result must be rejected. --------------------------------------------

    def network_score(self, lines):
        lines[1]["units"] += self.rng.choice([-1, 1]) * self.rng.randrange(self.nat // 10000, self.nat)
        return True  # more than any rounding

    def network_edge(self, lines):
        x, y = self.rng.sample(range(self.n), 2)
        old = mask_of(lines[1]["network"][x], self.n)
        lines[1]["network"][x] = bits(old | 1 << y)
        return not old >> y & 1 and abs(self.problem.local(x, old | 1 << y) - self.problem.local(x, old)) > 1e-5

    def bound_tightened(self, lines):
        lines[2]["bound_units"] = lines[1]["units"] - self.rng.randrange(self.nat // 10000, self.nat)
        coverage = lines[2]["coverage"]  # the network itself is covered and scores higher
        return all(k is None or len(parents) <= k for k, parents in zip(coverage, lines[1]["network"]))

    def rows_changed(self, lines):
        lines[0]["rows"] += self.rng.choice([-1, 1, 1000])
        return True

    def states_changed(self, lines):
        one = self.rng.randrange(self.n)
        lines[0]["variables"][one]["states"] += self.rng.choice([-1, 1])  # fewer than seen, or other scores
        return lines[0]["variables"][one]["states"] == max(self.table[1][one]) or self.problem.name != "loglik" and \
            abs(sum(Problem(self.table, lines[0]).local(x, mask_of(p, self.n)) - self.problem.local(x, mask_of(p, self.n))
                    for x, p in enumerate(lines[1]["network"]))) > 1e-5

    def unit_changed(self, lines):
        lines[0]["units_per_nat"] *= 2
        return True

    def family_removed(self, lines):
        x = self.rng.randrange(self.n)
        sets, covered = lines[3 + x]["sets"], lines[2]["coverage"][x]
        units, parents = sets.pop(self.rng.randrange(len(sets)))  # it beats all listed subsets: nothing stands in for it
        return (covered is None or len(parents) <= covered) and all(u < units - self.nat // 10000 for u, p in sets if set(p) <= set(parents))

    def family_score(self, lines):
        family = self.rng.choice(lines[3 + self.rng.randrange(self.n)]["sets"])
        family[0] += self.rng.choice([-1, 1]) * self.rng.randrange(self.nat // 10000, self.nat)
        return True

    def list_emptied(self, lines):
        lines[3 + self.rng.randrange(self.n)]["sets"] = []
        return True

    def coverage_widened(self, lines):
        numbers = [x for x, k in enumerate(lines[2]["coverage"]) if k is not None]
        for x in numbers:
            lines[2]["coverage"][x] = None
        return bool(numbers) and self.lacking(lines)

    def tolerance_enlarged(self, lines):
        lines[2]["tolerance_units"] *= 1000
        return self.unproven(lines)

    def multipliers(self, lines, kinds, change):
        chosen = [line for line in lines[3 + self.n:] if set(line) & kinds]
        if chosen:
            line = self.rng.choice(chosen)
            (kind, value), = line.items()
            line[kind] = change(value)
        return bool(chosen)

    def doubled(self, lines):
        return self.multipliers(lines, {"close"}, lambda cuts: [[k, m, 2 * u] for k, m, u in cuts]) and self.unproven(lines)

    def cleared(self, lines):
        return self.multipliers(lines, {"close"}, lambda cuts: []) and self.unproven(lines)

    def replaced(self, lines):
        def other(cuts):
            return [[k, self.rng.sample(range(self.n), len(m)), u] for k, m, u in cuts]
        return self.multipliers(lines, {"close", "fix"}, other) and self.unproven(lines)

    def all_cleared(self, lines):
        for line in lines[3 + self.n:]:
            line.update({kind: [] for kind in line if kind in ("fix", "close")})
        return self.unproven(lines)

    def negative(self, lines):
        return self.multipliers(lines, {"close", "fix"}, lambda cuts: cuts + [["c", [0, 1], -1 - self.rng.randrange(self.nat)]])

    def empty_cluster(self, lines):  # no variable of it can be without parents in it
        return self.multipliers(lines, {"close", "fix"}, lambda cuts: cuts + [["c", [], 10 * self.nat]])

    def fix_removed(self, lines):
        chosen = [i for i, line in enumerate(lines) if "fix" in line]
        if chosen:
            del lines[self.rng.choice(chosen)]
        return bool(chosen) and self.unproven(lines)

    def branch_removed(self, lines):  # a tree has one leaf more than branches
        chosen = [i for i, line in enumerate(lines) if "branch" in line]
        if chosen:
            del lines[self.rng.choice(chosen)]
        return bool(chosen)

    def leaf_removed(self, lines):
        del lines[self.rng.choice([i for i, line in enumerate(lines) if "close" in line or "empty" in line])]
        return True

    def called_empty(self, lines):
        chosen = [i for i, line in enumerate(lines) if "close" in line]
        if chosen:
            lines[self.rng.choice(chosen)] = {"empty": []}
        return bool(chosen) and self.unproven(lines)

    def constraint_dropped(self, lines):
        limits = lines[0]["constraints"]
        present = [key for key, value in limits.items() if value is not None and value != []]
        if not present:
            return False
        key = self.rng.choice(present)
        if key in ("required", "forbidden"):
            limits[key].pop(self.rng.randrange(len(limits[key])))
        else:
            limits[key] = None if key == "max_parents" else []
        return key == "required" or self.lacking(lines)  # without the required edge, a smaller set is needed and not listed

    def chosen(self):
        general = [self.network_score, self.network_edge, self.bound_tightened, self.rows_changed, self.states_changed, self.unit_changed]
        tree = [self.family_removed, self.family_score, self.list_emptied, self.coverage_widened, self.tolerance_enlarged, self.doubled,
                self.cleared, self.replaced, self.all_cleared, self.negative, self.empty_cluster, self.fix_removed, self.branch_removed,
                self.leaf_removed, self.called_empty, self.constraint_dropped]
        kinds = general + tree * self.tree
        self.rng.shuffle(kinds)
        for change in itertools.cycle(kinds):
            lines = copy.deepcopy(self.lines)
            if change(lines):
                yield change.__name__.replace("_", " "), seal(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("table")
    options.add_argument("certificate")
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    table, text = check_proof.read_table(options.table), pathlib.Path(options.certificate).read_bytes()
    rng, cache, rejected, accepted = random.Random(options.seed), {}, Counter(), []
    print("untampered:", check_proof.check(table, text, cache))
    tamper = Tamper(table, text, rng)
    check_proof.check(table, seal(tamper.lines), cache)  # written anew, unchanged, it still holds
    changes = tamper.chosen()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(options.count):
            kind, changed = next(changes) if i % 2 else damage(text, rng)
            if changed == text:  # for instance two equal lines swapped
                kind, changed = "line added", text + b"{}\n"
            path = pathlib.Path(folder, f"{i}.proof")
            path.write_bytes(changed)
            try:
                accepted.append(f"{kind}: {check_proof.check(table, path.read_bytes(), cache)}")
            except Exception:  # a rejection, or a certificate that cannot be read
                rejected[kind] += 1
    print(f"rejected {sum(rejected.values())} of {options.count}:", ", ".join(f"{kind} {k}" for kind, k in sorted(rejected.items())))
    for line in accepted:
        print("NOT REJECTED:", line)
    return 1 if accepted else 0


if __name__ == "__main__":
    sys.exit(main())
