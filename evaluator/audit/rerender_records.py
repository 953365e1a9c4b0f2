# SPDX-License-Identifier: GPL-3.0-or-later
"""What rendering frames of a scene again told about a submitted video."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from ..records import Record


class RerenderedFrame(Record):
    """One frame of the reference's timeline, rendered again and compared with what the video shows at its time."""

    frame: int
    """Of the reference, from 0."""
    shown: int | None
    """Frame of the video at that time; None where the video has ended."""
    verdict: Literal["agree", "differ", "failed"]
    """`failed` is no difference: the frame could not be rendered."""
    psnr_db: float | None = None
    """Over RGB; None where the pictures are equal or there are none."""
    ssim: float | None = None
    """Of luma."""
    levels: float | None = None
    """By how much the mean colour of the worst cell differs beyond what noise explains, in levels of 255."""
    cell: tuple[int, int, int, int] | None = None
    """That cell: left, top, right, bottom in pixels of the compared picture; the last two are excluded."""
    differing: float | None = None
    """Share of the cells that differ by more than the threshold."""
    nearest: int | None = None
    """Frame of the video near it that shows what was rendered, where it is another one."""
    reference_share: float | None = None
    """Over what differs: 0 is as rendered, 1 is the reference's frame, above 0.5 is nearer to the reference."""
    nearer_to_reference: bool = False
    detail: str
    """The same as a sentence."""


class RerenderReport(Record):
    """All frames that were rendered again. The same files, seed and settings choose the same frames."""

    format: Literal["matchcut-rerender/1"] = "matchcut-rerender/1"
    scene: str
    scene_sha256: str
    reference: str
    reference_sha256: str
    reconstruction: str
    reconstruction_sha256: str
    seed: int
    settings: Literal["submission", "job", "scene"]
    """Whose samples, engine, view and size were used."""
    width: int
    height: int
    samples: int | None
    engine: str
    device: str
    blender: str
    isolation: str
    """What the child Blender was kept from."""
    threshold_levels: float
    """A frame whose worst cell differs by more differs."""
    frames: list[RerenderedFrame]
    verdict: Literal["agree", "differ", "undecided"]
    """`undecided` where none differs and some could not be rendered."""
    nearer_to_reference: bool
    """Whether any frame of the video is nearer to the reference than to what the scene renders."""
    notes: list[str] = []

    @model_validator(mode="after")
    def _verdict_agrees(self) -> Self:
        flagged = any(frame.nearer_to_reference for frame in self.frames)
        if self.verdict != verdict_of(self.frames) or self.nearer_to_reference != flagged:
            raise ValueError("verdict or nearer_to_reference contradicts the frames")
        return self


def verdict_of(frames: list[RerenderedFrame]) -> Literal["agree", "differ", "undecided"]:
    """The verdict on the whole video."""
    verdicts = {frame.verdict for frame in frames}
    return "differ" if "differ" in verdicts else "undecided" if "failed" in verdicts else "agree"
