# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures in the report: the right frames, at the right times, of both videos."""

import base64
import io
from fractions import Fraction

import numpy as np
import pytest
import report_samples as samples
from matchcut.evaluator.audit.records import AuditFinding, AuditReport
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.report.checks import check_rows
from matchcut.evaluator.report.html import write_report
from matchcut.evaluator.report.pictures import read_pictures
from matchcut.evaluator.results import Unscored
from PIL import Image
from test_report import page_of


def number(address):
    """The number that a picture of samples.write_video says of itself, in eight bars."""
    assert address.startswith("data:image/jpeg;base64,")
    image = np.asarray(
        Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB").resize((160, 96))
    )
    found = sum(1 << bit for bit in range(8) if image[24, 10 + 20 * bit, 1] > 128)
    rest = found >> 1
    while rest:
        found ^= rest
        rest >>= 1
    return found


@pytest.fixture
def videos(tmp_path):
    reference = samples.write_video(tmp_path / "reference.mp4")
    reconstruction = samples.write_video(tmp_path / "reconstruction.mp4", frames=30)
    return reference, reconstruction


def test_strips_and_evidence_show_their_frames(videos):
    results = samples.results(reconstruction=samples.video_info("mine.mp4", frames=30))
    pictures = read_pictures(results, *videos, reporter=SilentReporter())
    whole, short = pictures.strips["reference"], pictures.strips["reconstruction"]
    assert [number(one.address) for one in whole] == [one.frame for one in whole]
    assert [number(one.address) for one in short] == [one.frame for one in short]
    assert abs(sum(one.width for one in whole) - 100) < 0.1 and whole[0].left == 0
    assert all(one.frame < 30 for one in short) and len(short) < len(whole), "none is made up behind its end"
    rows = {row.key: row for row in check_rows(results)}
    assert set(pictures.evidence) == set(rows)
    for key, seen in pictures.evidence.items():
        assert rows[key].first <= seen.frame <= rows[key].last
        assert number(seen.reference) == seen.frame
        assert seen.reconstruction is None if seen.frame >= 30 else number(seen.reconstruction) == seen.frame


def test_a_video_of_another_rate_is_shown_at_the_same_time(tmp_path):
    reference = samples.write_video(tmp_path / "reference.mp4", rate=Fraction(24))
    half = samples.write_video(tmp_path / "half.mp4", frames=24, rate=Fraction(12))
    results = samples.results(
        reference=samples.video_info("reference.mp4", rate=Fraction(24)),
        reconstruction=samples.video_info("half.mp4", frames=24, rate=Fraction(12)),
    )
    pictures = read_pictures(results, reference, half, reporter=SilentReporter())
    assert len(pictures.strips["reconstruction"]) == len(pictures.strips["reference"])
    for one in pictures.strips["reconstruction"]:
        assert abs(number(one.address) / 12 - one.frame / 24) <= 1 / 24 + 1e-9


def test_they_are_held_in_the_page_whose_bytes_repeat(videos, tmp_path):
    heat = tmp_path / "worst-1-frame-000012.png"
    Image.new("RGB", (1200, 700), (200, 30, 30)).save(heat)
    results = samples.results(reconstruction=samples.video_info("mine.mp4", frames=30))
    made = [read_pictures(results, *videos, heat_maps=[(12, heat)], reporter=SilentReporter()) for _ in range(2)]
    assert made[0] == made[1]
    page = page_of(tmp_path, results, pictures=made[0])
    images = [a for tag, a in page.elements if tag == "img"]
    assert len(images) > len(check_rows(results)) and all(a["src"].startswith("data:image/jpeg") for a in images)
    assert page.having(**{"class": "pair"})
    assert "Pair 11 to 12" in page.text


def audit_report(**changes):
    finding = AuditFinding(
        severity="forbidden", kind="image", type="image", name="wall.png", what="shows a frame of the reference",
        where=["material 'Wall'"], why="a reconstruction has to be built", matches=[],
    )  # fmt: skip
    standard = {
        "scene": "mine.blend", "scene_sha256": "ab" * 32, "rendered_scene": "Scene", "reference": "reference.mp4",
        "reference_sha256": "cd" * 32, "reference_frames": 48, "blender": "5.2.2", "passed": False,
        "findings": [finding], "notes": ["one picture could not be read"], "pictures_compared": 3,
    }  # fmt: skip
    return AuditReport(**standard | changes)


def test_the_audit_is_told_with_what_it_found(tmp_path):
    text = page_of(tmp_path, samples.results(audit=audit_report())).text
    for part in (
        "holds what is forbidden",
        "image wall.png",
        "material 'Wall'",
        "3 pictures of the scene",
        "could not be read",
    ):
        assert part in text, part
    assert "nothing forbidden" in page_of(tmp_path, samples.results(audit=audit_report(findings=[], passed=True))).text
    assert (
        "Not looked through. no Blender" in page_of(tmp_path, samples.results(audit=Unscored(reason="no Blender"))).text
    )
    assert "Audit of the scene" not in write_report(samples.results(), tmp_path).read_text(encoding="utf-8")
