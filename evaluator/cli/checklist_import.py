# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut checklist import`: annotations of others as clips of ours."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..checklist.importing.converter import BUILT_IN, Request, find_converter
from ..checklist.importing.fields import category_of
from ..checklist.importing.write import About, find_videos, lost_lines, report, write_imported
from ..checklist.validate import as_json
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..checklist.records import Category
    from ..checklist.whole import Seen

DESCRIPTION = """Convert annotations of others into clips, and where their videos are there into a benchmark.

  matchcut checklist import cinerecon RELEASE --videos VIDEOS --licence "…" --out BENCH
  matchcut checklist import questions QUESTIONS.json --videos VIDEOS --licence "…" --out BENCH
  matchcut checklist import questions QUESTIONS.json --out CLIPS --category "physics=subject_motion"
  matchcut checklist import python:mine.py:convert FILES --out CLIPS

FILES is a JSON or JSONL file, or a folder of them. VIDEOS holds the references as ID.mp4. OUT receives videos/ID/clips,
with VIDEOS also benchmark.json and the references, and import.json: everything of the source that was not carried
over, with its place and the reason. What was made is validated at the end (docs/import.md).

exit status: 0 done, 2 bad input, or clips that were written and have faults, which are listed"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("converter", metavar="CONVERTER", help=f"{', '.join(BUILT_IN)}, or python:MODULE:FUNCTION")
    parser.add_argument("path", type=Path, metavar="FILES", help="a file or a folder of annotations")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT", help="a new folder")
    parser.add_argument("--videos", type=Path, metavar="VIDEOS", help="the references, as ID.mp4")
    parser.add_argument(
        "--category", action="append", default=[], metavar="THEIRS=OURS",
        help="which category of ours one of theirs is; can be given several times",
    )  # fmt: skip
    parser.add_argument("--name", default="", help="the benchmark's name (default: that of FILES)")
    parser.add_argument("--release", default="1", metavar="VERSION", help="the benchmark's version (default: 1)")
    parser.add_argument("--licence", default="", help="of the videos and annotations; needed with --videos")
    parser.add_argument("--source", default="", help="where the videos are from (default: the converter's name)")
    parser.add_argument("--json", action="store_true", help="answer with one JSON document")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Convert, write and validate; exit status 2 where a clip has a fault."""
    convert = find_converter(args.converter)
    categories = dict(_category(text) for text in args.category)
    if args.videos is not None and not args.licence.strip():
        raise BadInputError("--licence: say under which licence the videos and the annotations may be used")
    videos = find_videos(args.videos) if args.videos is not None else {}
    seen = {}
    for number, (name, path) in enumerate(videos.items(), start=1):
        seen[name] = _look(path)
        reporter.progress("videos", number, len(videos), name)
    made = convert(Request(args.path, {name: one.timeline for name, one in seen.items()}, categories))
    about = About(
        args.name or args.path.resolve().stem, args.release, args.licence.strip(),
        args.source or f"imported by {args.converter}",
    )  # fmt: skip
    validation = write_imported(made, args.out, args.converter, videos=videos, seen=seen, about=about)
    answer = {**report(made, args.converter), "out": str(args.out), "validation": as_json(validation)}
    reporter.result(str(args.out), answer)
    if not args.messages:
        if args.json:
            text = json.dumps(answer, indent=2, ensure_ascii=False)
        else:
            total = (
                f"{args.out}: {answer['videos']} videos, {answer['clips']} clips, {answer['checks']} checks; "
                f"{len(made.lost)} things not carried over as they were, {len(validation.faults)} faults"
            )
            text = "\n".join([*lost_lines(made.lost), *map(str, validation.faults), total])
        sys.stdout.write(text + "\n")
    return ExitStatus.BAD_INPUT if validation.faults else ExitStatus.DONE


def _look(video: Path) -> Seen:
    from ..checklist.whole import Seen
    from ..media.probe import probe

    info = probe(video)
    return Seen(info.timeline, info.sha256, None)


def _category(text: str) -> tuple[str, Category]:
    theirs, _, ours = text.partition("=")
    category = category_of(ours, {})
    if not theirs.strip() or category is None:
        raise BadInputError(
            f"--category {text!r}: write THEIRS=OURS, where OURS is one of our eleven, as subject_motion"
        )
    return theirs, category
