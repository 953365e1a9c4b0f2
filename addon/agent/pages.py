# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps answers small: pages of lines and of records that fit into so many characters. Needs no Blender."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

LINE_LIMIT: Final = 600
CLIP_MARK: Final = " …"
COMPARED: Final = 5000  # names whose spelling is compared


def clipped(text: str, limit: int = LINE_LIMIT) -> str:
    """The text on one line, without lone surrogates, and not longer than `limit` characters."""
    text = " ".join(text[: 4 * limit].encode("utf-8", "replace").decode("utf-8").split())
    return text if len(text) <= limit else text[: limit - len(CLIP_MARK)] + CLIP_MARK


def page_of_lines(lines: Iterable[str], offset: int, budget: int) -> tuple[list[str], int | None]:
    """Of `lines`, which begin at number `offset`, those that fit into `budget` characters, at least one.

    And where the next page starts, None on the last page.
    """
    page: list[str] = []
    left = budget
    for line in lines:
        text = clipped(line)
        left -= len(text) + 5  # quotes, comma and indent
        if left < 0 and page:
            return page, offset + len(page)
        page.append(text)
    return page, None


def fitting(records: Iterable[dict[str, Any]], budget: int) -> Iterator[dict[str, Any]]:
    """The first of these JSON records that fit into `budget` characters, at least one."""
    left = budget
    for number, record in enumerate(records):
        left -= len(json.dumps(record, ensure_ascii=False))
        if left < 0 and number:
            return
        yield record


def nearest(name: str, names: Iterable[str], count: int = 5) -> list[str]:
    """The names that somebody may have meant by `name`, best first."""
    known = list(names)
    small = {one.casefold(): one for one in reversed(known)}
    wanted = name.casefold()
    holding = sorted((one for one in small if wanted and wanted in one), key=len)[:count]
    like = difflib.get_close_matches(wanted, list(small)[:COMPARED], n=count, cutoff=0.5)
    return [small[one] for one in dict.fromkeys([*holding, *like])][:count]
