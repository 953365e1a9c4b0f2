# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut frames`: a labelled sheet of a video's frames, or frames in detail."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..media.records import VideoInfo
    from ..media.sheet import Crop

DESCRIPTION = """Show frames of a video: many as labelled tiles of one sheet, or a few in detail. Frames count from 0 in
display order, times are seconds from the first frame on. Without --frames or --times the sheet shows the whole video:
the first and last frame of every shot, and what lies between, evenly. An orange edge marks the first tile after a cut.

The answer says which tile shows what, and which part of the picture is seen. Pixel coordinates are those of the whole
picture as shown; the centre of its top-left pixel is (0, 0). --grid draws lines with them, to pick points from.

examples:
  matchcut frames shot.mp4 --out sheet.jpg
  matchcut frames shot.mp4 --frames 0-96:8 --out sheet.jpg
  matchcut frames shot.mp4 --times 0.5,1.25 --layout single --out moments
  matchcut frames shot.mp4 --frames 12 --layout single --crop 0.5,0,0.5,0.5 --grid --out corner.jpg"""

DEFAULT_TILES: Final = 24
MOST_SINGLE: Final = 8
"""Frames in detail."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("video", type=Path, metavar="VIDEO", help="the video")
    parser.add_argument("--frames", metavar="LIST", help="frames such as 0,12,24-30 or 0-96:8 (every eighth)")
    parser.add_argument("--times", metavar="LIST", help="seconds such as 0.5,1.25, instead of --frames")
    parser.add_argument(
        "--crop", metavar="X,Y,W,H", help="a part of the picture, in pixels, or in shares of it where none is above 1"
    )
    parser.add_argument("--layout", choices=("sheet", "single"), default="sheet", help="default: sheet")
    parser.add_argument("--grid", action="store_true", help="lines with pixel coordinates (with --layout single)")
    parser.add_argument("--size", type=int, default=1024, metavar="N", help="the longer side in pixels, 64 to 1024")
    parser.add_argument(
        "--most", type=int, default=MOST_SINGLE, metavar="N", help=f"single frames at most (default: {MOST_SINGLE})"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.jpg", help="of several single frames: the folder FILE"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Write the pictures, and say what they show."""
    from ..media.sheet import LONGEST

    if not 64 <= args.size <= LONGEST:
        raise BadInputError(f"--size {args.size}: has to be from 64 to {LONGEST} pixels")
    if args.grid and args.layout != "single":
        raise BadInputError("--grid draws on single frames; give --layout single with it")
    data = shown(args, reporter)
    if args.messages:
        reporter.result(data["files"][0], data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join([*data["files"], data["text"]]) + "\n")
    return ExitStatus.DONE


def shown(args: argparse.Namespace, reporter: Reporter) -> dict[str, Any]:
    """Make the pictures; what they show, in numbers and as text. Raises BadInputError."""
    from ..media.moments import frame_seconds
    from ..media.probe import probe
    from ..media.scan import scan
    from ..media.sheet import Crop, parse_crop
    from ..shots.compare import shot_intervals
    from ..shots.detect import detect_shots

    found = detect_shots(args.video, reporter=reporter)  # probe uses the same pass
    info = probe(args.video)
    size = (info.timeline.width, info.timeline.height)
    crop = Crop(0, 0, *size) if args.crop is None else parse_crop(args.crop, size)
    shots = list(shot_intervals(found.boundaries, info.timeline.frames))
    chosen, notes = _chosen(args, info, shots)
    starts = frame_seconds(scan(args.video))
    seconds = [starts[frame] for frame in chosen]
    cuts = [first for first, _ in shots[1:]]
    make = _single if args.layout == "single" else _sheet
    data = make(args, chosen, seconds, crop, cuts, reporter)
    lines = [
        *notes, f"The picture is {size[0]}x{size[1]} pixels, {info.timeline.frames} frames, cuts at {cuts or 'none'}.",
        data.pop("text"),
    ]  # fmt: skip
    return {
        "video": str(args.video), "size": list(size), "frames": info.timeline.frames, "cuts": cuts,
        "crop": [crop.x, crop.y, crop.width, crop.height], **data, "text": "\n".join(lines),
    }  # fmt: skip


def _chosen(args: argparse.Namespace, info: VideoInfo, shots: list[tuple[int, int]]) -> tuple[list[int], list[str]]:
    """The frames that are shown, and what has to be said of the choice."""
    from ..media.moments import frames_at, overview, parse_frames, parse_times
    from ..media.scan import scan
    from ..media.sheet import MOST_TILES
    from ..protocol.timeline import Timeline

    if args.frames is not None and args.times is not None:
        raise BadInputError("frames and times were both given; give one of them")
    timeline: Timeline = info.timeline
    if args.times is not None:
        seen = scan(args.video)
        end = (int(seen.timestamps.max()) - int(seen.timestamps[0])) * seen.time_base + 1 / timeline.rate
        frames = frames_at(seen, parse_times(args.times), end, str(args.video))
    elif args.frames is not None:
        frames = parse_frames(args.frames)
    elif args.layout == "single":
        frames = [timeline.frames // 2]
    else:
        frames, left_out = overview(shots, DEFAULT_TILES)
        return frames, [f"{left_out} ends of shots are not shown; name frames to see more."] if left_out else []
    outside = [frame for frame in frames if frame >= timeline.frames]
    if outside:
        raise BadInputError(
            f"{args.video}: frame {outside[0]} was asked for, but its frames are 0 to {timeline.frames - 1}"
        )
    frames = sorted(set(frames))
    most = args.most if args.layout == "single" else MOST_TILES
    if len(frames) > most:
        raise BadInputError(f"{len(frames)} frames were asked for, and {most} are shown at most; name fewer")
    return frames, []


def _sheet(
    args: argparse.Namespace, frames: list[int], seconds: list[float], crop: Crop, cuts: list[int], reporter: Reporter
) -> dict[str, Any]:
    from ..media.decode import pick
    from ..media.resize import resized
    from ..media.sheet import jpeg_within, sheet, tile_size
    from ..protocol.files import write_bytes

    small = tile_size(len(frames), (crop.width, crop.height), args.size)

    def pictures() -> Any:
        for place, frame in enumerate(pick(args.video, frames)):
            part = frame.image[crop.y : crop.y + crop.height, crop.x : crop.x + crop.width]
            yield resized(part, small)  # the whole picture is let go before the next one is decoded
            reporter.progress("frames", place + 1, len(frames))

    whole, tiles = sheet(pictures(), frames, seconds, cuts, (crop.width, crop.height), args.size)
    write_bytes(args.out, jpeg_within(whole))
    height, width = whole.shape[:2]
    columns = sum(tile.box[1] == tiles[0].box[1] for tile in tiles)
    listed = ", ".join(f"{'CUT ' if tile.cut else ''}{tile.frame} ({tile.seconds:.3f} s)" for tile in tiles)
    shares = (tiles[0].box[2] / crop.width, tiles[0].box[3] / crop.height)
    text = (
        f"Sheet {width}x{height}, rows of {columns}; each tile {_part(crop)}, scaled by {shares[0]:.3f}. Row by row, "
        f"frame (time): {listed}."
    )
    described = [{"frame": one.frame, "seconds": one.seconds, "cut": one.cut, "box": list(one.box)} for one in tiles]
    return {"files": [str(args.out)], "width": width, "height": height, "tiles": described, "text": text}


def _single(
    args: argparse.Namespace, frames: list[int], seconds: list[float], crop: Crop, cuts: list[int], reporter: Reporter
) -> dict[str, Any]:
    from ..media.decode import pick
    from ..media.sheet import MOST_BYTES, detail, jpeg_within
    from ..protocol.files import write_bytes

    files, scale = [], 1.0
    size = (0, 0)
    for place, (frame, _) in enumerate(zip(pick(args.video, frames), seconds, strict=True)):
        picture, scale = detail(frame.image, crop, args.size, args.grid)
        path = args.out if len(frames) == 1 else args.out.with_suffix("") / f"frame-{frame.index:06d}.jpg"
        write_bytes(path, jpeg_within(picture, MOST_BYTES // len(frames)))
        files.append(str(path))
        size = picture.shape[1], picture.shape[0]
        reporter.progress("frames", place + 1, len(frames))
    listed = ", ".join(f"{frame} ({time:.3f} s)" for frame, time in zip(frames, seconds, strict=True))
    several = "Pictures" if len(frames) > 1 else "Picture"
    text = (
        f"{several} of {size[0]}x{size[1]}, {_part(crop)}, scaled by {scale:.4g}: frame (time) {listed}. "
        f"Pixel (x, y) of it is ({crop.x} + (x + 0.5)/{scale:.4g} - 0.5, {crop.y} + (y + 0.5)/{scale:.4g} - 0.5) of "
        "the whole picture" + (", which the grid's numbers are of." if args.grid else ".")
    )
    described = [{"frame": frame, "seconds": time, "cut": frame in cuts}
                 for frame, time in zip(frames, seconds, strict=True)]  # fmt: skip
    return {"files": files, "width": size[0], "height": size[1], "scale": scale, "tiles": described, "text": text}


def _part(crop: Crop) -> str:
    return f"shows x {crop.x} to {crop.x + crop.width - 1}, y {crop.y} to {crop.y + crop.height - 1}"
