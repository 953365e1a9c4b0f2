# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots of a video, and how the cuts and fades of two videos agree."""

from __future__ import annotations

from typing import Literal

from ..records import Record

DETECTORS = ("adaptive", "content", "transnetv2")
"""Who finds cuts; the first one where nothing is said."""


class Fade(Record):
    """A picture that goes to an even black or white, or comes from it. Frames count from 0, both ends are included.

    `out` runs from the first frame that is weaker than the picture before it to the first of nothing but the shade,
    `in` from the last frame of nothing but the shade to the last that is weaker than the picture after it, `through`
    from the one's first to the other's last frame.
    """

    kind: Literal["in", "out", "through"]
    shade: Literal["black", "white"]
    first: int
    last: int


class Shots(Record):
    """Where the shots of one video meet: cuts, fades, and who found them."""

    cuts: list[int]
    """First frame of every new shot but the first, increasing. A fade holds no cut."""
    fades: list[Fade]
    detector: str
    """Name, version and parameters of the detector."""

    @property
    def boundaries(self) -> list[int]:
        """First frames of all shots but the first: the cuts, and the middle of each fade through a shade.

        A fade in belongs to the shot that it opens, a fade out to the one that it ends: the shade before and after
        has its cut where it jumps.
        """
        return _boundaries(self.cuts, self.fades)


def _boundaries(cuts: list[int], fades: list[Fade]) -> list[int]:
    middles = {(fade.first + fade.last + 1) // 2 for fade in fades if fade.kind == "through"}
    return sorted(middles.union(cuts))


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


class FadeMatch(Record):
    """One fade of either video."""

    verdict: Literal["found", "differs", "missing", "extra"]
    reference: Fade | None
    reconstruction: Fade | None

    @property
    def errors_frames(self) -> tuple[int, int] | None:
        """Signed errors of start and end, reconstruction − reference; None for a missing or extra fade."""
        if self.reference is None or self.reconstruction is None:
            return None
        return self.reconstruction.first - self.reference.first, self.reconstruction.last - self.reference.last


class ShotCheck(Record):
    """The cuts and fades of both videos in order, all as frames of the reference, and how they pair up."""

    reference_cuts: list[int]
    reconstruction_cuts: list[int]
    matches: list[CutMatch]
    detector: str
    """Name, version and parameters of the detector."""
    reference_fades: list[Fade] = []
    reconstruction_fades: list[Fade] = []
    fade_matches: list[FadeMatch] = []

    @property
    def reconstruction_boundaries(self) -> list[int]:
        """First frames of the reconstruction's shots but the first, as in `Shots`."""
        return _boundaries(self.reconstruction_cuts, self.reconstruction_fades)

    @property
    def passed(self) -> bool:
        """Whether every cut and every fade was found in its place and none is extra."""
        cuts_found = all(match.verdict == "found" for match in self.matches)
        return cuts_found and all(match.verdict == "found" for match in self.fade_matches)
