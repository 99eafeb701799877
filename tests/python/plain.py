"""The package on a Python with nothing else installed."""

import platform

import rlbayes

table = {"rain": ["y", "n"] * 40, "wet": ["y", "n"] * 40, "day": ["a", "a", "b", "b"] * 20}
result = rlbayes.learn(table, evaluations=2000, threads=1)
assert result.cpdag().undirected == [("rain", "wet")], result.cpdag()
assert result.edges["from"] == ["rain"], result.edges
assert sum(result.network.query("wet", {"rain": "y"}).values()) == 1.0
assert len(result.network.sample(5)["rain"]) == 5
print("Python", platform.python_version(), "with rlbayes", rlbayes.__version__)
