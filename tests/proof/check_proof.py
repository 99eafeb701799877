#!/usr/bin/env python3
"""Checks a certificate of optimality of RLBayes:  check_proof.py TABLE.csv[.gz] CERTIFICATE

Reads these two files only, shares no code with the program: recounts every score, lists the parent sets anew with bounds of its
own (proven below), replays the tree in whole numbers. Exit code 0: it holds, 1: rejected, 2: bad arguments. The table is taken
as it stands: no binning, no missing cells. Needs Python 3.10 and numpy. Sets of variables are bit masks; costs are -score.
"""
import csv, functools, gzip, hashlib, io, json, math, sys
import numpy as np

EPS = 1e-8   # nats: a parent set that beats its subsets by no more than this may be left out
SAME = 1e-7  # nats: how far a stated score may lie from the recounted one (the program rounds each term to units)

class Rejected(Exception):
    """The certificate does not hold; says why."""

def need(condition, why):
    if not condition:
        raise Rejected(why)
def is_int(value, low=-2**63, high=2**63):
    return type(value) is int and low <= value < high
def mask_of(members, n):
    need(all(is_int(m, 0, n) for m in members) and len(set(members)) == len(members), "a variable's number is wrong or given twice")
    return sum(1 << m for m in members)
def bits(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]

def read_table(path):
    """Returns the names, sorted bytewise, and in that order the columns as state numbers."""
    text = (gzip.open if path.endswith(".gz") else open)(path, "rb").read().decode("utf-8-sig")
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    need(rows and {len(row) for row in rows} == {len(set(header))}, "the table is empty or ragged, or two columns share a name")
    need({"", "NA", "NaN", "?"}.isdisjoint(set().union(*rows)), "the table has missing cells")
    order = sorted(range(len(header)), key=lambda i: header[i].encode())
    return [header[i] for i in order], [np.unique([row[i] for row in rows], return_inverse=True)[1].astype(np.int64) for i in order]

class Problem:
    """Table, score and constraints: what the first line of a certificate states."""
    def __init__(self, table, head):
        names, self.columns = table
        n, self.rows, variables = len(names), len(self.columns[0]), head["variables"]
        need(len(head) == 6 and head["format"] == 1, "the format is unknown")
        need(head["rows"] == self.rows and [v["name"] for v in variables] == names, "the table has other rows or variables")
        self.n, self.states, seen = n, [v["states"] for v in variables], [int(column.max()) + 1 for column in self.columns]
        need(all(is_int(r, s, 1 << 20) for r, s in zip(self.states, seen)), "the table has other states")
        self.unit, score, limits = head["units_per_nat"], head["score"], head["constraints"]
        self.name, self.ess, scale = score["name"], score["ess"], score["penalty_scale"]
        need(self.name in ("bic", "aic", "loglik", "bdeu", "k2") and len(score) == 3, "the score is unknown")
        need(0 < self.unit < 1e18 and 0 < self.ess < 1e9 and 0 <= scale < 1e9, "units_per_nat, ess or penalty_scale is wrong")
        self.bayes, self.terms_of = self.name in ("bdeu", "k2"), {}
        self.weight = scale * {"bic": math.log(self.rows) / 2, "aic": 1.0}.get(self.name, 0.0)  # nats for each parameter
        # Constraints: an allowed parent set of x contains required[x], lies within possible[x] and has at most `most` members.
        at, tier, most = {name: i for i, name in enumerate(names)}, {}, limits["max_parents"]
        need(len(limits) == 4 and (most is None or is_int(most, 0)), "the constraints are malformed")
        required, forbidden = [{(at[a], at[b]) for a, b in limits[key]} for key in ("required", "forbidden")]
        for level, name in [(level, name) for level, group in enumerate(limits["tiers"]) for name in group]:
            need(tier.setdefault(at[name], level) == level, "a variable is in two tiers")
        self.constrained, self.most = bool(required or forbidden or tier or most is not None), n if most is None else most
        free = [x for x in range(n) if seen[x] > 1]  # columns that hold one value only have no edges
        self.required = [sum(1 << a for a, b in required if b == x) for x in range(n)]
        self.possible = [sum(1 << y for y in free if x in free and y != x and (y, x) not in forbidden
                             and not (x in tier and y in tier and tier[y] > tier[x])) for x in range(n)]
        self.key = json.dumps([variables, score, limits])

    def allowed(self, x, parents):
        return not (parents & ~self.possible[x] or self.required[x] & ~parents or parents.bit_count() > self.most)
    def configurations(self, parents):
        return math.prod([1.0] + [self.states[y] for y in bits(parents)])
    def penalty(self, x, q):
        return self.weight * (self.states[x] - 1) * q if self.weight else 0.0
    def term(self, a):
        """For the counts c = 0 .. rows: ln (a (a + 1) ... (a + c - 1)), or c ln c if a is None."""
        if a not in self.terms_of:
            i = np.arange(self.rows + 1, dtype=float)
            self.terms_of[a] = i * np.log(np.maximum(i, 1)) if a is None else \
                np.append(0.0, np.cumsum(np.log(a + i[:-1]), dtype=np.longdouble)).astype(float)
        return self.terms_of[a]
    def terms(self, x, q):
        """Every score is the sum of the first table over the counts of (configuration, state of x), minus that of the second
        over the counts of configurations, minus the penalty. q: the number of parent configurations."""
        if self.name == "bdeu":
            return self.term(self.ess / (q * self.states[x])), self.term(self.ess / q)
        return (self.term(1.0), self.term(float(self.states[x]))) if self.name == "k2" else (self.term(None), self.term(None))
    def cells(self, parents):
        """Gives each row the number of its parent configuration, among those that occur."""
        code = np.zeros(self.rows, np.int64)
        for y in bits(parents):
            code = np.unique(code * self.states[y] + self.columns[y], return_inverse=True)[1]
        return code
    def local(self, x, parents, penalised=True):
        """The score of x with these parents, in nats."""
        cell, q = self.cells(parents), self.configurations(parents)
        joint, alone = self.terms(x, q)
        fit = joint[np.bincount(cell * self.states[x] + self.columns[x])].sum() - alone[np.bincount(cell)].sum()
        return float(fit) - (self.penalty(x, q) if penalised else 0.0)
    def same(self, units, *families):
        return is_int(units) and abs(units / self.unit - sum(self.local(*family) for family in families)) <= SAME

    # Which parent sets matter: needed() returns sets such that every allowed set of at most `most` parents has a subset among
    # them (or is one of them) that scores as well, up to EPS. A set is closed, with all above it, by two laws:
    # 1. Limit. If no superset V of T fits better than u(T), then score(V) <= u(T) - penalty(V), so V is useless once
    #    penalty(V) >= u(T) - best(T), where best(T) is the best needed set within T.
    #    - Likelihood: u is its value given all candidates, as more parents never lower it.
    #    - BDeu: u is -ln r for each cell (configuration, state of x) that occurs. Read the rows one by one: the first row of a
    #      cell has predictive probability (a / r) / (a + rows before it in its configuration) <= 1 / r, any other at most 1.
    #      In a superset cells only split, so there are no fewer.
    #    - K2: a row with o rows before it in its cell and t >= o in its configuration has predictive probability
    #      (1 + o) / (r + t) <= (1 + o) / (r + o), which grows with o; and in a superset o is no larger. So u is the sum over
    #      cells of ln of the product of (1 + o) / (r + o) for o = 0 .. count - 1.
    # 2. Gain, for the likelihood. Adding y to V raises it by N times the information between x and y given V: in each cell of
    #    V at most min(N H(x), N H(y)) there. Splitting a cell lowers the sums of N H(x) and of N H(y), and a sum of minima is at
    #    most the minimum of sums. So g(S, y), the total over the cells of S, bounds the gain of y over every V that contains S.
    #    Of penalty(V + y), y causes the share 1 - 1 / r_y. Where that is at least g, V + y is no better than V, a smaller
    #    allowed set, for which there is a needed one by induction.
    # Both read "V is useless if penalty(V) >= limit(T)" for all supersets V of T, so one number for each open set is kept, and a
    # set takes over the least limit of its subsets. Sets are visited in the order of their masks, so all subsets before; each is
    # a prefix and a y below all of it. For the likelihood, cells where x has one value add 0 for ever: their rows are dropped.
    def needed(self, x, most):
        base, r_x, free = self.required[x], self.states[x], bits(self.possible[x] & ~self.required[x])
        most = min(most, self.most) - base.bit_count()
        need(self.allowed(x, base) and most >= 0, "no parent set is both covered and allowed")
        columns, arity = (np.array(every, np.int64)[np.array(free, int)] for every in (self.columns, self.states))
        best_fit = self.local(x, base | self.possible[x], penalised=False)  # the likelihood given all candidates
        pure = self.term(1.0) - self.term(float(r_x)) if self.name == "k2" else np.append(0.0, np.full(self.rows, -math.log(r_x)))
        xlnx, first, start = self.term(None), self.local(x, base), self.cells(base)
        top = pure[np.bincount(start * r_x + self.columns[x])].sum() if self.bayes else best_fit
        found, known = [(base, first)], {0: (first, top - first)}  # open set -> score of the best needed set within, limit
        def evaluate(ys, data, cell, value, cells, q):
            """For each y: the fit of prefix + y, the limits u, and g / share (no limit for Bayesian scores)."""
            sizes, at = arity[ys], np.cumsum(arity[ys]) - arity[ys]  # one layer for each state of each y; those of a y begin here
            codes = (data[ys] + at[:, None]) * (cells * r_x) + (cell * r_x + value)
            counts = np.bincount(codes.ravel(), minlength=int(sizes.sum()) * cells * r_x).reshape(-1, cells, r_x)
            sums, per_y = counts.sum(axis=2), np.add.reduceat  # per_y adds up the layers of each y
            if self.bayes:  # the tables depend on the number of configurations, hence on the arity of y
                fit, layers = np.empty(len(sums)), np.repeat(sizes, sizes)
                for r in set(sizes.tolist()):
                    joint, alone = self.terms(x, q * r)
                    fit[layers == r] = joint[counts[layers == r]].sum(axis=(1, 2)) - alone[sums[layers == r]].sum(axis=1)
                return per_y(fit, at), per_y(pure[counts].sum(axis=(1, 2)), at), [math.inf] * len(ys)
            parts, here = xlnx.take(sums), counts[:sizes[0]].sum(axis=0)  # here: cell by state of x, from any y
            fit, whole = per_y(xlnx.take(counts).sum(axis=(1, 2)) - parts.sum(axis=1), at), xlnx.take(here.sum(axis=1))
            spread_x, spread_y = whole - xlnx.take(here).sum(axis=1), whole - per_y(parts, at, axis=0)  # N H in each cell
            return fit, [best_fit] * len(ys), np.minimum(spread_x, spread_y).sum(axis=1) / (1 - 1 / sizes)
        def visit(prefix, tail, data, cell, value, q):
            """Scores prefix + y for each y of the tail that is not closed, then goes below."""
            counts = np.bincount(cell * r_x + value, minlength=(int(cell.max(initial=0)) + 1) * r_x).reshape(-1, r_x)
            alive = (counts > 0).sum(axis=1) > (0 if self.bayes else 1)  # drop rows that add 0 and number the cells anew
            rows = np.flatnonzero(alive[cell])
            data, value, cell = data[:, rows], value[rows], (np.cumsum(alive) - 1)[cell[rows]]
            smaller, todo, below = [prefix ^ 1 << z for z in bits(prefix)], [], []  # below: the open ones
            for y in tail if len(rows) else ():
                below_it = [known[prefix]] + [known.get(mask | 1 << y) for mask in smaller]
                if None not in below_it:  # all subsets are open
                    best, limit = max(b for b, _ in below_it), min(l for _, l in below_it)
                    if self.penalty(x, q * self.states[free[y]]) < limit - EPS:
                        todo.append((y, best, limit))
            results = zip(*evaluate(np.array([y for y, _, _ in todo]), data, cell, value, int(alive.sum()), q)) if todo else ()
            for (y, best, limit), (fit, upper, gain) in zip(todo, results):
                mask, q_y = prefix | 1 << y, q * self.states[free[y]]
                score = float(fit) - self.penalty(x, q_y)
                if score > best + EPS:
                    found.append((base | sum(1 << free[z] for z in bits(mask)), best := score))
                limit = min(limit, float(upper) - best, float(gain) + 2 * EPS)  # 2 EPS: where g decides, leave room for rounding
                if self.penalty(x, q_y * 2) < limit - EPS:  # there is room for one more parent
                    known[mask] = best, limit
                    below.append(y)
            for i, y in enumerate(below if prefix.bit_count() + 1 < most else ()):
                visit(prefix | 1 << y, below[:i], data, cell * arity[y] + data[y], value, q * self.states[free[y]])
        visit(0, range(len(free) if most else 0), columns, start, self.columns[x], self.configurations(base))
        return found

    def best_of_all(self, most):
        """The score of the best network covered, from all parent sets and all subsets of variables; no bounds are needed."""
        need(self.n <= 20, "too many variables for the method subsets")
        masks, q = np.arange(1 << self.n), np.ones(1 << self.n)
        rows, weights = np.unique(np.array(self.columns), axis=1, return_counts=True)
        # A family's score is joint[parents + x] - alone[parents] - penalty, as ess / (q r_x) is ess / (q of parents + x).
        joint, alone = np.empty(len(q)), {r: np.empty(len(q)) for r in set(self.states)}
        def count(mask, cell, lowest):  # visits all sets of variables, adding the highest first
            counts = np.bincount(cell, weights).astype(np.int64)
            joint[mask] = self.term(self.ess / q[mask] if self.name == "bdeu" else 1.0 if self.name == "k2" else None)[counts].sum()
            for r in alone:
                alone[r][mask] = self.term(float(r))[counts].sum() if self.name == "k2" else joint[mask]
            for y in range(lowest):
                code = cell * self.states[y] + rows[y]
                q[mask | 1 << y] = q[mask] * self.states[y]
                count(mask | 1 << y, (np.cumsum(np.bincount(code) > 0) - 1)[code], y)  # numbered anew, without gaps
        count(0, np.zeros(len(weights), np.int64), self.n)
        sizes, families = sum(masks >> i & 1 for i in range(self.n)), []
        for x, (must, may, r) in enumerate(zip(self.required, self.possible, self.states)):
            good = (masks & ~may == 0) & (masks & must == must) & (sizes <= min(self.most, most[x]))
            score = np.where(good, joint[masks | 1 << x] - alone[r] - self.weight * (r - 1) * q, -np.inf)
            for i in range(self.n):  # from "parents are W" to "parents are within W"
                pairs = score.reshape(-1, 2, 1 << i)
                np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
            families.append(score)
        best = np.where(masks == 0, 0.0, -np.inf)  # best[W]: the best network of the variables W; some x of W comes last in it
        for level in range(1, self.n + 1):
            for x in range(self.n):
                own = masks[(sizes == level) & (masks >> x & 1 == 1)]
                best[own] = np.maximum(best[own], best[own ^ 1 << x] + families[x][own ^ 1 << x])
        return float(best[-1])

def propagate(left):
    """Removes families that close a cycle with forced edges, those in all families of a variable; None if a variable has none."""
    while left and all(left):
        below = [0] * len(left)  # where forced edges lead to
        for x, own in enumerate(left):
            for y in bits(functools.reduce(lambda both, f: both & f[1], own, (1 << len(left)) - 1)):
                below[y] |= 1 << x
        for k in range(len(left)):  # also by several edges
            below = [reach | below[k] if reach >> k & 1 else reach for reach in below]
        kept = [[f for f in own if not f[1] & below[x]] for x, own in enumerate(left)]
        if kept == left:
            return left
        left = kept

def bound(left, multipliers, n):
    """The least cost that the multipliers show for networks of the families left, and how much each family adds to it.
    Cluster: some variable of it has no parent in it, else there were a cycle inside. Packing: at most one variable of it has all
    others as parents, since of two such each were a parent of the other. So for multipliers >= 0 no network costs less."""
    need(all(kind in ("c", "p") and members and is_int(units, 0) for kind, members, units in multipliers), "a multiplier is wrong")
    cuts = [(kind == "c", mask_of(members, n), units) for kind, members, units in multipliers]
    total, added = sum(units if cluster else -units for cluster, _, units in cuts), []
    for x, own in enumerate(left or ()):
        mine = [(cluster, mask & ~(1 << x), units) for cluster, mask, units in cuts if mask >> x & 1]
        costs = [cost - sum(u for cluster, others, u in mine if cluster and not parents & others)
                 + sum(u for cluster, others, u in mine if not cluster and not others & ~parents) for cost, parents in own]
        total += min(costs)
        added.append([cost - min(costs) for cost in costs])
    return total, added

def replay(lines, families, cost, tolerance):
    """Walks the tree; returns the highest score, in units, that it leaves possible."""
    n, waiting, highest, lines = len(families), [families], -2**80, iter(lines)
    while waiting:
        left = propagate(waiting.pop())  # None: no network is left here
        kind = "fix"
        while kind == "fix":
            (kind, value), = next(lines).items()
            least, added = bound(left, value, n) if kind in ("fix", "close") else (0, 0)
            if kind == "fix" and left:  # drop families whose networks cost at least cost - tolerance
                kept = [[f for f, more in zip(*pair) if least + more < cost - tolerance] for pair in zip(left, added)]
                highest = highest if kept == left else max(highest, tolerance - cost)
                left = propagate(kept)
        if kind == "branch":
            source, to = value if mask_of(value, n) else ()
            for wanted in (0, 1):  # the last one, with the edge, comes first
                waiting.append(left and [[f for f in own if x != to or f[1] >> source & 1 == wanted] for x, own in enumerate(left)])
        else:
            need(kind == "close" or kind == "empty" and left is None, "a node called empty is not, or the tree is malformed")
            highest = max(highest, -least) if left else highest
    need(next(lines, None) is None, "something follows the tree")
    return highest

def check(table, text, cache):
    """Returns the line to print; any exception is a rejection. text: bytes. cache: a dict to keep as long as the table is the same."""
    body, last = text[:-78], text[-78:]
    need(last == b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode(), "the sha256 does not fit: the file was changed")
    head, found, claim, *rest = [json.loads(line) for line in body.decode().rstrip("\n").split("\n")]
    problem, n, units = Problem(table, head), len(table[0]), found["units"]
    network = [mask_of(parents, n) for parents in found["network"]]
    need(len(network) == n and all(problem.allowed(*family) for family in enumerate(network)), "the network breaks a constraint")
    need(propagate([[(0, parents)] for parents in network]), "the network has a cycle")
    need(problem.same(units, *enumerate(network)), "the network's score is wrong")
    claimed, tolerance, coverage = claim["bound_units"], claim["tolerance_units"], claim["coverage"]
    need(len(coverage) == n and all(k is None or is_int(k, 0) for k in coverage), "the coverage is malformed")
    need(len(claim) == 4 and len(found) == 2 and is_int(claimed) and is_int(tolerance, 0), "the claim is malformed")
    most = [n if k is None else k for k in coverage]
    if claim["method"] == "subsets":
        need(not rest and problem.best_of_all(most) <= claimed / problem.unit + SAME, "a network scores higher than the bound")
    else:
        need(claim["method"] == "tree" and len(rest) > n, "the method is unknown or the lists are cut short")
        need(all(len(line) == 2 and line["family"] == x for x, line in enumerate(rest[:n])), "the lists are in disorder")
        families = [[(-score, mask_of(parents, n)) for score, parents in line["sets"]] for line in rest[:n]]
        for x, own in enumerate(families):
            need(all(problem.allowed(x, parents) for _, parents in own), "a listed family breaks a constraint")
            need(all(problem.same(-cost, (x, parents)) for cost, parents in own), "a family's score is wrong")
        need(replay(rest[n:], families, -units, tolerance) <= claimed, "the tree does not show the bound")
        for x, own in enumerate(families):  # last, as it takes longest: is no parent set missing?
            key, listed = (problem.key, x, most[x]), {parents for _, parents in own}
            cache[key] = cache.get(key) or problem.needed(x, most[x])
            for wanted, score in cache[key]:
                need(wanted in listed or any(not parents & ~wanted and -cost / problem.unit >= score - SAME for cost, parents in own),
                     f"variable {x} lacks the parent set {bits(wanted)}")
    whole, score, up_to = coverage == [None] * n, units / problem.unit, most[0] if len(set(most)) == 1 else most
    covers = ("all networks" if whole else f"networks with at most {up_to} parents") + ", within the constraints" * problem.constrained
    if whole and claimed <= units + tolerance and tolerance / problem.unit <= 1.1e-6:
        return f"holds: proven, no network scores higher than {score:.6f} ({covers})"
    more = max(0, claimed - units) / problem.unit
    return f"holds: no network covered scores more than {more:.6f} nats higher than {score:.6f} (covers {covers})"

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(print(__doc__.split("\n")[0], file=sys.stderr) or 2)
    try:
        print(check(read_table(sys.argv[1]), open(sys.argv[2], "rb").read(), {}))
    except Exception as error:  # what cannot be read or computed does not hold either
        sys.exit(print(f"REJECTED: {error if isinstance(error, Rejected) else f'cannot be read ({error!r})'}") or 1)
