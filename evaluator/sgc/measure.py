# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC of a finished render job, from the passes that it rendered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob
from .estimators import blender
from .paper import score_pairs
from .records import SgcResult


def measure_render(job_folder: Path, *, cuts: Sequence[int], reporter: Reporter) -> SgcResult:
    """SGC in the paper's mode of the frames of `job_folder`, which was rendered with `passes`.

    `cuts` are the first frames of new shots, numbered like the job's frames; no pair crosses one. Expected are the
    pairs of consecutive frames that the job asks for, without those across cuts. Progress is told as stage `sgc`.
    Raises BadInputError where the job or its passes are missing, incomplete or damaged, or where a cut is no frame.
    """
    job = RenderJob.read(job_folder)
    for cut in cuts:
        if not 0 < cut < job.timeline.frames:
            raise BadInputError(
                f"cut {cut}: a cut is the first frame of a new shot; "
                f"{job_folder} has the frames 0 to {job.timeline.frames - 1}"
            )
    starts = {cut for cut in cuts if job.first < cut <= job.last}
    geometry = job_folder / "geometry"
    index = blender.read_index(geometry)
    if (index.first, index.last) != (job.first, job.last):
        raise BadInputError(
            f"{geometry}: it holds the frames {index.first} to {index.last}, "
            f"the job asks for {job.first} to {job.last}; render the scene again"
        )
    return score_pairs(
        (pair for pair in blender.pairs(geometry) if pair.frame not in starts),
        expected=job.last - job.first - len(starts),
        estimator=blender.ESTIMATOR,
        reporter=reporter,
        depth_unit=blender.DEPTH_UNIT,
        notes=index.notes,
    )
