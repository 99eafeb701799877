"""Bayesian networks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _engine
from ._edges import edge_pairs
from ._errors import InputError
from ._frames import frame
from ._reading import Reading, read_options
from ._tables import kind_of, make_table, text
from ._values import values_of
from ._whole import whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DRAWN = 150


class Cpdag(NamedTuple):
    """What all networks of an equivalence class share: data cannot tell its members apart."""

    directed: list[tuple[str, str]]
    """Edges that point the same way in every member."""
    undirected: list[tuple[str, str]]
    """Edges that may point either way."""


class Comparison(NamedTuple):
    """How far a learned network is from the true one."""

    f1_directed: float
    f1_skeleton: float
    auc: float
    shd_cpdag: int


class Network:
    """A Bayesian network: names and edges and, once it is fitted, states and probabilities.

    It never changes.

    >>> chain = Network([("rain", "wet"), ("wet", "slippery")])
    >>> chain.nodes
    ['rain', 'slippery', 'wet']
    >>> chain.cpdag().undirected
    [('rain', 'wet'), ('slippery', 'wet')]
    """

    __slots__ = ("_inner",)
    _inner: _engine.Network

    def __init__(self, edges: Iterable[tuple[str, str]] = (), nodes: Iterable[str] = ()) -> None:
        """Make a network without probabilities of edges (from, to) and of nodes that may have none."""
        if edges is None:
            raise InputError("None is no network")
        pairs = edge_pairs("a network", edges)
        names = dict.fromkeys([*map(str, nodes), *(name for pair in pairs for name in pair)])
        object.__setattr__(self, "_inner", _engine.Network(list(names), pairs))

    @classmethod
    def _of(cls, inner: _engine.Network) -> Network:
        made = cls.__new__(cls)
        object.__setattr__(made, "_inner", inner)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a network never changes")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a network never changes")

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes, in order."""
        return self._inner.nodes

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges (from, to)."""
        return self._inner.edges

    @property
    def is_fitted(self) -> bool:
        """Whether there are probabilities."""
        return self._inner.is_fitted

    def states(self, node: str) -> list[str]:
        """Return the states of a node, in order."""
        return self._inner.states(node)

    def parents(self, node: str) -> list[str]:
        """Return the parents of a node."""
        return [start for start, end in self.edges if end == node]

    def children(self, node: str) -> list[str]:
        """Return the children of a node."""
        return [end for start, end in self.edges if start == node]

    def cpt(self, node: str) -> tuple[list[str], list[list[float]]]:
        """Return the parents of a node and, for each of their configurations, its probabilities.

        The last parent turns fastest.
        """
        parents, flat = self._inner.cpt(node)
        arity = len(self.states(node))
        return parents, [flat[at : at + arity] for at in range(0, len(flat), arity)]

    def cpdag(self) -> Cpdag:
        """Return the equivalence class; for a learned network under its constraints."""
        return Cpdag(*self._inner.cpdag())

    def _table(self, data: Any, reading: Reading) -> _engine.Table:
        for name in reading:
            if name not in Reading.__annotations__:
                raise TypeError(f"there is no keyword {name!r} for reading a table")
        return make_table(data, read_options(reading, self._inner), names=reading.get("names"), searched=False)

    def score(
        self, data: Any, score: str = "bic", *, ess: float = 1.0, penalty_scale: float = 1.0, **reading: Unpack[Reading]
    ) -> float:
        """Return the score of the structure on a table; its own probabilities play no part."""
        table = self._table(data, reading)
        return sum(part for _, part in self._inner.score_by_node(table, score, ess, penalty_scale))

    def score_by_node(
        self, data: Any, score: str = "bic", *, ess: float = 1.0, penalty_scale: float = 1.0, **reading: Unpack[Reading]
    ) -> dict[str, float]:
        """Return what each node contributes to the score."""
        table = self._table(data, reading)
        return dict(self._inner.score_by_node(table, score, ess, penalty_scale))

    def log_likelihood(self, data: Any, **reading: Unpack[Reading]) -> float:
        """Return the log-likelihood of rows under the network's own probabilities, in nats."""
        return sum(self.log_likelihood_by_row(data, **reading))

    def log_likelihood_by_row(self, data: Any, **reading: Unpack[Reading]) -> list[float]:
        """Return the log-likelihood of each row."""
        return self._inner.log_likelihood(self._table(data, reading))

    def fit(self, data: Any, alpha: float | str = 0.0, **reading: Unpack[Reading]) -> Network:
        """Return the network with probabilities counted from a table.

        ``alpha`` is added to every count; ``"auto"`` chooses it by rows held out.
        """
        if isinstance(alpha, str) and alpha != "auto":
            raise InputError(f'alpha="{alpha}" is neither a number nor "auto"')
        number = None if isinstance(alpha, str) else float(alpha)
        return Network._of(self._inner.fit(self._table(data, reading), number))

    def sample(self, rows: int, seed: int = 1, *, kind: str = "pandas") -> Any:
        """Draw rows; return a frame of "pandas", "polars" or "pyarrow" (a "dict" if that is not there).

        The columns of pandas are Categorical and those of polars Enum, with the states in order.
        """
        kinds = ("pandas", "polars", "pyarrow", "dict")
        if kind not in kinds:
            raise InputError(f"kind={kind!r} is none of {', '.join(kinds)}")
        rows, seed = whole("rows", rows), whole("seed", seed)
        drawn = self._inner.sample(rows, seed)
        names = {name: self.states(name) for name, _ in drawn}
        if kind == "pandas":
            try:
                import numpy
                import pandas
            except ImportError:
                pass
            else:
                columns = {
                    name: pandas.Categorical.from_codes(
                        numpy.frombuffer(codes, dtype="uint8").astype("int16"), names[name]
                    )
                    for name, codes in drawn
                }
                return pandas.DataFrame(columns)
        cells = {name: [names[name][code] for code in codes] for name, codes in drawn}
        if kind == "dict":
            return cells
        found = frame(cells, kind)
        if kind == "polars" and not isinstance(found, dict):
            import polars

            levels = (polars.col(name).cast(polars.Enum(states)) for name, states in names.items())
            return found.with_columns(*levels)
        return found

    def query(self, node: str, evidence: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Return the distribution of a node, given the states of others."""
        known = [(str(name), self._state(str(name), state)) for name, state in (evidence or {}).items()]
        return dict(self._inner.query(node, known))

    def _state(self, node: str, value: Any) -> str:
        """Return the name of a state; a truth value may be written in any case, 1 also as 1.0."""
        name = text(value)
        if isinstance(value, str):
            return name
        if name in ("True", "False"):
            known = [state for state in self.states(node) if state.lower() == name.lower()]
            return known[0] if len(known) == 1 else name
        if (integer := name.removesuffix(".0")).removeprefix("-").isdigit():
            states = self.states(node)
            known = [state for state in states if state.removesuffix(".0") == integer]
            return known[0] if len(known) == 1 and name not in states else name
        return name

    def predict_proba(self, data: Any, node: str, **reading: Unpack[Reading]) -> Any:
        """Return the probability of each state of a node in every row, from the other columns.

        The rows have the index of a frame of pandas. Where ``missing="drop-rows"`` leaves rows out, those
        that are kept have theirs.
        """
        table = self._table(data, reading)
        states, rows = self._inner.predict(table, node)
        found = frame({state: [row[at] for row in rows] for at, state in enumerate(states)}, kind_of(data))
        if hasattr(data, "iloc"):
            found.index = data.index.delete(table.dropped)
        return found

    def predict(self, data: Any, node: str, **reading: Unpack[Reading]) -> list[Any]:
        """Return the likeliest state of a node in every row, from the other columns.

        Where the node is a column of numbers or truth values in a frame of pandas or polars or in an
        array, or was declared with such ``states=``, these are numbers or truth values, so that they can
        be compared with the column; else they are the states' names.
        """
        states, rows = self._inner.predict(self._table(data, reading), node)
        values = values_of(states, node, data, reading.get("names"), reading.get("states"))
        return [values[row.index(max(row))] for row in rows]

    def compare(self, learned: Any) -> Comparison:
        """Compare this network, as the true one, with a learned one of ours, of pgmpy or networkx."""
        return Comparison(*self._inner.compare(as_network(learned)._inner))

    def adjacency_matrix(self) -> list[list[int]]:
        """Return 1 where a row's node leads to a column's, else 0; in the order of ``nodes``."""
        at = {name: place for place, name in enumerate(self.nodes)}
        matrix = [[0] * len(at) for _ in at]
        for start, end in self.edges:
            matrix[at[start]][at[end]] = 1
        return matrix

    def write(self, path: str | os.PathLike[str], *, around: str | None = None, strict_names: bool = False) -> None:
        """Write a file; the ending chooses the format: bif xml bifxml dot json svg png pdf csv graphml txt."""
        self._inner.write(os.fspath(path), around, strict_names)

    def to_text(self, ending: str, *, around: str | None = None) -> str:
        """Return what a file with this ending would hold; ``write`` makes those that are no text."""
        if ending.lower() in ("png", "pdf"):
            raise InputError(f"a {ending} is no text: use write()")
        return self._inner.text(ending, around).decode()

    def to_networkx(self) -> Any:
        """Return a ``networkx.DiGraph``."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def to_pgmpy(self) -> Any:
        """Return a ``DiscreteBayesianNetwork`` of pgmpy, with probabilities if there are any."""
        import numpy
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork

        model = DiscreteBayesianNetwork()
        model.add_nodes_from(self.nodes)
        model.add_edges_from(self.edges)
        for node in self.nodes if self.is_fitted else ():
            parents, rows = self.cpt(node)
            names = {name: self.states(name) for name in [node, *parents]}
            model.add_cpds(
                TabularCPD(
                    node,
                    len(names[node]),
                    numpy.array(rows).T,
                    evidence=parents or None,
                    evidence_card=[len(names[parent]) for parent in parents] or None,
                    state_names=names,
                )
            )
        return model

    def to_pyagrum(self) -> Any:
        """Return a ``BayesNet`` of pyAgrum, with probabilities if there are any."""
        import importlib
        import itertools

        pyagrum: Any = importlib.import_module("pyagrum")
        model = pyagrum.BayesNet()
        for node in self.nodes:
            states = self.states(node) if self.is_fitted else ["0", "1"]
            model.add(pyagrum.LabelizedVariable(node, node, states))
        for start, end in self.edges:
            model.addArc(start, end)
        for node in self.nodes if self.is_fitted else ():
            parents, rows = self.cpt(node)
            table = model.cpt(node)
            configurations = itertools.product(*(self.states(name) for name in parents))
            for row, given in zip(rows, configurations, strict=True):
                if parents:
                    table[dict(zip(parents, given, strict=True))] = row
                else:
                    table[:] = row
        return model

    def _repr_svg_(self) -> str | None:
        return self.to_text("svg") if 0 < len(self.nodes) <= _DRAWN else None

    def _repr_html_(self) -> str | None:
        return None if 0 < len(self.nodes) <= _DRAWN else f"<p>{html(repr(self))}</p>{drawing(self)}"

    def __repr__(self) -> str:
        fitted = "with" if self.is_fitted else "without"
        return f"<Network: {len(self.nodes)} nodes, {len(self.edges)} edges, {fitted} probabilities>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._inner == other._inner

    def __hash__(self) -> int:
        return hash((tuple(self.nodes), tuple(self.edges)))

    def __reduce__(self) -> tuple[Any, ...]:
        directed = self.cpdag().directed if self._inner.has_class else None
        return _unpickled, (self._inner.text("json", None), directed)


def as_network(graph: Any) -> Network:
    """Return a network of ours, of pgmpy or networkx, a file, or a list of edges, as ours."""
    if isinstance(graph, Network):
        return graph
    if isinstance(graph, (str, os.PathLike)):
        return read(graph)
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        nodes: Any = graph.nodes() if callable(graph.nodes) else graph.nodes
        edges: Any = graph.edges() if callable(graph.edges) else graph.edges
        return Network([(str(edge[0]), str(edge[1])) for edge in edges], [str(node) for node in nodes])
    return Network(graph)


def html(words: str) -> str:
    """Return a text for a page."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def drawing(network: Network) -> str:
    """Return a network for a notebook: its picture, or of a large one the nodes with most edges."""
    if len(network.nodes) <= _DRAWN:
        return network._repr_svg_() or ""
    ends = Counter(name for edge in network.edges for name in edge)
    rows = "".join(f"<tr><td>{html(name)}</td><td>{count}</td></tr>" for name, count in ends.most_common(10))
    hint = "<p>A part of it: <code>network.write(&quot;part.svg&quot;, around=&quot;NODE&quot;)</code></p>"
    return f"<table><tr><th>node</th><th>edges</th></tr>{rows}</table>{hint}"


def _unpickled(content: bytes, directed: list[tuple[str, str]] | None) -> Network:
    inner = _engine.Network.parse(content, "json")
    return Network._of(inner if directed is None else inner.with_class(directed))


def read(path: str | os.PathLike[str]) -> Network:
    """Read a network: BIF, XMLBIF, JSON, an edge list, an adjacency matrix or a model string."""
    return Network._of(_engine.Network.read(os.fspath(path)))
