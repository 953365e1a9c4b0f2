# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut detection: named by the first frame of the new shot, and no cut where a camera only moves."""

import numpy as np
import pytest
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.shots.detect import DETECTOR, detect_cuts
from media_samples import pictures, write_video


def cuts(path):
    return detect_cuts(path, reporter=SilentReporter())


def test_real_cuts(media):
    assert cuts(media / "nasa_13013.mp4") == [127, 202]


@pytest.mark.parametrize(
    "name",
    ["bigbuckbunny.mp4", "bedroom.mp4", "03_blocks.mp4", "Tokyo-Walk_rgb.mp4", "carphone_distorted.mp4", "fire2.mp4"],
)
def test_no_cut_where_only_things_and_the_camera_move(media, name):
    assert cuts(media / name) == []


@pytest.mark.parametrize("length", [3, 17, 40])
def test_generated_cuts_are_found_at_their_frames(tmp_path, length):
    shots = [pictures(length, seed=seed) for seed in (1, 2, 3)]
    shots[1] = [255 - image for image in shots[1]]
    path = write_video(tmp_path / "cuts.mp4", [image for shot in shots for image in shot], options={"bf": "3"})
    assert cuts(path) == [length, 2 * length]


def test_a_fade_is_no_cut(tmp_path):
    images = pictures(40)
    faded = [(image * min(1.0, abs(index - 20) / 15)).astype(np.uint8) for index, image in enumerate(images)]
    assert cuts(write_video(tmp_path / "fade.mp4", faded)) == []


def test_short_videos_have_no_cuts(tmp_path):
    for count in (1, 2, 4):
        assert cuts(write_video(tmp_path / f"{count}.mp4", pictures(count))) == []


def test_progress_reaches_its_total_and_the_detector_is_named(tmp_path):
    steps = []

    class Reporter(SilentReporter):
        def progress(self, stage, done, total, text=""):
            steps.append((stage, done, total))

    detect_cuts(write_video(tmp_path / "clip.mp4", pictures(7)), reporter=Reporter(), stage="cuts of it")
    assert steps == [("cuts of it", done, 7) for done in range(1, 8)]
    assert "AdaptiveDetector" in DETECTOR and "adaptive_threshold=3.0" in DETECTOR


def test_what_is_no_video_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="no such file"):
        cuts(tmp_path / "missing.mp4")
