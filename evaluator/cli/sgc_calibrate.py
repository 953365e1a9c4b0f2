# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc calibrate`: the constants of the paper's score from a set of results."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from ..report.text import COMPONENT_LABELS

if TYPE_CHECKING:
    from ..sgc.calibrate import Calibration

DESCRIPTION = """Derive normalisation and weights of the paper's score from the results of a set of videos.

Each component's population mean and deviation make a z-score, its least and greatest z map to 0 and 1, and its weight
is its share of |loading| on the first principal component. The folds tell how stable the weights are.

DIR holds results of matchcut sgc --mode paper --out, or the per-video JSON files of the authors' code, also in folders.
All have to come from one estimator. By folder, each folder's mean is a sample, as in the authors' code.

examples:
  matchcut sgc *.mp4 --mode paper --out measured && matchcut sgc calibrate measured --out calibration.json
  matchcut sgc calibrate result --by folder
  matchcut sgc new.mp4 --mode paper --calibration calibration.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder with results")
    parser.add_argument("--by", choices=("video", "folder"), default="video", help="what a sample is (default: video)")
    parser.add_argument("--folds", type=int, default=10, metavar="N", help="folds of the stability check (default: 10)")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the calibration to a file")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Calibrate, write and print."""
    from ..sgc.calibrate import calibrate, read_samples

    samples = [sample for folder in args.folders for sample in read_samples(folder, args.by)]
    reporter.progress("calibrate", len(samples), len(samples))
    found = calibrate(samples, by=args.by, folds=args.folds)
    if args.out is not None:
        found.write(args.out)
    if args.messages:
        reporter.result(str(args.out or ""), {"samples": found.samples, "explained": found.explained})
    elif args.json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(table(found))
    return ExitStatus.DONE


def table(found: Calibration) -> str:
    """A calibration as tables."""
    lines = [
        f"{found.samples} samples by {found.by}; the first principal component explains {100 * found.explained:.1f} %",
        "",
        f"{'component':<28} {'weight':>8} {'folds':>16} {'mean':>10} {'deviation':>10} {'z range':>18} {'samples':>8}",
    ]
    for name, one in found.components.items():
        stable = "—" if one.fold_weight is None else f"{one.fold_weight:.4f} ± {one.fold_deviation:.4f}"
        label = COMPONENT_LABELS[name] + (" (log)" if one.logarithmic else "")
        lines.append(
            f"{label:<28} {one.weight:>8.5f} {stable:>16} {one.mean:>10.4g} {one.deviation:>10.4g} "
            f"{f'{one.lowest:.3f} … {one.highest:.3f}':>18} {one.samples:>8}"
        )
    if found.rank_correlation is not None:
        ranked = f"{found.rank_correlation:.4f} ± {found.rank_deviation:.4f}"
        lines += ["", f"rank correlation of the scores by the weights of {found.folds} folds and by all: {ranked}"]
    lines += ["", "scores, best first:"]
    lines += [f"  {score:.4f}  {name}" for name, score in sorted(found.scores.items(), key=lambda item: item[1])]
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)]) + "\n"
