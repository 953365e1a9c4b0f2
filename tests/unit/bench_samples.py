# SPDX-License-Identifier: GPL-3.0-or-later
"""Small benchmarks on disk, and what a judge said about them, as `judge run` leaves it."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from matchcut.evaluator.checklist.benchmark import Benchmark, BenchmarkVideo
from matchcut.evaluator.checklist.records import FRAME_CATEGORIES, SETTINGS, Check, Clip
from matchcut.evaluator.judge.records import ItemRating, Judgment
from matchcut.evaluator.judge.units import JudgedClip, JudgedUnit, judgment_path, write_unit
from matchcut.evaluator.protocol.timeline import Timeline

NAMES = {1.0: "fully_satisfied", 0.5: "partially_satisfied", 0.0: "unsatisfied"}
TIMELINE = Timeline(64, 48, Fraction(24), 96)


def check(number, category, settings=SETTINGS):
    frame = category in FRAME_CATEGORIES
    return Check(
        id=f"k{number}", category=category, settings=list(settings), subjects=[], start=0, end=0 if frame else 9,
        evidence_frames=[0], statement=f"statement {number}",
    )  # fmt: skip


def clip(name, video, *categories, offset=0, frames=10):
    checks = [check(n, c) if isinstance(c, str) else check(n, *c) for n, c in enumerate(categories)]
    return Clip(
        id=name, video=video, frame_offset=offset, frame_count=frames, shot_transitions=[], entities=[], checks=checks
    )


def write_benchmark(folder, clips, *, timeline=TIMELINE, references=None, name="small"):
    """A benchmark of those clips; `references` are videos by name, else the references are empty files."""
    videos = list(dict.fromkeys(clip.video for clip in clips))
    Benchmark(name=name, version="1", licence="CC0-1.0", videos=videos).write(folder / "benchmark.json")
    for video in videos:
        place = folder / "videos" / video
        place.mkdir(parents=True, exist_ok=True)
        reference = place / "reference.mp4"
        if references is None:
            reference.touch()
        else:
            reference.write_bytes(references[video].read_bytes())
        BenchmarkVideo(
            id=video, timeline=timeline, sha256=hashlib.sha256(reference.read_bytes()).hexdigest(),
            source="made by script", licence="CC0-1.0",
        ).write(place / "video.json")  # fmt: skip
        for one in clips:
            if one.video == video:
                one.write(place / "clips" / f"{one.id}.json")
    return folder


def judgment(of, setting, values, key, judge="local:m", shown=1):
    checks = of.applicable(setting)
    assert len(values) == len(checks)
    ratings = [
        ItemRating(check=c.id, category=c.category, rating=NAMES[v], value=v)
        for c, v in zip(checks, values, strict=True)
    ]
    frames = [
        {"local_frame": n, "reference_frame": n, "reconstruction_frame": n, "sha256": f"{n:064x}"} for n in range(shown)
    ]
    provider, _, model = judge.partition(":")
    return Judgment.model_validate(
        {
            "key": key, "clip": of.id, "video": of.video, "setting": setting, "ratings": ratings, "evidence": frames,
            "provider": provider, "requested_model": model, "replied_model": model, "request_id": None,
            "prompt_sha256": "0", "usage": {}, "attempts": [],
        }
    )  # fmt: skip


def write_results(folder, clips, rate, configurations, *, settings=SETTINGS, judge="local:m", repeat=0, shown=1):
    """What `judge run` leaves; `rate(configuration, setting, clip)` gives values, or a reason why there are none."""
    provider, _, model = judge.partition(":")
    for configuration in configurations:
        for setting in settings:
            for video in dict.fromkeys(clip.video for clip in clips):
                judged = []
                for one in clips:
                    if one.video != video or not one.applicable(setting):
                        continue
                    values = rate(configuration, setting, one)
                    if isinstance(values, str):
                        judged.append(JudgedClip(clip=one.id, key=None, reason=values))
                        continue
                    parts = json.dumps([judge, configuration, setting, video, one.id, repeat])
                    key = hashlib.sha256(parts.encode()).hexdigest()
                    judgment(one, setting, values, key, judge, shown).write(judgment_path(folder, key))
                    judged.append(JudgedClip(clip=one.id, key=key))
                write_unit(
                    folder,
                    JudgedUnit(
                        judge=judge, provider=provider, model=model, configuration=configuration, setting=setting,
                        video=video, repeat=repeat, clips=judged,
                    ),
                )  # fmt: skip
    return folder
