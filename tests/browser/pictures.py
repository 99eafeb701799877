"""Pictures of networks and charts, measured in a headless chromium with the fonts of this machine.

    pictures.py PROGRAM ROOT [SCREENSHOTS]

PROGRAM is rlbayes, ROOT the repository. In every picture no line runs through a box, every name is inside
its box, and no text leaves the page; pictures of up to 724 nodes take less than two seconds of processor
time each, as SVG, PNG and PDF. The charts in the repository have all their text on the page, too.
"""

import csv
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from chromium import browser, errors
from survey import write_survey

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

MOST_SECONDS = 2.0

# Returns what is wrong with the picture that is open: as text, and how many lines and boxes were looked at.
MEASURE = """
const svg = document.documentElement, page = svg.viewBox.baseVal, wrong = [];
const outside = (b) => b.x < page.x - 0.5 || b.y < page.y - 0.5 ||
  b.x + b.width > page.x + page.width + 0.5 || b.y + b.height > page.y + page.height + 0.5;
const onPage = (element) => {
  const b = element.getBBox(), m = svg.getScreenCTM().inverse().multiply(element.getScreenCTM());
  const corners = [[b.x, b.y], [b.x + b.width, b.y], [b.x, b.y + b.height], [b.x + b.width, b.y + b.height]]
    .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
  const xs = corners.map((c) => c[0]), ys = corners.map((c) => c[1]);
  return { x: Math.min(...xs), y: Math.min(...ys), width: Math.max(...xs) - Math.min(...xs), height: Math.max(...ys) - Math.min(...ys) };
};
for (const text of svg.querySelectorAll("text")) if (text.textContent.trim() && outside(onPage(text))) wrong.push("outside: " + text.textContent);
const boxes = [...svg.querySelectorAll("g > title + rect")].map((rect) => {
  const b = rect.getBBox();
  for (const text of rect.parentNode.querySelectorAll("text")) {
    const t = text.getBBox();
    if (t.x < b.x || t.x + t.width > b.x + b.width || t.y < b.y - 1 || t.y + t.height > b.y + b.height + 1) wrong.push("wider than its box: " + text.textContent);
  }
  return b;
});
// A path is M, L and C with absolute coordinates; each piece is followed in small steps.
const pieces = (d) => {
  const found = [];
  let at = null;
  for (const [, kind, rest] of d.matchAll(/([A-Za-z])([^A-Za-z]*)/g)) {
    const n = rest.trim().split(/[ ,]+/).map(Number);
    const to = [n[n.length - 2], n[n.length - 1]];
    if (kind === "L") found.push([at, at, to, to]);
    else if (kind === "C" && n.length === 6) found.push([at, [n[0], n[1]], [n[2], n[3]], to]);
    else if (kind !== "M" || n.length !== 2) throw new Error("a path of another kind: " + d);
    at = to;
  }
  return found;
};
let lines = 0;
if (boxes.length) for (const path of svg.querySelectorAll("svg > path")) {
  lines++;
  for (const [a, b, c, d] of pieces(path.getAttribute("d"))) {
    const xs = [a[0], b[0], c[0], d[0]], ys = [a[1], b[1], c[1], d[1]];
    const near = boxes.filter((box) => Math.max(...xs) > box.x && Math.min(...xs) < box.x + box.width &&
      Math.max(...ys) > box.y && Math.min(...ys) < box.y + box.height);
    for (let step = 0; near.length && step <= 40; step++) {
      const t = step / 40, u = 1 - t;
      const along = (p, q, r, s) => u * u * u * p + 3 * u * u * t * q + 3 * u * t * t * r + t * t * t * s;
      const x = along(...xs), y = along(...ys);
      if (near.some((box) => x > box.x + 0.6 && x < box.x + box.width - 0.6 && y > box.y + 0.6 && y < box.y + box.height - 0.6)) {
        wrong.push("a line runs through a box at " + x + " " + y);
        break;
      }
    }
  }
}
return { wrong, lines, boxes: boxes.length };
"""


def measure(driver, path):
    driver.get(path.as_uri())
    found = driver.execute_script(MEASURE)
    assert not found["wrong"], (path.name, found["wrong"][:5])
    assert not errors(driver)
    return found


def seconds(command):
    """Runs a command; returns the processor time that it took."""
    before = os.times()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def hepar_like(path):
    """Writes a network of 70 nodes and 123 edges with a few hubs, like hepar2."""
    draw = random.Random(5)
    names = [f"{word}_{number}" for number in range(10)
             for word in ["bilirubin", "age", "hepatomegaly", "ast", "carcinoma", "irregular_liver", "pain"]]
    edges = {(names[draw.randrange(min(number, 12))], names[number]) for number in range(1, 70)}
    while len(edges) < 123:
        first = draw.randrange(70) if draw.random() < 0.3 else draw.randrange(12)
        second = draw.randrange(70)
        if first < second:
            edges.add((names[first], names[second]))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("from", "to"), *sorted(edges)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        networks = {name: root / f"data/networks/{name}.bif" for name in ["asia", "alarm", "andes", "link"]}
        hepar_like(folder / "hepar_like.csv")
        networks["hepar_like"] = folder / "hepar_like.csv"
        write_survey(folder / "survey.csv")
        networks["survey"] = folder / "survey.json"
        learn = [program, "learn", "--quiet", "--evaluations", "200000", "--threads", "1"]
        subprocess.run([*learn, folder / "survey.csv", "-o", networks["survey"]], check=True)
        truth = folder / "truth.svg"
        subprocess.run([*learn, root / "data/alarm.csv", "--truth", networks["alarm"], "-o", truth], check=True)
        support = folder / "support.svg"
        subprocess.run([program, "bootstrap", root / "data/asia_n1000_s1.csv.gz", "--replicates", "10", "--quiet",
                        "-o", support], check=True, stdout=subprocess.DEVNULL)
        driver = browser(1280, False, folder)
        try:
            for name, network in networks.items():
                took = {}
                for kind in ["svg", "png", "pdf"]:
                    picture = folder / f"{name}.{kind}"
                    took[kind] = seconds([program, "convert", network, picture, "--as", "cpdag"])
                    assert took[kind] < MOST_SECONDS, (name, kind, took[kind])
                    if shots and kind == "png":
                        shots.mkdir(parents=True, exist_ok=True)
                        (shots / f"picture-{name}.png").write_bytes(picture.read_bytes())
                found = measure(driver, folder / f"{name}.svg")
                assert found["lines"] and found["boxes"], (name, found)
                shown = ", ".join(f"{kind} {value:.2f} s" for kind, value in took.items())
                print(f"{name}: {found['boxes']} boxes, {found['lines']} lines, {shown}", flush=True)
            for picture in [truth, support]:
                found = measure(driver, picture)
                assert found["lines"] and found["boxes"], (picture, found)
            charts = sorted((root / "data/results").rglob("*.svg"))
            assert charts
            for chart in charts:
                measure(driver, chart)
            # The measure itself finds what is wrong.
            spoilt = folder / "spoilt.svg"
            text = (folder / "asia.svg").read_text(encoding="utf-8")
            for old, new, what in [
                ('<path d="M', '<path d="M0 120 L250 120 L', "runs through a box"),
                (">either<", ">either or both of them<", "wider than its box"),
                ('<text x="', '<text x="9', "outside"),
            ]:
                spoilt.write_text(text.replace(old, new), encoding="utf-8")
                driver.get(spoilt.as_uri())
                found = driver.execute_script(MEASURE)["wrong"]
                assert any(what in line for line in found), (what, found)
        finally:
            driver.quit()
    print(f"pictures: all good, and {len(charts)} charts")


main()
