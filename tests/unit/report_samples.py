# SPDX-License-Identifier: GPL-3.0-or-later
"""Small videos whose frames say their own number, and results made by hand, for the tests of pipeline and report."""

import math
from fractions import Fraction

import av
import numpy as np
from matchcut.evaluator.checklist.records import DIMENSIONS, Check, Clip, Entity
from matchcut.evaluator.judge.records import (
    RATING_VALUES,
    Attempt,
    EvidenceFrame,
    ItemRating,
    Judgment,
    OperationalFailure,
)
from matchcut.evaluator.media.records import Comparison, Fault, TimelineCheck, VideoInfo
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.results import Provenance, Results
from matchcut.evaluator.scoring.records import ChecklistScore, Score
from matchcut.evaluator.sgc.records import COMPONENTS, PairResult, SgcResult
from matchcut.evaluator.shots.records import CutMatch, ShotCheck

RATE = Fraction(24000, 1001)
BITS = 8


def numbered_picture(index, width=160, height=96, cuts=()):
    """A picture whose upper half holds `index` as eight black or white bars, and whose lower half moves and cuts.

    The bars are a Gray code: from frame to frame exactly one of them changes, so that they never look like a cut.
    """
    code = index ^ index >> 1
    picture = np.zeros((height, width, 3), np.uint8)
    for bit in range(BITS):
        left, right = bit * width // BITS, (bit + 1) * width // BITS
        picture[: height // 2, left:right] = 235 if code >> bit & 1 else 16
    shot = sum(cut <= index for cut in cuts)
    x = np.arange(width)[None, :] + 3 * index
    y = np.arange(height // 2)[:, None]
    wave = 110 + 60 * np.sin(x / (6 + 5 * shot)) + 50 * np.sin(y / (4 + 9 * shot))
    tint = [(1.0, 0.8, 0.4), (0.3, 0.7, 1.0), (0.5, 1.0, 0.5)][shot % 3]
    picture[height // 2 :] = np.clip(wave[..., None] * np.array(tint), 0, 255)
    return picture


def read_number(picture):
    """The index that `numbered_picture` drew into a decoded (H, W, 3) picture."""
    height, width = picture.shape[:2]
    middles = [picture[height // 4, (2 * bit + 1) * width // (2 * BITS)].mean() for bit in range(BITS)]
    code = sum(1 << bit for bit, value in enumerate(middles) if value > 128)
    return code ^ code >> 1 ^ code >> 2 ^ code >> 3 ^ code >> 4 ^ code >> 5 ^ code >> 6 ^ code >> 7


def write_video(path, frames=48, rate=RATE, size=(160, 96), cuts=(), codec="libx264", pixel_format="yuv420p"):
    """Encode numbered pictures; returns `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, pixel_format
        stream.thread_count = 1
        for index in range(frames):
            picture = numbered_picture(index, *size, cuts=cuts)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def video_info(name, frames=48, rate=RATE, size=(160, 96), **changes):
    """A VideoInfo as a probe would give it."""
    made = VideoInfo(
        path=name, sha256="ab" * 32, timeline=Timeline(*size, rate, frames), rate_source="timestamps",
        constant_rate=True, start_seconds=0.0, coded_width=size[0], coded_height=size[1], rotation_deg=0,
        mirrored=False, pixel_aspect="1:1", codec="h264", pixel_format="yuv420p", bit_depth=8, header_frames=frames,
    )  # fmt: skip
    return made.model_copy(update=changes)


def clips(text="The ball rolls to the right in front of the figure."):
    """Two clips with a check of every category, each under all settings that it may have."""
    made = []
    for number, offset in enumerate((0, 20)):
        checks = []
        for position, category in enumerate(name for names in DIMENSIONS.values() for name in names):
            single = category in ("position", "target", "object_presence", "object_appearance", "spatial_relations")
            start = 2 * position
            settings = ["simplified", "detailed"] if category == "object_appearance" else ["proxy", "simplified"]
            checks.append(
                Check(
                    id=f"c{position + 1:02d}", category=category, settings=settings, subjects=["ball"], start=start,
                    end=start if single else min(27, start + 9), evidence_frames=[start],
                    statement=f"{text} ({category}, {number + 1})",
                )
            )  # fmt: skip
        made.append(
            Clip(
                id=f"clip-{number + 1}", video="sample", frame_offset=offset, frame_count=28, shot_transitions=[],
                entities=[Entity(id="ball", name="red ball", description="a ball", first_frame=0)], checks=checks,
            )
        )  # fmt: skip
    return made


def judgment(clip, setting="proxy"):
    """Ratings that go round the three labels."""
    labels = list(RATING_VALUES)
    ratings = [
        ItemRating(check=check.id, category=check.category, rating=labels[i % 3], value=RATING_VALUES[labels[i % 3]])
        for i, check in enumerate(clip.applicable(setting))
    ]
    return Judgment(
        key="k" * 64, clip=clip.id, video=clip.video, setting=setting, ratings=ratings,
        evidence=[EvidenceFrame(local_frame=0, reference_frame=0, reconstruction_frame=0, sha256="cd" * 32)],
        provider="local", requested_model="a-model", replied_model="a-model-0801", request_id="r-1",
        prompt_sha256="ef" * 32, usage={"input_tokens": 5210, "output_tokens": 340},
        attempts=[Attempt(outcome="accepted", seconds=1.5)],
    )  # fmt: skip


def failure(clip, detail="HTTP 503 three times"):
    """A clip that could not be judged."""
    attempts = [Attempt(outcome="http_503", detail=detail, seconds=0.5)] * 3
    return OperationalFailure(
        key="f" * 64, clip=clip.id, video=clip.video, setting="proxy", reason="server_error", detail=detail,
        attempts=attempts,
    )  # fmt: skip


def sgc_result(frames=48):
    """Curves with a spike, a gap of three pairs and one lonely pair between gaps."""
    pairs = []
    for frame in range(1, frames):
        missing = frame in (20, 21, 22, 24)
        values = [
            None if missing else (abs(math.sin(frame / 5)) + 0.05) * scale + (spike if frame == 30 else 0)
            for scale, spike in ((2.0, 240.0), (0.004, 0.0), (1.2, 30.0), (0.006, 0.2), (0.03, 0.0))
        ]
        reason = "fewer than 4 static tracks" if missing else ""
        pairs.append(
            PairResult(
                frame=frame,
                regions=0 if missing else 7,
                components=dict(zip(COMPONENTS, values, strict=True)),
                reason=reason,
            )
        )
    means = [np.mean([p.components[c] for p in pairs if p.components[c] is not None]).item() for c in COMPONENTS]
    return SgcResult(
        estimator="blender 5.2.2", score=0.4123, components=dict(zip(COMPONENTS, means, strict=True)),
        pairs_scored=frames - 5, pairs_expected=frames - 1, pairs=pairs,
        parameters={"clusters": 10, "confidence": 0.5, "zbuffer_near": False},
    )  # fmt: skip


def score(value, checks=10, clips_=1, reason=""):
    """A Score with one of two clips."""
    return Score(
        value=value, clips_scored=clips_, clips_expected=2, checks_scored=checks, checks_expected=20, reason=reason
    )


def checklist_score():
    """A partly judged checklist."""
    dimensions = {"camera": score(58.3, 6), "static": score(41.7, 2), "dynamic": score(50.0, 2)}
    categories = {name: score(50.0, 1) for names in DIMENSIONS.values() for name in names}
    categories["object_appearance"] = score(None, 0, 0, "no check applies under proxy")
    return ChecklistScore(
        setting="proxy", state="partly_judged", reason="1 of 2 clips could not be judged", overall=score(50.0),
        dimensions=dimensions, categories=categories,
    )  # fmt: skip


def fault(kind, first, last, **changes):
    """A fault of the reconstruction, two frames late."""
    made = {"reference_first": first - 2, "reference_last": last - 2, "detail": f"frames {first} to {last} are {kind}"}
    return Fault(kind=kind, first=first, last=last, **(made | changes))


def results(**changes):
    """A result with something of everything; `changes` replaces fields."""
    made = clips()
    reference = video_info("reference.mp4")
    reconstruction = video_info("mine.mp4")
    comparisons = [
        Comparison(name="resolution", reference="160x96", reconstruction="160x96", agrees=True),
        Comparison(name="rate", reference="24000/1001 (23.976)", reconstruction="24/1 (24.000)", agrees=False),
        Comparison(name="frames", reference="48", reconstruction="48", agrees=True),
        Comparison(name="duration", reference="2.002 s", reconstruction="2.000 s", agrees=False),
    ]
    standard = Results(
        reference=reference,
        reconstruction=reconstruction,
        setting="proxy",
        timeline=TimelineCheck(
            comparisons=comparisons, offset_frames=2, faults=[fault("frozen", 5, 9), fault("black", 40, 43)]
        ),
        shots=ShotCheck(
            reference_cuts=[16, 32], reconstruction_cuts=[16, 35, 44],
            matches=[
                CutMatch(verdict="found", reference=16, reconstruction=16),
                CutMatch(verdict="late", reference=32, reconstruction=35),
                CutMatch(verdict="extra", reference=None, reconstruction=44),
            ],
            detector="scenedetect 0.7.2, adaptive",
        ),
        sgc=sgc_result(),
        checklist=checklist_score(),
        clips=made,
        judgments=[judgment(made[0])],
        operational_failures=[failure(made[1])],
        provenance=Provenance(
            matchcut="0.1.0", python="3.11.9", packages={"av": "18.0.0", "numpy": "2.3.1"}, blender="5.2.2",
            engine="CYCLES", device="CPU", samples=16, seed=0,
        ),
    )  # fmt: skip
    return standard.model_copy(update=changes)
