# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts and fades of whole videos: named by their frames, and no cut where a camera only moves."""

import numpy as np
import pytest
import shot_samples
from matchcut.evaluator.media import scan as scanning
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.shots.detect import detect_shots
from matchcut.evaluator.shots.records import Fade
from media_samples import pictures, write_video
from shot_samples import shot


def shots(path, detector="adaptive"):
    return detect_shots(path, detector=detector, reporter=SilentReporter())


@pytest.mark.parametrize("name", sorted(shot_samples.REAL))
def test_real_clips(media, name):
    found = shots(media / name)
    assert (found.cuts, found.fades) == (shot_samples.REAL[name], [])


@pytest.mark.parametrize("length", [3, 17, 40])
def test_generated_cuts_are_found_at_their_frames(tmp_path, length):
    parts = [pictures(length, seed=seed) for seed in (1, 2, 3)]
    parts[1] = [255 - image for image in parts[1]]
    path = write_video(tmp_path / "cuts.mp4", [image for part in parts for image in part], options={"bf": "3"})
    assert shots(path).cuts == [length, 2 * length]
    assert shots(path, "content").cuts == [length, 2 * length]


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("detector", ["adaptive", "content"])
def test_cuts_near_both_ends_are_seen(tmp_path, length, detector):
    images = [*shot(1, length), *shot(2, 12), *shot(3, length)]
    found = shots(write_video(tmp_path / "ends.mp4", images), detector)
    assert (found.cuts, found.fades) == ([length, length + 12], [])


def test_a_fade_through_black_is_no_cut(tmp_path):
    images = pictures(40)
    faded = [(image * min(1.0, abs(index - 20) / 15)).astype(np.uint8) for index, image in enumerate(images)]
    found = shots(write_video(tmp_path / "fade.mp4", faded))
    assert found.cuts == []
    assert found.fades == [Fade(kind="through", shade="black", first=6, last=34)]


def test_short_videos_have_no_cuts(tmp_path):
    for count in (1, 2, 4):
        found = shots(write_video(tmp_path / f"{count}.mp4", pictures(count)))
        assert (found.cuts, found.fades) == ([], [])


def test_progress_reaches_its_total_once(tmp_path):
    steps = []

    class Reporter(SilentReporter):
        def progress(self, stage, done, total, text=""):
            steps.append((stage, done, total))

    path = write_video(tmp_path / "clip.mp4", pictures(7))
    detect_shots(path, reporter=Reporter(), stage="cuts of it")
    assert [done for _, done, _ in steps] == [1, 2, 3, 4, 5, 6, 7, 7]
    assert steps[-1] == ("cuts of it", 7, 7)
    assert sum(done == total for _, done, total in steps) == 1


def test_a_video_is_decoded_once_for_its_cuts_and_what_follows(tmp_path, monkeypatch):
    passes = []
    own = scanning._scan
    monkeypatch.setattr(scanning, "_scan", lambda path, watch: passes.append(path) or own(path, watch))
    path = write_video(tmp_path / "clip.mp4", pictures(9))
    first = shots(path)
    probe(path)
    assert shots(path) == first
    assert len(passes) == 1
    assert "ContentDetector" in shots(path, "content").detector  # another detector looks again
    write_video(path, pictures(11))
    shots(path)
    assert len(passes) == 3


def test_the_detector_is_named_with_its_version_and_parameters(tmp_path):
    import scenedetect

    path = write_video(tmp_path / "clip.mp4", pictures(5))
    named = shots(path).detector
    assert f"scenedetect {scenedetect.__version__} AdaptiveDetector(adaptive_threshold=2.5" in named
    assert "256x144" in named and "ThresholdDetector(threshold=25)" in named
    assert "ContentDetector(threshold=27.0" in shots(path, "content").detector


def test_what_is_no_video_or_no_detector_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="no such file"):
        shots(tmp_path / "missing.mp4")
    with pytest.raises(
        BadInputError, match=r"--detector best: there is no such detector; take one of adaptive, content"
    ):
        shots(tmp_path / "missing.mp4", "best")
