"""A search on a cluster, asked from Python."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

from . import _engine
from ._errors import InputError
from ._network import Network


class ClusterResult:
    """The best network of a cluster so far."""

    def __init__(self, about: dict[str, Any], network: Network, not_fitted: str | None = None) -> None:
        self.about = about
        """Everything that ``rlbayes learn --json`` prints."""
        self.network = network
        """The network; its class is that under the constraints of the search."""
        self.not_fitted = not_fitted
        """Why the network has no probabilities, if it has none."""
        self.score: float = about["score"]
        """Its score, in nats."""

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
        about, network, why = self._inner.result()
        if why is not None:
            warnings.warn(f"the network has no probabilities: {why}", stacklevel=2)
        return ClusterResult(json.loads(about), Network._of(network), why)

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
    """Reach a coordinator, such as ``http://host:7400``; certificates are files.

    ``ca`` signed the coordinator's, ``cert`` and ``key`` are our own; ``name`` stands in the coordinator's
    where its address does not.
    """
    if (cert is None) != (key is None):
        given, absent = ("cert", "key") if key is None else ("key", "cert")
        raise InputError(f"{given}= needs {absent}=: a certificate is shown together with its key")
    return Cluster(_engine.Coordinator(url, token, _bytes(ca), _bytes(cert), _bytes(key), name), url)


def _bytes(path: str | os.PathLike[str] | None) -> bytes | None:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()
