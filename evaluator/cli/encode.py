# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut encode FOLDER`: numbered pictures become a video at an exact rate."""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from ..protocol.timeline import format_rate, parse_rate

DESCRIPTION = """Make an H.264 video (yuv420p, BT.709) of a folder of numbered pictures, in the order of their numbers,
each for exactly 1/RATE seconds; the file is kept only after decoding it showed the rate, size and count asked for.

Pictures are PNG, JPEG or TIFF with 8 or 16 bits a channel (16 are rounded to 8), all of one even size and opaque. A gap
in the numbers, another size, two sequences in one folder or numbers of mixed widths are errors that name the picture.
The rate is exact: write 24000/1001, since 23.976 means 2997/125, which is not the same and is warned about.

examples:
  matchcut encode render/frames --rate 24000/1001 --out mine.mp4
  matchcut encode render/frames --rate 25 --first 101 --out mine.mp4"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder that holds the pictures")
    parser.add_argument("--rate", required=True, metavar="RATE", help="frames per second, such as 24000/1001 or 25")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT.mp4", help="the video to write")
    parser.add_argument("--first", type=int, metavar="N", help="start with the picture that has this number")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")


def run(arguments: argparse.Namespace, reporter: Reporter) -> int:
    """Run the command; the answer goes to standard output."""
    from ..media.encode import ENCODER, QUANTISER, check_rate, check_size, encode
    from ..media.pictures import common_size, picture_sequence
    from .probe import rows, table

    rate = asked_rate(arguments.rate, reporter)
    check_rate(rate)
    if arguments.out.suffix.lower() != ".mp4":
        raise BadInputError(f"{arguments.out}: the output is an MP4 file; give a name that ends in .mp4")
    sequence = picture_sequence(arguments.folder, first=arguments.first)
    check_size(*common_size(sequence.files), str(sequence.files[0]))
    if sequence.passed_over:
        others = sequence.passed_over
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        reporter.warning(f"{arguments.folder}: passed over {others[0]}{more}: no PNG, JPEG or TIFF")
    info = encode(sequence.files, rate, arguments.out, reporter=reporter, total=len(sequence.files))
    encoder = f"{ENCODER}, constant quantiser {QUANTISER}"
    names = [sequence.files[0].name, sequence.files[-1].name]
    data = {
        "video": info.model_dump(mode="json"),
        "first_picture": names[0],
        "last_picture": names[1],
        "first_number": sequence.first,
        "passed_over": list(sequence.passed_over),
        "encoder": encoder,
    }
    if arguments.messages:
        reporter.result(str(arguments.out), data)
    elif arguments.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table([("pictures", f"{names[0]} … {names[1]}"), *rows(info), ("encoder", encoder)]))
    return ExitStatus.DONE


def asked_rate(text: str, reporter: Reporter) -> Fraction:
    """Read a rate exactly, with a warning where another one is probably meant. Raises BadInputError."""
    from ..media.encode import meant_rate

    rate = parse_rate(text)
    meant = meant_rate(rate)
    if meant is not None:
        reporter.warning(f"--rate {text} is taken as {format_rate(rate)}; write {format_rate(meant)} if that is meant")
    return rate
