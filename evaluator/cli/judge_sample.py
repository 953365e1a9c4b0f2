# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut judge sample`: the sample of `matchcut demo` as a benchmark whose right ratings are known."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.files import atomic_path, write_bytes
from ..protocol.messages import Reporter

SAMPLE = "two_shots"

DESCRIPTION = """Lay out what matchcut demo rendered as a benchmark, to measure a judge against right ratings:

  OUT/bench          the sample's reference and checklist
  OUT/runs           its reconstruction, wrong on purpose, under every setting
  OUT/ratings.json   the right ratings

  matchcut demo
  matchcut judge sample --demo demo --out trial
  matchcut judge run trial/bench --runs trial/runs --out trial/results --judge SPEC
  matchcut judge reliability trial/results --benchmark trial/bench --known trial/ratings.json --of reconstruction"""


def add_sample_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `judge sample`."""
    parser.add_argument(
        "--demo", type=Path, default=Path("demo"), metavar="DIR", help="of matchcut demo (default: demo)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="the folder for all of it")


def run_sample(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write the benchmark, the submissions and the ratings."""
    from ...assets_ui.samples import find_sample
    from ..checklist.benchmark import (
        BENCHMARK_FILE,
        REFERENCE_FILE,
        VIDEO_FILE,
        Benchmark,
        BenchmarkVideo,
        video_folder,
    )
    from ..checklist.records import SETTINGS
    from ..media.probe import probe

    sample = find_sample(SAMPLE)
    reference = args.demo / REFERENCE_FILE
    reconstruction = args.demo / "renders" / "reconstruction" / "reconstruction.mp4"
    for video in (reference, reconstruction):
        if not video.is_file():
            raise BadInputError(f"{video}: is not there; run matchcut demo --out {args.demo} first")
    info = probe(reference)
    if info.timeline != sample.timeline:
        raise BadInputError(
            f"{reference}: is {info.timeline}, not the sample's {sample.timeline}; run matchcut demo again"
        )
    folder = video_folder(args.out / "bench", sample.name)
    licence, source = "GPL-3.0-or-later", f"matchcut demo, sample {sample.name}"
    _copy(reference, folder / REFERENCE_FILE)
    BenchmarkVideo(id=sample.name, timeline=info.timeline, sha256=info.sha256, source=source, licence=licence).write(
        folder / VIDEO_FILE
    )
    for clip in sorted(sample.clips.glob("*.json")):
        write_bytes(folder / "clips" / clip.name, clip.read_bytes())
    Benchmark(name="matchcut sample", version="1", licence=licence, videos=[sample.name]).write(
        args.out / "bench" / BENCHMARK_FILE
    )
    for setting in SETTINGS:
        _copy(reconstruction, args.out / "runs" / "reconstruction" / setting / sample.name / "reconstruction.mp4")
    write_bytes(args.out / "ratings.json", sample.ratings.read_bytes())
    if args.messages:
        reporter.result(str(args.out), {"benchmark": str(args.out / "bench"), "runs": str(args.out / "runs")})
    else:
        sys.stdout.write(f"{args.out}: bench, runs, ratings.json\n")
    return ExitStatus.DONE


def _copy(source: Path, target: Path) -> None:
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
