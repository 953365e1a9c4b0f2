# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC within a score: of the scene's exact passes where a scene is given, else of what the pictures let estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from ..media.records import VideoInfo
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob
from ..protocol.timeline import Timeline
from ..results import Unscored
from ..sgc.estimators import open_geometry
from ..sgc.estimators.base import shots_between
from ..sgc.measure import Request, score_geometry
from ..sgc.pictures import draw_pictures
from ..sgc.records import Geometry, SgcResult
from ..sgc.robust.records import RobustResult
from ..shots.compare import shot_intervals
from ..shots.records import Shots
from .request import ScoreRequest

SGC_OFF: Final = "not asked for"
REFERENCE_FRAMES: Final = 240
"""A longer reference is not estimated as well: that takes as long as the reconstruction itself."""

SGC_FOLDER: Final = "sgc"
"""In OUT: the pictures of the SGC."""

Found = SgcResult | RobustResult | Unscored
Frames = Literal["reference", "reconstruction"]


def measure_sgc(
    request: ScoreRequest,
    job: Path | None,
    reconstruction: VideoInfo,
    own_shots: Shots,
    shots: Shots,
    reference: Timeline,
    reporter: Reporter,
) -> tuple[Found, Frames]:
    """SGC of the reconstruction, and on whose timeline its frames count.

    `own_shots` are those of the reconstruction on its own timeline, `shots` the same on the reference's, as a job's
    frames are. Raises BadInputError for a job whose passes are damaged; a video that cannot be estimated is unscored.
    """
    asked = _asked(request)
    if asked is None:
        return Unscored(reason=SGC_OFF), "reference"
    if job is not None and request.estimator != "classical":
        made = RenderJob.read(job)
        cuts = [cut for cut in shots.boundaries if 0 < cut < reference.frames]
        geometry = open_geometry(
            "blender", job, shots=shots_between(cuts, made.first, made.last), reporter=reporter, reading=asked.reading
        )
        return _drawn(score_geometry(geometry, asked, reporter), geometry, request, reporter), "reference"
    found = _estimated(request, asked, reconstruction, own_shots, reporter, draw=True)
    return found, "reconstruction"


def measure_reference(
    request: ScoreRequest, sgc: Found, reference: VideoInfo, shots: Shots, reporter: Reporter
) -> Found | None:
    """SGC of the reference where that of the reconstruction was estimated from its pictures as well, to compare with.

    None where there is nothing to compare with, or the reference is longer than REFERENCE_FRAMES.
    """
    asked = _asked(request)
    estimated = isinstance(sgc, RobustResult) and sgc.estimator.startswith("classical")
    if asked is None or not estimated or reference.timeline.frames > REFERENCE_FRAMES:
        return None
    return _estimated(request, asked, reference, shots, _Named(reporter))


def _asked(request: ScoreRequest) -> Request | None:
    if request.sgc_mode == "paper":
        return Request(mode="paper")
    return Request(mode="robust") if request.sgc_mode == "robust" else None


def heat_maps(folder: Path) -> list[tuple[int, Path]]:
    """(later frame of the pair, file) of the pictures of the worst pairs in `folder`, worst first."""
    return [(int(path.stem.rsplit("-", 1)[1]), path) for path in sorted(folder.glob("worst-*-frame-*.png"))]


def _drawn(found: Found, geometry: Geometry, request: ScoreRequest, reporter: Reporter) -> Found:
    """The result, once its pictures are drawn."""
    if isinstance(found, SgcResult | RobustResult):
        draw_pictures(found, geometry, request.out / SGC_FOLDER, reporter=reporter)
    return found


def _estimated(
    request: ScoreRequest, asked: Request, info: VideoInfo, shots: Shots, reporter: Reporter, *, draw: bool = False
) -> Found:
    frames = info.timeline.frames
    cuts = [cut for cut in shots.boundaries if 0 < cut < frames]
    try:
        geometry = open_geometry(
            "classical",
            Path(info.path),
            shots=shot_intervals(cuts, frames),
            reporter=reporter,
            cache=request.out / "estimates" / info.sha256[:16],
            reading=asked.reading,
        )
        found = score_geometry(geometry, asked, reporter)
        if draw:
            _drawn(found, geometry, request, reporter)
    except BadInputError as error:
        return Unscored(reason=str(error).replace(str(info.path), Path(info.path).name))
    return found


class _Named:
    """A reporter whose stages carry the reference's name: each video has a bar of its own."""

    def __init__(self, inner: Reporter) -> None:
        self._inner = inner

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""
        self._inner.progress(f"{stage}, reference", done, total, text)

    def status(self, text: str) -> None:
        """See Reporter."""
        self._inner.status(f"reference: {text}")

    def warning(self, text: str) -> None:
        """See Reporter."""
        self._inner.warning(f"reference: {text}")

    def result(self, path: str, data: dict[str, object]) -> None:
        """See Reporter."""
        self._inner.result(path, data)
