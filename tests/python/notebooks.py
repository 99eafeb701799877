"""Runs the example notebooks from first to last cell; with --write their outputs are kept.

With --scripts FOLDER nothing runs: their code is written there as scripts, for the type checkers.
"""

import pathlib
import sys

import nbformat
from nbclient import NotebookClient

folder = pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"
paths = sorted(folder.glob("*.ipynb"))
if not paths:
    sys.exit(f"there are no notebooks in {folder}")
if sys.argv[1:2] == ["--scripts"]:
    for path in paths:
        cells = nbformat.read(path, as_version=4).cells
        code = "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")
        (pathlib.Path(sys.argv[2]) / f"{path.stem}.py").write_text(code + "\n", encoding="utf-8")
    sys.exit()
for path in paths:
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    print(f"{path.name}: {len(cells)} cells ran")
    if "--write" in sys.argv[1:]:
        for cell in cells:
            cell.metadata.pop("execution", None)
            # Bars say how long it took on that day.
            shown = [out for out in cell.outputs if out.get("name") != "stderr"]
            cell.outputs = [
                out for out in shown if "application/vnd.jupyter.widget-view+json" not in out.get("data", {})
            ]
        book.metadata.pop("widgets", None)
        nbformat.write(book, path)
