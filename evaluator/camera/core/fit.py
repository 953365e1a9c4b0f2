# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fit of a camera answers, however it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .pinhole import Array, Pinhole

ROTATION = ("rotation_x", "rotation_y", "rotation_z")
PRINCIPAL = ("principal_x", "principal_y")
CENTRE = ("centre_x", "centre_y", "centre_z")
UNDETERMINED = 1.0
"""Share of a focal length that its standard deviation is below where it means anything."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A camera, what is left over, and how well it is known."""

    camera: Pinhole
    placed: bool
    """Whether the camera's centre is known; where it is not, it is 0 and means nothing."""
    residuals: Array
    """(m, 2) in pixels: of points found − picked (x, y); of lines how far either end lies off."""
    parameters: tuple[str, ...]
    """What the rows of the covariance are: rotations in radians about the camera's own axes, `focal` and `principal_…`
    in pixels, `centre_…` in the world's unit. What was given is not among them."""
    covariance: Array
    """(n, n)."""
    sigma_px: float
    """The standard deviation of a pixel coordinate that the covariance is for."""
    assumed: tuple[str, ...] = ()
    """What nothing was given for, in words; the covariance holds none of its doubt."""
    notes: tuple[str, ...] = ()

    @property
    def sigmas(self) -> dict[str, float]:
        """The standard deviation of every parameter."""
        deviations = np.sqrt(np.diag(self.covariance))
        return dict(zip(self.parameters, deviations.tolist(), strict=True))

    @property
    def rms_px(self) -> float:
        """Root of the mean squared distance in pixels."""
        return float(np.sqrt((self.residuals**2).sum(axis=1).mean())) if len(self.residuals) else 0.0


def names(focal: bool, principal: bool, centre: bool) -> tuple[str, ...]:
    """The parameters of a fit in which these are free."""
    return (*ROTATION, *(("focal",) if focal else ()), *(PRINCIPAL if principal else ()), *(CENTRE if centre else ()))


def weak_focal(sigmas: dict[str, float], focal: float) -> list[str]:
    """A note where a focal length is hardly known."""
    share = sigmas.get("focal", 0.0) / focal
    if share < 0.25:
        return []
    known = f"is known to {share:.0%} only" if share < UNDETERMINED else "is not determined"
    return [f"the focal length {known}; pick more or better spread lines and points, or give it"]


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
