#!/usr/bin/env python3
"""Tests check_proof on random tables of four variables against brute force over all parent sets and all networks: every score, with
and without constraints, parent limits and unseen states; the methods tree (certificates made here) and subsets."""
import copy, itertools, math, random
import numpy as np
import check_proof
from check_proof import Problem, Rejected, bits, propagate
from tamper import Tamper, seal

N, UNIT = 4, 2.0**39
NAMES = ["a", "b", "c", "d"]


def plain_score(name, ess, scale, columns, states, x, parents):
    """The score by its textbook formula, with dictionaries and lgamma."""
    cells, joint, r = {}, {}, states[x]
    for row in zip(*columns):
        key = tuple(row[p] for p in parents)
        cells[key] = cells.get(key, 0) + 1
        joint[key, row[x]] = joint.get((key, row[x]), 0) + 1
    q, rows = math.prod(states[p] for p in parents), len(columns[0])
    if name in ("bdeu", "k2"):
        a, b = (ess / q, ess / q / r) if name == "bdeu" else (float(r), 1.0)
        return sum(math.lgamma(a) - math.lgamma(a + c) for c in cells.values()) + \
            sum(math.lgamma(b + c) - math.lgamma(b) for c in joint.values())
    fit = sum(c * math.log(c / cells[key]) for (key, _), c in joint.items())
    return fit - scale * {"bic": math.log(rows) / 2, "aic": 1, "loglik": 0}[name] * q * (r - 1)


def tree_of(left, out):
    """Branches on an edge of a cycle until the best families of all variables form none."""
    left = propagate(left)
    if left is None:
        return out.append({"empty": []})
    best = [min(own) for own in left]
    if propagate([[f] for f in best]):
        return out.append({"close": []})
    edges = [(y, x) for x in range(N) for y in bits(best[x][1]) if any(not f[1] >> y & 1 for f in left[x])]
    y, x = random.choice(edges)
    out.append({"branch": [y, x]})
    for there in (1, 0):
        tree_of([[f for f in own if v != x or f[1] >> y & 1 == there] for v, own in enumerate(left)], out)


def refused(table, lines):
    try:
        check_proof.check(table, seal(lines), {})
    except Rejected:
        return True
    return False


def trial(seed):
    random.seed(seed)
    seen, rows = [random.choice([1, 2, 2, 2, 3, 3]) for _ in range(N)], random.choice([12, 60, 200])
    raw = [np.array([random.randrange(seen[0]) for _ in range(rows)])]
    for v in range(1, N):  # each copies the one before it, with noise
        raw.append(np.array([raw[-1][i] % seen[v] if random.random() < 0.7 else random.randrange(seen[v]) for i in range(rows)]))
    columns = [np.unique(c, return_inverse=True)[1].astype(np.int64) for c in raw]
    seen = [int(c.max()) + 1 for c in columns]
    states = [s + random.choice([0, 0, 0, 1]) for s in seen]
    free = [v for v in range(N) if seen[v] > 1]
    pairs = [(y, x) for y in free for x in free if y != x]
    random.shuffle(pairs)
    required, forbidden = ([], pairs[1:random.choice([1, 3])]) if random.random() < 0.5 else (pairs[:1], pairs[1:2])
    tiers = random.choice([[], [], [[0, 1], [2]], [[3], [0, 1]]])
    level = {v: i for i, group in enumerate(tiers) for v in group}
    required = [(y, x) for y, x in required if not (y in level and x in level and level[y] > level[x])]
    most = random.choice([None, None, 1, 2, 3])
    name, ess, scale = random.choice(["bic", "aic", "loglik", "bdeu", "k2"]), random.choice([0.5, 1.0, 10.0]), random.choice([0.0, 1.0, 2.0])
    coverage = [random.choice([None, None, 1, 2]) for _ in range(N)]
    score = lambda x, p: plain_score(name, ess, scale, columns, states, x, p)
    named = lambda edges: [[NAMES[y], NAMES[x]] for y, x in edges]
    head = {"format": 1, "rows": rows, "variables": [{"name": v, "states": s} for v, s in zip(NAMES, states)], "units_per_nat": UNIT,
            "score": {"name": name, "ess": ess, "penalty_scale": scale}, "constraints": {"required": named(required),
            "forbidden": named(forbidden), "tiers": [[NAMES[v] for v in group] for group in tiers], "max_parents": most}}
    table = NAMES, columns
    problem = Problem(table, head)

    def fine(x, p):
        return all(y in p for y, z in required if z == x) and len(p) <= (N if most is None else most) and all(
            (y, x) in pairs and (y, x) not in forbidden and not (y in level and x in level and level[y] > level[x]) for y in p)

    families, every = [], []
    for x in range(N):
        sets = [p for k in range(N) for p in itertools.combinations([y for y in range(N) if y != x], k) if fine(x, p)]
        covered = [p for p in sets if len(p) <= (N if coverage[x] is None else coverage[x])]
        found = problem.needed(x, N if coverage[x] is None else coverage[x])
        masks = {p: sum(1 << y for y in p) for p in sets}
        for p in sets:
            assert abs(problem.local(x, masks[p]) - score(x, p)) < 1e-9, (seed, x, p)
        for p in covered:  # every covered set has an equal or better one within it
            assert any(not m & ~masks[p] and s >= score(x, p) - 2e-8 for m, s in found), (seed, x, p)
        for m, s in found:  # and none is without need
            assert m in masks.values() and all(score(x, p) < s for p in covered if masks[p] != m and not masks[p] & ~m), (seed, x, m)
        families.append([(-round(s * UNIT), m) for m, s in found])
        every.append([(score(x, p), p, p in covered) for p in sets])
    best, top = -math.inf, None
    for network in itertools.product(*every):
        if propagate([[(0, sum(1 << y for y in p))] for _, p, _ in network]):
            total = sum(s for s, _, _ in network)
            best = max(best, total) if all(c for _, _, c in network) else best
            top = max(top or (total, network), (total, network))
    total, network = top  # the best of all allowed; best: the best of those covered
    lines = [head, {"network": [list(p) for _, p, _ in network], "units": round(total * UNIT)},
             {"bound_units": round((best + 1e-6) * UNIT), "tolerance_units": round(1e-6 * UNIT), "coverage": coverage, "method": "subsets"}]
    tree = []
    tree_of(families, tree)
    wood = [{"family": x, "sets": [[-c, bits(m)] for c, m in own]} for x, own in enumerate(families)] + tree
    tampered = []
    for method, more in (("subsets", []), ("tree", wood)):
        lines[2]["method"] = method
        said = check_proof.check(table, seal(lines + more), {})
        assert said.startswith("holds: proven") == (coverage == [None] * N), (seed, said)
        low = lines[:2] + [dict(lines[2], bound_units=round((best - 1e-4) * UNIT))] + more
        assert refused(table, low), (seed, method)
    for x in range(N):  # each listed family is needed
        for i in range(len(wood[x]["sets"])):
            less = dict(wood[x], sets=wood[x]["sets"][:i] + wood[x]["sets"][i + 1:])
            gain = min([families[x][j][0] - families[x][i][0] for j in range(len(families[x]))
                        if j != i and not families[x][j][1] & ~families[x][i][1]], default=UNIT)
            assert gain < 1e-6 * UNIT or refused(table, lines + wood[:x] + [less] + wood[x + 1:]), (seed, x, i)
    tamper = Tamper(table, seal(lines + wood), random)
    for change in (tamper.constraint_dropped, tamper.coverage_widened, tamper.called_empty, tamper.branch_removed):
        changed = copy.deepcopy(tamper.lines)
        if change(changed):
            assert refused(table, changed), (seed, change.__name__)
            tampered.append(change.__name__)
    return name, any("branch" in line for line in tree), bool(required), tampered


if __name__ == "__main__":
    done = [trial(seed) for seed in range(300)]
    print(f"{len(done)} tables agree with brute force;", ", ".join(f"{s} {sum(d[0] == s for d in done)}" for s in ("bic", "aic", "loglik", "bdeu", "k2")) +
          f"; {sum(d[1] for d in done)} trees with branches, {sum(d[2] for d in done)} with required edges; tampered and refused:",
          ", ".join(f"{kind} {sum(kind in d[3] for d in done)}" for kind in sorted({kind for d in done for kind in d[3]})))
