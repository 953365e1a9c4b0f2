# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark without Blender: every film and reconstruction a video of a few pixels; and its known scores."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from matchcut.assets_ui.samples.films import FILMS
from matchcut.assets_ui.samples.films.checks import checks_of, ratings_of
from matchcut.assets_ui.samples.films.variants import RECONSTRUCTIONS
from matchcut.evaluator.benchmark.sample import hand_in, write_records, write_video
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.messages import SilentReporter

TINTS = {"reference": 0, "good": 30, "middle": 60, "poor": 90, "cheating": 120}
SIZE = 32
EVERY_FILM = tuple(FILMS.values())
DIMENSIONS = {
    "camera": ("translation", "rotation", "zoom", "position", "target", "shot_transitions"),
    "static": ("object_presence", "object_appearance", "spatial_relations"),
    "dynamic": ("subject_motion", "action_events"),
}
WORTH = {"fully_satisfied": Fraction(1), "partially_satisfied": Fraction(1, 2), "unsatisfied": Fraction(0)}


def make_stand_ins(out: Path) -> Path:
    """OUT as `bench sample` leaves it, with a reconstruction told by its tint and a frame by its grey."""
    for film in FILMS.values():
        for name, tint in TINTS.items():
            made = out / "work" / f"{film.id}-{name}"
            made.mkdir(parents=True)
            (made / "scene.blend").write_bytes(b"BLENDER17-01v0502" + bytes(100))
            path = made / "reconstruction.mp4"
            pictures = np.empty((film.timeline.frames, SIZE, SIZE, 3), np.uint8)
            pictures[:] = (np.arange(film.timeline.frames) % 100 + 20).astype(np.uint8)[:, None, None, None]
            pictures[..., 0] += tint
            info = encode(pictures, film.timeline.rate, path, reporter=SilentReporter(), total=len(pictures))
            if name == "reference":
                write_video(out / "benchmark", film, path, info.timeline)
            else:
                hand_in(out, film, name, made)
    write_records(out, list(FILMS.values()))
    return out


@cache
def known_ratings(variant: str, film_id: str) -> list[list[tuple[str, tuple[str, ...], Fraction]]]:
    """Of every clip of a film the checks: category, settings, and what the right rating is worth."""
    film, clips = FILMS[film_id], []
    ours = RECONSTRUCTIONS[variant](film)
    for clip in film.clips:
        right, counts, found = ratings_of(film, clip, ours), defaultdict(int), []
        for check in checks_of(film, clip):
            counts[check.category] += 1
            worth = WORTH[right[f"{check.category}_{counts[check.category]}"]]
            found.append((check.category, check.settings, worth))
        clips.append(found)
    return clips


def known_score(variant: str, setting: str, categories: tuple[str, ...], films=EVERY_FILM) -> float | None:
    """Out of the films' descriptions alone: the mean over clips of the mean over their checks, 0 to 100."""
    means = []
    for film in films:
        for clip in known_ratings(variant, film.id):
            found = [worth for category, settings, worth in clip if category in categories and setting in settings]
            if found:
                means.append(sum(found) / len(found))
    return float(100 * sum(means) / len(means)) if means else None


def known_row(variant: str, setting: str, films=EVERY_FILM) -> list[float]:
    """Overall, camera, static, dynamic."""
    parts = [known_score(variant, setting, categories, films) for categories in DIMENSIONS.values()]
    return [sum(parts) / 3, *parts]
