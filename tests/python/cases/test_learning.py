"""What `learn` takes and returns."""

import json
import pickle
import re
import subprocess
import sys

import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import ALARM, ROOT, command

import rlbayes

QUICK = {"evaluations": 2000, "threads": 1, "progress": False}

# Flags of `learn` that are no keyword, and why.
NOT_KEYWORDS = {
    "help": "help(rlbayes.learn)",
    "format": "what -o - prints; network.to_text",
    "json": "the result is an object",
    "quiet": "progress=False",
    "output": "result.write",
    "truth": "truth.compare(result.network)",
    "log-format": "logging",
    "missing-marker": "missing_markers, a list",
    "no-header": "header=False",
    "as": "result.cpdag() and network.to_text",
    "around": "an option of write",
    "strict-names": "an option of write",
    "verbose": "every edge is in result.edges",
    "keep-networks": "a flag for result files of replicates",
}


def test_every_flag_of_the_command_is_a_keyword():
    import inspect

    flags = set(re.findall(r"^\s+(?:-\w, )?--([a-z-]+)", command("learn", "--help").stdout, re.MULTILINE))
    assert len(flags) > 50
    keywords = inspect.signature(rlbayes.learn).parameters
    unknown = [flag for flag in flags - set(NOT_KEYWORDS) if flag.replace("-", "_") not in keywords]
    assert unknown == []


def test_settings_reach_the_search():
    """Each on its own changes what the same command line changes."""
    asia = ROOT / "data" / "asia_n1000_s1.csv.gz"
    settings = [
        {"score": "bdeu", "ess": 10.0},
        {"score": "aic"},
        {"score": "k2"},
        {"penalty_scale": 0.5},
        {"max_parents": 1},
        {"seed": 9},
        {"search": "hc", "restarts": 3, "perturb": 2},
        {"search": "tabu"},
        {"search": "sa", "sa_temperature": 5.0},
        {"search": "ga", "ga_population": 12},
        {"search": "paper", "theta": 0.2, "epsilon": 0.4, "explore": "all", "evict": "best"},
        {"no_learning": True, "stall": 3, "table_rows": 8, "region": 0.2, "temperature": 2.0},
        {"chains": 3, "round_evaluations": 1000},
        {"drop": ["asia"]},
        {"columns": ["asia", "tub", "either"]},
    ]
    for given in settings:
        flags = [part for name, value in given.items() for part in _flag(name, value)]
        ran = command("learn", str(asia), "--evaluations", "5000", "--threads", "1", "--json", *flags)
        assert ran.returncode == 0, ran.stderr
        expected = json.loads(ran.stdout)
        result = rlbayes.learn(asia, evaluations=5000, threads=1, progress=False, **given)
        assert (result.score, result.evaluations) == (expected["score"], expected["evaluations"]), given


def _flag(name, value):
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    return [flag, ",".join(value) if isinstance(value, list) else str(value)]


def test_constraints_hold_and_are_refused_by_name(related):
    required = rlbayes.learn(related, required=[("cough", "smoke")], **QUICK)
    assert required.network.edges == [("cough", "smoke")]
    frame = pandas.DataFrame({"from": ["cough"], "to": ["smoke"]})
    assert rlbayes.learn(related, forbidden=frame, **QUICK).network.edges == [("smoke", "cough")]
    tiers = rlbayes.learn(related, tiers=[["cough"], ["smoke"]], **QUICK)
    assert tiers.network.edges == [("cough", "smoke")]
    with pytest.raises(rlbayes.InputError, match="nobody"):
        rlbayes.learn(related, required=[("nobody", "smoke")], **QUICK)
    for tiers in ("smoke", ["smoke", "cough"], [1]):
        with pytest.raises(rlbayes.InputError, match=r"tiers= is a list of lists of names"):
            rlbayes.learn(related, tiers=tiers, **QUICK)
    with pytest.raises(rlbayes.InputError, match="list of edges"):
        rlbayes.learn(related, required=["smoke"], **QUICK)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"max_indegree": 3}, TypeError, "did you mean max_parents"),
        ({"evaluation": 3}, TypeError, "did you mean evaluations"),
        ({"score": "bit"}, ValueError, "none of bic"),
        ({"search": "hx"}, ValueError, "none of"),
        ({"restarts": 3}, ValueError, "restarts"),
        ({"time": "soon"}, ValueError, "soon"),
        ({"prove": "yes"}, ValueError, "prove"),
        ({"threads": 0}, ValueError, "at least 1"),
        ({"evaluations": -1}, ValueError, "evaluations=-1 is negative"),
        ({"max_parents": -1}, ValueError, "max_parents=-1 is negative"),
        ({"seed": -1}, ValueError, "seed=-1 is negative"),
        ({"seed": 2**64}, ValueError, "seed=18446744073709551616 is too large"),
        ({"threads": 2**32}, ValueError, "threads=4294967296 is too large"),
        ({"max_parents": numpy.int64(-1)}, ValueError, "max_parents=-1 is negative"),
        ({"replicates": 2**32, "evaluations": 100}, ValueError, "replicates=4294967296 is too large"),
        ({"alpha": "auto"}, ValueError, r"alpha='auto' is no number.*Network\.fit\(\)"),
        ({"replicates": -1, "evaluations": 100}, ValueError, "replicates=-1 is negative"),
        ({"alpha": -1}, ValueError, "alpha=-1"),
        ({"on_interrupt": "ignore"}, ValueError, "on_interrupt"),
        ({"progress": "often"}, ValueError, "progress"),
        ({"missing": "guess"}, ValueError, "missing"),
    ],
    ids=str,
)
def test_wrong_keywords_are_refused_with_a_sentence(related, given, error, words):
    with pytest.raises(error, match=words):
        rlbayes.learn(related, **given)


def test_a_result_is_complete_and_pickles(related):
    result = rlbayes.learn(related, time=30, replicates=10, progress=False)
    assert result.proven and result.gap == 0.0 and result.stopped_by == "proven"
    assert list(result.edges.columns) == ["from", "to", "directed", "gain", "support"]
    assert result.edges["support"].tolist() == [1.0]
    assert result.trace[-1][2] == result.score
    again = pickle.loads(pickle.dumps(result))
    assert again.network == result.network and again.edges.equals(result.edges)
    assert again.support.edges.equals(result.support.edges)
    assert again.support.to_svg() == result.support.to_svg()
    assert "<svg" in result._repr_html_() and "proven best" in repr(result)
    without = rlbayes.learn(polars.from_pandas(related), **QUICK)
    assert isinstance(without.edges, polars.DataFrame) and without.edges["support"].null_count() == 1


def test_the_report_is_that_of_the_command_line(related, tmp_path):
    result = rlbayes.learn(related, **QUICK)
    result.write(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "smoke" in page and f"{result.score:.3f}" in page


def test_a_start_is_taken_from_other_packages_and_files(alarm):
    import networkx

    file = ROOT / "data" / "networks" / "alarm.bif"
    known = rlbayes.read(file)
    scores = {
        rlbayes.learn(alarm, start=start, search="hc", threads=1, evaluations=100_000, progress=False).score
        for start in (known, known.to_networkx(), known.to_pgmpy(), known.edges, file, str(file))
    }
    assert len(scores) == 1
    assert isinstance(known.to_networkx(), networkx.DiGraph)


def test_replicates_are_those_of_the_command_line(tmp_path):
    asia = ROOT / "data" / "asia_n1000_s1.csv.gz"
    given = {"rows_per_replicate": 0.5, "without_replacement": True, "replicate_evaluations": 5000, "seed": 4}
    flags = [part for name, value in given.items() for part in _flag(name, value)]
    ran = command("bootstrap", str(asia), "--replicates", "8", "--quiet", *flags, "-o", str(tmp_path / "s.csv"))
    assert ran.returncode == 0, ran.stderr
    expected = pandas.read_csv(tmp_path / "s.csv")
    shares = [name for name in expected.columns if name not in ("se", "in_best")]
    for replicates, threads in ((8, 1), (8, 2)):
        support = rlbayes.bootstrap(asia, replicates=replicates, threads=threads, progress=False, **given)
        assert support.edges[shares].equals(expected[shares].astype(support.edges[shares].dtypes))
    learned = rlbayes.learn(asia, replicates=8, threads=1, evaluations=5000, progress=False, threshold=0.7, **given)
    assert learned.support.edges[shares].equals(support.edges[shares]) and learned.support.threshold == 0.7
    first = rlbayes.bootstrap(asia, replicates=5, state=tmp_path / "run", progress=False, **given)
    more = rlbayes.bootstrap(asia, replicates=8, state=tmp_path / "run", progress=False, **given)
    assert first.replicates == 5 and more.edges.equals(support.edges)
    with pytest.raises(rlbayes.InputError, match="rows_per_replicate= is for replicates"):
        rlbayes.learn(asia, rows_per_replicate=0.5)


def test_a_search_goes_on_from_its_state(alarm, tmp_path):
    same = {"evaluations": 200_000, "threads": 1, "seed": 3, "progress": False}
    first = rlbayes.learn(alarm, state=tmp_path / "run", **same)
    again = rlbayes.learn(alarm, state=tmp_path / "run", **same)
    assert again.score == first.score
    longer = rlbayes.learn(alarm, state=tmp_path / "run", **{**same, "evaluations": 400_000})
    assert longer.evaluations > first.evaluations and longer.score >= first.score
    with pytest.raises(rlbayes.InputError, match="seed"):
        rlbayes.learn(alarm, state=tmp_path / "run", **{**same, "seed": 9})


def test_the_command_is_in_the_wheel(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "rlbayes", "learn", str(ALARM), "--evaluations", "2000", "-o", str(tmp_path / "a.bif")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout and rlbayes.read(tmp_path / "a.bif").is_fitted
    ran = subprocess.run([sys.executable, "-m", "rlbayes", "lern"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "learn" in ran.stderr


def test_import_is_light_and_fast():
    heavy = {"pandas", "numpy", "networkx", "sklearn", "tqdm"}
    code = f"import sys, rlbayes; print([name for name in {sorted(heavy)} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
    code = "import time; begin = time.process_time(); import rlbayes; print(time.process_time() - begin)"
    took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    print("import:", round(1000 * took), "ms of CPU")
    assert took < 0.1


def test_a_hundred_searches_do_not_grow_memory(alarm):
    def resident():
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * 4096

    for _ in range(20):
        rlbayes.learn(alarm, **QUICK)
    before = resident()
    for _ in range(100):
        rlbayes.learn(alarm, **QUICK)
    grown = resident() - before
    print("grown by", grown >> 10, "KiB")
    assert grown < 8 << 20


def test_frames_without_edges_have_the_types_of_others():
    alone = {"a": ["x", "y"] * 20, "b": ["x", "x", "y", "y"] * 10}
    for of in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        some, none = (
            rlbayes.learn(of(columns), max_parents=most, **QUICK).edges
            for columns, most in (({**alone, "b": alone["a"]}, 1), (alone, 0))
        )
        assert len(some) == 1 and len(none) == 0
        for name in ("from", "to", "gain", "directed"):
            if of is pandas.DataFrame:
                assert none[name].dtype == some[name].dtype
            else:
                assert _types(none)[name] == _types(some)[name]


def _types(frame):
    return dict(frame.schema) if isinstance(frame, polars.DataFrame) else {it.name: it.type for it in frame.schema}
