# SPDX-License-Identifier: GPL-3.0-or-later
"""From a source on disk to SGC: what it is, which estimator reads it, where its cuts are, and what is known already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import cv2
import numpy as np
from pydantic import Field

from ..protocol.errors import BadInputError
from ..protocol.files import content_key, sha256_of
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob
from ..protocol.version import VERSION
from ..records import Record
from ..shots.compare import shot_intervals
from ..shots.detect import detect_shots
from .estimators import ESTIMATORS, open_geometry
from .estimators.base import SOUND, Reading, shots_between
from .estimators.precomputed import CAMERAS_FILE
from .paper import PAPER, PaperSettings, score_paper
from .records import Geometry, SgcResult, Shots
from .robust.floors import FOLDER as SHIPPED_FLOORS
from .robust.records import NoiseFloor, RobustResult
from .robust.score import score_robust

MEASURED_FORMAT: Final = "matchcut-sgc/1"

Mode = Literal["paper", "robust"]
MODES: Final[tuple[Mode, ...]] = ("robust", "paper")


class Measured(Record):
    """SGC of one source, as it is kept on disk."""

    format: Literal["matchcut-sgc/1"] = "matchcut-sgc/1"
    name: str
    source: str
    """The path as it was given."""
    key: str
    """Of the source's content and of everything else that the result depends on; an equal key means an equal result."""
    shots: list[tuple[int, int]]
    """First and last frame of every shot, both included; no pair crosses a cut."""
    result: Annotated[SgcResult | RobustResult, Field(discriminator="mode")]


@dataclass(frozen=True)
class Request:
    """How sources are measured."""

    mode: Mode = "robust"
    estimator: str | None = None
    """None: by what the source is."""
    scene: Path | None = None
    """A render job that gives the geometry of the one video."""
    cuts: tuple[int, ...] | None = None
    """First frames of new shots; None: detected where the source is, or has, a video."""
    detector: str = "adaptive"
    paper: PaperSettings = field(default_factory=lambda: PAPER)
    floor: NoiseFloor | None = None

    @property
    def reading(self) -> Reading:
        """How files of other programs are read: soundly, or as the authors' code does but for its fixes."""
        if self.mode == "robust":
            return SOUND
        fixes = self.paper.fixes
        return Reading(fixes.fix_intrinsics_scale, fixes.disparity_to_depth)


@dataclass(frozen=True)
class Source:
    """Where the geometry of one video comes from."""

    path: Path
    """As it was given."""
    estimator: str
    files: Path
    """What the estimator reads: the video, a render job, or a folder of what other programs estimated."""
    video: Path | None
    """Where cuts can be detected."""
    first: int
    """Number of the video's first frame among the frames of `files`."""


def find_source(path: Path, request: Request) -> Source:
    """What a path is and which estimator reads it. Raises BadInputError, naming the path, where none does."""
    if request.scene is not None:
        job = RenderJob.read(request.scene)
        return Source(path, "blender", request.scene, path if path.is_file() else _video_of(request.scene), job.first)
    if (path / "job.json").is_file():
        kind, first, video = "blender", RenderJob.read(path).first, _video_of(path)
    elif path.name == CAMERAS_FILE or (path / CAMERAS_FILE).is_file():
        kind, first, video = "precomputed", 0, None
    elif path.is_file():
        kind, first, video = "classical", 0, path
    elif path.is_dir():
        raise BadInputError(
            f"{path}: neither a render job (it holds no job.json) nor a folder of estimates (it holds no "
            f"{CAMERAS_FILE}); give a video, what matchcut render --passes made, or such a folder"
        )
    else:
        raise BadInputError(f"{path}: there is no such file or folder")
    chosen = request.estimator or kind
    if chosen not in ESTIMATORS:
        raise BadInputError(f"{chosen!r} is no estimator; they are: {', '.join(ESTIMATORS)}")
    if kind != chosen and (chosen in ("blender", "precomputed") or kind != "classical"):
        raise BadInputError(f"{path}: the estimator {chosen!r} cannot read it; it reads {ESTIMATORS[chosen]}")
    return Source(path, chosen, path, video, first)


def _video_of(job_folder: Path) -> Path | None:
    video = job_folder / "reconstruction.mp4"
    return video if video.is_file() else None


def find_shots(source: Source, request: Request, reporter: Reporter) -> Shots | None:
    """The shots in numbers of the geometry's frames, or None where all frames are one shot.

    Raises BadInputError for a cut that is no frame.
    """
    first, last = _frames(source)
    if request.cuts is not None:
        for cut in request.cuts:
            if cut <= 0 or (last is not None and cut > last):
                limit = "" if last is None else f"; {source.files} has the frames {first} to {last}"
                raise BadInputError(f"cut {cut}: a cut is the first frame of a new shot{limit}")
    if source.video is None:
        return None if request.cuts is None or last is None else shots_between(request.cuts, first, last)
    if request.cuts is None:
        found = detect_shots(source.video, detector=request.detector, reporter=reporter)
        boundaries: Sequence[int] = [source.first + cut for cut in found.boundaries]
    else:
        boundaries = request.cuts
    if last is not None:
        return shots_between(boundaries, first, last)
    from ..media.probe import probe  # the scan for the cuts is known by now

    frames = probe(source.video).timeline.frames
    outside = [cut for cut in boundaries if cut >= frames]
    if outside:
        raise BadInputError(
            f"cut {outside[0]}: a cut is the first frame of a new shot; {source.video} has the frames 0 to {frames - 1}"
        )
    return tuple(shot_intervals(boundaries, frames))


def _frames(source: Source) -> tuple[int, int | None]:
    """First and last frame of the geometry; None where only decoding the video tells."""
    if source.estimator == "blender":
        job = RenderJob.read(source.files)
        return job.first, job.last
    if source.estimator == "precomputed":
        from .estimators.precomputed import open_folder

        return 0, open_folder(source.files).shots[-1][1]
    return 0, None


def fingerprint(source: Source) -> str:
    """SHA-256 of everything that the estimator reads."""
    if source.files.is_file() and source.files.name != CAMERAS_FILE:
        return sha256_of(source.files)
    folder = source.files if source.files.is_dir() else source.files.parent
    within = folder / "geometry" if source.estimator == "blender" else folder
    files = [folder / "job.json"] if source.estimator == "blender" else []
    files += sorted(path for path in within.rglob("*") if path.is_file() and not path.name.startswith("."))
    return content_key([[path.relative_to(folder).as_posix(), sha256_of(path)] for path in files if path.is_file()])


def result_key(source: Source, content: str, shots: Shots | None, request: Request) -> str:
    """The key of a result: of the content (`fingerprint`), the shots, the mode with its settings, and the versions."""
    paper: dict[str, Any] = {}
    if request.mode == "paper":
        paper = asdict(request.paper) | {"scale": {name: list(one) for name, one in request.paper.scale.items()}}
    return content_key(
        {
            "content": content,
            "estimator": source.estimator,
            "mode": request.mode,
            "shots": shots,
            "paper": paper,
            "floor": None if request.floor is None else request.floor.model_dump(mode="json"),
            "floors": [sha256_of(path) for path in sorted(SHIPPED_FLOORS.glob("floor_*.json"))],
            "versions": [VERSION, cv2.__version__, np.__version__],
        }
    )


def geometry_of(
    source: Source, shots: Shots | None, request: Request, *, reporter: Reporter, cache: Path | None
) -> Geometry:
    """The geometry of a source by its estimator, which keeps what it estimates in `cache`."""
    if source.video is not None and source.estimator == "blender" and source.video != source.files:
        _same_length(source)
    return open_geometry(
        source.estimator, source.files, shots=shots, reporter=reporter, cache=cache, reading=request.reading
    )


def _same_length(source: Source) -> None:
    """The video of a render job has its frames; with another one the cuts would lie elsewhere."""
    from ..media.probe import probe

    assert source.video is not None
    first, last = _frames(source)
    frames = probe(source.video).timeline.frames
    if last is not None and frames != last - first + 1:
        raise BadInputError(
            f"{source.video}: it has {frames} frames, the render job {source.files} has {last - first + 1}; "
            "give the video of that job, or render the scene again"
        )


def score_geometry(geometry: Geometry, request: Request, reporter: Reporter) -> SgcResult | RobustResult:
    """SGC of a geometry in the request's mode."""
    if request.mode == "paper":
        return score_paper(geometry, reporter=reporter, settings=request.paper)
    return score_robust(geometry, reporter=reporter, floor=request.floor)


def measure(
    path: Path,
    request: Request,
    *,
    name: str,
    reporter: Reporter,
    known: Callable[[str], Measured | None] = lambda key: None,
    cache: Path | None = None,
) -> tuple[Measured, Geometry | None]:
    """SGC of one source, and its geometry where it was needed: `known` may give the result of a key instead.

    What is estimated is kept in `cache`, by content. Raises BadInputError where the source cannot be read.
    """
    source = find_source(path, request)
    shots = find_shots(source, request, reporter)
    content = fingerprint(source)
    key = result_key(source, content, shots, request)
    before = known(key)
    if before is not None:
        return before.model_copy(update={"name": name, "source": str(path)}), None
    geometry = geometry_of(source, shots, request, reporter=reporter, cache=cache)
    result = score_geometry(geometry, request, reporter)
    return Measured(name=name, source=str(path), key=key, shots=list(geometry.shots), result=result), geometry


def unique_names(paths: Sequence[Path]) -> Iterator[str]:
    """A name for each path, for files about it: its stem, with its folder's where two have the same, then a number."""
    stems = [path.resolve().stem if path.suffix else path.resolve().name for path in paths]
    taken: set[str] = set()
    for path, stem in zip(paths, stems, strict=True):
        name = stem if stems.count(stem) == 1 else f"{path.resolve().parent.name}-{stem}"
        number, base = 2, name
        while name.casefold() in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name.casefold())
        yield name
