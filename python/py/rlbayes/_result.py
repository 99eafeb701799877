"""What a search has found."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from . import _engine
from ._errors import InputError
from ._frames import frame
from ._network import Cpdag, Network, drawing

if TYPE_CHECKING:
    from ._support import Support


class Result:
    """What a search has found."""

    def __init__(self, found: _engine.FoundNetwork, kind: str) -> None:
        inner, why = found.network()
        if why is not None:
            warnings.warn(f"the network has no probabilities: {why}", stacklevel=3)
        self.network: Network = Network._of(inner)
        """The best network, with probabilities."""
        self.score: float = found.score
        """Its score, in nats."""
        self.stopped_by: str = found.stopped_by
        """What ended the search, such as "proven", "stagnation", "time" or "interrupt"."""
        self.proven: bool = found.proven
        """Whether no network has a higher score."""
        self.gap: float | None = found.gap
        """How much higher a score could be at most, where that is known."""
        self.elapsed: float = found.elapsed
        """Seconds of the search."""
        self.best_at: float = found.best_at
        """Seconds after which the network was found."""
        self.evaluations: int = found.evaluations
        """Local scores that were asked for."""
        self.iterations: int = found.iterations
        """Steps of all chains."""
        self.trace: list[tuple[float, int, float]] = found.trace
        """The best score over time: seconds, evaluations, score."""
        self.edge_list: list[tuple[str, str, bool, float]] = found.edges
        """The edges: from, to, whether the data tell the direction, gain."""
        self.support: Support | None = None
        """How far each edge can be trusted, if ``replicates`` were asked for."""
        self._found: _engine.FoundNetwork | None = found
        self._kind = kind

    @property
    def edges(self) -> Any:
        """The edges as a frame: from, to, directed, gain, support (none without ``replicates``)."""
        support = self.support
        columns: dict[str, list[Any]] = {
            "from": [edge[0] for edge in self.edge_list],
            "to": [edge[1] for edge in self.edge_list],
            "directed": [edge[2] for edge in self.edge_list],
            "gain": [edge[3] for edge in self.edge_list],
            "support": [None if support is None else support.strength(edge[0], edge[1]) for edge in self.edge_list],
        }
        return frame(columns, self._kind, floats=("gain", "support"), truths=("directed",), texts=("from", "to"))

    def cpdag(self) -> Cpdag:
        """Return the equivalence class of the network."""
        return self.network.cpdag()

    def report(self) -> str:
        """Return the report as a page of HTML that needs nothing else."""
        if self._found is None:
            raise InputError("a report needs the search's own result, not one that was pickled")
        return self._found.report(None if self.support is None else self.support._inner)

    def write(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the network, or the report if the file ends with ``.html``."""
        if os.fspath(path).lower().endswith((".html", ".htm")):
            page = self.report()
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        else:
            self.network.write(path, **options)

    def _repr_html_(self) -> str:
        return f"<p>{self._line()}</p>{drawing(self.network)}"

    def _line(self) -> str:
        proven = ", proven best" if self.proven else ""
        edges = len(self.edge_list)
        return f"Result: score {self.score:.3f}, {edges} edges, stopped by {self.stopped_by}{proven}"

    def __repr__(self) -> str:
        return f"<{self._line()}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_found": None}
