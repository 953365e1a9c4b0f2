# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads foreign JSON by any of several spellings of a name, and remembers what nobody asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ...protocol.errors import BadInputError
from ...protocol.files import read_json
from ...records import Record
from ..records import DIMENSIONS, SETTINGS, Category, Setting, is_identifier
from ..validate import Fault

MAX_FILE_BYTES: Final = 256 * 2**20
MAX_FILES: Final = 100_000
MAX_DEPTH: Final = 12
"""Levels of lists and objects around a clip or a question."""
_ALL: Final = frozenset({"all", "any", "every", "shared"})
_CATEGORIES: Final[dict[str, Category]] = {
    "camera_translation": "translation", "camera_rotation": "rotation", "camera_zoom": "zoom",
    "camera_position": "position", "camera_target": "target", "targets": "target", "framing_target": "target",
    "shot_transition": "shot_transitions", "transitions": "shot_transitions", "shot_change": "shot_transitions",
    "presence": "object_presence", "objects_presence": "object_presence",
    "appearance": "object_appearance", "objects_appearance": "object_appearance",
    "spatial_relation": "spatial_relations", "spatial_relationship": "spatial_relations",
    "spatial_relationships": "spatial_relations", "spatial": "spatial_relations", "relations": "spatial_relations",
    "motion": "subject_motion", "subjects_motion": "subject_motion", "object_motion": "subject_motion",
    "action": "action_events", "actions": "action_events", "action_event": "action_events",
    "actions_events": "action_events", "actions_and_events": "action_events", "event": "action_events",
    "events": "action_events",
}  # fmt: skip
_OURS: Final[dict[str, Category]] = {
    category: category for categories in DIMENSIONS.values() for category in categories
}

RecordT = TypeVar("RecordT", bound=Record)


def plain(name: str) -> str:
    """A name without the differences of spelling: `frameOffset`, `Frame Offset` and `frame-offset` are one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def clean(text: str) -> str:
    """Foreign text as part of a line: without line feeds, and with what is no character written out."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().split())[:200]


class Fields:
    """One JSON object of a file, at `place` in it, and the report that takes what is left of it."""

    def __init__(self, data: dict[str, Any], file: str, place: str, lost: list[Fault]) -> None:
        self.file, self.place, self.lost = file, place, lost
        self._data = data
        self._names = {plain(name): name for name in reversed(data)}
        self._taken: set[str] = set()

    def take(self, *names: str) -> Any:
        """The value under the first of these names that is there; None where none is, or where it is null."""
        for name in names:
            own = self._names.get(name)
            if own is not None and own not in self._taken:
                self._taken.add(own)
                if self._data[own] is not None:
                    return self._data[own]
        return None

    def has(self, *names: str) -> bool:
        """Whether there is one of these."""
        return any(name in self._names for name in names)

    def report(self, reason: str, *inner: object) -> None:
        """Say that something at `inner` below this place is not carried over, or not as it was."""
        self.lost.append(Fault(self.file, self.below(*inner), reason))

    def below(self, *inner: object) -> str:
        """The place of something inside, as `checks/3/start`."""
        return clean("/".join([*([self.place] if self.place else []), *map(str, inner)])) or "(top)"

    def rows(self, value: Any, *inner: object) -> list[dict[str, Any]]:
        """The objects of a list or a mapping that lies at `inner`; what else is there is reported."""
        found = objects(value)
        count = len(value) if isinstance(value, list | dict) else value is not None
        if len(found) != count:
            self.report("what is no object is left out", *inner)
        return found

    def finish(self) -> None:
        """Report every field that nobody took."""
        for name in self._data:
            if name not in self._taken and self._data[name] not in (None, "", [], {}):
                self.report("this field is not known; its value is not carried over", name)


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """(name, parsed JSON) of every file below `path`: *.json, and the lines of *.jsonl, in the order of their names.

    Raises BadInputError where there is none, or one cannot be read.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.json*") if file.suffix in (".json", ".jsonl") and file.is_file())
        files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    elif path.exists():
        files = [path]
    else:
        raise BadInputError(f"{path}: there is no such file or folder; name the annotations")
    if not files:
        raise BadInputError(f"{path}: holds no *.json and no *.jsonl; name the folder of the annotations")
    if len(files) > MAX_FILES:
        raise BadInputError(f"{path}: holds {len(files):,} files; at most {MAX_FILES:,} are read at once")
    for file in files:
        name = clean(file.relative_to(path).as_posix() if path.is_dir() else file.name)
        if file.is_file() and file.stat().st_size > MAX_FILE_BYTES:
            raise BadInputError(f"{file}: is too large for annotations (at most {MAX_FILE_BYTES:,} bytes)")
        if file.suffix == ".jsonl":
            yield from _lines(file, name)
        else:
            yield name, read_json(file)


def _lines(file: Path, name: str) -> Iterator[tuple[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{file}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield f"{name}:{number}", json.loads(line, parse_constant=_refuse)
            except (ValueError, RecursionError):
                raise BadInputError(f"{file}: line {number} is not valid JSON") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def objects(value: Any) -> list[dict[str, Any]]:
    """A list of objects out of a list, or of a mapping from an id to an object, which gets it as `id`."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    if isinstance(value, dict):
        return [{"id": key, **one} for key, one in value.items() if isinstance(one, dict)]
    return []


def listed(value: Any) -> list[Any]:
    """A value as a list: nothing, one, or several."""
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def identifier(text: Any, taken: dict[str, int], otherwise: str) -> str:
    """A name of ours near `text`, which nobody in `taken` has; it is put there. `otherwise` stands in for no text."""
    word = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(text) if isinstance(text, str | int) else "").strip("_")[:72]
    word = word if is_identifier(word) else re.sub(r"^[^A-Za-z0-9]+", "", word) or otherwise
    made = word
    while made in taken:
        taken[word] += 1
        made = f"{word}_{taken[word]}"
    taken[made] = 1
    return made


def frame(value: Any) -> int | None:
    """A frame's number out of 12, 12.0, "12" or {"frame": 12}; None where it is none."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("frame", "local_frame", "index") if name in value), None)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"\s*\d{1,9}\s*", value) else None


def interval(value: Any) -> tuple[int, int] | None:
    """First and last frame out of [a, b], {"start": a, "end": b} or "a-b"; None where it is none."""
    if isinstance(value, dict):
        names = {plain(str(name)): one for name, one in value.items()}
        value = [
            next((names[name] for name in spellings if name in names), None)
            for spellings in (("start", "start_frame", "first", "begin"), ("end", "end_frame", "last", "stop"))
        ]
    if isinstance(value, str):
        value = re.split(r"\s*(?:-|–|\.\.|,|to)\s*", value.strip())
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, last = frame(value[0]), frame(value[1])
    return None if first is None or last is None else (first, last)


def seconds(value: Any) -> Fraction | None:
    """A time in seconds out of 1.5, "1.5", "1.5s" or "0:01.5"; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = re.fullmatch(r"\s*(?:(\d{1,4}):)?(?:(\d{1,2}):)?(\d{1,9}(?:\.\d{1,9})?)\s*s?\s*", str(value))
    if found is None:
        return None
    hours, minutes = (found[1], found[2]) if found[2] is not None else (None, found[1])
    return 3600 * Fraction(hours or 0) + 60 * Fraction(minutes or 0) + Fraction(found[3])


def category_of(value: Any, categories: dict[str, Category]) -> Category | None:
    """Which of ours a category is; `categories` are further spellings, which go first."""
    if not isinstance(value, str):
        return None
    name = plain(value)
    given = {plain(key): one for key, one in categories.items()}
    return given.get(name) or _OURS.get(name) or _CATEGORIES.get(name)


def settings_of(value: Any) -> tuple[list[Setting], list[str]]:
    """(the settings that a value names, in our order, what it names besides)."""
    if isinstance(value, dict):  # {"proxy": true, "simplified": false}
        value = [name for name, applies in value.items() if applies]
    if isinstance(value, str):
        value = re.split(r"[\s,;/|]+", value.strip())
    words = [plain(str(word)) for word in listed(value)]
    known = [setting for setting in SETTINGS if setting in words or _ALL & set(words)]
    return known, [word for word in words if word not in SETTINGS and word not in _ALL]


def dimension_of(category: Category) -> str:
    """The dimension that a category belongs to."""
    return next(dimension for dimension, categories in DIMENSIONS.items() if category in categories)


def record_or_none(record: type[RecordT], values: dict[str, Any], source: Fields) -> RecordT | None:
    """The record of these values; where it is refused that is reported, and None."""
    try:
        return record.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        where = "/".join(str(part) for part in fault["loc"])
        source.report(f"is left out: {where}: {fault['msg']}")
        return None
