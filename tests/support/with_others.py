"""pandas and R read the support that we write. Usage: with_others.py RLBAYES FOLDER"""

import json
import pathlib
import random
import subprocess
import sys

import pandas

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


def survey(path):
    """A table whose names need quotes."""
    draw = random.Random(5)
    lines = ['"income, net","says ""yes""",Größe,left over']
    for _ in range(300):
        a = draw.random() < 0.5
        b = draw.random() < (0.7 if a else 0.3)
        c = draw.random() < (0.6 if b else 0.35)
        lines.append(",".join("yes" if x else "no" for x in (a, b, c, draw.random() < 0.5)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(csv, variables, threshold):
    """Reads a file with both, and returns pandas' table."""
    table = pandas.read_csv(csv)
    assert list(table.columns[:4]) == ["from", "to", "strength", "direction"], list(table.columns)
    numbers = ["strength", "direction", "forward", "backward", "undirected", "se"]
    assert all(table[column].dtype == "float64" or table[column].dtype == "int64" for column in numbers), table.dtypes
    if "in_best" in table:
        assert table["in_best"].dtype == "bool", table.dtypes
    assert not table.isna().any().any()
    script = ["Rscript", HERE / "with_r.R", csv, str(variables), repr(threshold)]
    subprocess.run(script, check=True)
    return table


def bootstrap(program, table, folder, flags):
    csv, support = folder / "s.csv", folder / "s.json"
    subprocess.run([program, "bootstrap", table, "--quiet", "-o", csv, "-o", support, *flags], check=True)
    found = json.loads(support.read_text(encoding="utf-8"))
    read_back = read(csv, len(found["variables"]), found["threshold"]["l1"])
    strengths = {(x["from"], x["to"]): x["strength"] for x in found["edges"]}
    for (a, b), strength in strengths.items():
        line = read_back[(read_back["from"] == a) & (read_back["to"] == b)]
        assert len(line) == 1 and abs(line["strength"].iloc[0] - strength) < 1e-12, (a, b)
    assert len(read_back) == 2 * len(strengths)
    print(f"pandas: {len(read_back)} arcs of {pathlib.Path(table).name}")


def main(program, folder):
    folder = pathlib.Path(folder)
    survey(folder / "survey.csv")
    for table in (folder / "survey.csv", ROOT / "data/asia_n1000_s1.csv.gz", ROOT / "data/child_n1000_s1.csv.gz"):
        for replicates in ("7", "40"):
            bootstrap(program, table, folder, ["--replicates", replicates])
    networks = []
    for name, text in enumerate(["[a][b|a][c|b]", "[c][b|c][a|b]", "[a][c][b|a:c]", "[a][b][c]", "[a][b|a][c]"]):
        networks.append(folder / f"{name}.txt")
        networks[-1].write_text(text)
    csv = folder / "average.csv"
    printed = subprocess.run([program, "average", *networks, "--json", "-o", csv], check=True, capture_output=True)
    read(csv, 3, json.loads(printed.stdout)["threshold"]["l1"])


if __name__ == "__main__":
    main(*sys.argv[1:])
