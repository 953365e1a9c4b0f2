# SPDX-License-Identifier: GPL-3.0-or-later
"""Videos whose cuts and fades are known: a camera over painted grounds, joined by script, and joints of real clips."""

from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

import cv2
import numpy as np
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.shots.records import Fade

SIZE = (256, 144)
_GROUND = (3 * SIZE[1], 3 * SIZE[0])


@dataclass
class Sample:
    """Pictures (H, W, 3) and what is right for them."""

    name: str
    images: list
    cuts: list
    fades: list = field(default_factory=list)


def shot(seed, length, *, palette=None, speed=2.0, zoom=0.0, shake=0.0, level=1.0, flicker=0.0, contrast=1.0):
    """`length` pictures of one take: a camera that travels `speed` pixels a frame, grows by `zoom` a frame, shakes."""
    random = np.random.default_rng(seed)
    ground = _ground(seed, palette)
    angle, turn = random.uniform(0, 2 * np.pi), random.uniform(-0.02, 0.02)
    place = np.array(_GROUND[::-1]) / 2 - np.array(SIZE) / 2 + random.uniform(-40, 40, 2)
    disc, colour, run = random.uniform(0.3, 0.7, 2) * SIZE, random.uniform(0, 255, 3), random.normal(0, 2, 2)
    made = []
    for index in range(length):
        scale = (1 + zoom) ** index
        size = np.array(SIZE) / scale
        corner = place + (np.array(SIZE) - size) / 2 + random.normal(0, 1, 2) * shake
        matrix = np.array([[1 / scale, 0, corner[0]], [0, 1 / scale, corner[1]]])
        image = cv2.warpAffine(
            ground, matrix, SIZE, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REFLECT
        ).astype(float)
        y, x = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
        image[np.hypot(x - disc[0], y - disc[1]) < 18] = colour
        image = 128 + (image - 128) * contrast
        gain = level * (1 + flicker * random.uniform(-1, 1))
        made.append((image * gain + random.normal(0, 1.5, image.shape)).clip(0, 255).astype(np.uint8))
        angle += turn
        place = place + speed * np.array([np.cos(angle), np.sin(angle)])
        disc = disc + run
    return made


@cache
def _ground(seed, palette):
    """A painted ground three pictures wide: soft patches of a few colours with finer grain on them."""
    random = np.random.default_rng((seed, 7))
    colours = np.random.default_rng((seed, 8) if palette is None else (palette, 9)).uniform(20, 235, (4, 3))
    height, width = _GROUND
    weights = np.stack(
        [cv2.resize(random.normal(0, 1, (height // 48, width // 48)), (width, height), interpolation=cv2.INTER_CUBIC)
         for _ in colours], axis=-1,
    )  # fmt: skip
    share = np.exp(4 * weights)
    ground = (share / share.sum(axis=-1, keepdims=True)) @ colours
    for cell, strength in ((16, 14), (5, 9)):
        grain = cv2.resize(random.normal(0, strength, (height // cell, width // cell)), (width, height))
        ground += grain[..., None]
    return ground.clip(0, 255).astype(np.float32)


def toward(images, shade, weights):
    """Pictures mixed with an even shade: weight 1 shows the picture, 0 the shade."""
    flat = 0.0 if shade == "black" else 255.0
    return [
        (flat + (image.astype(float) - flat) * weight).round().astype(np.uint8)
        for image, weight in zip(images, weights, strict=True)
    ]


def joined(name, shots):
    """Shots one after another; every joint is a cut."""
    ends = list(accumulate(len(images) for images in shots))
    return Sample(name, [image for images in shots for image in images], ends[:-1])


def through(name, first, second, *, shade, ramp, hold):
    """A fade out over `ramp` frames, `hold` + 1 frames of the shade, a fade in over `ramp` frames."""
    weights = np.arange(ramp - 1, 0, -1) / ramp
    out = [*first[: -ramp - hold], *toward(first[-ramp - hold :], shade, [*weights, *[0.0] * (hold + 1)])]
    back = [*toward(second[:ramp], shade, [*weights[::-1], 1.0]), *second[ramp:]]
    start = len(first) - ramp - hold
    return Sample(name, out + back, [], [Fade(kind="through", shade=shade, first=start, last=len(first) + ramp - 2)])


def generated(seed, names=None):
    """One sample of every kind, or of those named; a seed makes other pictures."""
    base = 1000 * seed

    def shots(count, length=30, **options):
        return [shot(base + 10 * number, length, **options) for number in range(count)]

    def flashed():
        images = shot(base + 500, 60)
        for frame in (20, 40, 41):
            images[frame] = (images[frame].astype(float) * 1.2 + 110).clip(0, 255).astype(np.uint8)
        return Sample("flash", images, [])

    def foreign():
        images = shot(base + 510, 40)
        images[20:21] = shot(base + 520, 1)
        return Sample("one foreign frame", images, [])

    def black_between():
        after = shot(base + 540, 30)
        return Sample(
            "cut to black and back", [*shot(base + 530, 30), *[np.zeros_like(after[0])] * 12, *after], [30, 42]
        )

    def leader():
        images = toward(shot(base + 550, 40), "black", [*[0.0] * 9, *np.arange(1, 13) / 12, *[1.0] * 19])
        return Sample("black leader, fade in", images, [], [Fade(kind="in", shade="black", first=8, last=19)])

    def ending():
        images = toward(shot(base + 560, 40), "white", [*[1.0] * 20, *np.arange(13, -1, -1) / 14, *[0.0] * 6])
        return Sample("fade out to white", images, [], [Fade(kind="out", shade="white", first=20, last=33)])

    def edges():
        return [shot(base + 570 + number, length) for number, length in enumerate((1, 25, 2, 25, 3, 25, 1))]

    makers = {
        "still": lambda name: joined(name, shots(3, speed=0)),
        "pan": lambda name: joined(name, shots(3, speed=9)),
        "zoom": lambda name: joined(name, shots(3, speed=0, zoom=0.03)),
        "shake": lambda name: joined(name, shots(3, shake=6)),
        "similar colours": lambda name: joined(name, shots(3, palette=seed)),
        "dark": lambda name: joined(name, shots(3, level=0.18)),
        "flat": lambda name: joined(name, shots(3, contrast=0.25, palette=seed)),
        "fire": lambda name: Sample(name, shot(base + 580, 80, speed=0, flicker=0.35), []),
        "flash": lambda _: flashed(),
        "one foreign frame": lambda _: foreign(),
        "shots of 1 to 3 frames": lambda name: joined(name, edges()),
        "cut to black and back": lambda _: black_between(),
        "through black": lambda name: through(name, *shots(2, 40), shade="black", ramp=10, hold=3),
        "through white": lambda name: through(name, *shots(2, 40), shade="white", ramp=14, hold=1),
        "through black, slowly": lambda name: through(name, *shots(2, 80), shade="black", ramp=40, hold=5),
        "black leader, fade in": lambda _: leader(),
        "fade out to white": lambda _: ending(),
    }
    return [makers[name](name) for name in names or makers]


REAL = {
    "nasa_13013.mp4": [127, 202], "bigbuckbunny.mp4": [], "bedroom.mp4": [], "03_blocks.mp4": [],
    "Tokyo-Walk_rgb.mp4": [], "carphone_pristine.mp4": [], "carphone_distorted.mp4": [], "fire2.mp4": [],
    "no_duration.webm": [], "sar_2x1.mp4": [], "sample_portrait.mp4": [], "smpte-2997.mp4": [],
}  # fmt: skip
"""Real clips and their cuts, looked at by eye."""


def concatenations(media):
    """Pieces of real clips joined by cuts: long ones, short ones, and two halves of one clip with a piece left out."""

    def piece(name, first, last):
        taken = []
        for frame in stream(media / name, size=SIZE):
            if frame.index > last:
                break
            if frame.index >= first:
                taken.append(frame.image)
        return taken

    bunny, bedroom, blocks, walk, phone = (
        piece(name, 0, 119)
        for name in ("bigbuckbunny.mp4", "bedroom.mp4", "03_blocks.mp4", "Tokyo-Walk_rgb.mp4", "carphone_pristine.mp4")
    )
    return [
        joined("real, 40 frames each", [bunny[:40], bedroom[:40], blocks[:40], walk[:40], phone[:40]]),
        joined("real, 6 frames each", [take[60:66] for take in (walk, phone, blocks, bunny, bedroom, walk)]),
        joined("real, 2 frames each", [bedroom[:40], phone[:2], walk[:2], blocks[:2], bunny[:40]]),
        joined("real, at the ends", [walk[:1], blocks[:30], bunny[:2], bedroom[30:60], phone[:1]]),
        joined("real, jumps in one clip", [walk[:30], walk[80:110], bedroom[:30], bedroom[90:119]]),
        through("real, through black", bedroom[:50], walk[:50], shade="black", ramp=12, hold=2),
        through("real, through white", phone[:50], blocks[:50], shade="white", ramp=12, hold=2),
    ]
