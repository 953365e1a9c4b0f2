# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of a result, and corrupted videos."""

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import report_samples as samples
import sgc_scenes as scenes
from matchcut.evaluator.media.decode import stream
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.floor import scale_of, zero_of
from matchcut.evaluator.sgc.perturb import perturb_video
from matchcut.evaluator.sgc.pictures import curves_svg, draw_pictures
from matchcut.evaluator.sgc.robust.floors import shipped_floor
from matchcut.evaluator.sgc.robust.records import ROBUST_COMPONENTS, FloorScene
from matchcut.evaluator.sgc.robust.score import score_robust
from matchcut.evaluator.sgc.robust.summary import DEFAULT_SCALE
from PIL import Image

SILENT = SilentReporter()


@pytest.fixture(scope="module")
def geometry():
    pairs = [scenes.pair(1), scenes.warped(scenes.pair(2), 2.0), scenes.pair(3)]
    return scenes.geometry_of(*pairs)


def test_the_worst_pair_comes_first(geometry, tmp_path):
    result = score_robust(geometry, reporter=SILENT)
    paths = draw_pictures(result, geometry, tmp_path, reporter=SILENT)
    assert [path.name for path in paths] == [
        "components.svg", "worst-1-frame-000002.png", *(f"worst-{rank + 1}-frame-{frame:06d}.png" for rank, frame in
                                                        enumerate(result.worst) if rank),
    ]  # fmt: skip
    with Image.open(paths[1]) as picture:
        shown = np.asarray(picture)
    assert shown.shape[1] == 1280 and shown.std() > 20
    before = [path.read_bytes() for path in paths]
    (tmp_path / "worst-9-frame-000009.png").write_bytes(b"old")
    draw_pictures(result, geometry, tmp_path, reporter=SILENT)
    assert [path.read_bytes() for path in paths] == before
    assert len(list(tmp_path.iterdir())) == len(paths)


def test_pictures_stand_behind_the_regions_where_there_are_any(geometry, tmp_path):
    red = np.full((scenes.H, scenes.W, 3), (200, 20, 20), np.uint8)
    shown = replace(geometry, images=lambda: iter([red] * 4))
    result = score_robust(shown, reporter=SILENT)
    path = draw_pictures(result, shown, tmp_path, reporter=SILENT)[1]
    with Image.open(path) as picture:
        panel = np.asarray(picture)[60:400, 20:600].reshape(-1, 3).mean(axis=0)
    assert panel[0] > panel[1]


def test_a_result_without_pairs_has_curves_that_say_so(tmp_path):
    empty = scenes.geometry_of()
    result = score_robust(empty, reporter=SILENT)
    paths = draw_pictures(result, empty, tmp_path, reporter=SILENT)
    text = paths[0].read_text(encoding="utf-8")
    assert len(paths) == 1 and "no pair has a value" in text and "no two consecutive frames" in text
    ET.fromstring(text)


def test_a_long_reason_is_told_in_lines_that_fit():
    result = score_robust(scenes.geometry_of(), reporter=SILENT)
    reason = " ".join(["0 of 131 pairs have parallax, 14 are needed;"] * 8)
    drawn = ET.fromstring(curves_svg(result.model_copy(update={"reason": reason}), []))
    texts = [one.text or "" for one in drawn.findall("{http://www.w3.org/2000/svg}text[@class='title']")]
    assert len(texts) > 2 and all(len(text) <= 100 for text in texts)
    assert " ".join(texts) == f"SGC, robust mode: unscored: {reason}"


def test_curves_break_at_gaps_and_cuts(geometry):
    result = score_robust(geometry, reporter=SILENT)
    drawn = ET.fromstring(curves_svg(result, [3]))
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2 * sum(value is not None for value in result.components.values())


@pytest.mark.parametrize("kind", ["warp", "squeeze", "depth_warp", "drift"])
def test_a_corrupted_video_grows_worse_with_time(kind, tmp_path):
    video = samples.write_video(tmp_path / "clean.mp4", frames=9, rate=Fraction(24))
    info = perturb_video(video, kind, 1.0, tmp_path / "bad.mp4", reporter=SILENT)
    assert (info.timeline.frames, info.timeline.rate) == (9, Fraction(24))
    clean, bad = (
        np.stack([frame.image for frame in stream(path)]).astype(int) for path in (video, tmp_path / "bad.mp4")
    )
    error = np.abs(clean - bad).mean(axis=(1, 2, 3))
    assert error[0] < 3 < error[-1] and error[1:4].mean() < error[-3:].mean()


def test_an_unknown_corruption_writes_nothing(tmp_path):
    video = samples.write_video(tmp_path / "clean.mp4", frames=2, rate=Fraction(24))
    with pytest.raises(BadInputError, match="melt"):
        perturb_video(video, "melt", 1.0, tmp_path / "bad.mp4", reporter=SILENT)
    assert not (tmp_path / "bad.mp4").exists()


def test_zero_and_scale_of_a_floor():
    clean = [dict.fromkeys(ROBUST_COMPONENTS, value) for value in (0.1, 0.2, 0.9)]
    worse = {"warp": dict.fromkeys(ROBUST_COMPONENTS, 5.0), "drift": dict.fromkeys(ROBUST_COMPONENTS, None)}
    made = [FloorScene(scene=str(n), pairs=3, clean=levels, corrupted=worse) for n, levels in enumerate(clean)]
    assert set(zero_of(made).values()) == {0.2}
    scale = scale_of(made)
    assert scale["divergence_px"] == pytest.approx((4.9 + 4.8 + 4.1) / 3)
    calm = [FloorScene(scene="a", pairs=3, clean=clean[0], corrupted={"warp": clean[0]})]
    assert all(scale_of(calm)[name] == DEFAULT_SCALE[name] for name in ROBUST_COMPONENTS)


@pytest.mark.parametrize("stack", ["classical/2 (OpenCV 5.0.0)", "blender-passes/1"])
def test_floors_come_with_the_program(stack):
    floor = shipped_floor(stack)
    assert floor is not None and floor.zero.keys() == floor.scale.keys() == set(ROBUST_COMPONENTS)
    assert all(value > 0 for value in floor.scale.values())
    assert shipped_floor("somebody's/1") is None
