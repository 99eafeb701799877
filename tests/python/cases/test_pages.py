"""The Python of the documentation runs as it is printed."""

import re
import shutil

import pytest
from conftest import ROOT

PAGES = ["docs/from-pgmpy.md", "docs/from-bnlearn.md", "docs/python.md", "python/README.md"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path, monkeypatch):
    import pandas

    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    survey = pandas.read_csv(ROOT / "python" / "examples" / "survey.csv", dtype=str).dropna().drop(columns=["id"])
    survey["age"] = (survey["age"].astype(int) // 20).astype(str)
    survey.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "data").mkdir()
    shutil.copy(ROOT / "data" / "alarm.csv", tmp_path / "data" / "alarm.csv")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
