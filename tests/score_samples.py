# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up scores for what shows them: a results.json of any size as plain JSON values, with ratings as one wants."""

import json
from statistics import mean

CATEGORIES = {
    "camera": ("translation", "rotation", "zoom", "position", "target", "shot_transitions"),
    "static": ("object_presence", "object_appearance", "spatial_relations"),
    "dynamic": ("subject_motion", "action_events"),
}
NAMES = tuple(name for names in CATEGORIES.values() for name in names)
AT_ONE_FRAME = {"position", "target", "object_presence", "object_appearance", "spatial_relations"}
VALUES = {"unsatisfied": 0.0, "partially_satisfied": 0.5, "fully_satisfied": 1.0}
ENTITIES = ("Person A", "Ball", "Crate", "Striped Pillar", "Bench")
TIMELINE = {"width": 96, "height": 54, "rate": "24000/1001", "frames": 24}
FLOOR = 0.0114


def check_of(number, category, frames):
    """One check of a clip of that many frames; its statement has a few words that only it has."""
    start = number % frames
    end = start if category in AT_ONE_FRAME else min(frames - 1, start + 6)
    entity = number % len(ENTITIES)
    settings = ["simplified", "detailed"] if category == "object_appearance" else ["proxy", "simplified", "detailed"]
    return {
        "id": f"{category}_{number}", "category": category, "settings": settings, "subjects": [f"e{entity}"],
        "start": start, "end": end, "evidence_frames": [start] if start == end else [start, end], "sample_frames": [],
        "statement": f"In local frame {start} {ENTITIES[entity]} shows number {number} where {category} is asked for.",
    }  # fmt: skip


def every_third_fails(number, category):
    """A rating that depends on the number alone."""
    return ("fully_satisfied", "fully_satisfied", "partially_satisfied", "fully_satisfied", "unsatisfied")[number % 5]


def results_data(
    checks=22, clips=2, *, rating=every_third_fails, setting="proxy", failed_clips=(), judged=True, checklist=True,
    sgc=0.0345, sha="a" * 64, timeline=TIMELINE, pairs=0,
):  # fmt: skip
    """A results.json with so many checks over so many clips; `rating(number, category)` says how each is rated."""
    video = {
        "path": "reference.mp4", "sha256": sha, "timeline": timeline, "rate_source": "timestamps",
        "constant_rate": True, "start_seconds": 0.0, "coded_width": timeline["width"],
        "coded_height": timeline["height"], "rotation_deg": 0, "mirrored": False, "pixel_aspect": "1:1",
        "codec": "h264", "pixel_format": "yuv420p", "bit_depth": 8, "header_frames": timeline["frames"],
    }  # fmt: skip
    frames = timeline["frames"]
    made = [_clip(index, checks // clips, frames) for index in range(clips)] if checklist else []
    judgments = [_judgment(clip, setting, rating) for clip in made if judged and clip["id"] not in failed_clips]
    failures = [_failure(name, setting) for name in failed_clips]
    return {
        "format": "matchcut-results/1",
        "reference": video,
        "reconstruction": video | {"path": "reconstruction.mp4", "sha256": "b" * 64},
        "setting": setting,
        "timeline": {
            "comparisons": [
                {"name": "frames", "reference": str(frames), "reconstruction": str(frames), "agrees": True},
            ],
            "offset_frames": 0, "offset_reason": "", "faults": [],
        },
        "shots": {"reference_cuts": [], "reconstruction_cuts": [], "matches": [], "detector": "test"},
        "sgc": _sgc(sgc, frames - 1, pairs),
        "sgc_frames": "reference",
        "reference_sgc": None,
        "audit": None,
        "checklist": _checklist(made, judgments, failures, setting, judged, checklist),
        "clips": made,
        "judgments": judgments,
        "operational_failures": failures,
        "provenance": {
            "matchcut": "1", "python": "3", "packages": {}, "blender": None, "engine": None, "device": None,
            "samples": None, "seed": 0,
        },
    }  # fmt: skip


def write_score(folder, data):
    """Write it as a score's folder has it; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(data, indent=2))
    (folder / "report.html").write_text("<!doctype html><title>report</title>")
    return folder


def _clip(index, count, frames):
    numbers = range(index * count, (index + 1) * count)
    return {
        "format": "matchcut-clip/1", "id": f"clip_{index + 1:02d}", "video": "sample", "frame_offset": 0,
        "frame_count": frames, "shot_transitions": [],
        "entities": [
            {"id": f"e{place}", "name": name, "description": name, "first_frame": 0, "members": []}
            for place, name in enumerate(ENTITIES)
        ],
        "checks": [check_of(number, NAMES[number % len(NAMES)], frames) for number in numbers],
    }  # fmt: skip


def _number(check):
    return int(check["id"].rpartition("_")[2])


def _judgment(clip, setting, rating):
    rated = []
    for check in clip["checks"]:
        if setting in check["settings"]:
            label = rating(_number(check), check["category"])
            item = {"check": check["id"], "category": check["category"], "rating": label, "value": VALUES[label]}
            rated.append(item)
    frames = sorted({frame for check in clip["checks"] for frame in check["evidence_frames"]})
    return {
        "format": "matchcut-judgment/1", "key": "0" * 64, "clip": clip["id"], "video": "sample", "setting": setting,
        "ratings": rated,
        "evidence": [
            {"local_frame": f, "reference_frame": f, "reconstruction_frame": f, "sha256": "c" * 64} for f in frames
        ],
        "provider": "local:http://127.0.0.1:8000/v1", "requested_model": "a-model", "replied_model": "a-model-2026",
        "request_id": None, "prompt_sha256": "d" * 64, "usage": {}, "attempts": [],
    }  # fmt: skip


def _failure(clip, setting):
    return {
        "format": "matchcut-operational-failure/1", "key": "1" * 64, "clip": clip, "video": "sample",
        "setting": setting, "reason": "rate_limited", "detail": "HTTP 429 on each of 5 attempts", "attempts": [],
    }  # fmt: skip


def _score(means, clips, checks, reason):
    values = [mean(one) for one in means if one]
    scored = sum(len(one) for one in means)
    return {
        "value": 100 * mean(values) if values else None, "clips_scored": len(values), "clips_expected": clips,
        "checks_scored": scored, "checks_expected": checks, "reason": "" if values else reason,
    }  # fmt: skip


def _checklist(clips, judgments, failures, setting, judged, given):
    if not given:
        return {"unscored": True, "reason": "no checklist given: add --checklist CLIPS"}
    no_judge = "not judged: no judge configured, set --judge PROVIDER:MODEL (matchcut judge --help lists them)"
    why = no_judge if not judged else "2 of 3 clips judged; failed: rate_limited (1)" if failures else ""

    def of(names, label):
        means = [[item["value"] for item in judgment["ratings"] if item["category"] in names] for judgment in judgments]
        expected = [
            sum(check["category"] in names and setting in check["settings"] for check in clip["checks"])
            for clip in clips
        ]
        none = f"no check of {label} applies under {setting}"
        return _score(means, sum(map(bool, expected)), sum(expected), why if sum(expected) else none)

    dimensions = {name: of(names, name) for name, names in CATEGORIES.items()}
    overall = of(NAMES, "any dimension")
    if judged:
        overall["value"] = mean(one["value"] for one in dimensions.values() if one["value"] is not None)
    return {
        "setting": setting, "state": "partly_judged" if failures else "judged" if judged else "not_judged",
        "reason": why, "overall": overall, "dimensions": dimensions, "categories": {n: of((n,), n) for n in NAMES},
    }  # fmt: skip


def _sgc(score, pairs_expected, pairs):
    if score is None:
        return {"unscored": True, "reason": "the scene has no depth"}
    part = {"median": 0.0123, "p90": 0.04, "low": 0.01, "high": 0.02, "pairs": 20}
    parts = ("divergence_px", "depth_log_error", "unexplained_share", "invalid_share")
    return {
        "mode": "robust", "estimator": "blender-passes/1", "score": score, "score_low": score / 2,
        "score_high": 2 * score, "floor": FLOOR, "excess": max(0.0, score - FLOOR), "floor_source": "test",
        "components": dict.fromkeys(parts, part) | {"focal_error": None},
        "pairs_scored": pairs_expected - 1, "pairs_observable": pairs_expected - 3, "pairs_expected": pairs_expected,
        "pairs": [{"frame": frame + 1, "divergence_px": 0.1, "observable": True} for frame in range(pairs)],
        "notes": ["2 of 22 measured pairs have no parallax: depth and translation are unobservable there"],
        "parameters": {},
    }  # fmt: skip
