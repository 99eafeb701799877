"""How far each edge can be trusted."""

from __future__ import annotations

import csv
import io
from typing import Any

from . import _engine
from ._errors import Error
from ._frames import frame
from ._network import Network

_COLUMNS = ["from", "to", "strength", "direction", "forward", "backward", "undirected", "se"]


class Support:
    """How far each edge can be trusted: the share of resampled tables whose best network has it."""

    def __init__(self, inner: _engine.EdgeSupport, kind: str) -> None:
        self._inner = inner
        self._kind = kind

    @property
    def replicates(self) -> int:
        """How many resampled tables it is based on."""
        return self._inner.replicates

    @property
    def threshold(self) -> float:
        """The strength from which on an edge belongs to the network and is drawn."""
        return self._inner.threshold

    @property
    def edges(self) -> Any:
        """Each pair that some replicate joins, in both directions, as a frame.

        ``strength`` is the share of replicates that join the two, ``direction`` how many of those point
        from ``from`` to ``to`` (open ones count half), ``se`` the standard error of the strength, and
        ``in_best`` whether the network of the full table has the edge.
        """
        rows = list(csv.DictReader(io.StringIO(self._inner.csv(), newline="")))
        names = list(rows[0]) if rows else _COLUMNS
        columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in names}
        for name in names[2:]:
            if name == "in_best":
                columns[name] = [cell == "TRUE" for cell in columns[name]]
            else:
                columns[name] = [float(cell) for cell in columns[name]]
        return frame(columns, self._kind, floats=_COLUMNS[2:], truths=("in_best",), texts=_COLUMNS[:2])

    def strength(self, one: str, other: str) -> float | None:
        """Return the share of replicates that join two variables; none if there is no such variable."""
        return self._inner.strength(one, other)

    def network(self) -> Network:
        """Search the best network among the edges at or above the threshold."""
        found = self._inner.relearn()
        if found is None:
            raise Error("the search was stopped")
        return Network._of(found)

    def to_svg(self, threshold: float | None = None) -> str:
        """Draw the edges at or above a threshold."""
        return self._inner.svg(self.threshold if threshold is None else threshold)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return f"<Support: {self.replicates} replicates>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._inner.parts(), self._kind)


def _unpickled(parts: Any, kind: str) -> Support:
    return Support(_engine.EdgeSupport.of_parts(*parts), kind)
