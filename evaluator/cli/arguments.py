# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers on the command line, for `argparse`'s `type`."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:13]) <= 10**12):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value
