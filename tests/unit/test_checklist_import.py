"""Annotations of others become clips; whatever is not carried over is named with its place."""

import json
import re
import sys
from fractions import Fraction

import pytest
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.checklist.importing import cinerecon, questions
from matchcut.evaluator.checklist.importing.converter import Request, find_converter
from matchcut.evaluator.checklist.importing.fields import identifier, plain, seconds
from matchcut.evaluator.checklist.load import load_clips
from matchcut.evaluator.checklist.validate import clip_findings
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.timeline import Timeline

RATE = Fraction(24000, 1001)
FILM = Timeline(480, 270, RATE, 400)


def released_clip(**changes):
    """A clip with the fields that the paper's appendix A names, in one possible spelling."""
    return {
        "clip_id": "video38_cp006",
        "video_id": "video38",
        "frame_offset": 256,
        "frame_count": 47,
        "shot_transitions": [20],
        "entity_table": [
            {"id": "Person A", "name": "Person A", "description": "sits on the road", "first_appearance_frame": 0},
            {"id": "Person B", "name": "Person B", "description": "crouches", "first_appearance_frame": 3},
            {"id": "Group 1", "name": "Both", "description": "both of them", "first_appearance_frame": 3,
             "members": ["Person A", "Person B"]},
        ],
        "checks": [
            {"id": "c1", "category": "Object Presence", "settings": ["Proxy", "Simplified", "Detailed"],
             "subjects": ["Person A", "Person B"], "start_frame": 5, "end_frame": 5, "evidence_frames": [5],
             "statement": "Person A and Person B are visible."},
            {"id": "c2", "category": "action_events", "settings": "all", "subjects": ["person b"],
             "start_frame": 10, "end_frame": 46, "evidence_frames": [10, 46], "sampled_frames": [30],
             "statement": "Person B crouches and puts a hand on the ground."},
        ],
        **changes,
    }  # fmt: skip


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def convert(tmp_path, data, converter=cinerecon, **known):
    return converter.convert(Request(write(tmp_path / "in.json", data), **known))


def reasons(made):
    return [f"{fault.path}: {fault.reason}" for fault in made.lost]


def test_a_clip_as_the_paper_describes_it_keeps_every_field(tmp_path):
    made = convert(tmp_path, released_clip())
    [clip] = made.clips
    assert (clip.id, clip.video, clip.frame_offset, clip.frame_count, clip.shot_transitions) == (
        "video38_cp006", "video38", 256, 47, [20],
    )  # fmt: skip
    assert [(one.id, one.name, one.first_frame) for one in clip.entities] == [
        ("Person_A", "Person A", 0), ("Person_B", "Person B", 3), ("Group_1", "Both", 3),
    ]  # fmt: skip
    assert clip.entities[2].members == ["Person_A", "Person_B"]
    presence, action = clip.checks
    assert (presence.category, presence.settings, presence.start, presence.end) == (
        "object_presence", ["proxy", "simplified", "detailed"], 5, 5,
    )  # fmt: skip
    assert (action.category, action.settings, action.subjects) == (
        "action_events", ["proxy", "simplified", "detailed"], ["Person_B"],
    )  # fmt: skip
    assert (action.evidence_frames, action.sample_frames) == ([10, 46], [30])
    assert reasons(made) == [
        f"entity_table/{i}: its id '{old}' became '{new}'".replace("entity_table", "entities")
        for i, (old, new) in enumerate([("Person A", "Person_A"), ("Person B", "Person_B"), ("Group 1", "Group_1")])
    ]
    assert not list(clip_findings(clip, FILM))


SPELLINGS = {
    "camel case": {"clipId": "a", "videoId": "v", "frameOffset": 3, "frameCount": 10},
    "a range of the source": {"id": "a", "source_video": "v", "source_frames": [3, 12]},
    "both ends": {"id": "a", "video": "v", "source_start_frame": 3, "source_end_frame": 12},
    "local frames": {"name": "a", "video": "v", "offset": "3", "local_frames": {"start": 0, "end": 9}},
    "text": {"clip": "a", "reference-video": "v", "Frame Offset": 3.0, "num_frames": "10"},
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_clips_place_in_several_spellings(name, tmp_path):
    made = convert(tmp_path, {**SPELLINGS[name], "checks": []})
    assert [(clip.id, clip.video, clip.frame_offset, clip.frame_count) for clip in made.clips] == [("a", "v", 3, 10)]
    assert not made.lost


@pytest.mark.parametrize(
    "fields",
    [
        {"start": 2, "end": 6},
        {"startFrame": 2, "endFrame": 6},
        {"interval": [2, 6]},
        {"frames": "2-6"},
        {"temporal_range": {"start_frame": 2, "end_frame": 6}},
    ],
)
def test_a_checks_interval_in_several_spellings(fields, tmp_path):
    check = {"category": "subject_motion", "setting": "proxy", "requirement": "It moves.", **fields}
    made = convert(tmp_path, released_clip(checks=[check]))
    [one] = made.clips[0].checks
    assert (one.id, one.settings, one.start, one.end, one.statement) == ("check_001", ["proxy"], 2, 6, "It moves.")


@pytest.mark.parametrize("fields", [{"frame": 4}, {"frames": [4]}, {"start": 4}, {"local_frame": {"frame": 4}}])
def test_a_check_of_one_frame(fields, tmp_path):
    check = {"category": "appearance", "settings": ["detailed"], "statement": "Red.", **fields}
    [one] = convert(tmp_path, released_clip(checks=[check])).clips[0].checks
    assert (one.category, one.start, one.end) == ("object_appearance", 4, 4)


SHAPES = {
    "one clip": lambda clip: clip,
    "a list": lambda clip: [clip],
    "clips of a video": lambda clip: {"video": "video38", "clips": [clip]},
    "videos with clips": lambda clip: {"videos": [{"id": "video38", "clips": [clip]}]},
    "by video": lambda clip: {"video38": [clip]},
    "by video and clip": lambda clip: {"video38": {"clips": {"video38_cp006": clip}}},
    "by clip": lambda clip: {"annotations": {"video38_cp006": {**clip, "video": "video38"}}},
}


@pytest.mark.parametrize("name", SHAPES)
def test_files_of_several_shapes(name, tmp_path):
    clip = released_clip()
    if "by" in name or "of" in name or "videos" in name:
        clip.pop("video_id")
    if "by" in name and "clip" in name:
        clip.pop("clip_id")
    made = convert(tmp_path, SHAPES[name](clip))
    assert [(one.id, one.video, len(one.checks)) for one in made.clips] == [("video38_cp006", "video38", 2)]
    assert all("became" in reason for reason in reasons(made))


def test_a_checklist_for_each_setting_is_merged(tmp_path):
    same = {"id": "a", "category": "translation", "interval": [0, 9], "statement": "It moves in."}
    other = {"id": "b", "category": "object_appearance", "frame": 3, "statement": "It is red."}
    made = convert(tmp_path, released_clip(checks={"proxy": [same], "simplified": [same, other], "detailed": [same]}))
    assert [(one.id, one.settings) for one in made.clips[0].checks] == [
        ("a", ["proxy", "simplified", "detailed"]), ("b", ["simplified"]),
    ]  # fmt: skip


CHECK = {"id": "c", "category": "translation", "settings": ["proxy"], "interval": [0, 9], "statement": "It moves."}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"weight": 2}, "weight: this field is not known; its value is not carried over"),
        ({"checks": [{**CHECK, "difficulty": "hard"}]}, "checks/0/difficulty: this field is not known"),
        ({"checks": [{**CHECK, "category": "mood"}]}, "checks/0: the check is left out: its category 'mood'"),
        ({"checks": [{**CHECK, "category": ["x"]}]}, "checks/0: the check is left out: its category"),
        ({"checks": [{**CHECK, "interval": None}]}, "checks/0: the check is left out: its frames are not there"),
        ({"checks": [{**CHECK, "interval": [0, 10**400]}]}, "checks/0: is left out: end: "),
        ({"checks": [{**CHECK, "interval": [-3, 5]}]}, "checks/0: is left out: start: "),
        ({"checks": [{**CHECK, "statement": ""}]}, "checks/0: is left out: statement: "),
        ({"checks": [{**CHECK, "statement": {"text": "x"}}]}, "checks/0: is left out: statement: "),
        ({"checks": [{**CHECK, "settings": ["proxy", "cartoon"]}]}, "checks/0/settings: the setting 'cartoon' is none"),
        ({"checks": [{**CHECK, "settings": None}]}, "checks/0/settings: it names no setting; proxy, simplified"),
        ({"checks": [{**CHECK, "subjects": ["Person Z"]}]}, "checks/0/subjects: 'Person Z' is not in the entity table"),
        ({"checks": [{**CHECK, "evidence": [1, "x"]}]}, "checks/0/evidence_frames: what is no frame number"),
        ({"checks": [{**CHECK, "dimension": "static"}]}, "checks/0/dimension: its dimension 'static' is not that of"),
        ({"checks": [CHECK, "text"]}, "checks: what is no object is left out"),
        ({"entity_table": [{"id": "a", "name": "A"}]}, "entities/0: the frame at which it first appears is not there"),
        ({"entity_table": [{"id": "a", "first_frame": 0, "members": ["b"]}]}, "entities/0/members: 'b' is not in"),
        ({"entity_table": 7}, "entities: what is no object is left out"),
        ({"checks": True}, "checks: what is no object is left out"),
        ({"a\nb\ud800": 1}, "a b\\ud800: this field is not known"),
        ({"entity_table": ["Person A"]}, "entities: what is no object is left out"),
        ({"shot_transitions": ["soon"]}, "shot_transitions: a shot transition that is no frame number"),
        ({"frame_offset": None}, "(top): the clip is left out: its frame offset"),
        ({"video_id": None}, "(top): the clip is left out: it names no video"),
        ({"source_frames": [256, 300]}, "(top): it tells its number of frames in several ways (47, 45); 47 is taken"),
    ],
)
def test_what_is_not_carried_over_is_named_with_its_place(changes, reason, tmp_path):
    made = convert(tmp_path, released_clip(**{"entity_table": [], **changes}))
    assert any(line.startswith(reason) for line in reasons(made)), reasons(made)


def test_every_field_that_nobody_knows_is_named(tmp_path):
    clip = released_clip(entity_table=[{"id": "a", "first_frame": 0, "shoe_size": 44}], checks=[{**CHECK, "zz": [1]}])
    clip["annotator"] = "ann"
    unknown = [line.split(":")[0] for line in reasons(convert(tmp_path, clip)) if "not known" in line]
    assert sorted(unknown) == ["annotator", "checks/0/zz", "entities/0/shoe_size"]


def test_a_category_that_the_user_names(tmp_path):
    made = convert(
        tmp_path, released_clip(checks=[{**CHECK, "category": "Dolly Move"}]), categories={"dolly-move": "translation"}
    )
    assert made.clips[0].checks[0].category == "translation"


@pytest.mark.parametrize("data", ["[" * 900 + "]" * 900, '{"a": ' * 60 + "[]" + "}" * 60, "[1, null]", "{}", '"x"'])
@pytest.mark.parametrize("converter", [cinerecon, questions])
def test_files_that_hold_nothing_of_it(data, converter, tmp_path):
    made = convert(tmp_path, data, converter)
    assert not made.clips and made.lost and all("\n" not in str(fault) for fault in made.lost)


@pytest.mark.parametrize("name", ["cinerecon", "questions"])
@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "holds no *.json"),
        ({"a.json": "{"}, "not valid JSON"),
        ({"a.json": '{"a": 1, "a": 2}'}, "is given twice"),
        ({"a.json": "[" * 200000}, "nested too deeply"),
        ({"a.jsonl": '{"a": 1}\n{"a": NaN}'}, "line 2 is not valid JSON"),
        ({"a.jsonl": b"\xff\xfe\x00"}, "cannot be read"),
        ({"a.json": '{"x": 1}'}, "nothing could be carried over"),
    ],
)
def test_hostile_input_is_one_line_and_writes_nothing(name, files, text, tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data if isinstance(data, bytes) else data.encode())
    assert main(["checklist", "import", name, str(folder), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.strip()
    assert text in said and "\n" not in said and sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def question(**changes):
    return {
        "question_id": "q1", "type": "motion", "question": "Does the ball roll\nto the left?", "answer": "Yes",
        "start_time": 1.0, "end_time": 2.0, "objects": ["Ball"], **changes,
    }  # fmt: skip


def asked(tmp_path, *several, timeline=FILM, **around):
    data = {"video": "film", "questions": list(several), **around}
    return convert(tmp_path, data, questions, timelines={"film": timeline} if timeline else {})


def test_a_question_becomes_a_statement_at_its_time(tmp_path):
    made = asked(tmp_path, question(), question(question_id="q2", answer=False, start_time=1.5, end_time="2.5s"))
    [clip] = made.clips
    assert (clip.id, clip.video, clip.frame_offset, clip.frame_count) == ("film_q001", "film", 24, 36)
    one, two = clip.checks
    assert (one.category, one.start, one.end, one.subjects) == ("subject_motion", 0, 23, ["Ball"])
    assert one.statement == 'The answer to "Does the ball roll to the left?" is yes.'
    assert two.statement.endswith("is no.") and (two.start, two.end) == (12, 35)
    assert [(entity.id, entity.name) for entity in clip.entities] == [("Ball", "Ball")]
    assert not made.lost and not list(clip_findings(clip, FILM))


def test_questions_in_frames_need_no_video(tmp_path):
    made = asked(tmp_path, question(type="count", start_time=None, end_time=None, frame=30), timeline=None)
    [clip] = made.clips
    assert (clip.frame_offset, clip.frame_count, clip.checks[0].category) == (30, 1, "object_presence")
    made = asked(tmp_path, question(start_time=None, end_time=None, frames=[30, 60]), timeline=None, fps=25)
    assert (made.clips[0].frame_offset, made.clips[0].frame_count) == (30, 31)


def test_questions_far_apart_have_clips_of_their_own_and_none_lasts_too_long(tmp_path):
    several = [question(question_id=f"q{n}", start_time=n / 2, end_time=n / 2 + 1.2) for n in range(20)]
    made = asked(tmp_path, *reversed(several))
    assert sum(len(clip.checks) for clip in made.clips) == 20 and not made.lost
    assert [clip.frame_offset for clip in made.clips] == sorted(clip.frame_offset for clip in made.clips)
    assert all(clip.frame_count <= 2 * RATE for clip in made.clips)
    assert all(not list(clip_findings(clip, FILM)) for clip in made.clips)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answer": "a red ball"}, "its answer 'a red ball' is neither yes nor no"),
        ({"answer": None}, "its answer 'None' is neither"),
        ({"type": "mood"}, "its kind 'mood' is no category of ours"),
        ({"start_time": None, "end_time": None}, "it names no time"),
        ({"end_time": 4.0}, "last longer than a clip of 2 s"),
        ({"start_time": 60, "end_time": 61}, "lie beyond the video's last one, 399"),
        ({"start_time": 3, "end_time": 2, "frames": [9, 5]}, "are no interval"),
        ({"end_time": 1.0}, "is checked over an interval, and it names one frame"),
        ({"type": "presence"}, "object_presence is checked at one frame: of the frames 24 to 47 the middle one"),
        ({"confidence": 0.5}, "questions/0/confidence: this field is not known"),
        ({"settings": ["cartoon"]}, "the setting 'cartoon' is none of ours"),
    ],
)
def test_questions_that_are_not_carried_over_say_why(changes, reason, tmp_path):
    made = asked(tmp_path, question(**changes))
    assert any(reason in line for line in reasons(made)), reasons(made)


def test_times_in_seconds_need_the_videos_rate(tmp_path):
    assert "rate is not known; give the videos with --videos" in reasons(asked(tmp_path, question(), timeline=None))[0]
    assert asked(tmp_path, question(), timeline=None, fps=25).clips[0].frame_offset == 25
    for rate in ("fast", -1, 0, "1e999999999", True, 10**30):
        assert not asked(tmp_path, question(), timeline=None, fps=rate).clips


def test_a_short_videos_questions_need_no_time(tmp_path):
    short = Timeline(480, 270, Fraction(24), 40)
    [clip] = asked(tmp_path, question(start_time=None, end_time=None), timeline=short).clips
    assert (clip.frame_offset, clip.frame_count) == (0, 40)


def test_times_and_names_are_read_as_people_write_them():
    assert [seconds(text) for text in ("1.5", "0:01.5", "1:00:00", 2, "1.5 s", "soon", True, "-1")] == [
        Fraction(3, 2), Fraction(3, 2), 3600, 2, Fraction(3, 2), None, None, None,
    ]  # fmt: skip
    assert {plain(name) for name in ("frameOffset", "Frame Offset", "frame-offset", "FRAME_OFFSET")} == {"frame_offset"}
    taken = {}
    assert [identifier(text, taken, "x") for text in ("a b", "a_b", "a/b", "…", None, "é" * 200)] == [
        "a_b", "a_b_2", "a_b_3", "x", "x_2", "x_3",
    ]  # fmt: skip


def test_a_release_with_its_videos_becomes_a_benchmark(tmp_path, media, capsys):
    videos = tmp_path / "videos"
    videos.mkdir()
    (videos / "video38.mp4").write_bytes((media / "bigbuckbunny.mp4").read_bytes())
    clip = released_clip(frame_offset=0, weight=1)
    source = write(tmp_path / "release" / "video38.json", [clip])
    out, start = tmp_path / "out", ["checklist", "import", "cinerecon", str(source.parent), "--out"]
    assert main([*start, str(out), "--videos", str(videos)]) == 2 and "--licence" in capsys.readouterr().err
    assert main([*start, str(out), "--videos", str(videos), "--licence", "CC-BY-4.0"]) == 0
    said = capsys.readouterr().out
    assert "video38.json: 0/weight: this field is not known" in said
    assert f"{out}: 1 videos, 1 clips, 2 checks; 4 things not carried over as they were, 0 faults" in said
    benchmark = load_benchmark(out)
    assert [video.id for video in benchmark.videos] == ["video38"] and len(benchmark.clips[0].checks) == 2
    assert benchmark.record.name == "release" and benchmark.videos[0].record.licence == "CC-BY-4.0"
    assert len(json.loads((out / "import.json").read_text())["lost"]) == 4
    assert main([*start, str(out), "--videos", str(videos), "--licence", "x"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_faults_of_what_was_carried_over_are_listed_and_it_is_kept(tmp_path, capsys):
    source = write(tmp_path / "in.json", released_clip(shot_transitions=[99]))
    out = tmp_path / "out"
    assert main(["checklist", "import", "cinerecon", str(source), "--out", str(out), "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert [fault["path"] for fault in answer["validation"]["faults"]] == ["shot_transitions/0"]
    assert (out / "videos" / "video38" / "clips" / "video38_cp006.json").exists()


def test_videos_that_are_missing(tmp_path, capsys):
    source = write(tmp_path / "in.json", released_clip())
    (tmp_path / "empty").mkdir()
    start = ["checklist", "import", "cinerecon", str(source), "--out", str(tmp_path / "out"), "--licence", "x"]
    assert main([*start, "--videos", str(tmp_path / "empty")]) == 2 and "holds no video" in capsys.readouterr().err
    assert main([*start, "--videos", str(tmp_path / "none")]) == 2 and "is no folder" in capsys.readouterr().err
    assert main([*start, "--category", "a=b"]) == 2 and "write THEIRS=OURS" in capsys.readouterr().err


OWN = """
from matchcut.evaluator.checklist.importing.converter import Imported
from matchcut.evaluator.checklist.records import Check, Clip
from matchcut.evaluator.checklist.validate import Fault

def convert(request):
    check = Check(id="c", category="zoom", settings=["proxy"], subjects=[], start=0, end=9, evidence_frames=[],
                  statement=request.path.read_text())
    clip = Clip(id="a", video="v", frame_offset=0, frame_count=10, shot_transitions=[], entities=[], checks=[check])
    return Imported([clip], [Fault("notes.txt", "line 2", "is a joke")])

def fails(request):
    return {}["no such key"]

def strange(request):
    return [1]
"""


def test_a_converter_of_ones_own(tmp_path, capsys, monkeypatch):
    own, notes = write(tmp_path / "mine.py", OWN), write(tmp_path / "notes.txt", "It zooms in.")
    start = ["checklist", "import", f"python:{own}:convert", str(notes), "--out"]
    assert main([*start, str(tmp_path / "out")]) == 0
    assert "notes.txt: line 2: is a joke" in capsys.readouterr().out
    assert load_clips(tmp_path / "out" / "videos" / "v", None)[0].checks[0].statement == "It zooms in."
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_converter("python:mine:convert") is not None
    sys.modules.pop("mine")
    with pytest.raises(BadInputError, match=r"failed at mine\.py, line 13 \(KeyError: 'no such key'\)"):
        find_converter(f"python:{own}:fails")(Request(notes))
    with pytest.raises(BadInputError, match="has to return an Imported"):
        find_converter(f"python:{own}:strange")(Request(notes))


def test_the_documents_examples_are_converted(tmp_path, root, capsys):
    text = (root / "docs" / "import.md").read_text("utf-8")
    [own] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [film] = re.findall(r'```\n(\{"video".*?)```', text, re.DOTALL)
    own, notes = write(tmp_path / "own.py", own), write(tmp_path / "notes.txt", "It zooms in.")
    assert main(["checklist", "import", f"python:{own}:convert", str(notes), "--out", str(tmp_path / "a")]) == 0
    films = str(write(tmp_path / "film.json", film))
    assert main(["checklist", "import", "questions", films, "--out", str(tmp_path / "b")]) == 0
    assert "1 videos, 1 clips, 1 checks; 0 things not carried over" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("xml", "is none; there are cinerecon, questions and python:MODULE:FUNCTION"),
        ("python:mine.py", "is none"),
        ("python:no_such_module:convert", "cannot be loaded"),
        ("python:no_such.py:convert", "cannot be loaded"),
        ("python:json:convert", "has no function convert"),
    ],
)
def test_converters_that_are_none(name, text):
    with pytest.raises(BadInputError, match=text) as error:
        find_converter(name)
    assert "\n" not in str(error.value)
