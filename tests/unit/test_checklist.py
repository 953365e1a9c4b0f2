# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule of a checklist broken once, each found with its file, JSON path and reason."""

import json
from fractions import Fraction

import pytest
from matchcut.evaluator.checklist.load import load_clips
from matchcut.evaluator.checklist.statistics import checklist_statistics
from matchcut.evaluator.checklist.validate import MAX_FILE_BYTES, validate
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.timeline import Timeline

VIDEO = Timeline(480, 270, Fraction(24000, 1001), 72)


def good_clip():
    return {
        "format": "matchcut-clip/1",
        "id": "v_c1",
        "video": "v",
        "frame_offset": 10,
        "frame_count": 40,
        "shot_transitions": [20],
        "entities": [
            {"id": "person_a", "name": "Person A", "description": "in red", "first_frame": 0},
            {"id": "ball", "name": "Ball", "description": "rolling", "first_frame": 5},
            {
                "id": "all",
                "name": "Everyone",
                "description": "both",
                "first_frame": 5,
                "members": ["person_a", "ball"],
            },
            {"id": "floor", "name": "Floor", "description": "grey", "first_frame": 0},
        ],
        "checks": [
            {
                "id": "k1",
                "category": "subject_motion",
                "settings": ["proxy", "simplified", "detailed"],
                "subjects": ["ball"],
                "start": 5,
                "end": 19,
                "evidence_frames": [5, 12, 19],
                "sample_frames": [8],
                "statement": "The ball rolls to the right.",
            },
            {
                "id": "k2",
                "category": "object_appearance",
                "settings": ["detailed"],
                "subjects": ["person_a"],
                "start": 3,
                "end": 3,
                "evidence_frames": [3],
                "statement": "Person A wears a red shirt.",
            },
        ],
    }


def put(data, path, value):
    """Set `value` at a JSON path such as checks/0/start."""
    *parents, last = path.split("/")
    for part in parents:
        data = data[int(part) if isinstance(data, list) else part]
    data[int(last) if isinstance(data, list) else last] = value


def write(folder, *clips):
    folder.mkdir(parents=True, exist_ok=True)
    for number, clip in enumerate(clips, start=1):
        (folder / f"c{number}.json").write_text(json.dumps(clip), encoding="utf-8")
    return folder


def faults_of(folder, reference=VIDEO):
    return [(fault.path, fault.reason) for fault in validate(folder, reference).faults]


def test_good_clip_loads_the_same_from_file_folder_and_video_folder(tmp_path):
    folder = write(tmp_path / "clips", good_clip())
    by_folder = load_clips(folder, VIDEO)
    assert [clip.id for clip in by_folder] == ["v_c1"]
    assert by_folder[0].checks[0].sample_frames == [8]
    assert by_folder == load_clips(folder / "c1.json", None) == load_clips(tmp_path, VIDEO)


BROKEN = {
    "unknown category": ("checks/0/category", "dolly", "checks/0/category", "translation"),
    "unknown setting": ("checks/0/settings/0", "draft", "checks/0/settings/0", "proxy"),
    "no settings": ("checks/0/settings", [], "checks/0/settings", "at least 1"),
    "setting twice": ("checks/0/settings/1", "proxy", "checks/0/settings/1", "named twice"),
    "frame as text": ("checks/0/start", "5", "checks/0/start", "integer"),
    "frame as a fraction": ("checks/0/start", 5.0, "checks/0/start", "integer"),
    "frame as a truth value": ("checks/0/start", True, "checks/0/start", "integer"),
    "negative frame": ("checks/0/start", -1, "checks/0/start", "greater than or equal to 0"),
    "unknown field": ("checks/0/weight", 2, "checks/0/weight", "not permitted"),
    "empty statement": ("checks/0/statement", "", "checks/0/statement", "at least 1"),
    "half a character": ("checks/0/statement", "\ud800", "checks/0/statement", "unicode"),
    "id with a slash": ("id", "../v", "id", "pattern"),
    "check id twice": ("checks/1/id", "k1", "checks/1/id", "'k1' is the id of checks/0 too"),
    "entity id twice": ("entities/3/id", "ball", "entities/3/id", "'ball' is the id of entities/1 too"),
    "interval ends outside the clip": ("checks/0/end", 40, "checks/0/end", "outside the clip's frames 0–39"),
    "start after end": ("checks/0/start", 20, "checks/0/start", "start 20 comes after end 19"),
    "evidence before the interval": ("checks/0/evidence_frames/0", 4, "checks/0/evidence_frames/0", "5–19"),
    "evidence after the interval": ("checks/0/evidence_frames/2", 20, "checks/0/evidence_frames/2", "5–19"),
    "sample outside": ("checks/0/sample_frames/0", 30, "checks/0/sample_frames/0", "5–19"),
    "unknown subject": ("checks/0/subjects/0", "person_z", "checks/0/subjects/0", "not in the entity table"),
    "unknown member": ("entities/2/members/1", "person_z", "entities/2/members/1", "not in the entity table"),
    "member of itself": ("entities/2/members/1", "all", "entities/2/members/1", "itself"),
    "interval for a frame category": ("checks/1/end", 4, "checks/1/end", "checked at one frame"),
    "appearance under proxy": ("checks/1/settings/0", "proxy", "checks/1/settings", "never checked under proxy"),
    "transition outside": ("shot_transitions/0", 40, "shot_transitions/0", "outside the clip"),
    "transitions not increasing": ("shot_transitions", [20, 20], "shot_transitions/1", "does not come after 20"),
    "first frame outside": ("entities/1/first_frame", 40, "entities/1/first_frame", "outside the clip"),
    "clip past the video's end": ("frame_offset", 33, "frame_count", "last frame is 72 of the video"),
    "other format": ("format", "matchcut-clip/2", "(top)", "expected 'matchcut-clip/1'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_is_found_alone_and_at_its_place(name, tmp_path):
    where, value, path, reason = BROKEN[name]
    data = good_clip()
    put(data, where, value)
    folder = write(tmp_path / "clips", data)
    found = faults_of(folder)
    assert [place for place, _ in found] == [path]
    assert reason in found[0][1]
    with pytest.raises(BadInputError) as caught:
        load_clips(folder, VIDEO)
    line = str(caught.value)
    assert "\n" not in line and path in line and f"matchcut checklist validate {folder}" in line


def test_interval_category_at_one_frame(tmp_path):
    data = good_clip()
    data["checks"][0].update(start=7, end=7, evidence_frames=[7], sample_frames=[])
    assert faults_of(write(tmp_path, data)) == [
        ("checks/0/end", "subject_motion is checked over an interval: end has to come after start 7")
    ]


@pytest.mark.parametrize(
    ("rate", "frames", "fits"),
    [
        (Fraction(24), 48, True),
        (Fraction(24), 49, False),
        (Fraction(24000, 1001), 47, True),
        (Fraction(24000, 1001), 48, False),
        (Fraction(25), 50, True),
        (Fraction(60), 120, True),
        (Fraction(60), 121, False),
    ],
)
def test_two_seconds_are_counted_inclusively_and_exactly(rate, frames, fits, tmp_path):
    data = {**good_clip(), "frame_offset": 0, "frame_count": frames}
    found = faults_of(write(tmp_path, data), Timeline(8, 8, rate, 1000))
    assert found == [] if fits else [path for path, _ in found] == ["frame_count"]


def test_place_in_the_video_is_left_alone_where_no_video_is_known(tmp_path):
    folder = write(tmp_path, {**good_clip(), "frame_offset": 10_000, "frame_count": 500})
    assert validate(folder).faults == []


def test_all_faults_of_all_files_are_listed(tmp_path):
    first, second = good_clip(), {**good_clip(), "id": "v_c2"}
    put(first, "checks/0/subjects/0", "nobody")
    put(first, "checks/1/end", 4)
    put(second, "checks/0/end", 99)
    write(tmp_path, first, second)
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    faults = validate(tmp_path, VIDEO).faults
    assert [(fault.file.rsplit("/")[-1], fault.path) for fault in faults] == [
        ("c1.json", "checks/0/subjects/0"),
        ("c1.json", "checks/1/end"),
        ("c2.json", "checks/0/end"),
        ("x.json", "(top)"),
    ]
    with pytest.raises(BadInputError, match="and 3 more"):
        load_clips(tmp_path, VIDEO)


def test_same_clip_in_two_files_and_another_video(tmp_path):
    write(tmp_path, good_clip())
    (tmp_path / "w.json").write_text(json.dumps({**good_clip(), "video": "other"}), encoding="utf-8")
    assert [path for path, _ in faults_of(tmp_path)] == ["id", "video"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not valid JSON"),
        (b"not json", "not valid JSON"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"format": "matchcut-clip/1", "a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"format": ' + b"1" * 10_000 + b"}", "too long"),
        (b"[]", "its format is 'list'"),
        (b"{}", "its format is None"),
        (b" " * (MAX_FILE_BYTES + 1), "too large"),
    ],
)
def test_file_that_is_no_clip(data, reason, tmp_path):
    (tmp_path / "c.json").write_bytes(data)
    ((path, why),) = faults_of(tmp_path)
    assert path == "(top)" and reason in why and str(tmp_path) not in why


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_nothing_to_load(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match=f"{name}: .*give a clip file"):
        load_clips(tmp_path / name, None)


def test_command_lists_faults_and_exits_with_2(tmp_path, capsys):
    data = good_clip()
    put(data, "checks/0/subjects/0", "nobody")
    folder = write(tmp_path, data)
    assert main(["checklist", "validate", str(folder)]) == 2
    out = capsys.readouterr().out
    assert f"{folder / 'c1.json'}: checks/0/subjects/0: 'nobody' is not in the entity table" in out
    assert main(["checklist", "validate", str(folder), "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["files"], [fault["path"] for fault in answer["faults"]]) == (1, ["checks/0/subjects/0"])


def test_command_on_good_files(tmp_path, capsys):
    folder = write(tmp_path, good_clip())
    assert main(["checklist", "validate", str(folder)]) == 0
    assert capsys.readouterr().out == "1 files, 1 clips, 2 checks: no faults\n"
    assert main(["checklist", "stats", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["checks_per_setting"] == {"proxy": 1, "simplified": 1, "detailed": 2}
    assert main(["checklist", "stats", str(folder), "--messages"]) == 0
    types = [json.loads(line)["type"] for line in capsys.readouterr().out.splitlines()]
    assert types == ["result", "done"]


def test_statistics(tmp_path):
    second = {**good_clip(), "id": "v_c2", "frame_count": 24, "frame_offset": 0, "shot_transitions": []}
    clips = load_clips(write(tmp_path, good_clip(), second), VIDEO)
    statistics = checklist_statistics(clips, VIDEO)
    assert (statistics["videos"], statistics["clips"], statistics["clips_crossing_a_cut"]) == (1, 2, 1)
    assert (statistics["records"], statistics["entities"]) == (4, 8)
    assert statistics["checks"]["subject_motion"] == {"proxy": 2, "simplified": 2, "detailed": 2}
    assert statistics["checks"]["object_appearance"] == {"proxy": 0, "simplified": 0, "detailed": 2}
    assert statistics["checks"]["zoom"] == {"proxy": 0, "simplified": 0, "detailed": 0}
    assert statistics["clip_seconds"] == {"total": 2.669, "mean": 1.335, "shortest": 1.001, "longest": 1.668}
