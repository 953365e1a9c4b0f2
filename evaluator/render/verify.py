# SPDX-License-Identifier: GPL-3.0-or-later
"""Sees that a job's video lies on its timeline, from what decoding it showed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from ..media.records import VideoInfo
from ..protocol.errors import OperationalError
from ..protocol.render_job import RenderJob
from ..protocol.timeline import format_rate


def verify_video(info: VideoInfo, job: RenderJob, video: Path) -> None:
    """Take the video away and raise OperationalError, naming what differs, where it is not on the job's timeline."""
    width, height = job.size
    made, wanted = info.timeline, job.timeline
    tick = 1 / wanted.rate / 2  # a container's clock need not divide a frame
    seconds = made.duration if info.seconds is None else Fraction(info.seconds)
    rounded = abs(seconds - wanted.duration) <= tick
    for name, found, right in (
        ("size", f"{made.width}x{made.height}", f"{width}x{height}"),
        ("rate", format_rate(made.rate), format_rate(wanted.rate)),
        ("frame count", str(made.frames), str(wanted.frames)),
        ("first frame", f"at {info.start_seconds:g} s", "at 0 s"),
        ("duration", f"{float(wanted.duration if rounded else seconds):.6f} s", f"{float(wanted.duration):.6f} s"),
    ):
        if found != right:
            video.unlink(missing_ok=True)
            raise OperationalError(f"{video}: its {name} is {found}; it has to be {right}; render again")
