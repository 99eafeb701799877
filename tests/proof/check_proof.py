#!/usr/bin/env python3
"""Checks a certificate of optimality of RLBayes:  check_proof.py TABLE.csv[.gz] CERTIFICATE

Reads these two files only and shares no code with the program: it recounts every score from the table,
lists the parent sets anew with bounds of its own (proven beside the code), and replays the tree in whole
numbers. Prints one line; exit code 0: it holds, 1: rejected, 2: bad arguments. Needs Python 3 and numpy.
The table is read as it stands: no binning, no missing cells. Sets of variables are bit masks.
"""
import csv, gzip, hashlib, io, json, math, sys
import numpy as np

EPS = 1e-8     # nats: a parent set that beats all its subsets by no more than this may be left out
SAME = 1e-7    # nats: how far a stated score may lie from the recounted one (rounding to units)
BAYES = ("bdeu", "k2")


class Rejected(Exception):
    """The certificate does not hold; says why."""


def need(condition, why):
    if not condition:
        raise Rejected(why)


def is_int(value, low=-2**63, high=2**63):
    return type(value) is int and low <= value < high


def mask_of(members, n):
    """The mask of a list of different variable numbers."""
    need(type(members) is list and all(is_int(m, 0, n) for m in members), "a variable's number is wrong")
    need(len(set(members)) == len(members), "a variable is listed twice")
    return sum(1 << m for m in members)


def bits(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def read_table(path):
    """Returns names sorted bytewise and, in that order, columns of state numbers."""
    raw = open(path, "rb").read()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    need(rows and all(len(row) == len(header) for row in rows), "the table is empty or ragged")
    need(len(set(header)) == len(header), "two columns of the table share a name")
    need(not {"", "NA", "NaN", "?"}.intersection(*[set().union(*rows)]), "the table has missing cells")
    order = sorted(range(len(header)), key=lambda i: header[i].encode())
    columns = [np.unique([row[i] for row in rows], return_inverse=True)[1].astype(np.int64) for i in order]
    return [header[i] for i in order], columns


class Problem:
    """Table, score and constraints: what the first line of a certificate states."""

    def __init__(self, table, head):
        names, self.columns = table
        n, self.rows = len(names), len(self.columns[0])
        need(set(head) == {"format", "rows", "variables", "score", "units_per_nat", "constraints"}, "the header is malformed")
        need(is_int(head["format"]) and head["format"] == 1, "the format is unknown")
        need(is_int(head["rows"]) and head["rows"] == self.rows, "the table has another number of rows")
        need([v["name"] for v in head["variables"]] == names, "the table has other variables")
        self.n, self.states = n, [v["states"] for v in head["variables"]]
        seen = [int(column.max()) + 1 for column in self.columns]
        need(all(is_int(r, 1) and r >= s for r, s in zip(self.states, seen)), "the table has more states than stated")
        self.unit, score, limits = head["units_per_nat"], head["score"], head["constraints"]
        need(type(self.unit) in (int, float) and 0 < self.unit < 1e18, "units_per_nat is wrong")
        need(set(score) == {"name", "ess", "penalty_scale"}, "the score is malformed")
        self.name, self.ess, scale = score["name"], score["ess"], score["penalty_scale"]
        need(self.name in ("bic", "aic", "loglik") + BAYES, "the score is unknown")
        need(all(type(v) in (int, float) and 0 <= v < 1e9 for v in (self.ess, scale)), "the score is malformed")
        need(self.name != "bdeu" or self.ess > 0, "ess must be positive")
        self.weight = scale * {"bic": math.log(self.rows) / 2, "aic": 1.0}.get(self.name, 0.0)  # nats a parameter
        self.tables = {}
        # Constraints. An allowed parent set of x contains required[x] and lies within possible[x].
        need(set(limits) == {"required", "forbidden", "tiers", "max_parents"}, "the constraints are malformed")
        at = {name: i for i, name in enumerate(names)}
        edges = {key: [(at[a], at[b]) for a, b in limits[key]] for key in ("required", "forbidden")}
        tier = {}
        for level, group in enumerate(limits["tiers"]):
            for name in group:
                need(tier.setdefault(at[name], level) == level, "a variable is in two tiers")
        need(limits["max_parents"] is None or is_int(limits["max_parents"], 0), "max_parents is wrong")
        self.most = n if limits["max_parents"] is None else limits["max_parents"]
        self.constrained = any(limits[key] for key in ("required", "forbidden", "tiers")) or self.most < n
        lone = {x for x in range(n) if seen[x] == 1}  # columns that hold one value have no edges
        self.required = [sum({1 << a for a, b in edges["required"] if b == x}) for x in range(n)]
        self.possible = [sum(1 << y for y in range(n) if y != x and not {x, y} & lone and (y, x) not in edges["forbidden"]
                             and not (x in tier and y in tier and tier[y] > tier[x])) for x in range(n)]
        self.key = json.dumps([head["variables"], score, limits])

    def allowed(self, x, parents):
        return not (parents & ~self.possible[x] or self.required[x] & ~parents or parents.bit_count() > self.most)

    def product(self, variables):
        return math.prod((float(self.states[v]) for v in variables), start=1.0)

    def penalty(self, x, q):
        return self.weight * (self.states[x] - 1) * q if self.weight else 0.0

    def term(self, a):
        """For counts c = 0..rows: c ln c where a is None, else ln (a (a + 1) ... (a + c - 1))."""
        if a not in self.tables:
            i = np.arange(self.rows + 1, dtype=float)
            logs = np.log(np.maximum(i, 1)) if a is None else np.log(a + i[:-1])
            self.tables[a] = i * logs if a is None else np.append(0.0, np.cumsum(logs, dtype=np.longdouble)).astype(float)
        return self.tables[a]

    def terms(self, x, q):
        """Every score is: sum over cells (parents, x) of the first table of their counts, minus sum over
        cells (parents) of the second, minus the penalty. q: number of parent configurations."""
        if self.name == "bdeu":
            return self.term(self.ess / q / self.states[x]), self.term(self.ess / q)
        return (self.term(1.0), self.term(float(self.states[x]))) if self.name == "k2" else (self.term(None),) * 2

    def cells(self, variables):
        """Gives each row the number of its configuration; at most as many numbers as rows."""
        code = np.zeros(self.rows, np.int64)
        for v in variables:
            code = np.unique(code * self.states[v] + self.columns[v], return_inverse=True)[1]
        return code

    def local(self, x, parents, fit_only=False):
        """The score of x with these parents, in nats."""
        cell, q = self.cells(bits(parents)), self.product(bits(parents))
        joint, alone = self.terms(x, q)
        fit = joint[np.bincount(cell * self.states[x] + self.columns[x])].sum() - alone[np.bincount(cell)].sum()
        return float(fit if fit_only else fit - self.penalty(x, q))

    def same(self, units, nats):
        return is_int(units) and abs(units / self.unit - nats) <= SAME

    # Which parent sets matter ------------------------------------------------------------------------
    #
    # needed() returns sets such that every allowed set of at most `most` parents contains one of them (or
    # is one) that scores as well, up to EPS. A set T is closed, with all its supersets, by these laws:
    #
    # 1. Limit. If no superset V of T fits better than u(T), then score(V) <= u(T) - penalty(V), so V is
    #    useless once penalty(V) >= u(T) - best(T), where best(T) is the best needed set within T.
    #    - Likelihood: u = its value given all candidates, as more parents never lower the likelihood.
    #    - BDeu: u = -ln r for each non-empty cell (configuration, state of x). Read the rows one by one: the
    #      first of a cell has predictive probability (a/r) / (a + rows so far in its configuration) <= 1/r,
    #      all others at most 1; and in a superset every cell stays or splits, so cells grow no fewer.
    #    - K2: a row with o earlier rows in its cell and t >= o in its configuration has predictive
    #      probability (1 + o) / (r + t) <= (1 + o) / (r + o). This grows with o, and in a superset o is no
    #      larger. So u = sum over cells of ln of the product of (1 + o) / (r + o), o = 0 .. count - 1.
    # 2. Gain (likelihood only). N times the information between x and y given V is, in each cell of V, at
    #    most the smaller of N H(x | cell) and N H(y | cell). Splitting a cell lowers the sum of each
    #    of the two (conditioning lowers entropy), and a sum of smaller ones is at most the smaller sum. So
    #    g(S, y), the total over the cells of S, bounds the gain of y over every superset V of S. The penalty
    #    of y there is penalty(V + y) (1 - 1/r_y): where that is at least g, V + y is no better than V, an
    #    allowed smaller set, for which there is a needed set by induction on size.
    #
    # Both say: "useless if penalty(V) >= limit(T)", and a limit holds for all supersets of T. So one number
    # a set is kept; a set takes the least limit of its subsets. Sets are visited in the order of their
    # masks, so that all subsets come before: a set is a prefix S, plus one y lower than all in S.
    # For the likelihood, cells in which x has one value add 0 for ever: their rows are dropped.

    def needed(self, x, most):
        base, r_x = self.required[x], self.states[x]
        free = bits(self.possible[x] & ~base)
        most = min(most, self.most) - base.bit_count()
        need(self.allowed(x, base) and most >= 0, "no parent set is both covered and allowed")
        bayes = self.name in BAYES
        data = np.array([self.columns[y] for y in free], np.int64).reshape(len(free), self.rows)
        arity = np.array([self.states[y] for y in free], np.int64)
        keep = 1 - 1 / np.maximum(arity, 2)  # the share of the penalty that y causes
        top = None if bayes else self.local(x, base | self.possible[x], fit_only=True)
        pure = self.term(1.0) - self.term(float(r_x)) if self.name == "k2" else np.full(self.rows + 1, -math.log(r_x))
        pure[0] = 0.0
        xlnx = self.term(None)
        first = self.local(x, base)
        found = [(base, first)]
        limit = pure[np.bincount(self.cells(bits(base)) * r_x + self.columns[x])].sum() if bayes else top
        known = {0: (first, limit - first)}  # open set -> best needed set within it, limit

        def evaluate(ys, data, cell, value, cells, q):
            """For each y: fit of prefix + y, its limit u, and g (or None)."""
            sizes = arity[ys]
            starts = np.cumsum(sizes) - sizes
            codes = (data[ys] + starts[:, None]) * (cells * r_x) + (cell * r_x + value)
            counts = np.bincount(codes.ravel(), minlength=int(sizes.sum()) * cells * r_x).reshape(-1, cells, r_x)
            sums = counts.sum(axis=2)
            if bayes:  # the tables depend on the number of configurations, so on the arity of y
                fit = np.empty(len(sums))
                for r in set(sizes.tolist()):
                    own = np.repeat(sizes, sizes) == r
                    joint, alone = self.terms(x, q * r)
                    fit[own] = joint[counts[own]].sum(axis=(1, 2)) - alone[sums[own]].sum(axis=1)
                return np.add.reduceat(fit, starts), np.add.reduceat(pure[counts].sum(axis=(1, 2)), starts), None
            parts = xlnx.take(sums)
            fit = np.add.reduceat(xlnx.take(counts).sum(axis=(1, 2)) - parts.sum(axis=1), starts)
            here = counts[:sizes[0]].sum(axis=0)  # cell by value of x, from any y
            total = xlnx.take(here.sum(axis=1))
            spread_y = total - np.add.reduceat(parts, starts, axis=0)
            return fit, top, np.minimum(total - xlnx.take(here).sum(axis=1), spread_y).sum(axis=1)

        def visit(prefix, size, tail, data, cell, value, q):
            """Scores prefix + y for each y of the tail that is not closed, then goes below."""
            # number the cells anew, without rows that no longer matter
            counts = np.bincount(cell * r_x + value, minlength=(int(cell.max(initial=-1)) + 1) * r_x).reshape(-1, r_x)
            alive = (counts > 0).sum(axis=1) > (0 if bayes else 1)
            rows = np.flatnonzero(alive[cell])
            if not len(rows):
                return
            data, value, cell = data[:, rows], value[rows], (np.cumsum(alive) - 1)[cell[rows]]
            smaller = [prefix ^ 1 << z for z in bits(prefix)]
            ys, bests, limits = [], [], []
            for y in tail:
                best, limit = known[prefix]
                for mask in smaller:
                    entry = known.get(mask | 1 << y)
                    if entry is None:
                        break
                    best, limit = max(best, entry[0]), min(limit, entry[1])
                else:
                    if self.penalty(x, q * self.states[free[y]]) < limit - EPS:
                        ys.append(y), bests.append(best), limits.append(limit)
            if not ys:
                return
            fit, upper, gain = evaluate(np.array(ys), data, cell, value, int(alive.sum()), q)
            upper = np.broadcast_to(upper, fit.shape)
            below = []
            for i, y in enumerate(ys):
                score = float(fit[i]) - self.penalty(x, q * self.states[free[y]])
                mask, best, limit = prefix | 1 << y, bests[i], limits[i]
                if score > best + EPS:
                    best = score
                    found.append((base | sum(1 << free[z] for z in bits(mask)), score))
                limit = min(limit, float(upper[i]) - best)
                if gain is not None:
                    limit = min(limit, float(gain[i] / keep[y]) + 2 * EPS)
                if self.penalty(x, q * self.states[free[y]] * 2) < limit - EPS:  # room for one more parent
                    known[mask] = best, limit
                    below.append(y)
            if size + 1 < most:
                for i in range(1, len(below)):
                    y = below[i]
                    visit(prefix | 1 << y, size + 1, below[:i], data, cell * self.states[free[y]] + data[y], value, q * self.states[free[y]])

        if most > 0:
            visit(0, 0, range(len(free)), data, self.cells(bits(base)), self.columns[x], self.product(bits(base)))
        return found
