# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of every record that is read from or written to a file inside the evaluator."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError, WithJsonSchema

from .protocol.errors import BadInputError
from .protocol.files import read_json, write_json
from .protocol.timeline import Timeline, format_rate, parse_rate

Rate = Annotated[
    Fraction,
    BeforeValidator(parse_rate),
    PlainSerializer(format_rate, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[1-9][0-9]*/[1-9][0-9]*$"}),
]
"""Frames per second as an exact fraction, stored as `24000/1001`."""


def _read_timeline(value: Any) -> Timeline:
    return value if isinstance(value, Timeline) else Timeline.from_json(value)


_TIMELINE_SCHEMA = WithJsonSchema(
    {
        "type": "object",
        "properties": {
            "width": {"type": "integer", "minimum": 1},
            "height": {"type": "integer", "minimum": 1},
            "rate": {"type": "string", "pattern": "^[1-9][0-9]*/[1-9][0-9]*$"},
            "frames": {"type": "integer", "minimum": 1},
        },
        "required": ["width", "height", "rate", "frames"],
        "additionalProperties": False,
    }
)
_TIMELINE_JSON = PlainSerializer(Timeline.to_json, return_type=dict[str, Any])

TimelineField = Annotated[Timeline, BeforeValidator(_read_timeline), _TIMELINE_JSON, _TIMELINE_SCHEMA]
"""A Timeline as a field of a record."""

_RATE: Final = re.compile(r"[1-9][0-9]{0,9}/[1-9][0-9]{0,9}")
_LARGEST: Final = 10_000_000


def _shown_timeline(value: Any) -> Timeline:
    """A stranger's number may be one that takes a computer's whole memory to write out."""
    if isinstance(value, Timeline):
        return value
    if not isinstance(value, dict) or set(value) != {"width", "height", "rate", "frames"}:
        raise ValueError("a timeline has width, height, rate and frames")
    counts = [value["width"], value["height"], value["frames"]]
    if not all(type(count) is int and 0 < count <= _LARGEST for count in counts):
        raise ValueError(f"width, height and frames are whole numbers from 1 to {_LARGEST}")
    if not isinstance(value["rate"], str) or _RATE.fullmatch(value["rate"]) is None:
        raise ValueError("a rate is written as 24000/1001")
    return Timeline.from_json(value)


ShownTimeline = Annotated[Timeline, BeforeValidator(_shown_timeline), _TIMELINE_JSON, _TIMELINE_SCHEMA]
"""A Timeline as a field of a file that a stranger may have written."""


class Record(BaseModel):
    """An immutable record; unknown fields are refused, so that a misspelt name is an error and not a default."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False)

    def write(self, path: Path) -> None:
        """Write the record as JSON, atomically."""
        write_json(path, self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the record from a JSON file. Raises BadInputError that names the file, the JSON path and the reason."""
        return cls.from_data(read_json(path), str(path))

    @classmethod
    def from_data(cls, data: Any, source: str) -> Self:
        """Check `data` (parsed JSON) from `source`. Raises BadInputError with the first fault and how many others."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            where = "/".join(str(part) for part in faults[0]["loc"]) or "(top)"
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise BadInputError(f"{source}: {where}: {faults[0]['msg']}{more}") from error
