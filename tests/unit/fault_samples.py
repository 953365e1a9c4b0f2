# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of videos with known faults: a reference, and what the ffmpeg program makes of it, piece by piece."""

import subprocess

import cv2
import imageio_ffmpeg
import numpy as np

COUNT = 96
WIDTH, HEIGHT = 192, 108


def textures(count=COUNT, *, seed=3, width=WIDTH, height=HEIGHT):
    """`count` (H, W, 3) uint8 pictures: a camera wanders over a soft ground, a patch moves on its own before it."""
    random = np.random.default_rng(seed)
    ground = np.zeros((2 * height, 2 * width, 3), np.float32)
    for cells in (6, 14, 40):
        noise = random.normal(0, 1, (cells, 2 * cells, 3)).astype(np.float32)
        ground += cv2.resize(noise, (2 * width, 2 * height), interpolation=cv2.INTER_CUBIC)
    ground = (128 + 35 * ground).clip(0, 255)
    made, speed, where, turn = [], np.zeros(2), np.array([width / 2, height / 2]), 0.0
    for index in range(count):
        speed = 0.9 * speed + random.normal(0, 0.7, 2) - 0.004 * (where - (width / 2, height / 2))
        where = where + speed
        turn = 0.97 * turn + random.normal(0, 0.004)
        view = cv2.getRotationMatrix2D(
            (float(where[0] + width / 2), float(where[1] + height / 2)), np.degrees(turn), 1.0
        )
        view[:, 2] -= where
        image = cv2.warpAffine(ground, view, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        x = int(width * (0.5 + 0.35 * np.sin(index / 9 + seed)))
        image[height // 2 : height // 2 + 24, x - 12 : x + 12] = (230, 60, 40)
        made.append(image.clip(0, 255).astype(np.uint8))
    return made


def ffmpeg(*arguments, data=None):
    """Run the ffmpeg program of the test environment."""
    program = imageio_ffmpeg.get_ffmpeg_exe()
    command = [program, "-v", "error", "-y", *(str(argument) for argument in arguments)]
    subprocess.run(command, input=data, check=True, timeout=120)


def write(images, out, rate="25"):
    """Encode pictures nearly without loss; returns `out`."""
    height, width = images[0].shape[:2]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", rate, "-i", "-"]
    ffmpeg(*given, *_coded(12), out, data=np.stack(images).tobytes())
    return out


def pieces(source, out, *parts, rate="25", crf=20, then=""):
    """Put parts of `source` together: (first, after the last, filters of the part); returns `out`."""
    graph, names = [f"[0:v]split={len(parts)}" + "".join(f"[s{i}]" for i in range(len(parts)))], ""
    for index, (first, end, *filters) in enumerate(parts):
        chain = [f"trim=start_frame={first}:end_frame={end}", "setpts=PTS-STARTPTS", *filters]
        graph.append(f"[s{index}]{','.join(chain)}[p{index}]")
        names += f"[p{index}]"
    last = [f"concat=n={len(parts)}", f"setpts=N/({rate})/TB", *([then] if then else [])]
    graph.append(f"{names}{','.join(last)}[out]")
    coded = [*_coded(crf), "-r", rate]  # the timestamps lie on this rate already: none is made up, none left out
    ffmpeg("-i", source, "-filter_complex", ";".join(graph), "-map", "[out]", *coded, out)
    return out


def _coded(crf):
    return ["-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", crf, "-pix_fmt", "yuv420p"]


def held(first, frames):
    """A part that shows one picture for so many frames."""
    return first, first + 1, f"loop=loop={frames - 1}:size=1:start=0"


def black(first, end):
    """A part whose pictures are black."""
    return first, end, "drawbox=color=black:thickness=fill"
