# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of a request: the right frames, in order, of both videos."""

import hashlib
import io
from fractions import Fraction

import numpy as np
import pytest
from judge_videos import STEP, clip, video
from matchcut.evaluator.judge.evidence import EvidenceError, EvidenceStore
from PIL import Image


def shown(jpeg):
    """The frame indices that the two pictures of a pair image show, by their grey."""
    image = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")).astype(float)
    height = image.shape[0] // 2
    return [round((image[top + height // 2 : top + height - 40, 400:560, 1].mean() - 20) / STEP) for top in (0, height)]


@pytest.fixture
def make_evidence(tmp_path):
    return EvidenceStore(tmp_path / "store").get


def test_local_frame_is_offset_plus_f_at_the_same_rate(tmp_path, make_evidence):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4", tint=20)
    evidence = make_evidence(clip(offset=10, frames=20), "proxy", reference, reconstruction)
    local = [frame.local_frame for frame in evidence.frames]
    assert local == sorted(set(local)) and local[0] == 0 and local[-1] == 19
    assert {0, 1, 2, 4, 5, 6, 19} <= set(local)  # ends of the checks, evidence, ends of the clip
    for frame, jpeg in zip(evidence.frames, evidence.load(), strict=True):
        assert shown(jpeg) == [10 + frame.local_frame] * 2
        assert (frame.reference_frame, frame.reconstruction_frame) == (10 + frame.local_frame,) * 2
        assert frame.sha256 == hashlib.sha256(jpeg).hexdigest()


def test_images_are_jpegs_of_the_paper_s_size(tmp_path, make_evidence):
    reference = video(tmp_path / "r.mp4")
    for jpeg in make_evidence(clip(), "proxy", reference, reference).load():
        image = Image.open(io.BytesIO(jpeg))
        assert image.format == "JPEG"
        assert image.width <= 960 and 1080 <= image.height <= 1232


def test_nearest_frame_by_time_at_another_rate(tmp_path, make_evidence):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4", 20, Fraction(12))
    evidence = make_evidence(clip(offset=10, frames=20), "proxy", reference, reconstruction)
    for frame, jpeg in zip(evidence.frames, evidence.load(), strict=True):
        expected = (10 + frame.local_frame) // 2  # of two equally near ones the earlier
        assert frame.reconstruction_frame == expected
        assert shown(jpeg) == [10 + frame.local_frame, expected]


def test_settings_show_the_frames_of_their_own_checks(tmp_path, make_evidence):
    reference = video(tmp_path / "r.mp4")
    proxy, detailed = (
        [frame.local_frame for frame in make_evidence(clip(), setting, reference, reference).frames]
        for setting in ("proxy", "detailed")
    )
    assert 7 in detailed and 7 not in proxy


@pytest.mark.parametrize(("offset", "frames"), [(25, 20), (39, 2), (10, 31)])
def test_whole_interval_has_to_be_there(offset, frames, tmp_path, make_evidence):
    reference, short = video(tmp_path / "r.mp4", 46), video(tmp_path / "b.mp4", 40)
    with pytest.raises(EvidenceError, match="of the reconstruction, which ends with frame 39") as caught:
        make_evidence(clip(offset=offset, frames=frames, checks=0), "detailed", reference, short)
    assert caught.value.reason == "interval_unavailable"


def test_interval_that_ends_with_the_video_is_there(tmp_path, make_evidence):
    reference = video(tmp_path / "r.mp4", 40)
    assert make_evidence(clip(offset=20, frames=20), "proxy", reference, reference).frames[-1].reference_frame == 39


def test_interval_at_another_rate(tmp_path, make_evidence):
    reference, half = video(tmp_path / "r.mp4", 40), video(tmp_path / "b.mp4", 14, Fraction(12))
    with pytest.raises(EvidenceError, match="needs frame 14 of the reconstruction, which ends with frame 13"):
        make_evidence(clip(offset=10, frames=20), "proxy", reference, half)
    assert make_evidence(clip(offset=10, frames=18), "proxy", reference, half).frames


def test_file_that_vanished(tmp_path, make_evidence):
    reference, reconstruction = video(tmp_path / "r.mp4"), video(tmp_path / "b.mp4")
    (tmp_path / "b.mp4").unlink()
    with pytest.raises(EvidenceError) as caught:
        make_evidence(clip(), "proxy", reference, reconstruction)
    assert caught.value.reason == "undecodable"


def test_more_frames_than_a_request_may_show(tmp_path, make_evidence):
    reference = video(tmp_path / "r.mp4", 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matchcut.evaluator.judge.evidence.MOST_FRAMES", 5)
        with pytest.raises(EvidenceError) as caught:
            make_evidence(clip(), "proxy", reference, reference)
    assert caught.value.reason == "too_many_frames"


def test_two_stores_make_the_same_bytes(tmp_path):
    reference = video(tmp_path / "r.mp4")
    first, second = (
        EvidenceStore(tmp_path / name, lossless=True).get(clip(), "proxy", reference, reference) for name in "ab"
    )
    assert first.frames == second.frames and first.load() == second.load()
    names = [sorted(path.name for path in (tmp_path / name / "evidence").glob("*.*")) for name in "ab"]
    assert names[0] == names[1]
    for frame in first.frames:
        png = (tmp_path / "a" / "evidence" / f"{frame.png_sha256}.png").read_bytes()
        assert hashlib.sha256(png).hexdigest() == frame.png_sha256
        assert np.asarray(Image.open(io.BytesIO(png))).shape[1] == 960
        assert frame.seconds == pytest.approx(frame.local_frame / 24)


def test_lossless_images_are_added_to_a_store_without_them(tmp_path):
    reference = video(tmp_path / "r.mp4")
    plain = EvidenceStore(tmp_path).get(clip(), "proxy", reference, reference)
    both = EvidenceStore(tmp_path, lossless=True).get(clip(), "proxy", reference, reference)
    assert [frame.sha256 for frame in plain.frames] == [frame.sha256 for frame in both.frames]
    assert all(frame.png_sha256 for frame in both.frames)
    assert EvidenceStore(tmp_path).find(clip(), "proxy", reference, reference) == both


def test_a_later_video_of_the_same_name_has_images_of_its_own(tmp_path):
    reference, store = video(tmp_path / "r.mp4"), EvidenceStore(tmp_path / "store")
    first = store.get(clip(), "proxy", reference, video(tmp_path / "b.mp4", tint=20))
    second = store.get(clip(), "proxy", reference, video(tmp_path / "b.mp4", tint=60))
    assert first.frames != second.frames and first.load() != second.load()
