"""Whole numbers that the engine takes, of Python or numpy."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ._errors import InputError


def whole(keyword: str, value: Any, bits: int = 64) -> Any:
    """Return a whole number that is at least 0 and has so many bits; what is no such number as it is."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return value
    number = int(value)
    if number < 0:
        raise InputError(f"{keyword}={number} is negative")
    if number >= 2**bits:
        raise InputError(f"{keyword}={number} is too large (the largest is {2**bits - 1})")
    return number
