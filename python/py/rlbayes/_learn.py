"""Searches, and how they are waited for."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

from . import _engine
from ._errors import Error, InputError
from ._keywords import Searching, check, settings, with_keywords
from ._network import Network, as_network
from ._progress import bar, is_watched
from ._reading import read_options
from ._result import Result
from ._support import Support
from ._tables import kind_of, make_table
from ._whole import whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("rlbayes")

Progress = _engine.Progress
Watching = bool | str | Callable[[Progress], Any]


class Search:
    """A search under way: it runs on threads of its own until it ends, is stopped or is forgotten.

    Several threads may watch it and wait for its result.
    """

    def __init__(self, running: _engine.Running, kind: str) -> None:
        self._running = running
        self._kind = kind
        self._done = False
        self._taking = threading.Lock()
        self._was_taken = False
        self._found: _engine.FoundNetwork | _engine.EdgeSupport | None = None
        self._error: Error | None = None
        self._result: Any = None

    def stop(self) -> None:
        """End the search soon; what was found so far is its result."""
        self._running.stop()

    def watch(self) -> Iterator[Progress]:
        """Yield how it is doing, until it ends."""
        while not self._done:
            done, progress, sentences = self._running.wait(0.05)
            # Never back to "under way": another thread may have seen the end.
            if done:
                self._done = True
            for sentence in sentences:
                log.warning(sentence)
            if progress is not None:
                if progress.improved:
                    log.info("best score %s after %.1f s", progress.best_score, progress.elapsed)
                yield progress

    def result(self) -> Any:
        """Wait for the end and return what was found; raise what went wrong, each time it is asked for."""
        for _ in self.watch():
            pass
        with self._taking:
            if not self._was_taken:
                try:
                    self._found = self._running.result()
                except Error as error:
                    self._error = error
                self._was_taken = True
            if self._result is None:
                if isinstance(self._found, _engine.FoundNetwork):
                    self._result = Result(self._found, self._kind)
                elif isinstance(self._found, _engine.EdgeSupport):
                    self._result = Support(self._found, self._kind)
        if self._error is not None:
            raise self._error
        return self._result

    def __repr__(self) -> str:
        return f"<Search: {'ended' if self._done else 'under way'}>"


@with_keywords
def start(
    data: Any,
    *,
    name: str | None = None,
    state: str | os.PathLike[str] | None = None,
    alpha: float = 0.0,
    **keywords: Unpack[Searching],
) -> Search:
    """Start a search and return at once; the keywords are those of :func:`learn`.

    Keep what is returned: a search that nobody can ask for its result any more is stopped.

    >>> import rlbayes
    >>> table = {"smokes": ["yes", "no"] * 40, "coughs": ["yes", "no"] * 40}
    >>> search = rlbayes.start(table, evaluations=1000, threads=1)
    >>> search.result().cpdag().undirected
    [('coughs', 'smokes')]
    """
    check("start", keywords, ("name", "state", "alpha"))
    if not isinstance(alpha, Real) or not 0 <= alpha < float("inf"):
        hint = ": only Network.fit() chooses it" if isinstance(alpha, str) else ""
        raise InputError(f"alpha={alpha!r} is no number that is at least 0{hint}")
    table = make_table(data, read_options(keywords), name=name, names=keywords.get("names"))
    folder = None if state is None else os.fspath(state)
    return Search(_engine.Running.search(table, settings(keywords), alpha, folder), kind_of(data))


@with_keywords
def learn(
    data: Any,
    *,
    name: str | None = None,
    alpha: float = 0.0,
    state: str | os.PathLike[str] | None = None,
    replicates: int | None = None,
    rows_per_replicate: float | None = None,
    without_replacement: bool | None = None,
    replicate_evaluations: int | None = None,
    threshold: float | None = None,
    progress: Watching = "auto",
    on_interrupt: str = "return",
    **keywords: Unpack[Searching],
) -> Result:
    """Learn the structure of a Bayesian network from a table.

    ``data`` is a frame of pandas or polars, an Arrow table, a DuckDB relation, a two-dimensional array
    (with ``names=``), a dict of lists, a list of dicts, or a path. It is never changed. Every flag of
    ``rlbayes learn`` is a keyword, with ``_`` for ``-``; without any the search ends when it has found
    nothing better for a while, or when its network is proven to be the best.

    What is searched for
        ``score``: "bic", "aic", "bdeu" (with ``ess``), "k2" or "loglik"; ``penalty_scale``;
        ``required`` and ``forbidden``: edges such as ``[("smokes", "coughs")]``; ``tiers``: lists of
        names, earlier ones first; ``max_parents``; ``start``: a network to begin with.
    How long
        ``time`` and ``cpu_time`` (seconds, or "10m"), ``evaluations``, ``iterations``, ``target`` (a score),
        ``stagnation`` ("30s", or a number of evaluations). ``progress``: "auto" shows a bar in terminals
        and notebooks; True, False; or a function of a :class:`Progress`, which stops the search by
        returning True. Ctrl-C ends the search and returns the best so far; ``on_interrupt="raise"``
        raises instead. ``state``: a folder from which the same call goes on.
    With what
        ``threads``, ``memory`` ("2GiB"), ``seed``, ``chains``; ``deterministic``: the same result on any
        number of threads; ``search``: "rlbayes" or one that it is compared with, and its settings.
    How the table is read
        ``bins`` ("quantile:4", or one for each column in a dict), ``missing`` ("drop-rows"),
        ``missing_markers``, ``states``, ``schema``, ``drop``, ``columns``, and for text files
        ``separator``, ``decimal``, ``comment``, ``encoding``, ``header``.
    What else is found out
        ``prove``: "auto", "off" or "only"; ``replicates``: how often the search is repeated on resampled
        tables, which gives the support of edges, with ``rows_per_replicate``, ``without_replacement``,
        ``replicate_evaluations`` and ``threshold`` as in :func:`bootstrap`; ``alpha`` is added to every
        count of the probabilities; ``name`` of the table.

    >>> import rlbayes
    >>> table = {"smokes": ["yes", "no"] * 40, "coughs": ["yes", "no"] * 40}
    >>> result = rlbayes.learn(table, evaluations=1000, threads=1)
    >>> result.cpdag().undirected
    [('coughs', 'smokes')]
    >>> result.network.query("coughs", {"smokes": "yes"})
    {'no': 0.0, 'yes': 1.0}
    """
    drawn = {
        "rows_per_replicate": rows_per_replicate,
        "without_replacement": without_replacement,
        "replicate_evaluations": replicate_evaluations,
        "threshold": threshold,
    }
    check("learn", keywords, ("name", "alpha", "state", "replicates", "progress", "on_interrupt", *drawn))
    given: dict[str, Any] = {name: value for name, value in drawn.items() if value is not None}
    if given and replicates is None:
        raise InputError(f"{next(iter(given))}= is for replicates, and without replicates= there are none")
    search = start(data, name=name, state=state, alpha=alpha, **keywords)
    result: Result = _follow(search, progress, on_interrupt)
    if replicates is not None and result.stopped_by != "interrupt":
        running = _replicate(
            data, keywords, replicates=replicates, name=name, state=state, best=result.network, **given
        )
        result.support = _follow(running, progress, on_interrupt)
        if result.support is None:
            warnings.warn("stopped before the first replicate: there is no support", stacklevel=2)
    return result


@with_keywords
def bootstrap(
    data: Any,
    *,
    replicates: int = 200,
    rows_per_replicate: float | None = None,
    without_replacement: bool = False,
    replicate_evaluations: int | None = None,
    threshold: float = 0.5,
    best: Network | None = None,
    name: str | None = None,
    state: str | os.PathLike[str] | None = None,
    progress: Watching = "auto",
    on_interrupt: str = "return",
    **keywords: Unpack[Searching],
) -> Support:
    """Repeat the search on resampled tables, and count how many of their best networks have each edge.

    ``rows_per_replicate`` is a share of the table's rows (up to 1) or a number, drawn
    ``without_replacement`` if you like; ``replicate_evaluations`` limits the search of a replicate.
    Edges with a support of ``threshold`` or more are drawn, and kept in a network. ``best`` is a network
    whose edges are marked. The other keywords are those of :func:`learn`.

    >>> import rlbayes
    >>> table = {"smokes": ["yes", "no"] * 40, "coughs": ["yes", "no"] * 40}
    >>> support = rlbayes.bootstrap(table, replicates=10, threads=1)
    >>> support.strength("smokes", "coughs")
    1.0
    """
    own = ("replicates", "rows_per_replicate", "threshold", "best", "name", "state", "progress", "on_interrupt")
    check("bootstrap", keywords, (*own, "without_replacement", "replicate_evaluations"))
    running = _replicate(
        data,
        keywords,
        replicates=replicates,
        rows_per_replicate=rows_per_replicate,
        without_replacement=without_replacement,
        replicate_evaluations=replicate_evaluations,
        threshold=threshold,
        best=None if best is None else as_network(best),
        name=name,
        state=state,
    )
    support: Support | None = _follow(running, progress, on_interrupt)
    if support is None:
        raise Error("stopped before the first replicate was done")
    return support


def _replicate(
    data: Any,
    keywords: Searching,
    *,
    replicates: int,
    best: Network | None,
    name: str | None,
    state: str | os.PathLike[str] | None,
    rows_per_replicate: float | None = None,
    without_replacement: bool = False,
    replicate_evaluations: int | None = None,
    threshold: float = 0.5,
) -> Search:
    replicates = whole("replicates", replicates, 32)
    replicate_evaluations = whole("replicate_evaluations", replicate_evaluations)
    table = make_table(data, read_options(keywords), name=name, names=keywords.get("names"))
    running = _engine.Running.bootstrap(
        table,
        settings(keywords),
        replicates,
        rows_per_replicate,
        without_replacement,
        replicate_evaluations,
        threshold,
        None if best is None else best._inner,
        None if state is None else os.fspath(state),
    )
    return Search(running, kind_of(data))


def _is_true(answer: Any) -> bool:
    """Return whether a callback said True, be it Python's or numpy's; any other object says nothing."""
    return answer is True or (
        type(answer).__module__ == "numpy" and type(answer).__name__ in ("bool", "bool_") and bool(answer)
    )


def _follow(search: Search, progress: Watching, on_interrupt: str) -> Any:
    """Wait for a search; Ctrl-C ends it, and returns what it has or raises."""
    if on_interrupt not in ("return", "raise"):
        search.stop()
        raise InputError(f'on_interrupt="{on_interrupt}" is neither "return" nor "raise"')
    if not callable(progress) and progress not in (True, False, "auto"):
        search.stop()
        raise InputError(f'progress={progress!r} is none of True, False, "auto" and a function')
    callback = progress if callable(progress) else None
    shown = None
    interrupted = False
    try:
        if progress is True or (progress == "auto" and is_watched()):
            shown = bar()
        while not search._done:
            try:
                for now in search.watch():
                    if callback is not None and _is_true(callback(now)):
                        search.stop()
                    if shown is not None:
                        shown.show(now)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                search.stop()
    except BaseException:
        search.stop()
        raise
    finally:
        if shown is not None:
            shown.close()
    result = search.result()
    if interrupted and (on_interrupt == "raise" or result is None):
        raise KeyboardInterrupt
    if interrupted:
        based = f"based on {result.replicates} replicates" if isinstance(result, Support) else "this is the best so far"
        warnings.warn(f"interrupted: {based}", stacklevel=3)
    return result
