# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots of a video, and how the cuts of two videos agree."""

from __future__ import annotations

from typing import Literal

from ..records import Record


class CutMatch(Record):
    """One cut of either video. A cut is named by the first frame of the new shot."""

    verdict: Literal["found", "early", "late", "missing", "extra"]
    reference: int | None
    reconstruction: int | None

    @property
    def error_frames(self) -> int | None:
        """Signed error, reconstruction − reference; None for a missing or extra cut."""
        if self.reference is None or self.reconstruction is None:
            return None
        return self.reconstruction - self.reference


class ShotCheck(Record):
    """The cuts of both videos in order, and how they pair up."""

    reference_cuts: list[int]
    reconstruction_cuts: list[int]
    matches: list[CutMatch]
    detector: str
    """Name, version and parameters of the detector."""

    @property
    def passed(self) -> bool:
        """Whether every cut was found at its frame and none is extra."""
        return all(match.verdict == "found" for match in self.matches)
