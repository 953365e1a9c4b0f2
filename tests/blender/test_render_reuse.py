# SPDX-License-Identifier: GPL-3.0-or-later
"""What need not be rendered: every nth frame alone, and a scene that is what it was as it was rendered before."""

from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.pipeline.score import ScoreRequest, score
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.content import scene_content
from matchcut.evaluator.render.job import render_scene

RATE = Fraction(24000, 1001)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "given.mp4"
    frames = np.zeros((6, 36, 64, 3), np.uint8)
    frames[:] = np.arange(6, dtype=np.uint8)[:, None, None, None] * 20
    encode(frames, RATE, path, reporter=SilentReporter(), total=6)
    return path


def render(blender, scene, out, timeline=None, **options):
    timeline = timeline or Timeline(64, 36, RATE, 6)
    return render_scene(
        scene, out, timeline, blender=blender, reporter=SilentReporter(), samples=1, device="cpu", **options
    )


def names(out):
    return [path.stem for path in sorted((out / "frames").iterdir())]


def test_every_nth_frame_becomes_a_preview_at_the_right_speed(blender, make_scene, tmp_path):
    scene, out = make_scene("every", frames=6), tmp_path / "out"
    made = render(blender, scene, out, step=2, first=1, workers=2, scale=0.5)
    assert names(out) == ["000001", "000003", "000005"]
    assert made.video is None and made.preview == out / "preview.mp4"
    timeline = probe(made.preview).timeline
    assert (timeline.frames, timeline.rate, timeline.width) == (3, RATE / 2, 32)
    assert (made.status.done, made.status.total) == (3, 3)
    kept = (out / "frames" / "000003.png").stat().st_mtime_ns
    (out / "frames" / "000005.png").unlink()
    again = render(blender, scene, out, step=2, first=1, scale=0.5)
    assert again.status.rendered == 1 and (out / "frames" / "000003.png").stat().st_mtime_ns == kept
    with pytest.raises(BadInputError, match="motion from frame to frame"):
        render(blender, scene, tmp_path / "passes", step=2, passes=True)


def test_a_picture_alone_or_of_odd_size_makes_no_preview(blender, make_scene, tmp_path):
    scene = make_scene("every", frames=6)
    assert render(blender, scene, tmp_path / "one", first=2, last=2).preview is None
    odd = render(blender, scene, tmp_path / "odd", timeline=Timeline(63, 35, RATE, 6), first=2, last=3)
    assert odd.preview is None and names(tmp_path / "odd") == ["000002", "000003"]


def test_a_scene_that_has_not_changed_is_not_rendered_again(blender, make_scene, reference, tmp_path):
    first = make_scene("first", frames=6)
    opened = f"import bpy; bpy.ops.wm.open_mainfile(filepath={str(first)!r}); scene = bpy.context.scene; "
    looked_at = make_scene("looked_at", change=opened + "scene.frame_set(3)")
    changed = make_scene("changed", change=opened + "scene.camera.data.lens += 1")
    assert first.read_bytes() != looked_at.read_bytes()

    def scored(scene, name, **options):
        options = {"sgc_mode": "off", "samples": 1, "device": "cpu", "renders": tmp_path} | options
        request = ScoreRequest(reference, tmp_path / name, scene=scene, **options)
        results = score(request, reporter=SilentReporter(), blender=lambda: blender)
        return results, (tmp_path / name / "render").exists()

    one, rendered = scored(first, "score-001")
    assert rendered
    two, rendered = scored(looked_at, "score-002")
    assert not rendered and two.reconstruction == one.reconstruction and two.provenance == one.provenance
    _, rendered = scored(looked_at, "score-003", samples=2)
    assert rendered, "more samples make other pictures"
    three, rendered = scored(changed, "score-004")
    assert rendered and three.reconstruction.sha256 != one.reconstruction.sha256


def test_a_final_render_is_taken_by_a_score_which_adds_the_passes(blender, make_scene, reference, tmp_path):
    scene = make_scene("first", frames=6)
    content = scene_content(scene, blender=blender, reporter=SilentReporter())
    assert len(content) == 64
    made = render(blender, scene, tmp_path / "render-001", content=content)
    request = ScoreRequest(
        reference, tmp_path / "score-001", scene=scene, samples=1, device="cpu", renders=tmp_path
    )  # fmt: skip
    results = score(request, reporter=SilentReporter(), blender=lambda: blender)
    assert results.reconstruction.sha256 == probe(made.video).sha256
    job = tmp_path / "score-001" / "render"
    assert (job / "geometry" / "geometry.json").is_file() and not (job / "frames").exists()
    assert not (tmp_path / "render-001" / "geometry").exists(), "the artist's render was added to"
