"""The command `rlbayes`, the same as the program of that name."""

from __future__ import annotations

import signal
import sys

from ._engine import run_command


def main() -> None:
    """Run the command and end the process with its exit code."""
    # The command has its own answer to Ctrl-C; Python's would come after it, as a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(["rlbayes", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
