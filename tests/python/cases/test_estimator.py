"""The estimator: scikit-learn's contract, and pgmpy's words."""

import pickle

import duckdb
import numpy
import pandas
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import rlbayes

# Checks that cannot hold, and why. None: numbers are binned, by quantiles here, and what is no table is
# refused with the errors that scikit-learn expects.
EXCEPTIONS: dict[str, str] = {}
QUICK = {"evaluations": 2000, "n_jobs": 1}


@parametrize_with_checks(
    [
        rlbayes.RLBayesSearch(bins="quantile:3", **QUICK),
        rlbayes.RLBayesSearch(bins="quantile:3", time=0.2, prove="off"),
    ],
    expected_failed_checks=lambda estimator: EXCEPTIONS,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_it_stands_where_pgmpy_stands(related):
    from pgmpy.base import DAG, PDAG

    search = rlbayes.RLBayesSearch(required_edges=[("smoke", "cough")], return_type="dag", replicates=5, **QUICK)
    assert clone(search).get_params()["required_edges"] == [("smoke", "cough")]
    with pytest.raises(NotFittedError):
        _ = search.causal_graph_
    search.fit(related)
    assert isinstance(search.causal_graph_, DAG) and list(search.causal_graph_.edges()) == [("smoke", "cough")]
    assert set(search.causal_graph_.nodes()) == set(related.columns)
    assert search.adjacency_matrix_.loc["smoke", "cough"] == 1 and search.adjacency_matrix_.to_numpy().sum() == 1
    assert list(search.feature_names_in_) == ["smoke", "cough", "day"] and search.n_features_in_ == 3
    assert list(search.edges_.columns) == ["from", "to", "directed", "gain", "support"]
    assert search.edges_["support"].tolist() == [1.0]
    again = pickle.loads(pickle.dumps(search))
    assert again.score(related) == pytest.approx(search.score(related)) and again.edges_.equals(search.edges_)
    pdag = rlbayes.RLBayesSearch(**QUICK).fit(related)
    assert isinstance(pdag.causal_graph_, PDAG) and set(pdag.causal_graph_.nodes()) == set(related.columns)
    assert pdag.adjacency_matrix_.loc["cough", "smoke"] == pdag.adjacency_matrix_.loc["smoke", "cough"] == 1


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_expert_knowledge_of_pgmpy_is_kept(related):
    from pgmpy.estimators import ExpertKnowledge

    def edges(**known):
        search = rlbayes.RLBayesSearch(expert_knowledge=ExpertKnowledge(**known), return_type="dag", **QUICK)
        return search.fit(related).network_.edges

    assert ("cough", "day") in edges(required_edges=[("cough", "day")])
    assert edges(forbidden_edges=[("cough", "smoke")]) == [("smoke", "cough")]
    assert edges(temporal_order=[["smoke"], ["cough"], ["day"]]) == [("smoke", "cough")]
    assert edges(temporal_order=[["cough"], ["smoke", "day"]]) == [("cough", "smoke")]
    assert edges(search_space=[("smoke", "day")]) == []
    assert edges(search_space=[("cough", "smoke")]) == [("cough", "smoke")]


def test_edges_are_taken_as_lists_and_frames(related):
    for edges in ([["cough", "smoke"]], pandas.DataFrame({"from": ["cough"], "to": ["smoke"]})):
        search = rlbayes.RLBayesSearch(required_edges=edges, return_type="dag", **QUICK)
        assert search.fit(related).network_.edges == [("cough", "smoke")]
    with pytest.raises(rlbayes.InputError, match="list of lists"):
        rlbayes.RLBayesSearch(temporal_order=["smoke", "cough"], **QUICK).fit(related)


def test_columns_of_an_array_keep_their_order():
    rows = numpy.random.default_rng(1).integers(0, 2, (200, 12))
    rows[:, 10] = rows[:, 2]
    search = rlbayes.RLBayesSearch(return_type="dag", **QUICK).fit(rows)
    assert list(search.adjacency_matrix_.columns) == [f"x{at}" for at in range(12)]
    matrix = search.adjacency_matrix_.to_numpy()
    assert matrix[2, 10] + matrix[10, 2] == 1


def test_cross_validation_and_other_frames(related):
    grid = GridSearchCV(rlbayes.RLBayesSearch(**QUICK), {"scoring_method": ["bic", "aic"]}, cv=2)
    grid.fit(related)
    assert grid.best_score_ < 0
    frame = polars.from_pandas(related)
    assert rlbayes.RLBayesSearch(**QUICK).fit(frame).score_ == rlbayes.RLBayesSearch(**QUICK).fit(related).score_


def test_seeds_are_taken_as_scikit_learn_takes_them(related):
    for seed in (None, 7, numpy.int64(7), numpy.random.RandomState(7)):
        assert rlbayes.RLBayesSearch(random_state=seed, **QUICK).fit(related).score_ < 0
    with pytest.raises(ValueError, match="seed"):
        rlbayes.RLBayesSearch(random_state="seven", **QUICK).fit(related)
    with pytest.raises(ValueError, match="return_type"):
        rlbayes.RLBayesSearch(return_type="tree", **QUICK).fit(related)
    assert isinstance(rlbayes.RLBayesSearch(n_jobs=-2, evaluations=2000).fit(related).edges_, pandas.DataFrame)


def test_a_relation_of_duckdb_tells_its_names(related):
    relation = duckdb.from_df(related)
    fitted = rlbayes.RLBayesSearch(evaluations=2000, n_jobs=1).fit(relation)
    assert list(fitted.feature_names_in_) == list(related.columns) and fitted.n_features_in_ == 3
    assert fitted.score(relation) == fitted.score(related)
    with pytest.raises(ValueError, match="feature names"):
        fitted.score(duckdb.from_df(related.rename(columns={"day": "night"})))


def test_masked_cells_do_not_count_as_values():
    cells = numpy.ma.array([[0, 0], [1, 1]] * 16, mask=[[False, False]] * 31 + [[True, False]])
    with pytest.raises(rlbayes.InputError, match="missing"):
        rlbayes.RLBayesSearch(evaluations=2000, n_jobs=1).fit(cells)
