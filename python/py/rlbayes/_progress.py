"""How a search is doing, shown where people look: a bar of tqdm if that is installed, else our own."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ._engine import Progress


def is_watched() -> bool:
    """Return whether a person sees what is printed: in a terminal or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # There is none, what stands for it is no file, or it is closed.
        return False


def bar() -> TqdmBar | LineBar | NoBar:
    """Return a bar that shows nothing yet; nothing ever where there is no place for it."""
    if sys.stderr is None:
        return NoBar()
    try:
        with warnings.catch_warnings():
            # tqdm warns where a notebook has no widgets; it then draws with letters.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return LineBar()
    return TqdmBar(tqdm)


def measured(now: Progress) -> tuple[float, float | None]:
    """Return how far it is, and where the end is if that is known."""
    if now.replicates is not None:
        return now.replicates[0], now.replicates[1]
    return now.elapsed, None if now.time_left is None else now.elapsed + now.time_left


def sentence(now: Progress) -> str:
    """Return what was reached so far."""
    if now.replicates is not None:
        return f"{now.replicates[0]} of {now.replicates[1]} replicates"
    return "no network yet" if now.best_score is None else f"best score {now.best_score:.3f}"


class TqdmBar:
    """A bar of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def show(self, now: Progress) -> None:
        """Show the latest."""
        done, end = measured(now)
        if self._bar is None:
            if now.replicates is not None:
                form = "{l_bar}{bar}| {n_fmt}/{total_fmt} replicates [{elapsed}]"
            elif end is None:
                form = "{desc} [{elapsed}]"
            else:
                form = "{desc} |{bar}| [{elapsed} of at most {total:.0f} s]"
            self._bar = self._tqdm(total=end, bar_format=form, leave=True)
        self._bar.total = end
        self._bar.n = done if end is None else min(done, end)
        if now.replicates is None:
            self._bar.set_description_str(sentence(now), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Leave it as it is."""
        if self._bar is not None:
            self._bar.close()


class LineBar:
    """A line that is written anew."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, now: Progress) -> None:
        """Show the latest."""
        done, end = measured(now)
        drawn = ""
        if end:
            filled = int(20 * min(1.0, done / end))
            drawn = f" [{'#' * filled}{'.' * (20 - filled)}]"
        left = "" if now.time_left is None else f", at most {now.time_left:.0f} s left"
        line = f"{sentence(now)}{drawn} {now.elapsed:.1f} s{left}"
        self._width = max(self._width, len(line))
        print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave it as it is."""
        if self._width:
            print(file=sys.stderr)


class NoBar:
    """Nothing, where programs have no place to print."""

    def show(self, now: Progress) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Leave it as it is."""
