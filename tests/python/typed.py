"""Code as people write it, for the type checkers."""

from __future__ import annotations

import rlbayes


def watched(now: rlbayes.Progress) -> bool:
    """Stop once there is a network."""
    return now.best_score is not None and now.elapsed > 1.0


def learned(path: str) -> float:
    """Use what most people use, by types alone."""
    result: rlbayes.Result = rlbayes.learn(
        path,
        score="bdeu",
        ess=10,
        required=[("smoke", "cough")],
        tiers=[["age"], ["smoke", "cough"]],
        bins={"age": "quantile:4"},
        time="10m",
        progress=watched,
    )
    network: rlbayes.Network = result.network
    edges: list[tuple[str, str]] = network.edges
    support: rlbayes.Support = rlbayes.bootstrap(path, replicates=20, best=network)
    strength: float | None = support.strength(*edges[0])
    search: rlbayes.Search = rlbayes.start(path, evaluations=1000, threads=2)
    for now in search.watch():
        if now.improved:
            search.stop()
    cluster = rlbayes.connect("http://host:7400", token="secret")
    network.compare(cluster.result().network)
    estimator = rlbayes.RLBayesSearch(max_indegree=3, random_state=7)
    estimator.fit(path)
    return (strength or 0.0) + network.log_likelihood(path, missing="drop-rows") + estimator.score_
