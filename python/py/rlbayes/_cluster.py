"""A search on a cluster, asked from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from . import _engine
from ._network import Network


class ClusterResult:
    """The best network of a cluster so far."""

    def __init__(self, about: dict[str, Any], network: Network) -> None:
        self.about = about
        self.network = network
        self.score: float = about["score"]

    def __repr__(self) -> str:
        return f"<ClusterResult: score {self.score:.3f}, {len(self.network.edges)} edges>"


class Cluster:
    """A coordinator and its workers."""

    def __init__(self, inner: _engine.Coordinator, url: str) -> None:
        self._inner = inner
        self.url = url

    def status(self) -> dict[str, Any]:
        """Return how the search is going."""
        status: dict[str, Any] = json.loads(self._inner.status())
        return status

    def watch(self) -> Iterator[dict[str, Any]]:
        """Yield the status whenever it changes, until the search is finished."""
        stream = self._inner.watch()
        while True:
            ended, status = stream.next(0.1)
            if status is not None:
                news: dict[str, Any] = json.loads(status)
                yield news
                if news.get("state") == "finished":
                    return
            if ended:
                return

    def result(self) -> ClusterResult:
        """Fetch the best network so far."""
        about, network, _ = self._inner.result()
        return ClusterResult(json.loads(about), Network._of(network))

    def stop(self) -> dict[str, Any]:
        """End the search; its result can still be fetched."""
        status: dict[str, Any] = json.loads(self._inner.stop())
        return status

    def __repr__(self) -> str:
        return f"<Cluster: {self.url}>"


def connect(
    url: str,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    cert: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Cluster:
    """Reach a coordinator, such as ``http://host:7400``; certificates are files."""
    return Cluster(_engine.Coordinator(url, token, _bytes(ca), _bytes(cert), _bytes(key), name), url)


def _bytes(path: str | os.PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()
