# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc`: the 3D geometric consistency of videos and of rendered scenes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import BadInputError, ExitStatus, MatchcutError
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..sgc.measure import Measured, Request
    from ..sgc.paper import PaperSettings
    from ..sgc.records import Geometry

DESCRIPTION = """Measure SGC, the 3D geometric consistency: does the static background move as one rigid scene under one
camera? 0 is best. A score is comparable only with scores of the same mode and estimator; docs/sgc.md tells more.

VIDEO is a video file, the folder of a render job with passes, or a folder with estimates of other programs.

examples:
  matchcut sgc shot.mp4 --out measured           geometry estimated from the pictures; pictures and results in measured/
  matchcut sgc jobs/lamp --json                  a scene that was rendered with its passes: nothing is estimated
  matchcut sgc mine.mp4 --scene jobs/lamp        the same, with the cuts of that video
  matchcut sgc *.mp4 --out measured              many, as a table; run again, it goes on where it stopped
  matchcut sgc jobs/lamp --mode paper            the published metric, figure for figure
  matchcut sgc jobs/lamp --mode paper --fix all  the same with its known defects mended
  matchcut sgc jobs/lamp --mode paper --without masks --regions grid

further commands, each with its own --help:
  matchcut sgc calibrate    normalisation and weights of the paper's score from a set of results
  matchcut sgc perturb      write a corrupted copy of a video
  matchcut sgc validate     repeat the paper's sensitivity experiment on given videos
  matchcut sgc floor        measure what an estimator itself adds, on clean renders"""

SUBCOMMANDS: Final = {
    "calibrate": "sgc_calibrate",
    "perturb": "sgc_perturb",
    "validate": "sgc_validate",
    "floor": "sgc_floor",
}
TABLE_FORMAT: Final = "matchcut-sgc-table/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_measure_arguments(parser, several=True)
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep results, pictures and estimates here")
    parser.add_argument("--no-pictures", action="store_true", help="with --out: write no pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def add_measure_arguments(parser: argparse.ArgumentParser, *, several: bool) -> None:
    """Add what says what is measured and how."""
    from ..sgc.ablation import FIXES, REGION_KINDS
    from ..sgc.estimators import ESTIMATORS
    from ..sgc.measure import MODES
    from ..shots.records import DETECTORS

    parser.add_argument("videos", nargs="*", type=Path, metavar="VIDEO", help="a video, a render job, or estimates")
    parser.add_argument("--mode", choices=MODES, default=MODES[0], help="default: robust")
    parser.add_argument(
        "--estimator", choices=tuple(ESTIMATORS),
        help="what gives the geometry (default: classical for a video, blender for a render job, else precomputed)",
    )  # fmt: skip
    if several:
        parser.add_argument("--scene", type=Path, metavar="JOB", help="a render job with the geometry of the one VIDEO")
    parser.add_argument(
        "--cuts", metavar="FRAME,…", help="first frames of new shots, such as 36,80; none: '' (default: detected)"
    )
    parser.add_argument("--detector", choices=DETECTORS, default=DETECTORS[0], help="who finds cuts in a video")
    fixes = "; ".join(f"{name}: {text}" for name, text in FIXES.items())
    paper = parser.add_argument_group("the paper's mode")
    paper.add_argument("--fix", default="", metavar="NAME,…", help=f"mend known defects, or all. {fixes}")
    paper.add_argument(
        "--without", action="append", default=[], choices=("masks", "global-pose"), help="leave out a part; repeatable"
    )
    paper.add_argument("--regions", choices=REGION_KINDS, default=REGION_KINDS[0], help="default: depth")
    paper.add_argument("--calibration", type=Path, metavar="FILE.json", help="constants of matchcut sgc calibrate")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Measure, write and print."""
    from . import sgc_text

    request = request_of(args)
    paths = args.videos or ([args.scene] if args.scene is not None else [])
    if not paths:
        raise BadInputError("nothing to measure; give a VIDEO, or --scene JOB")
    if args.scene is not None and len(paths) > 1:
        raise BadInputError(f"--scene gives the geometry of one video; {len(paths)} were given")
    rows, status = measure_all(paths, request, args.out, pictures=not args.no_pictures, reporter=reporter)
    data = sgc_text.table_data(rows)
    if args.out is not None:
        sgc_text.write_table(args.out, rows)
    if args.messages:
        where = "" if args.out is None else str(args.out)
        reporter.result(where, {"format": TABLE_FORMAT, "videos": [sgc_text.summary(row) for row in rows]})
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        sys.stdout.write(sgc_text.text_of(rows) + "\n")
    return status


def request_of(args: argparse.Namespace) -> Request:
    """What the arguments ask for. Raises BadInputError for options that do not go together."""
    from ..sgc.measure import Request

    given = [
        option
        for option, value in (
            ("--fix", args.fix), ("--without", args.without), ("--calibration", args.calibration),
            ("--regions", args.regions != "depth"),
        )
        if value
    ]  # fmt: skip
    if args.mode != "paper" and given:
        raise BadInputError(f"{given[0]} changes the paper's mode; give --mode paper with it")
    request = Request(
        mode=args.mode, estimator=args.estimator, scene=getattr(args, "scene", None), cuts=cuts_of(args.cuts),
        detector=args.detector,
    )  # fmt: skip
    return replace(request, paper=_paper_settings(args)) if args.mode == "paper" else request


def _paper_settings(args: argparse.Namespace) -> PaperSettings:
    from ..protocol.files import sha256_of
    from ..sgc.ablation import Ablation, Fixes
    from ..sgc.calibrate import Calibration
    from ..sgc.paper import PAPER

    ablation = Ablation(
        masks="masks" not in args.without, regions=args.regions, global_pose="global-pose" not in args.without
    )
    settings = replace(PAPER, fixes=Fixes.from_names(args.fix.split(",")), ablation=ablation)
    if args.calibration is None:
        return settings
    found = Calibration.load(args.calibration)
    name = f"{args.calibration.name}, sha256 {sha256_of(args.calibration)}: {found.samples} samples by {found.by}"
    return replace(settings, scale=found.scale(), scale_name=name)


def cuts_of(text: str | None) -> tuple[int, ...] | None:
    """Frames out of `36,80`; None where nothing was said."""
    if text is None:
        return None
    try:
        return tuple(sorted({int(part) for part in text.split(",") if part.strip()}))
    except ValueError:
        raise BadInputError(f"--cuts {text}: not frame numbers with commas between them, such as 36,80") from None


@dataclass(frozen=True)
class Failed:
    """A source that could not be measured, and why."""

    name: str
    source: str
    error: str


def measure_all(
    paths: list[Path], request: Request, out: Path | None, *, pictures: bool, reporter: Reporter
) -> tuple[list[Measured | Failed], int]:
    """Measure one source after the other; a fault of one of many is told in its row, and in the exit status."""
    from ..sgc.measure import unique_names

    rows: list[Measured | Failed] = []
    status = int(ExitStatus.DONE)
    for number, (path, name) in enumerate(zip(paths, unique_names(paths), strict=True)):
        own = reporter if len(paths) == 1 else Named(reporter, name)
        try:
            rows.append(_measure_one(path, name, request, out, pictures=pictures, reporter=own))
        except MatchcutError as error:
            if len(paths) == 1:
                raise
            text = " ".join(str(error).splitlines())
            reporter.warning(f"{name}: {text}")
            rows.append(Failed(name, str(path), text))
            status = max(status, int(error.exit_status))
        if len(paths) > 1:
            reporter.progress("videos", number + 1, len(paths), name)
    return rows, status


def _measure_one(
    path: Path, name: str, request: Request, out: Path | None, *, pictures: bool, reporter: Reporter
) -> Measured:
    from ..sgc.measure import measure

    place = None if out is None else out / f"{name}-{request.mode}.json"
    found, geometry = measure(
        path, request, name=name, reporter=reporter, known=lambda key: _known(place, key, pictures),
        cache=None if out is None else out / "estimates",
    )  # fmt: skip
    if place is not None:
        if geometry is not None and pictures:
            _draw(found, geometry, place.with_suffix(""), reporter)
        found.write(place)  # last: where it is, everything else is there
    return found


def _known(place: Path | None, key: str, pictures: bool) -> Measured | None:
    """The result that an earlier run left of the same content and settings, with its pictures where they are wanted."""
    from ..sgc.measure import Measured

    if place is None or not place.is_file() or (pictures and not place.with_suffix("").is_dir()):
        return None
    try:
        found = Measured.read(place)
    except BadInputError:
        return None  # of another version, or damaged: it is measured again
    return found if found.key == key else None


def _draw(found: Measured, geometry: Geometry, folder: Path, reporter: Reporter) -> None:
    """The pictures of one video."""
    from ..sgc.pictures import draw_pictures

    draw_pictures(found.result, geometry, folder, reporter=reporter)


class Named:
    """A reporter that puts the video's name before every stage."""

    def __init__(self, inner: Reporter, name: str) -> None:
        self.inner, self.name = inner, name

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """See Reporter."""
        self.inner.progress(f"{self.name}, {stage}", done, total, text)

    def status(self, text: str) -> None:
        """See Reporter."""
        self.inner.status(f"{self.name}: {text}")

    def warning(self, text: str) -> None:
        """See Reporter."""
        self.inner.warning(f"{self.name}: {text}")

    def result(self, path: str, data: dict[str, Any]) -> None:
        """See Reporter."""
        self.inner.result(path, data)
