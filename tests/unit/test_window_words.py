# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator's lines as the window shows them: one counting of frames, one way of writing sizes, no formats."""

import json

import pytest
from matchcut.addon.sidebar.words import no_formats, scene_frames, sentence, sizes
from matchcut.evaluator.checklist.load import load_clips
from matchcut.evaluator.protocol.errors import BadInputError


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("frames 0–71", "frames 101–172"),
        ("frames 3–9, frames 1–7 of the reference", "frames 104–110, frames 102–108 of the reference"),
        ("frame 38 instead of frame 36", "frame 139 instead of frame 137"),
        ("frames 3 and 4; 2 frames missing there", "frames 104 and 105; 2 frames missing there"),
        ("frames 3 to 9: no parallax", "frames 104 to 110: no parallax"),
        ("4 frames with faults, the first is frame 12", "4 frames with faults, the first is frame 113"),
        ("frame 3 of 72", "frame 3 of 72"),
        ("70 frames, 12 of them black; 2 cuts", "70 frames, 12 of them black; 2 cuts"),
        ("-2 frames by content", "-2 frames by content"),
    ],
)
def test_frames_are_counted_as_the_scene_counts_them(said, shown):
    assert scene_frames(said, 101) == shown
    assert scene_frames(said, 0) == said


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("1920x1080, reference 640×360", "1920 × 1080, reference 640 × 360"),
        ("the picture is 1920 x 1080.", "the picture is 1920 × 1080."),
        ("/clips/1920x1080/a_640x360.mp4: it is 320x180", "/clips/1920x1080/a_640x360.mp4: it is 320 × 180"),
        ("1920x1080.mp4: 2x faster than 0x1F", "1920x1080.mp4: 2x faster than 0x1F"),
    ],
)
def test_sizes_are_written_in_one_way(said, shown):
    assert sizes(said) == sizes(shown) == shown


@pytest.mark.parametrize("content", [{}, [], {"format": "matchcut-benchmark/1"}])
def test_a_file_that_is_no_checklist_is_told_in_the_artists_words(tmp_path, content):
    path = tmp_path / "clip.json"
    path.write_text(json.dumps(content))
    with pytest.raises(BadInputError) as told:
        load_clips(path, None)
    what = "this is no checklist that Matchcut can read; pick a clip's file, or a folder of them"
    assert sentence(str(told.value)) == f"{path}: {what}"


def test_a_checklist_of_another_version_and_other_files_say_what_to_do(tmp_path):
    path = tmp_path / "clip.json"
    path.write_text(json.dumps({"format": "matchcut-clip/9"}))
    with pytest.raises(BadInputError) as told:
        load_clips(path, None)
    assert "another version of Matchcut; make it again, or update" in sentence(str(told.value))
    assert "pick another one, or make it again" in no_formats(
        "x.json: its format is None; expected 'matchcut-results/1'"
    )
    assert sentence("clips: (top): the reference is missing") == "Clips: the reference is missing"


def test_a_sentence_has_a_capital_unless_it_begins_with_a_path():
    assert sentence("frame 3 is frozen", 1) == "Frame 4 is frozen"
    assert sentence("frame 3 is frozen") == "Frame 3 is frozen"
    assert sentence("/a/b.mp4: 4x4 pixels (matchcut probe b.mp4 lists them)") == "/a/b.mp4: 4 × 4 pixels"
