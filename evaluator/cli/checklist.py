# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut checklist validate | stats`: what is wrong in a checklist's files, and how much they ask."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..checklist.benchmark import benchmark_folder, load_benchmark
from ..checklist.load import load_clips
from ..checklist.records import DIMENSIONS, SETTINGS
from ..checklist.statistics import benchmark_statistics, checklist_statistics
from ..checklist.validate import as_json, validate
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline
from ..shots.records import DETECTORS

if TYPE_CHECKING:
    from ..checklist.whole import Seen

SUBCOMMANDS = {"import": "checklist_import"}
NO_DETECTOR = "none"

DESCRIPTION = """Check the files of a checklist or of a whole benchmark, or count what they ask.

PATH is a clip file, a folder of clip files, a video folder with clips/ in it, or the folder of a benchmark with
benchmark.json in it (docs/formats.md).

  matchcut checklist validate BENCH                          every fault of every file, with the references opened
  matchcut checklist validate BENCH --no-videos              what the JSON files alone tell, at once
  matchcut checklist validate clips/ --reference shot.mp4    also place, length and cuts of the clips
  matchcut checklist stats BENCH                             videos, seconds, clips, checks by category and setting
  matchcut checklist import --help                           annotations of others, as CineRecon's, as clips

Every line is FILE: PLACE: REASON, where PLACE is the path inside the JSON file, such as checks/3/start. A clip's cuts
are compared with those that the detector finds in the reference; where it errs (a dissolve, a flash), choose another
one, or none."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("action", choices=("validate", "stats"), help="validate lists every fault; stats counts")
    parser.add_argument("path", type=Path, metavar="PATH", help="a clip file, a folder of them, or a benchmark")
    parser.add_argument(
        "--reference", type=Path, metavar="VIDEO", help="the clips' video: also check their place, length and cuts"
    )
    parser.add_argument("--no-videos", action="store_true", help="do not open the references of a benchmark")
    parser.add_argument(
        "--detector", choices=(*DETECTORS, NO_DETECTOR), default=DETECTORS[0],
        help="who finds the cuts (default: adaptive)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="write the answer as one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Validate (exit status 2 where there is a fault) or count."""
    benchmark = benchmark_folder(args.path)
    if benchmark is not None and args.reference is not None:
        raise BadInputError(f"--reference: {args.path} is a benchmark and has its own references; leave it out")
    if args.action == "validate":
        return _validate(args, benchmark, reporter)
    if benchmark is not None:
        _answer(args, reporter, benchmark_statistics(load_benchmark(benchmark)), _statistics_text)
    else:
        reference = _timeline(args.reference)
        _answer(args, reporter, checklist_statistics(load_clips(args.path, reference), reference), _statistics_text)
    return ExitStatus.DONE


def _timeline(video: Path | None) -> Timeline | None:
    if video is None:
        return None
    from ..media.probe import probe

    return probe(video).timeline


def _look(video: Path, detector: str, reporter: Reporter) -> Seen:
    from ..checklist.whole import Seen
    from ..media.probe import probe
    from ..shots.detect import detect_shots

    cuts = None
    if detector != NO_DETECTOR:  # first, since one pass over the video then serves both
        cuts = detect_shots(video, detector=detector, reporter=reporter, stage=f"cuts of {video}").boundaries
    info = probe(video)
    return Seen(info.timeline, info.sha256, cuts)


def _validate(args: argparse.Namespace, benchmark: Path | None, reporter: Reporter) -> int:
    if benchmark is not None:
        from ..checklist.whole import validate_benchmark

        look = None if args.no_videos else lambda video: _look(video, args.detector, reporter)
        validation = validate_benchmark(benchmark, look)
    elif args.reference is not None:
        seen = _look(args.reference, args.detector, reporter)
        validation = validate(args.path, seen.timeline, seen.cuts)
    else:
        validation = validate(args.path)
    lines = [str(fault) for fault in validation.faults]
    lines.append(
        f"{len(validation.files)} files, {len(validation.clips)} clips,"
        f" {sum(len(clip.checks) for clip in validation.clips)} checks: {len(validation.faults) or 'no'} faults"
    )
    _answer(args, reporter, as_json(validation), lambda _: "\n".join(lines))
    return ExitStatus.BAD_INPUT if validation.faults else ExitStatus.DONE


def _answer(
    args: argparse.Namespace, reporter: Reporter, data: dict[str, Any], as_text: Callable[[dict[str, Any]], str]
) -> None:
    if args.messages:
        reporter.result(str(args.path), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(as_text(data) + "\n")


def _statistics_text(data: dict[str, Any]) -> str:
    frames = data["frames"]
    crossings = data["clips_crossing_a_cut"]
    crossing = f"{crossings} {'crosses' if crossings == 1 else 'cross'} a cut"
    length = f"frames {frames['total']} ({frames['shortest']}–{frames['longest']} a clip)"
    if "clip_seconds" in data:
        seconds = data["clip_seconds"]
        length += f"; a clip lasts {seconds['mean']} s on average ({seconds['shortest']}–{seconds['longest']} s)"
    lines = [f"videos {data['videos']}, clips {data['clips']} ({crossing}), entities {data['entities']}", length]
    if "video_seconds" in data:
        seconds, per_video = data["video_seconds"], data["clips_per_video"]
        lines.insert(0, f"{data['benchmark']['name']} {data['benchmark']['version']}")
        lines.append(
            f"the videos last {seconds['total']} s, {seconds['mean']} s on average ({seconds['shortest']}–"
            f"{seconds['longest']} s), with {per_video['shortest']}–{per_video['longest']} clips each"
        )
    same = [name for name, is_same in data["same_in_all_settings"].items() if is_same]
    lines += [
        f"checks {data['records']}; {data['checks_of_all_settings']} where a check counts in each of its settings",
        f"asked alike in all settings: {', '.join(same) or 'neither camera nor dynamic'}",
        "",
        f"{'category':<20}" + "".join(f"{setting:>12}" for setting in SETTINGS),
    ]
    for dimension, categories in DIMENSIONS.items():
        for category in categories:
            lines.append(_counts(category, data["checks"][category]))
        lines.append(_counts(f"all of {dimension}", data["checks_per_dimension"][dimension]))
    lines.append(_counts("all", data["checks_per_setting"]))
    return "\n".join(lines)


def _counts(name: str, counts: dict[str, int]) -> str:
    return f"{name:<20}" + "".join(f"{counts[setting]:>12}" for setting in SETTINGS)
