# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator's lines in the window's words. No bpy: tested on its own.

The evaluator counts a reference's frames from 0 and knows no scene; in the window there is one counting, that of the
scene's timeline. Sizes are written in one way, and a file of the wrong kind is told without the names of formats.
"""

from __future__ import annotations

import re
from typing import Final

_FRAMES: Final = re.compile(
    r"\b([Ff]rames?) (\d+)((?:\s?[–-]\s?| to | and )\d+\b)?(?! of (?:the )?\d| frames?\b)(?!\d)"
)
_NUMBER: Final = re.compile(r"\d+")
_SIZE: Final = re.compile(r"(?<![\w.\-/\\])(\d{1,5}) ?[x×] ?(\d{1,5})(?!\w|[.\-/\\]\w)")
_FORMAT: Final = re.compile(r"its format is (.+?); expected '(matchcut-[a-z-]+)/\d+'")
_COMMAND: Final = re.compile(r" \((?:(and \d+ more); )?matchcut [^()].* lists them\)$")

KINDS: Final = {
    "matchcut-clip": "this is no checklist that Matchcut can read; pick a clip's file, or a folder of them",
}
"""What is said of a file that had to be of this format."""


def scene_frames(text: str, start: int) -> str:
    """Frames of a reference or a render, counted from 0 (`frames 0–71`), as a scene counts that begins at `start`.

    `frame 3 of 72` is a count, and stays.
    """

    def moved(found: re.Match[str]) -> str:
        numbers = _NUMBER.sub(lambda number: str(start + int(number[0])), found[2] + (found[3] or ""))
        return f"{found[1]} {numbers}"

    return _FRAMES.sub(moved, text)


def sizes(text: str) -> str:
    """Sizes of pictures as `1920 × 1080`; names of files stay as they are."""
    return _SIZE.sub(r"\1 × \2", text)


def no_formats(text: str) -> str:
    """Where a file is of another format than was expected: what it is not, and what to do."""

    def told(found: re.Match[str]) -> str:
        if found[1].strip("'").startswith(f"{found[2]}/"):
            return "it was made by another version of Matchcut; make it again, or update"
        return KINDS.get(
            found[2], "this is no file of the kind that is needed here; pick another one, or make it again"
        )

    return _FORMAT.sub(told, text.replace(": (top): ", ": "))


def sentence(text: str, start: int | None = None) -> str:
    """A line of the evaluator's as a panel shows it: with a capital, unless it begins with a path.

    `start` is the first frame of the scene that it is about, if it is about one. A command that it names for more,
    `(… matchcut … lists them)`, is left out.
    """
    text = _COMMAND.sub(lambda found: f" ({found[1]})" if found[1] else "", text)
    text = sizes(no_formats(text if start is None else scene_frames(text, start)))
    return text if "/" in text.partition(" ")[0] else f"{text[:1].upper()}{text[1:]}"
