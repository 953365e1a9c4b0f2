# SPDX-License-Identifier: GPL-3.0-or-later
"""What the audit's collectors find, as plain records that go to the evaluator as JSON."""

from __future__ import annotations

import ntpath
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

Severity = Literal["forbidden", "suspicious", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("forbidden", "suspicious", "note")

MOST_PLACES: Final = 8
"""Places of use that one finding names; the rest is counted."""
LONGEST_TEXT: Final = 300
"""Characters of one text that came from the file."""


@dataclass(frozen=True)
class Picture:
    """Where the evaluator finds a picture to compare with the reference.

    `kind` is `image` or `movie` for a file at `path`, or `array` for a .npy of (H, W, 3) uint8 sRGB. `name` says which
    one of a sequence, of tiles or of frames it is; empty where there is one only.
    """

    kind: Literal["image", "movie", "array"]
    path: str
    name: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that a person may want to know about the scene.

    `kind` is a key of the reasons in the evaluator's records. `where` are places of use that a person can find in
    Blender's interface. With `only_if_matched` it is told only where one of its pictures matches the reference; where
    one does, `matched_severity` takes the place of `severity`.
    """

    kind: str
    severity: Severity
    type: str
    name: str
    what: str
    where: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    only_if_matched: bool = False
    matched_severity: Severity | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; texts are valid UTF-8 in one line, of bounded length."""
        data = asdict(self)
        for name in ("type", "name", "what"):
            data[name] = clean(data[name])
        data["where"] = [clean(place) for place in self.where]
        return data


def clean(text: str) -> str:
    """A text from the file as one line of printable characters, shortened in its middle where it is very long."""
    line = "".join(letter if letter.isprintable() else " " for letter in text.encode("utf-8", "replace").decode())
    line = " ".join(line.split())
    half = LONGEST_TEXT // 2
    return line if len(line) <= LONGEST_TEXT else f"{line[:half]} … {line[-half:]}"


def kind_of(block: Any) -> str:
    """The type of a datablock as people call it: `image`, `movie clip`, `node group`."""
    names = {
        "NODETREE": "node group",
        "MOVIECLIP": "movie clip",
        "GREASEPENCIL_V3": "grease pencil",
        "CACHEFILE": "cache file",
    }
    kind: str = block.id_type
    return names.get(kind, kind.removesuffix("_V3").lower().replace("_", " "))


def label(block: Any) -> str:
    """`material 'Wall'`, with the library that a linked one comes from."""
    linked = f" (linked from {shown_path(block.library.filepath)})" if block.library else ""
    return f"{kind_of(block)} '{block.name}'{linked}"


def shown_path(path: str) -> str:
    """A path as the file stores it where it is relative to the .blend, else its last part: no machine's folders."""
    return path.replace("\\", "/") if path.startswith("//") else ntpath.basename(path.rstrip("/\\"))


def places(found: Iterable[str]) -> list[str]:
    """Sorted places without repeats, the first few of them and a count of the others."""
    unique = sorted(set(found))
    if len(unique) <= MOST_PLACES:
        return unique
    return [*unique[:MOST_PLACES], f"and {len(unique) - MOST_PLACES} more"]


def worst(severities: Sequence[Severity]) -> Severity:
    """The most severe; `note` for none."""
    return min(severities, key=SEVERITIES.index, default="note")
