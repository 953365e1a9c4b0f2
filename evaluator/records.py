# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of every record that is read from or written to a file inside the evaluator."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

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


TimelineField = Annotated[
    Timeline,
    BeforeValidator(_read_timeline),
    PlainSerializer(Timeline.to_json, return_type=dict[str, Any]),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "width": {"type": "integer", "minimum": 1},
                "height": {"type": "integer", "minimum": 1},
                "rate": {"type": "string"},
                "frames": {"type": "integer", "minimum": 1},
            },
            "required": ["width", "height", "rate", "frames"],
        }
    ),
]
"""A Timeline as a field of a record."""


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
