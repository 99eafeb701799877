"""Learn the structure of Bayesian networks from tables.

>>> import rlbayes
>>> table = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
>>> result = rlbayes.learn(table, evaluations=1000, threads=1)
>>> result.network.nodes
['day', 'rain', 'wet']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._cluster import Cluster, ClusterResult, connect
from ._engine import version as _version
from ._errors import BugError, Error, InputError, ProtocolError, TableWarning, UnreachableError
from ._learn import Progress, Search, bootstrap, learn, start
from ._network import Comparison, Cpdag, Network, read
from ._result import Result
from ._support import Support

if TYPE_CHECKING:
    from ._estimator import RLBayesSearch

__version__: str = _version()

__all__ = [
    "BugError",
    "Cluster",
    "ClusterResult",
    "Comparison",
    "Cpdag",
    "Error",
    "InputError",
    "Network",
    "Progress",
    "ProtocolError",
    "RLBayesSearch",
    "Result",
    "Search",
    "Support",
    "TableWarning",
    "UnreachableError",
    "bootstrap",
    "connect",
    "learn",
    "read",
    "start",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and only the estimator needs it.
    if name == "RLBayesSearch":
        from ._estimator import RLBayesSearch

        return RLBayesSearch
    raise AttributeError(f"module 'rlbayes' has no attribute {name!r}")
