# SPDX-License-Identifier: GPL-3.0-or-later
"""The place of the estimator that runs learned models for depth, cameras, tracks and motion; none comes with it yet."""

from __future__ import annotations

from typing import Final, NoReturn

from ...protocol.errors import BadInputError

EXTRA: Final = "learned"
"""Name of the optional packages that it needs."""


def open_video(source: object) -> NoReturn:
    """Raise BadInputError that says what to do instead: the models are not part of this version."""
    raise BadInputError(
        f"{source}: the estimator 'learned' needs the models of the extra '{EXTRA}', which this version does not "
        "have; choose --estimator classical, or run the models yourself and use --estimator precomputed on their folder"
    )
