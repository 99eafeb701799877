#!/usr/bin/env python3
"""Writes networks with names that are hard to hold, and a table of numbers, for `run`.

    nasty_networks.py FOLDER

Makes FOLDER/nasty.xml (names of variables and states with spaces, commas, quotes, entities and
letters of many scripts), FOLDER/odd.xml (names that BIF holds, but not every reader) and
FOLDER/numbers.csv (two numeric columns for --bins). All probabilities come from a fixed seed.
"""

import itertools
import random
import sys
from pathlib import Path
from xml.sax.saxutils import escape

NASTY = {
    "blood pressure": ["very low", "a, b", 'say "no"'],
    "a,b": ["<3", ">=3 & <5", "5"],
    'the "x" {y}': ["{", "}"],
    "naïve Größe ☂": ["да", "否", "ja ✓"],
    "<x&y>": ["(1; 2]", "it's", "a|b"],
    "probability": ["table", "default"],
    "2": ["1", "2.5", "1e-3"],
    "variable": ["variable", "network"],
}

ODD = {
    "Lung_Flow": ["Asy/Patch", "5-10", "12+"],
    "x.1-b": ["<3", ">=3"],
    "größe": ["0", "1", "2"],
    "_": ["yes", "no"],
    "true": ["true", "false"],
}


def network(states, seed):
    """Returns the XMLBIF of a network over these variables, each with up to two parents."""
    draw = random.Random(seed)
    names = list(states)
    parents = {
        name: draw.sample(names[:at], min(at, draw.randint(0, 2))) for at, name in enumerate(names)
    }
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines.append("<NAME>made for tests</NAME>")
    for name in names:
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{escape(name)}</NAME>')
        lines += [f"<OUTCOME>{escape(state)}</OUTCOME>" for state in states[name]]
        lines.append("</VARIABLE>")
    for name in names:
        lines.append(f"<DEFINITION><FOR>{escape(name)}</FOR>")
        lines += [f"<GIVEN>{escape(parent)}</GIVEN>" for parent in parents[name]]
        numbers = []
        for _ in itertools.product(*(states[parent] for parent in parents[name])):
            row = [draw.random() ** 3 for _ in states[name]]
            numbers += [repr(value / sum(row)) for value in row]
        lines.append(f"<TABLE>{' '.join(numbers)}</TABLE></DEFINITION>")
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1])
    (folder / "nasty.xml").write_text(network(NASTY, 11), encoding="utf-8")
    (folder / "odd.xml").write_text(network(ODD, 12), encoding="utf-8")
    draw = random.Random(13)
    rows = ["weight,height,sex"]
    for _ in range(400):
        sex = draw.choice("fm")
        height = draw.gauss(165 if sex == "f" else 178, 7)
        rows.append(f"{height * 0.9 - 90 + draw.gauss(0, 9):.2f},{height:.1f},{sex}")
    (folder / "numbers.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
