# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of a request: the right frames, in order, of both videos."""

import hashlib
import io
from fractions import Fraction

import numpy as np
import pytest
from judge_videos import STEP, clip, video
from matchcut.evaluator.judge.evidence import EvidenceError, make_evidence
from PIL import Image


def shown(jpeg):
    """The frame indices that the two pictures of a pair image show, by their grey."""
    image = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")).astype(float)
    height = image.shape[0] // 2
    return [round((image[top + height // 2 : top + height - 40, 400:560, 1].mean() - 20) / STEP) for top in (0, height)]


def test_local_frame_is_offset_plus_f_at_the_same_rate(tmp_path):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4", tint=20)
    evidence = make_evidence(clip(offset=10, frames=20), "proxy", reference, reconstruction)
    local = [frame.local_frame for frame in evidence.frames]
    assert local == sorted(set(local)) and local[0] == 0 and local[-1] == 19
    assert {0, 1, 2, 4, 5, 6, 19} <= set(local)  # ends of the checks, evidence, ends of the clip
    for frame, jpeg in zip(evidence.frames, evidence.images, strict=True):
        assert shown(jpeg) == [10 + frame.local_frame] * 2
        assert (frame.reference_frame, frame.reconstruction_frame) == (10 + frame.local_frame,) * 2
        assert frame.sha256 == hashlib.sha256(jpeg).hexdigest()


def test_images_are_jpegs_of_the_paper_s_size(tmp_path):
    reference = video(tmp_path / "r.mp4")
    for jpeg in make_evidence(clip(), "proxy", reference, reference).images:
        image = Image.open(io.BytesIO(jpeg))
        assert image.format == "JPEG"
        assert image.width <= 960 and 1080 <= image.height <= 1232


def test_nearest_frame_by_time_at_another_rate(tmp_path):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4", 20, Fraction(12))
    evidence = make_evidence(clip(offset=10, frames=20), "proxy", reference, reconstruction)
    for frame, jpeg in zip(evidence.frames, evidence.images, strict=True):
        expected = (10 + frame.local_frame) // 2  # of two equally near ones the earlier
        assert frame.reconstruction_frame == expected
        assert shown(jpeg) == [10 + frame.local_frame, expected]


def test_settings_show_the_frames_of_their_own_checks(tmp_path):
    reference = video(tmp_path / "r.mp4")
    proxy, detailed = (
        [frame.local_frame for frame in make_evidence(clip(), setting, reference, reference).frames]
        for setting in ("proxy", "detailed")
    )
    assert 7 in detailed and 7 not in proxy


@pytest.mark.parametrize(("offset", "frames"), [(25, 20), (39, 2), (10, 31)])
def test_whole_interval_has_to_be_there(offset, frames, tmp_path):
    reference, short = video(tmp_path / "r.mp4", 46), video(tmp_path / "b.mp4", 40)
    with pytest.raises(EvidenceError, match="of the reconstruction, which ends with frame 39") as caught:
        make_evidence(clip(offset=offset, frames=frames, checks=0), "detailed", reference, short)
    assert caught.value.reason == "interval_unavailable"


def test_interval_that_ends_with_the_video_is_there(tmp_path):
    reference = video(tmp_path / "r.mp4", 40)
    assert make_evidence(clip(offset=20, frames=20), "proxy", reference, reference).frames[-1].reference_frame == 39


def test_interval_at_another_rate(tmp_path):
    reference, half = video(tmp_path / "r.mp4", 40), video(tmp_path / "b.mp4", 14, Fraction(12))
    with pytest.raises(EvidenceError, match="needs frame 14 of the reconstruction, which ends with frame 13"):
        make_evidence(clip(offset=10, frames=20), "proxy", reference, half)
    assert make_evidence(clip(offset=10, frames=18), "proxy", reference, half).frames


def test_file_that_vanished(tmp_path):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4")
    (tmp_path / "b.mp4").unlink()
    with pytest.raises(EvidenceError) as caught:
        make_evidence(clip(), "proxy", reference, reconstruction)
    assert caught.value.reason == "undecodable"


def test_more_frames_than_a_request_may_show(tmp_path):
    reference = video(tmp_path / "r.mp4", 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matchcut.evaluator.judge.evidence.MOST_FRAMES", 5)
        with pytest.raises(EvidenceError) as caught:
            make_evidence(clip(), "proxy", reference, reference)
    assert caught.value.reason == "too_many_frames"


def test_same_videos_give_the_same_bytes(tmp_path):
    reference = video(tmp_path / "r.mp4")
    assert make_evidence(clip(), "proxy", reference, reference) == make_evidence(clip(), "proxy", reference, reference)
