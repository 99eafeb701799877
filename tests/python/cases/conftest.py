"""What all cases share: the command beside the package, and its tables."""

import os
import pathlib
import subprocess

import pandas
import pytest

ROOT = pathlib.Path(os.environ["RLBAYES_ROOT"])
PROGRAM = os.environ["RLBAYES_PROGRAM"]
ALARM = ROOT / "data" / "alarm.csv"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program that the package must agree with."""
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="session")
def alarm() -> pandas.DataFrame:
    return pandas.read_csv(ALARM, dtype=str)


@pytest.fixture(scope="session")
def related() -> pandas.DataFrame:
    """Three columns of which two depend on each other."""
    return pandas.DataFrame({"smoke": ["y", "n"] * 40, "cough": ["y", "n"] * 40, "day": ["a", "a", "b", "b"] * 20})
