# SPDX-License-Identifier: GPL-3.0-or-later
"""The scores and decisions of PySceneDetect: ours are its own, and what we add is short shots, ends and flashes."""

import numpy as np
import pytest
import shot_samples
from hypothesis import example, given
from hypothesis import strategies as st
from matchcut.evaluator.media.scan import signature
from matchcut.evaluator.shots.content import ContentScores, adaptive_cuts, content_cuts
from matchcut.evaluator.shots.fades import find_fades
from scenedetect import FrameTimecode, StatsManager
from scenedetect.detectors import AdaptiveDetector, ContentDetector
from shot_samples import shot


def distances(images):
    scores = ContentScores()
    for index, image in enumerate(images):
        scores(index, image)
    return scores.distances


def cuts(images):
    found = adaptive_cuts(distances(images))
    assert all(isinstance(cut, int) for cut in found)
    return found


def of_the_library(detector, images):
    """(its cuts, its score of every frame)"""
    detector.stats_manager = StatsManager(FrameTimecode(0, fps=25.0))
    found = []
    for index, image in enumerate(images):
        position = FrameTimecode(index, fps=25.0)
        found += [cut.frame_num for cut in detector.process_frame(position, np.ascontiguousarray(image[..., ::-1]))]
    metrics = [
        detector.stats_manager.get_metrics(FrameTimecode(index, fps=25.0), ["content_val"])[0]
        for index in range(1, len(images))
    ]
    return found, metrics


@pytest.fixture(scope="module")
def long_shots():
    return [image for seed in (1, 2, 3) for image in shot(seed, 15, speed=5)]


def test_scores_and_cuts_are_those_of_the_library(long_shots):
    ours = distances(long_shots)
    for detector, decide in (
        (AdaptiveDetector(adaptive_threshold=2.5, min_scene_len=1), adaptive_cuts),
        (ContentDetector(min_scene_len=1), content_cuts),
    ):
        found, scores = of_the_library(detector, long_shots)
        assert np.allclose(ours[1:, 0], scores, rtol=0, atol=1e-9)
        assert decide(ours) == found == [15, 30]


def test_distances_reach_three_frames_back(long_shots):
    ours = distances(long_shots[:20])
    assert ours.shape == (20, 3)
    assert np.isinf(ours[0]).all() and np.isinf(ours[1, 1:]).all() and np.isinf(ours[2, 2])
    for lag in (1, 2, 3):
        assert np.allclose(
            ours[lag:, lag - 1],
            [distances([a, b])[1, 0] for a, b in zip(long_shots[: 20 - lag], long_shots[lag:20], strict=True)],
        )


def test_two_cuts_two_frames_apart_and_a_shot_of_one_frame_are_found():
    a, b, c, d = (shot(seed, 12) for seed in (1, 2, 3, 4))
    assert cuts([*a, *b[:2], *c]) == [12, 14]
    assert cuts([*a, *b[:1], *c]) == [12, 13]
    assert cuts([*a, *b[:2], *c[:2], *d]) == [12, 14, 16]


@pytest.mark.parametrize("length", [1, 2])
def test_a_flash_and_a_foreign_picture_in_a_shot_are_no_cuts(length):
    taken = shot(1, 24)
    flash = [(image * 1.2 + 110.0).clip(0, 255).astype(np.uint8) for image in taken[12 : 12 + length]]
    assert cuts([*taken[:12], *flash, *taken[12 + length :]]) == []
    assert cuts([*taken[:12], *shot(2, length), *taken[12 + length :]]) == []
    # three frames are a shot
    assert cuts([*taken[:12], *shot(2, 3), *taken[15:]]) == [12, 15]


def test_a_camera_that_shakes_and_a_fire_that_flickers_are_no_cuts():
    assert cuts(shot(5, 30, shake=6)) == []
    assert cuts(shot(6, 30, speed=0, flicker=0.1)) == []


@pytest.mark.parametrize(
    "name",
    [
        "pan",
        "zoom",
        "similar colours",
        "dark",
        "flat",
        "shots of 1 to 3 frames",
        "cut to black and back",
        "through black",
        "through white",
    ],
)
def test_a_generated_sample(name):
    """Without a codec between; of a seed that tuned nothing."""
    (sample,) = shot_samples.generated(4, [name])
    fades = find_fades(np.stack([signature(image) for image in sample.images]))
    found = [cut for cut in cuts(sample.images) if not any(fade.first < cut <= fade.last for fade in fades)]
    assert (found, fades) == (sample.cuts, sample.fades)


@given(st.lists(st.floats(0, 80), max_size=30))
@example([47.0, 15.0, 29.0, 0.0])  # a cut that still stands out after it was found
def test_any_scores_give_increasing_cuts_inside_the_video(scores):
    table = np.full((len(scores) + 1, 3), np.inf)
    table[1:, 0] = scores
    for decide in (adaptive_cuts, content_cuts):
        found = decide(table)
        assert found == sorted(set(found))
        assert all(0 < cut <= len(scores) and scores[cut - 1] >= 15 for cut in found)
