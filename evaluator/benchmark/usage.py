# SPDX-License-Identifier: GPL-3.0-or-later
"""What an agent uses up, read while it runs from the lines of JSON that its program writes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from ..judge.prices import Price
from ..judge.providers.base import Tokens
from .agents.records import UsageReading, UsageRule
from .records import Usage

FIGURES: Final = ("turns", "input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "usd")
LONGEST_LINE: Final = 64 * 2**20
"""Bytes; a longer line is passed over: no program tells usage in one."""
_CHUNK: Final = 4 * 2**20


class _Tail:
    """The whole lines that a growing file has got since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self) -> list[bytes]:
        """The new ones."""
        found: list[bytes] = []
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                while chunk := file.read(_CHUNK):
                    self._at += len(chunk)
                    *whole, self._rest = (self._rest + chunk).split(b"\n")
                    found += whole
                    if len(self._rest) > LONGEST_LINE:
                        self._rest = b""
        except OSError:  # not there yet, or taken away
            return found
        return found


class UsageReader:
    """Follows the output and the session files of one agent."""

    def __init__(self, reading: UsageReading, output: Path, home: Path, price: Price | None = None) -> None:
        """`price` reckons the cost of an agent that tells tokens alone; None where nobody knows it."""
        self._reading, self._home, self._price = reading, home, price
        self._tails = {} if reading.files else {output: _Tail(output)}
        self._added: defaultdict[str, dict[object, float]] = defaultdict(dict)
        self._totals: defaultdict[str, dict[Path, float]] = defaultdict(dict)
        self._number = 0

    def read(self) -> Usage:
        """Take in what was written since the last time; everything so far."""
        if self._reading.files:
            for path in self._home.glob(self._reading.files):
                if path not in self._tails and path.is_file() and not path.is_symlink():
                    self._tails[path] = _Tail(path)
        for path, tail in self._tails.items():
            for line in tail.lines():
                self._take(path, line)
        return self._usage()

    def _take(self, path: Path, line: bytes) -> None:
        if not line.lstrip().startswith(b"{"):
            return
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return
        for index, rule in enumerate(self._reading.rules):
            if all(str(_at(data, where)) == value for where, value in rule.when.items()):
                self._apply(path, index, rule, data)

    def _apply(self, path: Path, index: int, rule: UsageRule, data: Any) -> None:
        self._number += 1
        one: object = self._number
        if rule.once:
            found = _at(data, rule.once)
            if found is None:
                return
            one = (path, str(found))
        figures: dict[str, float] = {"turns": 1} if rule.turn else {}
        for figure in FIGURES:
            told = [_number(_at(data, where)) for where in getattr(rule, figure)]
            if any(value is not None for value in told):
                figures[figure] = sum(value or 0 for value in told)
        for figure, value in figures.items():
            if rule.total:
                self._totals[figure][path] = value
            else:
                self._added[figure][index, one] = value

    def _usage(self) -> Usage:
        told: dict[str, float] = {}
        for figure in FIGURES:
            values = self._totals[figure] or self._added[figure]
            if values:
                told[figure] = sum(values.values())
        usd, source = told.pop("usd", None), None
        counts = {name: int(value) for name, value in told.items()}
        if usd is not None:
            source = "agent"
        elif self._price is not None and "output_tokens" in counts:
            usd, source = self._price.cost(_tokens(counts)), "prices"
        return Usage.model_validate({**counts, "usd": usd, "usd_source": source, "note": self._note(counts, usd)})

    def _note(self, counts: dict[str, int], usd: float | None) -> str:
        if "output_tokens" not in counts:
            return self._reading.note or "the program told no tokens"
        return "" if usd is not None else "the price of the model is not known"


def _tokens(counts: dict[str, int]) -> Tokens:
    return Tokens(
        counts.get("input_tokens", 0),
        counts.get("output_tokens", 0),
        counts.get("cached_input_tokens", 0),
        counts.get("cache_write_tokens", 0),
    )


def _at(data: Any, path: str) -> Any:
    """The value at a path of names with dots between them; None where there is none."""
    for name in path.split("."):
        if not isinstance(data, dict):
            return None
        data = data.get(name)
    return data


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return float(value)
