# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Render and Score panels keep and read without Blender: requests, lists of renders, stages of a score."""

import os
from dataclasses import replace
from fractions import Fraction

import pytest
from matchcut.addon.sidebar.render.listing import last_video, list_renders
from matchcut.addon.sidebar.requests import MOST, Owner, Request, numbered, unfinished
from matchcut.addon.sidebar.score.stages import Course, Plan
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import write_json
from matchcut.evaluator.protocol.messages import Message
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline

TIMELINE = Timeline(96, 54, Fraction(24), 48)
OWNER = Owner("id", "shot.blend", "Scene", "reference.mp4")


def ask(base, name, owner=OWNER, copy=True):
    folder = base / name
    folder.mkdir(parents=True)
    request = Request(folder, owner, ("render", "--reference", base.parent / "reference.mp4", "--scale", "0.5"))
    request.write()
    if copy:
        (folder / "scene.blend").write_bytes(b"BLENDER")
    return request


def test_a_request_is_read_again_where_its_folder_lies_now(tmp_path):
    place = tmp_path / "project"
    request = ask(place / "matchcut", "render-001")
    assert Request.read(request.folder) == request
    place.rename(tmp_path / "moved")
    found = Request.read(tmp_path / "moved" / "matchcut" / "render-001")
    assert found.command_line == ["render", "--reference", str(tmp_path / "moved" / "reference.mp4"), "--scale", "0.5"]


@pytest.mark.parametrize("text", ["", "{}", '{"format": "matchcut-request/1"}', '{"format": "matchcut-request/2"}'])
def test_a_damaged_request_is_bad_input(tmp_path, text):
    (tmp_path / "request.json").write_text(text)
    with pytest.raises(BadInputError):
        Request.read(tmp_path)


def test_the_last_request_of_a_scene_is_offered_where_it_is_not_finished(tmp_path):
    finished = {"render-001", "render-004"}

    def offered(owner=OWNER):
        found = unfinished(tmp_path, "render", owner, lambda folder: folder.name in finished)
        return found.folder.name if found is not None else None

    assert offered() is None
    ask(tmp_path, "render-001")
    assert offered() is None
    ask(tmp_path, "render-002")
    ask(tmp_path, "render-003", owner=Owner("other", "shot.blend", "Other", "reference.mp4"))
    (tmp_path / "render-010").mkdir()
    assert offered() == "render-002"
    assert offered(replace(OWNER, scene="Renamed", blend="saved_as.blend")) == "render-002"
    assert offered(replace(OWNER, scene_id="")) == "render-002", "the file was not saved since it was given its id"
    assert offered(Owner("", "shot.blend", "Third", "reference.mp4")) is None
    ask(tmp_path, "render-004")
    assert offered() is None, "a later one came to its end"
    ask(tmp_path, "render-005", copy=False)
    assert offered() is None, "there is nothing to go on with"


def test_numbered_folders_are_few_and_the_newest_first(tmp_path):
    for number in (1, 2, 10, *range(100, 130)):
        (tmp_path / f"render-{number:03d}").mkdir()
    (tmp_path / "render-x").mkdir()
    (tmp_path / "score-200").mkdir()
    found = [path.name for path in numbered(tmp_path, "render")]
    assert found[0] == "render-129" and len(found) == MOST
    assert numbered(tmp_path / "missing", "render") == []


def write(folder, state="done", done=48, **changes):
    fields = {"first": 0, "last": 47} | changes
    job = RenderJob("scene.blend", TIMELINE, **fields)
    write_json(folder / "job.json", job.to_json())
    if state:
        RenderStatus(state=state, done=done, total=len(job.wanted()), seconds_per_frame=0.5).write(folder)


def test_renders_are_told_by_what_lies_in_their_folders(tmp_path):
    write(tmp_path / "render-001")
    (tmp_path / "render-001" / "reconstruction.mp4").write_bytes(b"video")
    write(tmp_path / "render-002", first=4, last=15, step=4, done=3)
    (tmp_path / "render-002" / "preview.mp4").write_bytes(b"video")
    write(tmp_path / "render-003", first=7, last=7, done=1)
    write(tmp_path / "render-004", state="rendering", done=5)
    write(tmp_path / "render-005", state="")
    (tmp_path / "render-006").mkdir()
    found = {one.folder.name: one for one in list_renders(tmp_path, OWNER)}
    assert list(found) == ["render-005", "render-004", "render-003", "render-002", "render-001"]
    whole, nth, still, cut_short, unbegun = (found[name] for name in sorted(found))
    assert (whole.is_whole, whole.video.name, whole.frames, whole.seconds) == (True, "reconstruction.mp4", 48, 24.0)
    assert (nth.is_whole, nth.video.name, nth.frames) == (False, "preview.mp4", 3)
    assert (still.video, still.frames) == (None, 1)
    assert (cut_short.is_done, cut_short.frames, cut_short.of) == (False, 5, 48)
    assert (unbegun.is_done, unbegun.frames, unbegun.seconds) == (False, 0, None)


def test_the_renders_of_another_scene_are_not_told(tmp_path):
    other = Owner("other", "shot.blend", "Other", "reference.mp4")
    for number, owner in enumerate((OWNER, other, None), 1):
        folder = tmp_path / f"render-{number:03d}"
        if owner is not None:
            ask(tmp_path, folder.name, owner=owner)
        write(folder)
        (folder / "reconstruction.mp4").write_bytes(b"video")
    assert [one.folder.name for one in list_renders(tmp_path, OWNER)] == ["render-003", "render-001"]
    assert [one.folder.name for one in list_renders(tmp_path, other)] == ["render-003", "render-002"]


def test_the_last_video_is_the_newest_of_renders_and_scores(tmp_path):
    assert last_video([tmp_path], OWNER, []) is None
    names = ("render-001", "score-001", "score-002")
    for number, name in enumerate(names):
        ask(tmp_path, name, owner=OWNER if number < 2 else Owner("other", "shot.blend", "Other", "reference.mp4"))
        video = tmp_path / name / "reconstruction.mp4"
        video.write_bytes(b"video")
        os.utime(video, (1000 + number,) * 2)
    write(tmp_path / "render-001")
    renders = list_renders(tmp_path, OWNER)
    assert last_video([tmp_path], OWNER, renders) == tmp_path / "score-001" / "reconstruction.mp4"
    os.utime(tmp_path / "render-001" / "reconstruction.mp4", (2000, 2000))
    assert last_video([tmp_path], OWNER, renders) == tmp_path / "render-001" / "reconstruction.mp4"


def test_a_request_for_another_command_is_never_gone_on_with(tmp_path):
    request = ask(tmp_path, "score-001")
    assert request.arguments[0] == "render"
    assert unfinished(tmp_path, "score", OWNER, lambda folder: False) is None


PLAN = {
    "format": "matchcut-score-plan/1", "frames": 48, "judge": None,
    "stages": [
        {"name": "render", "state": "reused", "text": "render-001", "progress": ["render", "encode"]},
        {"name": "check", "state": "todo", "text": "", "progress": ["cuts, reconstruction"]},
        {"name": "sgc", "state": "skipped", "text": "", "progress": ["sgc"]},
        {"name": "judge", "state": "todo", "text": "", "progress": ["judge"]},
        {"name": "report", "state": "todo", "text": "", "progress": ["encode", "pictures"]},
    ],
}  # fmt: skip


def stands(course):
    return [state for _, state in course.rows()]


def test_a_run_goes_through_its_stages_and_never_back():
    course = Course()
    course.hear(Message("progress", stage="cuts, reference", done=1, total=2))
    assert stands(course) == []
    course.hear(Message("result", path="plan.json", data=PLAN))
    assert stands(course) == ["reused", "running", "skipped", "waiting", "waiting"]
    course.hear(Message("progress", stage="judge", done=1, total=2))
    assert stands(course) == ["reused", "done", "skipped", "running", "waiting"]
    course.hear(Message("progress", stage="a name that nobody knows", done=1, total=2))
    course.hear(Message("progress", stage="cuts, reconstruction", done=1, total=2))
    assert stands(course)[3] == "running"
    course.hear(Message("progress", stage="encode", done=1, total=2))
    assert stands(course) == ["reused", "done", "skipped", "done", "running"], "it was taken for the render's"


@pytest.mark.parametrize("data", [None, {}, PLAN | {"format": "matchcut-score-plan/2"}, PLAN | {"stages": [{}]}])
def test_a_plan_of_another_version_is_one_line(data):
    with pytest.raises(BadInputError, match="update the evaluator"):
        Plan.from_data(data)


def test_every_frame_of_a_job_with_a_step():
    job = RenderJob("s", TIMELINE, 5, 30, step=4)
    assert list(job.wanted()) == [5, 9, 13, 17, 21, 25, 29]
    assert list(job.wanted(6, 21)) == [9, 13, 17, 21]
    assert list(job.wanted(0, 100)) == list(job.wanted())
    assert list(job.wanted(10, 12)) == [] and not job.whole
    assert RenderJob("s", TIMELINE, 0, 47).whole
