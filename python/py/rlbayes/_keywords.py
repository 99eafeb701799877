"""The keywords of searches: every flag of ``rlbayes learn``, with ``_`` for ``-``."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from . import _engine
from ._edges import edge_pairs, tier_lists
from ._errors import InputError
from ._network import as_network
from ._reading import READING, Reading
from ._whole import whole

Edges = Iterable[tuple[str, str]]


class Searching(Reading, total=False):
    """What is searched for, how, and how long."""

    score: str | None
    ess: float | None
    penalty_scale: float | None
    required: Edges | None
    forbidden: Edges | None
    tiers: Sequence[Sequence[str]] | None
    max_parents: int | None
    start: Any
    time: float | str | None
    cpu_time: float | str | None
    iterations: int | None
    evaluations: int | None
    target: float | None
    stagnation: int | str | None
    threads: int | None
    chains: int | None
    memory: int | str | None
    deterministic: bool | None
    round_evaluations: int | None
    seed: int | None
    prove: str | None
    search: str | None
    # What belongs to one search.
    theta: float
    epsilon: float
    temperature: float
    table_rows: int
    stall: int
    region: float
    no_learning: bool
    explore: str
    evict: str
    restarts: int
    perturb: int
    sa_temperature: float
    sa_cooling: float
    sa_reheating: float
    sa_reheats: int
    ga_population: int
    ga_tournament: int
    ga_crossover: float
    ga_mutation: float
    ga_elite: int
    iwo_initial: int
    iwo_maximum: int
    iwo_seeds: int
    iwo_spread_first: float
    iwo_spread_last: float
    iwo_generations: int
    ftta_population: int
    ftta_groups: int
    pso_swarm: int
    pso_generations: int


_OWN = frozenset(list(Searching.__annotations__)[list(Searching.__annotations__).index("theta") :])
_SETTINGS = frozenset(Searching.__annotations__) - _OWN - READING - {"names"}
_CHOICES = {"untried": 0.0, "all": 1.0, "protect": 0.0, "best": 1.0}
_PREFIXES = {"sa": "sa_", "ga": "ga_", "iwo": "iwo_", "ftta": "ftta_", "bnc-pso": "pso_"}
# Words of other packages for the same.
_ELSEWHERE = {
    "scoring_method": "score",
    "equivalent_sample_size": "ess",
    "iss": "ess",
    "max_indegree": "max_parents",
    "maxp": "max_parents",
    "required_edges": "required",
    "whitelist": "required",
    "forbidden_edges": "forbidden",
    "blacklist": "forbidden",
    "temporal_order": "tiers",
    "start_dag": "start",
    "n_jobs": "threads",
    "random_state": "seed",
    "max_iter": "iterations",
    "show_progress": "progress",
    "callback": "progress",
    "samples": "replicates",
    "rows": "rows_per_replicate",
}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_keywords(function: _Function) -> _Function:
    """Show notebooks and ``help`` every keyword that a function takes."""
    usual = inspect.signature(function)
    own = [part for part in usual.parameters.values() if part.kind is not part.VAR_KEYWORD]
    known = Searching.__annotations__.items()
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name, _ in known]
    function.__signature__ = usual.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return function


def check(function: str, given: Mapping[str, Any], own: Iterable[str]) -> None:
    """Refuse keywords that nobody knows, with the one that was meant."""
    known = [*Searching.__annotations__, *own]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = _ELSEWHERE.get(name) or (near[0] if near else None)
            hint = f" (did you mean {meant}?)" if meant in known else ""
            raise TypeError(f"{function}() has no keyword {name!r}{hint}")


def settings(given: Mapping[str, Any]) -> _engine.Settings:
    """Return the settings of a search."""
    options = {name: given[name] for name in _SETTINGS if given.get(name) is not None}
    for name, value in options.items():
        if name not in ("target", "time", "cpu_time", "ess", "penalty_scale"):
            options[name] = whole(name, value, 32 if name in ("threads", "chains") else 64)
    for name in ("required", "forbidden"):
        options[name] = edge_pairs(f"{name}=", options.get(name))
    options["tiers"] = tier_lists("tiers=", options.get("tiers", ()))
    for name in ("time", "cpu_time", "memory", "stagnation"):
        value = options.get(name)
        options[name] = None if value is None else str(value)
    if "start" in options:
        options["start"] = as_network(options["start"])._inner
    prefix = _PREFIXES.get(options.get("search", "rlbayes"), "")
    own = []
    for name in sorted(_OWN & set(given)):
        value = given[name]
        if value is None:
            continue
        if name == "no_learning":
            name, value = "learning", not value
        if isinstance(value, str):
            if value not in _CHOICES:
                raise InputError(f'{name}="{value}" is none of {", ".join(_CHOICES)}')
            value = _CHOICES[value]
        own.append((name.removeprefix(prefix), float(value)))
    return _engine.Settings(search_options=own, **options)
