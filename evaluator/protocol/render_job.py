# SPDX-License-Identifier: GPL-3.0-or-later
"""A render job on disk: what the evaluator asks of a child Blender, and what the child writes.

    JOB/job.json                  the RenderJob, written by the evaluator before a child starts
    JOB/scene.blend               the saved copy that is rendered; the artist's own file is never opened for writing
    JOB/status.json               the RenderStatus of the whole job, kept by the evaluator
    JOB/simulated.blend           where the scene has simulations: the same with their frames, which is then rendered
    JOB/render.log                what the children printed, one after the other
    JOB/parts/                    while the job runs: each child's RenderStatus, log and temporary files
    JOB/frames/000000.png …       frame index of the reference (0-based), six digits, each written atomically
    JOB/geometry/geometry.json    with `passes`: the objects and the list of chunks
    JOB/geometry/000000.npz …     with `passes`: one compressed file per chunk of frames, named by its first frame
    JOB/reconstruction.mp4        encoded and verified by the evaluator, where every frame of the reference is there
    JOB/preview.mp4               to look at, where a part or every nth frame is: at the rate at which that plays right

A chunk holds arrays for its n frames: `frames` (n,) int32, `depth` (n,H,W) float32 along the optical axis in scene
units with 0 where nothing was hit, `flow_next` and `flow_previous` (n,H,W,2) float32 in pixels (x right, y down) with
NaN where there is none, `object_ids` (n,H,W) uint16 with 0 where nothing was hit, `intrinsics` (n,3,3) and
`world_to_camera` (n,4,4) float64. Cameras have OpenCV axes (x right, y down, z forward); intrinsics are for pixel
coordinates in which the centre of the top-left pixel is (0, 0).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from .errors import BadInputError
from .files import read_json, write_json
from .timeline import Timeline

JOB_FORMAT: Final = "matchcut-render-job/1"
STATUS_FORMAT: Final = "matchcut-render-status/1"
GEOMETRY_FORMAT: Final = "matchcut-geometry/1"
STATUS_FILE: Final = "status.json"
PARTS: Final = "parts"
DISK_FULL: Final = "the disk is full; free some space, or choose another folder, and render again"


@dataclass(frozen=True)
class RenderJob:
    """One rendering of a scene on a reference's timeline.

    `scene` is the artist's .blend as a path and `scene_sha256` its content, so that a changed scene is another job.
    `first` and `last` are frames of the reference, both included; `scale` multiplies the size of the timeline.
    `samples`, `engine` and `view_transform` are None where the scene's own setting stays. `pictures` off renders the
    passes alone. `addons` are Python modules that are enabled as add-ons before the scene is opened. Every `step`-th
    frame is rendered, from `first` on. `content` tells what the scene and the files beside it held as the job was
    started, whatever the .blend's bytes are (addon/content.py); empty where nobody looked. What changes no pixel
    (workers, batches, time limits) is no part of a job.
    """

    scene: str
    timeline: Timeline
    first: int
    last: int
    scale: float = 1.0
    samples: int | None = None
    engine: str | None = None
    device: str = "auto"
    pictures: bool = True
    passes: bool = False
    scene_sha256: str = ""
    view_transform: str | None = None
    addons: list[str] = field(default_factory=list)
    step: int = 1
    content: str = ""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that are rendered."""
        return scaled_size(self.timeline, self.scale)

    @property
    def whole(self) -> bool:
        """Whether every frame of the reference is rendered."""
        return (self.first, self.last, self.step) == (0, self.timeline.frames - 1, 1)

    def wanted(self, first: int | None = None, last: int | None = None) -> range:
        """The frames that are rendered, or those of them in `first … last`, both included."""
        start = self.first if first is None else max(first, self.first)
        end = self.last if last is None else min(last, self.last)
        return range(start + (self.first - start) % self.step, end + 1, self.step)

    def same_pixels(self, other: RenderJob) -> bool:
        """Whether the other job's pictures are this one's: the same settings, of the same .blend or the same content.

        Passes are apart from the pictures.
        """
        found = replace(other, passes=self.passes)
        if not (self.content and other.content):
            found = replace(found, content=self.content)
        elif self.content == other.content:
            found = replace(found, scene=self.scene, scene_sha256=self.scene_sha256)
        return found == self

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values with the format's name first."""
        return {"format": JOB_FORMAT, **asdict(self), "timeline": self.timeline.to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RenderJob:
        """From what `to_json` wrote. Raises BadInputError where a field is missing, unknown or of another type."""
        fields = {name: value for name, value in data.items() if name != "format"}
        try:
            fields["timeline"] = Timeline.from_json(fields["timeline"])
            _check_types(cls, fields)
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise BadInputError(f"render job: {error}") from error

    @classmethod
    def read(cls, job_folder: Path) -> RenderJob:
        """Read `job.json`. Raises BadInputError, naming the file, where it is missing or not of this format."""
        path = job_folder / "job.json"
        data = read_json(path, JOB_FORMAT)
        try:
            return cls.from_json(data)
        except BadInputError as error:
            raise BadInputError(f"{path}: {error}; render the scene again") from error


@dataclass
class RenderStatus:
    """How far a job or one child's part of it is, and with what it renders.

    `state` is starting | simulating | graphics (OpenGL, Vulkan or Metal is started) | rendering | done | failed. `done`
    of `total` counts pictures and passes; `rendered` of them are new, with a mean of `seconds_per_frame`. `frame` is
    the one that is worked on, in a failure the one whose fault it is, None where it is the whole job's.
    `seconds_left` is an estimate. `failed` lists frames that could not be rendered, as `{"frame", "reason"}`.
    """

    state: str = "starting"
    done: int = 0
    total: int = 0
    rendered: int = 0
    frame: int | None = None
    seconds_per_frame: float | None = None
    seconds_left: float | None = None
    workers: int = 1
    failed: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    blender: str = ""
    engine: str = ""
    device: str = ""
    samples: int | None = None
    denoiser: str = ""
    view_transform: str = ""
    display_device: str = ""
    peak_memory_bytes: int | None = None
    notes: list[str] = field(default_factory=list)

    def write(self, job_folder: Path, name: str = STATUS_FILE) -> None:
        """Replace the job's status, or the one of a part (`part_status`)."""
        write_json(job_folder / name, {"format": STATUS_FORMAT, **asdict(self)})

    @classmethod
    def read(cls, job_folder: Path, name: str = STATUS_FILE) -> RenderStatus:
        """Read what `write` wrote. Raises BadInputError where it is missing or not of this format."""
        data = read_json(job_folder / name, STATUS_FORMAT)
        data.pop("format")
        try:
            _check_types(cls, data)
            return cls(**data)
        except TypeError as error:
            raise BadInputError(f"{job_folder / name}: {error}; render the scene again") from error


def _check_types(record: type, fields: dict[str, Any]) -> None:
    """Raise TypeError where a value of parsed JSON is not of its field's type; unknown names are left to the record."""
    for name, hint in get_type_hints(record).items():
        parts = get_args(hint) if get_origin(hint) is UnionType else (hint,)
        kinds = tuple(get_origin(part) or part for part in parts)
        if float in kinds:
            kinds += (int,)
        value = fields.get(name)
        if name in fields and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise TypeError(f"{name} is {value!r}")


def scaled_size(timeline: Timeline, scale: float) -> tuple[int, int]:
    """Width and height of the timeline, or scaled and rounded to even numbers for the encoder."""
    if scale == 1.0:
        return timeline.width, timeline.height
    width, height = (max(2, 2 * round(side * scale / 2)) for side in (timeline.width, timeline.height))
    return width, height


def frame_path(job_folder: Path, frame: int) -> Path:
    """Where the picture of reference frame `frame` (0-based) lies."""
    return job_folder / "frames" / f"{frame:06d}.png"


def part_status(first: int, last: int) -> str:
    """Name, below the job's folder, of the status of the child that renders reference frames `first … last`."""
    return f"{PARTS}/{first:06d}-{last:06d}.json"
