# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut sgc validate`: whether the score answers to what is wrong, and what its components share."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..report.text import significant
from .sgc import Named, add_measure_arguments, request_of

if TYPE_CHECKING:
    from ..sgc.measure import Request
    from ..sgc.records import SgcResult
    from ..sgc.robust.records import RobustResult
    from ..sgc.validate import Case, Validation

DESCRIPTION = """Repeat the paper's sensitivity experiment and its correlation of components on given videos.

Corruptions that grow along each shot are injected at some severities, and everything is scored again:
  warp         a wave moves pictures and tracks, the depth stays
  squeeze      tracks are pressed together vertically
  depth_warp   a wave moves depth, pictures and tracks
  drift        the nearest layer of the scene drifts along a circle
A sound score grows with every severity. With --inject pictures the video itself is corrupted and its geometry is
estimated anew (estimator classical); else the geometry is, which takes no second estimate.

examples:
  matchcut sgc validate jobs/lamp jobs/hall
  matchcut sgc validate jobs/lamp --mode paper --severities 0,0.5,1 --kinds warp,squeeze
  matchcut sgc validate shot.mp4 --inject pictures --out validation.json"""

SHORT = {
    "average_local_rotation_variance": "LocRot", "average_local_translation_variance": "LocTra",
    "average_global_rotation_variance": "GloRot", "average_global_translation_variance": "GloTra",
    "average_depth_consistency_error": "Depth", "divergence_px": "px", "depth_log_error": "depth",
    "unexplained_share": "unexpl.", "invalid_share": "invalid", "focal_error": "focal",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_measure_arguments(parser, several=False)
    parser.add_argument("--kinds", metavar="KIND,…", help="corruptions (default: all)")
    parser.add_argument("--severities", metavar="NUMBER,…", default="0,0.25,0.5,0.75,1", help="between 0 and 1")
    parser.add_argument(
        "--inject", choices=("geometry", "pictures"), default="geometry", help="what is corrupted (default: geometry)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write what was found to a file")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Measure and print."""
    from ..sgc.measure import unique_names
    from ..sgc.perturb import CORRUPTIONS
    from ..sgc.validate import validate

    if not args.videos:
        raise BadInputError("nothing to validate on; give at least one VIDEO")
    request = request_of(args)
    kinds = _kinds(args.kinds, CORRUPTIONS)
    severities = _severities(args.severities)
    names = list(unique_names(args.videos))
    with tempfile.TemporaryDirectory(prefix="matchcut-") as folder:
        make = _picture_case if args.inject == "pictures" else _geometry_case
        cases = [
            make(path, name, request, Path(folder), reporter) for path, name in zip(args.videos, names, strict=True)
        ]
        found = validate(cases, kinds, severities, mode=args.mode, injected=args.inject, reporter=reporter)
    if args.out is not None:
        found.write(args.out)
    if args.messages:
        monotone = {one.kind: one.monotone for one in found.sensitivities}
        reporter.result(str(args.out or ""), {"monotone": monotone})
    elif args.json:
        sys.stdout.write(json.dumps(found.model_dump(mode="json"), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(tables(found))
    return ExitStatus.DONE


def _kinds(text: str | None, known: tuple[str, ...]) -> list[str]:
    chosen = list(known) if text is None else [part.strip() for part in text.split(",") if part.strip()]
    wrong = [kind for kind in chosen if kind not in known]
    if wrong or not chosen:
        raise BadInputError(f"--kinds {text}: the corruptions are {', '.join(known)}")
    return list(dict.fromkeys(chosen))


def _severities(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or not all(0 <= one <= 1 for one in found):
        raise BadInputError(f"--severities {text}: give numbers between 0 and 1, such as 0,0.5,1")
    return found


def _geometry_case(path: Path, name: str, request: Request, folder: Path, reporter: Reporter) -> Case:
    """A video whose geometry is corrupted."""
    from ..sgc.measure import find_shots, find_source, geometry_of, score_geometry
    from ..sgc.validate import Case, corrupted

    own = Named(reporter, name)
    source = find_source(path, request)
    shots = find_shots(source, request, own)
    geometry = geometry_of(source, shots, request, reporter=own, cache=folder)

    def score(kind: str, severity: float) -> SgcResult | RobustResult:
        return score_geometry(corrupted(geometry, kind, severity), request, _Quiet(own))

    return Case(name, score)


def _picture_case(path: Path, name: str, request: Request, folder: Path, reporter: Reporter) -> Case:
    """A video whose pictures are corrupted, and whose geometry is estimated each time."""
    from ..sgc.measure import find_shots, find_source, geometry_of, score_geometry
    from ..sgc.perturb import CORRUPTIONS, perturb_video
    from ..sgc.validate import Case

    source = find_source(path, request)
    if source.estimator != "classical":
        raise BadInputError(f"{path}: --inject pictures needs a video whose geometry is estimated; give one")
    own = _Quiet(Named(reporter, name))
    shots = find_shots(source, request, own)

    def score(kind: str, severity: float) -> SgcResult | RobustResult:
        known = next(one for one in CORRUPTIONS if one == kind)
        video = folder / f"{name}-{kind}-{severity:g}.mp4"
        # severity 0 is encoded too, so that the encoder's part is the same everywhere
        perturb_video(path, known, severity, video, reporter=own, shots=shots)
        changed = find_source(video, request)
        geometry = geometry_of(changed, shots, request, reporter=own, cache=folder)
        return score_geometry(geometry, request, own)

    return Case(name, score)


class _Quiet(Named):
    """Passes on warnings alone: the stage `validate` tells how far it is."""

    def __init__(self, inner: Named) -> None:
        super().__init__(inner.inner, inner.name)

    def progress(self, stage: str, done: int, total: int, text: str = "") -> None:
        """Dropped."""


def tables(found: Validation) -> str:
    """What was found, as tables."""
    names = [name for name in SHORT if name in found.correlations]
    lines = [
        f"SGC ({found.mode} mode) with corruptions of the {found.injected}; videos: {', '.join(found.videos)}",
        f"estimator: {'; '.join(found.estimators)}",
    ]
    for one in found.sensitivities:
        verdict = "strictly monotone" if one.monotone else "NOT monotone"
        ranked = "" if one.rank_correlation is None else f", rank correlation {one.rank_correlation:.3f}"
        lines += ["", f"{one.kind}: {verdict}{ranked}"]
        lines.append(_line(["severity", "SGC", *(SHORT[name] for name in names)]))
        lines += [
            _line([f"{row.severity:g}", _shown(row.score), *(_shown(row.components[name]) for name in names)])
            for row in one.conditions
        ]
    lines += ["", f"correlation of components (Pearson) over {found.correlated}"]
    lines.append(_line(["", *(SHORT[name] for name in names)]))
    for first in names:
        values = [found.correlations[first][second] for second in names]
        lines.append(_line([SHORT[first], *("—" if value is None else f"{value:.3f}" for value in values)]))
    if found.camera_dynamics:
        lines += ["", "camera dynamics: " + ", ".join(f"{name} {v:.2f}" for name, v in found.camera_dynamics.items())]
    if found.camera_correlation is not None:
        lines.append(f"correlation of camera dynamics and SGC: {found.camera_correlation:.3f}")
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)]) + "\n"


def _shown(value: float | None) -> str:
    return "—" if value is None else significant(value)


def _line(cells: list[str]) -> str:
    return "".join(f"{cell:<10}" for cell in cells).rstrip()
