# SPDX-License-Identifier: GPL-3.0-or-later
"""submission.json: what a package of deliverables holds, and what was found when it was made."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from ..media.records import TimelineCheck
from ..records import Record, ShownTimeline
from ..shots.records import ShotCheck

SUBMISSION: Final = "submission.json"
SUBMISSION_FORMAT: Final = "matchcut-submission/1"
FileName = Literal["scene.blend", "reconstruction.mp4", "comparison.mp4", "contact_sheet.png", "report.md"]
FILES: Final[tuple[FileName, ...]] = (
    "scene.blend", "reconstruction.mp4", "comparison.mp4", "contact_sheet.png", "report.md",
)  # fmt: skip
"""What a package holds beside submission.json."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(max_length=1000)]


class PackagedFile(Record):
    """One file of the package."""

    name: FileName
    bytes: int = Field(ge=1, le=2**50)
    sha256: Sha256


class Reference(Record):
    """The video that was rebuilt. It is no part of the package."""

    name: Name
    """Its file's name."""
    sha256: Sha256
    timeline: ShownTimeline
    cuts: list[int] = Field(max_length=100_000)
    """First frames of its shots but the first."""


class Asked(Record):
    """The render job; None where the scene's own setting was left. What changes no pixel is no part of it."""

    scene: Name
    """Name of the artist's file, of which scene.blend is the job's copy."""
    scene_sha256: Sha256
    """Of the artist's file."""
    scale: float = Field(gt=0, le=4)
    samples: int | None = Field(ge=1, le=2**24)
    engine: Name | None
    device: Name
    view_transform: Name | None
    addons: list[Name] = Field(default=[], max_length=100)


class Rendered(Record):
    """With what it was rendered, as the child Blender said."""

    blender: Name
    engine: Name
    device: Name
    samples: int | None
    """None where the engine has none."""
    denoiser: Name
    """Empty for none."""
    view_transform: Name
    display_device: Name
    seconds_per_frame: float | None
    peak_memory_bytes: int | None
    notes: list[str] = Field(default=[], max_length=1000)
    """What was not as it should be: where the scene differed from the timeline, among others. Without folders."""


class ExternalFile(Record):
    """A file outside scene.blend that the scene names."""

    type: Name
    name: Name
    """Of the datablock."""
    file: Name
    missing: bool
    """Where the package was made."""


class Moment(Record):
    """One pair of the contact sheet; `reconstruction` is None where the reconstruction had ended."""

    reference: int
    reconstruction: int | None


class ContactSheet(Record):
    """The size of the sheet in pixels, and its pairs of frames, row by row."""

    width: int = Field(ge=1, le=65_536)
    height: int = Field(ge=1, le=65_536)
    moments: list[Moment] = Field(max_length=1000)


class Submission(Record):
    """The whole package. No date and no folder of a machine: the same job and reference give the same bytes."""

    format: Literal["matchcut-submission/1"] = SUBMISSION_FORMAT
    matchcut: Name
    libraries: dict[Name, Name] = Field(max_length=100)
    """Versions of what encoded and measured."""
    reference: Reference
    asked: Asked
    rendered: Rendered
    reconstruction: ShownTimeline
    comparison: ShownTimeline
    contact_sheet: ContactSheet
    external_files: list[ExternalFile] | None = Field(max_length=10_000)
    """What the scene needs besides itself; None where no Blender was there to look."""
    timeline_check: TimelineCheck
    shot_check: ShotCheck
    passed: bool
    """Whether timeline and cuts agree."""
    files: list[PackagedFile]

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if [file.name for file in self.files] != list(FILES):
            raise ValueError(f"files: has to name {', '.join(FILES)}, in this order")
        if self.passed != (self.timeline_check.passed and self.shot_check.passed):
            raise ValueError("passed contradicts the checks")
        return self

    def file(self, name: FileName) -> PackagedFile:
        """The entry of one file."""
        return next(file for file in self.files if file.name == name)

    @property
    def origin(self) -> dict[str, Any]:
        """What the package was made from, as plain JSON values: the job and the reference's content."""
        return {"asked": self.asked.model_dump(mode="json"), "reference": self.reference.sha256}
