"""An estimator that stands where pgmpy's stand, with scikit-learn's contract."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._edges import edge_pairs, tier_lists
from ._errors import InputError
from ._learn import learn
from ._network import Network
from ._result import Result


class RLBayesSearch(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Learn the structure of a Bayesian network.

    Its parameters have the names that pgmpy's searches use; :func:`rlbayes.learn` says what each means.

    Parameters
    ----------
    scoring_method : "bic", "aic", "bdeu", "k2" or "loglik" (also "bic-d", "aic-d", "ll-d")
    equivalent_sample_size : of "bdeu"
    max_indegree : the most parents of a node
    expert_knowledge : an ``ExpertKnowledge`` of pgmpy; what it says is added to the next three
    required_edges, forbidden_edges : edges (from, to)
    temporal_order : lists of names, earlier ones first
    start_dag : a network to begin with, of ours, of pgmpy or of networkx
    return_type : "pdag" (the equivalence class) or "dag" (one network of it)
    time, evaluations, iterations, stagnation, target : when the search ends
    replicates : how often the search is repeated on resampled tables, for the support in ``edges_``
    n_jobs : threads; None and -1 are all cores
    random_state : a number gives the same network again (with one thread, or ``deterministic``)

    Attributes
    ----------
    causal_graph_ : a ``PDAG`` or ``DAG`` of pgmpy if that is installed, else ours
    adjacency_matrix_ : a frame of 0 and 1; an edge that may point either way has both
    edges_ : a frame: from, to, directed, gain, support
    score_ : the network's score, in nats
    network_, result_ : what :func:`rlbayes.learn` returns
    n_features_in_, feature_names_in_ : of the table

    Examples
    --------
    >>> import rlbayes
    >>> rows = [["yes", "yes"], ["no", "no"]] * 40
    >>> search = rlbayes.RLBayesSearch(evaluations=1000, n_jobs=1).fit(rows)
    >>> search.network_.edges
    [('x0', 'x1')]

    """

    def __init__(
        self,
        scoring_method: str = "bic",
        equivalent_sample_size: float = 1.0,
        penalty_scale: float = 1.0,
        max_indegree: int | None = None,
        expert_knowledge: Any = None,
        required_edges: Iterable[tuple[str, str]] | None = None,
        forbidden_edges: Iterable[tuple[str, str]] | None = None,
        temporal_order: Sequence[Sequence[str]] | None = None,
        start_dag: Any = None,
        return_type: str = "pdag",
        search: str = "rlbayes",
        time: float | str | None = None,
        evaluations: int | None = None,
        iterations: int | None = None,
        stagnation: int | str | None = None,
        target: float | None = None,
        replicates: int | None = None,
        prove: str = "auto",
        bins: Any = None,
        missing: str = "error",
        n_jobs: int | None = None,
        random_state: Any = 1,
        deterministic: bool = False,
        memory: str | None = None,
        state: str | os.PathLike[str] | None = None,
        show_progress: bool = False,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.scoring_method = scoring_method
        self.equivalent_sample_size = equivalent_sample_size
        self.penalty_scale = penalty_scale
        self.max_indegree = max_indegree
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.temporal_order = temporal_order
        self.start_dag = start_dag
        self.return_type = return_type
        self.search = search
        self.time = time
        self.evaluations = evaluations
        self.iterations = iterations
        self.stagnation = stagnation
        self.target = target
        self.replicates = replicates
        self.prove = prove
        self.bins = bins
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.deterministic = deterministic
        self.memory = memory
        self.state = state
        self.show_progress = show_progress
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> RLBayesSearch:
        """Search the best network on a table; ``y`` plays no part."""
        if self.return_type not in ("pdag", "dag"):
            raise InputError(f'return_type="{self.return_type}" is neither "pdag" nor "dag"')
        data, names = self._checked(X, reset=True)
        given = names if names is not None else getattr(data, "column_names", data.columns)
        columns = [str(name) for name in given]
        required, forbidden, tiers = self._known(columns)
        self.result_: Result = learn(
            data,
            names=names,
            score=self.scoring_method,
            ess=self.equivalent_sample_size,
            penalty_scale=self.penalty_scale,
            required=required,
            forbidden=forbidden,
            tiers=tiers,
            max_parents=self.max_indegree,
            start=self.start_dag,
            search=self.search,
            time=self.time,
            evaluations=self.evaluations,
            iterations=self.iterations,
            stagnation=self.stagnation,
            target=self.target,
            replicates=self.replicates,
            prove=self.prove,
            bins=self.bins,
            missing=self.missing,
            threads=_threads(self.n_jobs),
            seed=_seed(self.random_state),
            deterministic=self.deterministic,
            memory=self.memory,
            state=self.state,
            progress=self.callback if self.callback is not None else self.show_progress,
        )
        self.network_: Network = self.result_.network
        self.score_: float = self.result_.score
        self.edges_: Any = self.result_.edges
        self._columns = columns
        return self

    def _known(self, columns: list[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[list[str]]]:
        """Return what is known beforehand: required and forbidden edges, tiers."""
        expert = self.expert_knowledge

        def known(name: str) -> set[tuple[str, str]]:
            of_expert = edge_pairs(name, getattr(expert, name, None))
            return {*edge_pairs(f"{name}=", getattr(self, name, None)), *of_expert}

        required, forbidden, space = known("required_edges"), known("forbidden_edges"), known("search_space")
        if space:
            forbidden |= {*itertools.permutations(columns, 2)} - space
        tiers = self.temporal_order or getattr(expert, "temporal_order", None) or ()
        return sorted(required), sorted(forbidden), [tier for tier in tier_lists("temporal_order=", tiers) if tier]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def _checked(self, X: Any, *, reset: bool) -> tuple[Any, list[str] | None]:
        if hasattr(X, "columns") and hasattr(X, "shape"):
            told = X if hasattr(X, "__dataframe__") else _of_names(X)
            validate_data(self, told, reset=reset, skip_check_array=True)
            return X, None
        if isinstance(X, numpy.ma.MaskedArray):
            # scikit-learn forgets the mask.
            masked: Any = X
            X = masked.filled(numpy.nan) if masked.dtype.kind == "f" else masked.astype(object).filled(None)
        checked: Any = validate_data(
            self,
            X,
            reset=reset,
            dtype=None,
            ensure_min_samples=2 if reset else 1,
            ensure_min_features=2 if reset else 1,
            ensure_all_finite=True,
        )
        return checked, [f"x{at}" for at in range(checked.shape[1])]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of a row under the network's probabilities."""
        check_is_fitted(self)
        data, names = self._checked(X, reset=False)
        rows = self.network_.log_likelihood_by_row(data, names=names)
        return sum(rows) / len(rows)

    @property
    def causal_graph_(self) -> Any:
        """The graph: a PDAG or DAG of pgmpy if that is installed, else ours."""
        check_is_fitted(self)
        try:
            from pgmpy.base import DAG, PDAG
        except ImportError:
            return self.network_ if self.return_type == "dag" else self.network_.cpdag()
        if self.return_type == "dag":
            graph = DAG(self.network_.edges)
        else:
            directed, undirected = self.network_.cpdag()
            graph = PDAG(directed_ebunch=[*directed], undirected_ebunch=[*undirected])
        graph.add_nodes_from(self._columns)
        return graph

    @property
    def adjacency_matrix_(self) -> Any:
        """The graph as a frame of 0 and 1: a row's node leads to a column's."""
        check_is_fitted(self)
        import pandas

        names = self._columns
        matrix = pandas.DataFrame(numpy.zeros((len(names), len(names)), dtype=int), index=names, columns=names)
        directed, undirected = self.network_.cpdag()
        if self.return_type == "dag":
            directed, undirected = self.network_.edges, []
        turned = [(end, start) for start, end in undirected]
        for start, end in [*directed, *undirected, *turned]:
            matrix.loc[start, end] = 1
        return matrix


def _of_names(table: Any) -> Any:
    """Return what tells scikit-learn the names of columns of a table that it does not know."""
    import pandas

    return pandas.DataFrame(columns=list(table.columns))


def _threads(n_jobs: int | None) -> int | None:
    if n_jobs is None or n_jobs == -1:
        return None
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, numpy.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
