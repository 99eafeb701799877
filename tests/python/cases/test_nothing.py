"""Tables with nothing to find: whatever the budget, a search ends."""

import pandas
import pytest

import rlbayes

BUDGETS = [
    {"time": 0.2},
    {"evaluations": 500},
    {"iterations": 50},
    {"target": 0.0},
    {"cpu_time": 0.2},
    {"stagnation": "200ms"},
    {},
]
WAYS = [{"threads": 1}, {"threads": 2}, {"threads": 2, "deterministic": True}]
SEARCHES = ["rlbayes", "paper", "hc", "tabu", "sa", "ga", "iwo", "ftta", "bnc-pso"]
TABLES = {
    "no column": {},
    "one column": {"a": [0, 1, 0, 1]},
    "one beside a constant": {"a": [0, 1, 0, 1], "b": [1, 1, 1, 1]},
    "constants": {"a": [0, 0, 0, 0], "b": [1, 1, 1, 1]},
    "independent": {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]},
}
pytestmark = pytest.mark.filterwarnings("ignore::rlbayes.TableWarning")


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("table", TABLES)
def test_tables_of_nothing_end(table, budget, way):
    if len(TABLES[table]) < 2:
        with pytest.raises(rlbayes.InputError, match="column"):
            rlbayes.learn(TABLES[table], progress=False, **budget, **way)
    else:
        result = rlbayes.learn(TABLES[table], progress=False, **budget, **way)
        assert result.network.edges == [] and len(result.edges) == 0


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_constraints_that_leave_no_edge_end(budget, way):
    table = {"a": [0, 1, 0, 1], "b": [1, 0, 1, 0]}
    for known in ({"forbidden": [("a", "b"), ("b", "a")]}, {"max_parents": 0}):
        assert rlbayes.learn(table, progress=False, **known, **budget, **way).network.edges == []


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_ends(search):
    for budget in BUDGETS[:5]:
        for table in ("constants", "independent"):
            result = rlbayes.learn(TABLES[table], search=search, threads=1, progress=False, **budget)
            assert result.network.edges == []


def test_support_of_nothing():
    for table in (TABLES["constants"], TABLES["one beside a constant"]):
        support = rlbayes.bootstrap(table, replicates=5, progress=False)
        assert support.replicates == 5 and len(support.edges) == 0
    frame = pandas.DataFrame({"a": [], "b": []})
    with pytest.raises(rlbayes.InputError, match="the table has no rows"):
        rlbayes.bootstrap(frame, replicates=5, progress=False)
    with pytest.raises(rlbayes.InputError, match="the table has no rows"):
        rlbayes.learn(frame, progress=False)
