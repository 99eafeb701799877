"""Networks: read, asked, converted, kept."""

import itertools
import pickle
import subprocess

import numpy
import pandas
import polars
import pytest
from conftest import ROOT, command

import rlbayes

NETWORKS = ["asia", "sachs", "child", "alarm"]


def network(name: str) -> rlbayes.Network:
    return rlbayes.read(ROOT / "data" / "networks" / f"{name}.bif")


@pytest.fixture(scope="module")
def learned(alarm):
    return rlbayes.learn(alarm, evaluations=200_000, threads=1, progress=False)


def test_a_network_is_fitted_asked_sampled_and_pickled(alarm, learned):
    found = learned.network
    again = pickle.loads(pickle.dumps(found))
    assert again == found and again.cpdag() == found.cpdag() and hash(again) == hash(found)
    assert found.score(alarm) == pytest.approx(learned.score, abs=1e-6)
    assert sum(found.score_by_node(alarm).values()) == pytest.approx(learned.score, abs=1e-6)
    smooth = found.fit(alarm, alpha=1.0)
    assert smooth.log_likelihood(alarm) < found.log_likelihood(alarm) < 0
    assert found.fit(alarm, alpha="auto").is_fitted
    assert sum(smooth.query("HYPOVOLEMIA", {"LVFAILURE": "TRUE"}).values()) == pytest.approx(1.0)
    drawn = smooth.sample(50, seed=7)
    assert drawn.shape == (50, 37) and smooth.log_likelihood(drawn) < 0
    assert drawn.equals(smooth.sample(50, seed=7)) and not drawn.equals(smooth.sample(50, seed=8))
    assert found.compare(found).shd_cpdag == 0 and found.compare(found.to_networkx()).f1_directed == 1.0
    assert "<svg" in found._repr_svg_()[:200] and found._repr_html_() is None
    with pytest.raises(AttributeError):
        found.nodes = []
    with pytest.raises(AttributeError):
        del found._inner


def test_predictions_are_frames_of_the_kind_that_came(alarm):
    smooth = network("asia")
    rows = smooth.sample(20, seed=1)
    chances = smooth.predict_proba(rows, "lung")
    assert isinstance(chances, pandas.DataFrame) and list(chances.columns) == smooth.states("lung")
    assert numpy.allclose(chances.sum(axis=1), 1.0)
    assert smooth.predict(rows, "lung") == list(chances.idxmax(axis=1))
    without = smooth.predict(rows.drop(columns=["lung"]), "lung")
    assert without == smooth.predict(rows, "lung")


def test_predictions_have_the_index_of_the_rows():
    asia = network("asia")
    rows = asia.sample(6, seed=1).set_axis(list("uvwxyz"))
    assert list(asia.predict_proba(rows, "lung").index) == list("uvwxyz")
    rows.loc[["v", "y"], ["smoke", "tub"]] = None
    with pytest.warns(rlbayes.TableWarning):
        kept = asia.predict_proba(rows, "lung", missing="drop-rows")
    assert list(kept.index) == list("uwxz")
    assert kept.equals(asia.predict_proba(rows.dropna(), "lung"))


def test_predictions_of_numbers_and_truth_values_are_such():
    numbers = pandas.DataFrame({"a": ["x", "y"] * 30, "c": [1, 2] * 30, "t": [True, False] * 30})
    numbers.insert(0, "f", numbers["c"].where(numbers.index > 0))
    found = rlbayes.learn(numbers.dropna(), evaluations=2000, threads=1, progress=False)
    smooth = found.network.fit(numbers.dropna(), alpha=1.0)
    whole = numbers.dropna()
    for frame in (whole, polars.from_pandas(whole), whole.astype("category"), whole.convert_dtypes()):
        for column in ("a", "c", "t", "f"):
            right = frame[column] == smooth.predict(frame, column)
            assert right.all() and len(right) == 59, (type(frame), column)
    assert {type(value) for value in smooth.predict(whole, "c")} == {int}
    assert {type(value) for value in smooth.predict(whole, "t")} == {bool}
    array = whole[["c", "t"]].to_numpy(dtype="int64")
    of_array = rlbayes.learn(array, names=["c", "t"], evaluations=2000, threads=1, progress=False).network
    assert (array[:, 0] == of_array.predict(array, "c", names=["c", "t"])).mean() == 1.0
    unknown = whole.drop(columns=["c"])
    assert smooth.predict(unknown, "c")[0] == "2"
    assert smooth.predict(unknown.astype(str), "c", states={"c": [1, 2], **_states(smooth, "aft")})[0] == 2
    assert smooth.predict(whole.astype({"c": str}), "c")[0] == "2"


def _states(found, names):
    return {name: found.states(name) for name in names}


def test_samples_have_the_states_as_levels():
    asia = network("asia")
    states = {name: asia.states(name) for name in asia.nodes}
    drawn = asia.sample(3, seed=1)
    assert {name: list(drawn[name].cat.categories) for name in drawn} == states
    enums = asia.sample(3, seed=1, kind="polars")
    assert {name: dtype.categories.to_list() for name, dtype in enums.schema.items()} == states
    assert enums.to_dicts() == drawn.to_dict("records") == asia.sample(3, seed=1, kind="pyarrow").to_pylist()
    assert asia.sample(3, seed=1, kind="dict") == drawn.astype(str).to_dict("list")
    for wrong in ({"kind": "spark"}, {"rows": numpy.int64(-1)}, {"seed": 2**64}):
        with pytest.raises(rlbayes.InputError, match=next(iter(wrong))):
            asia.sample(**{"rows": 3, **wrong})


def test_answers_are_those_of_the_command_line(tmp_path):
    import json

    file = ROOT / "data" / "networks" / "asia.bif"
    asia = network("asia")
    rows = asia.sample(200, seed=3)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ran = command("loglik", str(tmp_path / "rows.csv"), str(file), "--json")
    assert asia.log_likelihood(rows) == pytest.approx(json.loads(ran.stdout)["log_likelihood"], rel=1e-12)
    ran = command("sample", str(file), "--rows", "200", "--seed", "3", "-o", str(tmp_path / "cli.csv"))
    assert ran.returncode == 0, ran.stderr
    theirs = pandas.read_csv(tmp_path / "cli.csv", dtype=str)
    assert theirs.equals(rows.astype(theirs.dtypes.iloc[0])[list(theirs.columns)])
    ran = command("score", str(tmp_path / "rows.csv"), str(file), "--json")
    assert asia.score(rows) == pytest.approx(json.loads(ran.stdout)["score"], rel=1e-12)


@pytest.mark.parametrize("ending", ["bif", "xml", "bifxml", "json", "csv", "txt", "graphml", "dot", "svg"])
def test_every_format_is_written_and_what_can_be_read_is_the_same(tmp_path, ending):
    asia = network("asia")
    asia.write(tmp_path / f"asia.{ending}")
    text = (tmp_path / f"asia.{ending}").read_text()
    assert asia.to_text(ending) == text
    if ending in ("bif", "xml", "bifxml", "json"):
        assert rlbayes.read(tmp_path / f"asia.{ending}") == asia
    elif ending in ("csv", "txt"):
        assert sorted(rlbayes.read(tmp_path / f"asia.{ending}").edges) == sorted(asia.edges)


@pytest.mark.parametrize("name", NETWORKS)
def test_pgmpy_and_pyagrum_have_the_same_probabilities(name):
    ours = network(name)
    theirs, agrum = ours.to_pgmpy(), ours.to_pyagrum()
    assert theirs.check_model()
    assert set(theirs.edges()) == set(ours.edges) == set(ours.to_networkx().edges)
    assert {(agrum.variable(a).name(), agrum.variable(b).name()) for a, b in agrum.arcs()} == set(ours.edges)
    for node in ours.nodes:
        parents, rows = ours.cpt(node)
        assert numpy.abs(theirs.get_cpds(node).get_values().T - numpy.array(rows)).max() < 1e-12
        for row, states in zip(rows, itertools.product(*(ours.states(parent) for parent in parents)), strict=True):
            given = dict(zip(parents, states, strict=True))
            assert numpy.abs(numpy.array(agrum.cpt(node)[given] if given else agrum.cpt(node)[:]) - row).max() < 1e-12


def test_their_inference_runs_on_what_was_learned(learned):
    import pyagrum
    from pgmpy.inference import VariableElimination

    ours = learned.network
    elimination = VariableElimination(ours.to_pgmpy())
    propagation = pyagrum.LazyPropagation(ours.to_pyagrum())
    evidence = {"BP": "LOW", "HRBP": "HIGH"}
    answer = elimination.query(["LVFAILURE"], evidence=evidence, show_progress=False)
    propagation.setEvidence(evidence)
    theirs = propagation.posterior("LVFAILURE")
    for at, (state, share) in enumerate(ours.query("LVFAILURE", evidence).items()):
        assert answer.get_value(LVFAILURE=state) == pytest.approx(share, abs=1e-12)
        assert theirs[at] == pytest.approx(share, abs=1e-12)


def test_a_network_without_probabilities_says_so():
    chain = rlbayes.Network([("rain", "wet"), ("wet", "slippery")], nodes=["moon"])
    assert chain.nodes == ["moon", "rain", "slippery", "wet"] and not chain.is_fitted
    assert chain.parents("wet") == ["rain"] and chain.children("wet") == ["slippery"]
    assert chain.adjacency_matrix()[1] == [0, 0, 0, 1]
    assert sorted(chain.to_pgmpy().nodes()) == sorted(chain.to_networkx().nodes) == chain.nodes
    assert set(chain.to_pyagrum().names()) == set(chain.nodes)
    with pytest.raises(rlbayes.InputError, match="no probabilities"):
        chain.sample(3)
    with pytest.raises(rlbayes.InputError, match="cycle"):
        rlbayes.Network([("a", "b"), ("b", "a")])
    with pytest.raises(rlbayes.InputError, match="rainn"):
        network("asia").query("rainn")


def test_a_large_network_is_shown_as_a_table():
    hub = rlbayes.Network([("hub <1>", f"v{at}") for at in range(300)])
    assert hub._repr_svg_() is None
    page = hub._repr_html_()
    assert "hub &lt;1&gt;" in page and "<td>300</td>" in page and "around" in page
    assert len(subprocess.list2cmdline([page])) < 10_000


def test_a_network_is_made_of_edges_however_they_are_written():
    import pyarrow

    chain = rlbayes.Network([("rain", "wet"), ("wet", "slippery")])
    columns = {"from": ["rain", "wet"], "to": ["wet", "slippery"], "gain": [1.0, 2.0]}
    pairs = [["rain", "wet"], ["wet", "slippery"]]
    for edges in (
        pairs,
        numpy.array(pairs),
        chain.to_networkx().edges,
        columns,
        *(of(columns) for of in (pandas.DataFrame, polars.DataFrame)),
    ):
        assert rlbayes.Network(edges) == chain
    assert rlbayes.Network(pyarrow.table(columns)) == chain
    for wrong in (["ab"], "ab", [("a",)], [1], 7, {"a": "b"}):
        with pytest.raises(rlbayes.InputError, match="a list of edges such as"):
            rlbayes.Network(wrong)
    with pytest.raises(rlbayes.InputError, match="None is no network"):
        chain.compare(None)
    with pytest.raises(rlbayes.InputError, match="rows=-1 is negative"):
        network("asia").sample(-1)


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_pictures_that_are_no_text_are_written(tmp_path, ending):
    network("asia").write(tmp_path / f"asia.{ending}")
    assert (tmp_path / f"asia.{ending}").read_bytes()[:4] in (b"\x89PNG", b"%PDF")
    with pytest.raises(rlbayes.InputError, match=r"use write\(\)"):
        network("asia").to_text(ending)
