#!/usr/bin/env python3
"""Checks that pgmpy and pyAgrum read the same networks from our files as we do.

    read_with_peers.py FOLDER

FOLDER holds a folder for each network, with any of these files:

    reference.bif    the network as someone else wrote it, which pgmpy can read (optional)
    ours.json        what we read: nodes, edges, states, probabilities (optional)
    ours.bif         written by us
    portable.bif     written by us with portable names, the default
    ours.bifxml      written by us

At least one of the first two has to be there; if both are, they are compared, too. Tables are
compared by the names of variables and states:

    pgmpy      ours.bif, portable.bif and ours.bifxml, each within 1e-9
    pyAgrum    ours.bifxml within 1e-9; portable.bif within 1e-6, since its BIF reader has 32 bits

Names of portable.bif are mapped back with the comments in the file. A variable with one state is
no variable to pyAgrum, so such networks are shown to pgmpy only. Every file that differs or can't
be read is reported with the node, and the exit code is 1.

Install what is needed with `pip install -r requirements.txt`.
"""

import itertools
import json
import logging
import os
import re
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
os.environ.setdefault("TQDM_DISABLE", "1")

import pyagrum as gum  # noqa: E402
from pgmpy.readwrite import BIFReader, XMLBIFReader  # noqa: E402

# A network is {node: (parents in order of names, {(state, *states of the parents): probability})}.


def table(node, parents, states, value):
    """Makes a node's entry; value(state number, numbers of the parents' states) is a probability."""
    order = sorted(range(len(parents)), key=lambda at: parents[at])
    entries = {}
    for given in itertools.product(*(range(len(states[parent])) for parent in parents)):
        names = [states[parents[at]][given[at]] for at in order]
        for at, state in enumerate(states[node]):
            entries[(state, *names)] = float(value(at, given))
    return tuple(parents[at] for at in order), entries


def from_json(path):
    """Reads our own JSON: parents in bytewise order, the last running fastest."""
    data = json.loads(path.read_text(encoding="utf-8"))
    states = data["states"]
    network = {}
    for node in data["nodes"]:
        parents = sorted((a for a, b in data["edges"] if b == node), key=lambda n: n.encode())

        def value(state, given, node=node, parents=parents):
            row = 0
            for parent, at in zip(parents, given):
                row = row * len(states[parent]) + at
            return data["probabilities"][node][row][state]

        network[node] = table(node, parents, states, value)
    return network


def from_pgmpy(reader):
    """Takes what a reader of pgmpy found."""
    model = reader.get_model()
    model.check_model()
    network = {}
    for cpd in model.get_cpds():
        node, *parents = cpd.variables
        values = cpd.values
        network[node] = table(
            node, parents, cpd.state_names, lambda state, given: values[(state, *given)]
        )
    missing = set(model.nodes()) - set(network)
    if missing:
        raise ValueError(f"nodes without a table: {sorted(missing)}")
    return network


def from_pyagrum(path):
    """Takes what pyAgrum reads."""
    bn = gum.loadBN(str(path))
    states = {name: list(bn.variableFromName(name).labels()) for name in bn.names()}
    network = {}
    for node in bn.names():
        cpt = bn.cpt(node)
        names = list(cpt.names)
        parents = names[1:]
        # The array's axes run the other way: the node is the last one.
        values = cpt.toarray()
        network[node] = table(
            node, parents, states, lambda state, given: values[(*reversed(given), state)]
        )
    return network


NOTE = re.compile(r"^// rlbayes:(variable|state) (\S+) (?:(\S+) )?(\".*\")$")


def originals(path):
    """Returns the original names that the comments of a portable BIF hold."""
    variables, states = {}, {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if match := NOTE.match(line):
            kind, variable, state, original = match.groups()
            if kind == "variable":
                variables[variable] = json.loads(original)
            else:
                states[variable, state] = json.loads(original)
    return variables, states


def restored(network, names):
    """Gives a portable network its original names."""
    variables, states = names
    result = {}
    for node, (parents, entries) in network.items():
        family = (node, *parents)
        order = sorted(range(len(parents)), key=lambda at: variables.get(parents[at], parents[at]))
        renamed = {}
        for key, value in entries.items():
            full = [states.get((name, state), state) for name, state in zip(family, key)]
            renamed[(full[0], *(full[1 + at] for at in order))] = value
        new_parents = tuple(variables.get(parents[at], parents[at]) for at in order)
        result[variables.get(node, node)] = (new_parents, renamed)
    return result


def differences(wanted, found, tolerance):
    """Yields what differs, by node."""
    for node in sorted(set(wanted) | set(found)):
        if node not in found:
            yield f"node {node!r} is missing"
        elif node not in wanted:
            yield f"node {node!r} is not expected"
        elif wanted[node][0] != found[node][0]:
            yield f"node {node!r} has parents {found[node][0]}, expected {wanted[node][0]}"
        elif set(wanted[node][1]) != set(found[node][1]):
            odd = sorted(set(wanted[node][1]) ^ set(found[node][1]))[0]
            yield f"node {node!r}: the states differ, first {odd}"
        else:
            for key, value in wanted[node][1].items():
                if not abs(found[node][1][key] - value) <= tolerance:
                    other = found[node][1][key]
                    yield f"node {node!r}, states {key}: {other!r}, expected {value!r}"
                    break


def largest(wanted, found):
    """Returns the largest difference of two networks over the same states."""
    return max(
        abs(found[node][1][key] - value)
        for node in wanted
        for key, value in wanted[node][1].items()
    )


def check(folder):
    """Checks one network; returns how many files failed."""
    failures = 0
    reference, ours = folder / "reference.bif", folder / "ours.json"
    wanted = None
    if reference.exists():
        wanted = from_pgmpy(BIFReader(str(reference)))
    if ours.exists():
        found = from_json(ours)
        if wanted is not None:
            failures += report(ours, "our reader", wanted, found, 1e-9)
        wanted = wanted or found
    if wanted is None:
        print(f"FAIL {folder}: neither reference.bif nor ours.json is there")
        return 1
    lone = any(len({key[0] for key in entries}) < 2 for _, entries in wanted.values())
    readers = [
        ("ours.bif", "pgmpy", lambda path: from_pgmpy(BIFReader(str(path))), 1e-9),
        ("portable.bif", "pgmpy", lambda path: from_pgmpy(BIFReader(str(path))), 1e-9),
        ("ours.bifxml", "pgmpy", lambda path: from_pgmpy(XMLBIFReader(str(path))), 1e-9),
    ]
    if not lone:
        readers += [
            ("ours.bifxml", "pyAgrum", from_pyagrum, 1e-9),
            ("portable.bif", "pyAgrum", from_pyagrum, 1e-6),
        ]
    checked = 0
    for name, peer, read, tolerance in readers:
        path = folder / name
        if not path.exists():
            continue
        checked += 1
        try:
            found = read(path)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is a failure to report
            text = str(error).strip().replace("\n", " ")[:300]
            print(f"FAIL {path} ({peer}): cannot be read: {type(error).__name__}: {text}")
            failures += 1
            continue
        if name == "portable.bif":
            found = restored(found, originals(path))
        failures += report(path, peer, wanted, found, tolerance)
    if checked == 0:
        print(f"FAIL {folder}: no file of ours to check")
        failures += 1
    return failures


def report(path, peer, wanted, found, tolerance):
    """Prints one line a difference, or that there is none."""
    problems = list(differences(wanted, found, tolerance))
    for problem in problems[:5]:
        print(f"FAIL {path} ({peer}): {problem}")
    if not problems:
        print(f"ok   {path} ({peer}): {len(wanted)} nodes, within {largest(wanted, found):.1e}")
    return 1 if problems else 0


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folders = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
    if not folders:
        print(f"FAIL {sys.argv[1]}: holds no folder of a network")
        return 1
    failures = sum(check(folder) for folder in folders)
    print(f"{len(folders)} networks, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
