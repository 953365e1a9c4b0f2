"""A Flamenco farm: what its job type compiles to, what is submitted, and the video of the frames that workers made."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import farm_stub
import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.farm.collect import collect, farm_status, wait_for_farm
from matchcut.evaluator.farm.manager import Manager
from matchcut.evaluator.farm.submit import FarmJob, submit, write_job_type
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.files import sha256_of
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.render.job import render_scene
from render_stub import stand_in, starts

SCRIPT = Path(__file__).resolve().parents[2] / "evaluator" / "farm" / "matchcut_render.js"
TIMELINE = Timeline(64, 36, Fraction(24000, 1001), 7)
SETTINGS = {
    "folder": "/shared/job", "first": 0, "last": 6, "step": 1, "batch": 3, "collect": False, "package": "{matchcut}",
}  # fmt: skip
# a child that prepares the job where its only frame is skipped, and else renders
CHILD = """
(JOB / "parts").mkdir(exist_ok=True)
if SKIP:
    (JOB / "scene.blend").write_bytes(b"BLENDER17-01v0502 a copy")
    status(state="done", notes=["the image sky.png is missing"])
else:
    render()
"""
needs_node = pytest.mark.skipif(farm_stub.NODE is None, reason="node compiles the job type")
needs_scripts = pytest.mark.skipif(os.name != "posix", reason="a script stands in for Blender by its first line")


class Listener(SilentReporter):
    def __init__(self):
        self.warnings, self.steps = [], []

    def warning(self, text):
        self.warnings.append(text)

    def progress(self, stage, done, total, text=""):
        self.steps.append((stage, done, total))


@pytest.fixture
def manager(tmp_path):
    made = farm_stub.Manager(
        SCRIPT.read_text("utf-8"),
        {"blender": str(tmp_path / "fake-blender"), "matchcut": "/shared/matchcut"},
        two_way={"shared": tmp_path.as_posix()},
    )
    yield made
    made.close()


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "shot.blend"
    path.write_bytes(b"BLENDER17-01v0502 the artist's")
    return path


def job_of(scene, **changes):
    return replace(RenderJob(str(scene), TIMELINE, 0, TIMELINE.frames - 1), **changes)


def submitted(manager, scene, tmp_path, do=CHILD, job=None, reporter=None, **options):
    return submit(
        job or job_of(scene), tmp_path / "job", Manager(manager.url), blender=stand_in(tmp_path, do),
        reporter=reporter or SilentReporter(), batch=options.pop("batch", 3), **options,
    )  # fmt: skip


def tasks_of(**changes):
    made = farm_stub.compile_job(SCRIPT.read_text("utf-8"), {"settings": {**SETTINGS, **changes}})
    return made.get("tasks") if "error" not in made else made["error"]


def frames_of(tasks):
    return [task["commands"][0]["parameters"]["args"][-1] for task in tasks]


@needs_node
def test_a_task_is_a_batch_of_frames_in_a_blender_that_starts_as_a_local_one_does():
    tasks = tasks_of()
    assert [task["name"] for task in tasks] == ["frames 0-2", "frames 3-5", "frames 6-6"]
    assert tasks[0]["type"] == "blender" and tasks[0]["dependencies"] == []
    assert tasks[0]["commands"] == [{"name": "exec", "parameters": {"exe": "{blender}", "args": [
        "-b", "--factory-startup", "--disable-autoexec", "--python-exit-code", "1",
        "--python", "{matchcut}/addon/headless.py", "--", "render-job", "/shared/job", "--frames", "0-2",
    ]}}]  # fmt: skip


@needs_node
@pytest.mark.parametrize(
    ("changes", "frames"),
    [
        ({"batch": 100}, ["0-6"]),
        ({"first": 2, "last": 5, "batch": 2}, ["2-3", "4-5"]),
        ({"first": 1, "last": 6, "step": 2, "batch": 2}, ["1-4", "5-6"]),
        ({"first": 6, "last": 6}, ["6-6"]),
        ({"step": None, "batch": None}, ["0-6"]),
    ],
)
def test_batches_share_all_frames_and_none_twice(changes, frames):
    assert frames_of(tasks_of(**changes)) == frames


@needs_node
def test_the_video_waits_for_all_frames():
    *frames, video = tasks_of(collect=True, package="/opt/matchcut")
    assert video["dependencies"] == [task["name"] for task in frames]
    assert video["commands"][0]["parameters"]["args"][-5:] == [
        "/opt/matchcut/addon/headless.py", "--", "farm", "collect", "/shared/job",
    ]  # fmt: skip


@needs_node
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"folder": " "}, "setting folder is missing"),
        ({"last": None}, "setting last has to be a whole number of at least 0, not undefined"),
        ({"first": 4, "last": 3}, "setting last has to be a whole number of at least 4, not 3"),
        ({"batch": 0}, "setting batch"),
        ({"first": 0.5}, "setting first"),
        ({"step": "2"}, "setting step"),
        ({"last": 10**6, "batch": 1}, "more than 20000 tasks"),
    ],
)
def test_settings_that_make_no_job_are_refused_by_the_job_type(changes, said):
    assert said in tasks_of(**changes)


@needs_node
def test_the_job_types_settings_are_those_that_flamenco_knows():
    made = farm_stub.compile_job(SCRIPT.read_text("utf-8"))["type"]
    assert set(made) == {"label", "description", "settings"} and {s["key"] for s in made["settings"]} == set(SETTINGS)
    for setting in made["settings"]:
        assert set(setting) <= {
            "key", "type", "subtype", "choices", "propargs", "description", "default", "eval", "evalInfo", "visible",
            "required", "editable",
        }  # fmt: skip
        assert setting["type"] in farm_stub.KINDS and setting["description"]
        assert setting.get("visible", "visible") in ("visible", "hidden", "submission", "web")
        assert setting.get("subtype", "dir_path") in ("file_path", "dir_path", "file_name", "hashed_file_path")


@needs_node
@needs_scripts
def test_the_farms_video_is_that_of_a_local_render(manager, scene, tmp_path):
    listener = Listener()
    farm = submitted(manager, scene, tmp_path, reporter=listener)
    assert "the image sky.png is missing" in listener.warnings and FarmJob.read(tmp_path / "job") == farm
    job = RenderJob.read(tmp_path / "job")
    assert Path(job.scene) == tmp_path / "job" / "scene.blend" and job.scene_sha256 == sha256_of(Path(job.scene))
    scene.write_bytes(b"BLENDER17-01v0502 the artist went on")
    assert manager.jobs[farm.job]["settings"]["folder"] == (tmp_path / "job").as_posix()
    first = manager.jobs[farm.job]["tasks"][0]["commands"][0]["parameters"]["args"]
    assert "{shared}/job" in first, "workers have the shared storage elsewhere"
    with pytest.raises(OperationalError, match=r"7 of 7 frames are missing .*--render-missing"):
        collect(tmp_path / "job", reporter=SilentReporter())
    manager.work(farm.job)
    assert starts(tmp_path / "job")[1:] == ["0 2", "3 5", "6 6"]
    found = wait_for_farm(tmp_path / "job", listener, seconds=0.01)
    assert (found.status, found.tasks, found.frames, found.total) == ("completed", {"completed": 3}, 7, 7)
    assert listener.steps[-1] == ("farm", 7, 7)
    made = collect(tmp_path / "job", reporter=listener)
    local = render_scene(
        scene, tmp_path / "local", TIMELINE, blender=stand_in(tmp_path, "render()"), reporter=SilentReporter()
    )
    assert sha256_of(made.video) == sha256_of(local.video) and probe(made.video).timeline == TIMELINE
    status = RenderStatus.read(tmp_path / "job")
    assert (status.state, status.done, status.engine, status.device) == ("done", 7, "CYCLES", "CPU")
    assert len(starts(tmp_path / "job")) == 4, "collecting started no Blender"
    assert sha256_of(collect(tmp_path / "job", reporter=listener).video) == sha256_of(local.video)


@needs_node
@needs_scripts
def test_a_storage_that_lies_elsewhere_on_the_workers(manager, scene, tmp_path):
    farm = submitted(manager, scene, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(tmp_path, target_is_directory=True)
    told = []
    manager.work(farm.job, run=lambda line: told.append(line) or 0, two_way={"shared": str(elsewhere)})
    assert [line[line.index("render-job") + 1] for line in told] == [str(elsewhere / "job")] * 3
    manager.jobs[farm.job]["tasks"] = [{**t, "status": "queued"} for t in manager.jobs[farm.job]["tasks"]]
    manager.work(farm.job)
    moved = (tmp_path / "job").rename(tmp_path / "moved")
    assert collect(moved, reporter=SilentReporter()).video == moved / "reconstruction.mp4"


@needs_node
@needs_scripts
def test_what_a_worker_did_not_render_is_requeued_or_rendered_here(manager, scene, tmp_path, capsys):
    once = f"once = JOB / 'once'\n{CHILD.replace('render()', 'render(lambda frame: frame == 4 and sys.exit(3))')}"
    farm = submitted(manager, scene, tmp_path, do=once)
    manager.work(farm.job)
    folder = tmp_path / "job"
    assert (farm_status(folder).status, farm_status(folder).failed) == ("failed", ["frames 3-5"])
    with pytest.raises(OperationalError, match=r"is failed \(failed: frames 3-5\), with 5 of 7 frames; .*farm requeue"):
        wait_for_farm(folder, SilentReporter(), seconds=0.01)
    with pytest.raises(OperationalError, match="2 of 7 frames are missing or damaged, frame 4 the first"):
        collect(folder, reporter=SilentReporter())
    assert main(["farm", "requeue", str(folder)]) == 0
    stand_in(tmp_path, CHILD)
    manager.work(farm.job)
    assert farm_status(folder).status == "completed" and starts(folder)[-1] == "3 5"
    assert main(["farm", "status", str(folder), "--json"]) == 0
    said = capsys.readouterr().out
    assert json.loads(said[said.index("{") :])["frames"] == 7
    (folder / "frames" / "000002.png").write_bytes(b"half")
    with pytest.raises(OperationalError, match="1 of 7 frames are missing or damaged"):
        collect(folder, reporter=SilentReporter())
    again = stand_in(tmp_path, f"(JOB / 'frames' / '000002.png').unlink()\n{CHILD}")
    assert collect(folder, reporter=SilentReporter(), blender=again).video.exists()
    assert main(["farm", "cancel", str(folder)]) == 0 and farm_status(folder).status == "canceled"


@needs_node
@needs_scripts
def test_workers_that_render_unlike_each_other_are_told_of(manager, scene, tmp_path):
    other = CHILD.replace("render()", "told.update(device='CUDA' if FIRST == 3 else 'CPU', blender='5.2.3'); render()")
    farm = submitted(manager, scene, tmp_path, do=other)
    manager.work(farm.job)
    listener = Listener()
    collect(tmp_path / "job", reporter=listener)
    assert listener.warnings == ["the workers rendered with different settings: device was CPU and CUDA"]


@needs_node
@needs_scripts
def test_a_scene_that_was_changed_in_the_folder_is_refused_and_no_frame_is_lost(manager, scene, tmp_path):
    farm = submitted(manager, scene, tmp_path)
    manager.work(farm.job)
    (tmp_path / "job" / "scene.blend").write_bytes(b"BLENDER17-01v0502 another")
    with pytest.raises(BadInputError, match=r"scene\.blend: is not what was submitted; nothing was changed"):
        collect(tmp_path / "job", reporter=SilentReporter())
    assert len(list((tmp_path / "job" / "frames").iterdir())) == 7


@needs_node
@needs_scripts
def test_a_try_that_failed_can_be_made_again_and_a_second_job_cannot(manager, scene, tmp_path):
    manager.replies["/api/v3/jobs"] = (503, b'{"code": 503, "message": "too busy"}')
    with pytest.raises(OperationalError, match=r"the Manager failed \(HTTP 503: too busy\); try again"):
        submitted(manager, scene, tmp_path)
    manager.replies.clear()
    (tmp_path / "job" / "starts.txt").unlink()  # the stand-in's own
    submitted(manager, scene, tmp_path)
    with pytest.raises(BadInputError, match="was submitted already"):
        submitted(manager, scene, tmp_path)


@needs_node
@needs_scripts
@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("status(state='failed', error='scene has no camera'); sys.exit(2)", BadInputError, "^scene has no camera$"),
        ("print('Error: boom'); sys.exit(11)", OperationalError, r"could not prepare it \(exit status 11: Error: boom"),
        ("die()", OperationalError, r"could not prepare it \(it crashed"),
        ("status(state='done')", OperationalError, "could not prepare it"),
    ],
)
def test_a_scene_that_cannot_be_prepared_is_not_submitted(manager, scene, tmp_path, do, kind, text):
    with pytest.raises(kind, match=text) as error:
        submitted(manager, scene, tmp_path, do=f"(JOB / 'parts').mkdir(exist_ok=True)\n{do}")
    assert "\n" not in str(error.value) and not manager.jobs and not (tmp_path / "job" / "farm.json").exists()


@needs_node
@pytest.mark.parametrize(
    ("path", "reply", "kind", "text"),
    [
        ("/api/v3/version", (200, b"<html>"), BadInputError, "is no Flamenco Manager"),
        ("/api/v3/version", (200, b"[]"), BadInputError, "is no Flamenco Manager"),
        ("/api/v3/version", (404, b"{}"), BadInputError, "refuses this"),
        ("/api/v3/jobs/type/matchcut-render", (404, b"{}"), BadInputError, "farm job-type --out DIR"),
        ("/api/v3/jobs/type/matchcut-render", (200, b'{"etag": 1}'), OperationalError, "not as Flamenco 3 writes it"),
        ("/api/v3/jobs/type/matchcut-render", (200, b'{"etag": "e", "settings": [{"key": "folder"}]}'), BadInputError,
         "of another version (it has no batch); replace it"),
        ("/api/v3/configuration/variables/workers/linux", (200, b"[]"), OperationalError, "variables"),
        ("/api/v3/jobs/check", (400, b'{"code": 400, "message": "setting\\n folder"}'), BadInputError,
         "the Manager refuses this (HTTP 400: setting folder)"),
        ("/api/v3/jobs/check", (412, b'{"code": 412, "message": "old"}'), OperationalError, "changed meanwhile"),
        ("/api/v3/jobs/check", (500, b"x" * 100000), OperationalError, "HTTP 500: Internal Server Error"),
        ("/api/v3/jobs/check", (429, b"{}"), OperationalError, "try again"),
    ],
)  # fmt: skip
def test_a_manager_that_refuses_or_is_none_is_told_in_one_line(manager, scene, tmp_path, path, reply, kind, text):
    manager.replies[path] = reply
    with pytest.raises(kind) as error:
        submitted(manager, scene, tmp_path)
    assert text in str(error.value) and "\n" not in str(error.value) and not (tmp_path / "job").exists()


@needs_node
def test_an_etag_that_is_old_is_refused_by_the_manager_itself(manager, scene, tmp_path):
    talk = Manager(manager.url)
    body = {
        "name": "x", "type": "matchcut-render", "type_etag": "old", "priority": 50, "submitter_platform": "linux",
        "settings": SETTINGS,
    }  # fmt: skip
    with pytest.raises(OperationalError, match="changed meanwhile; submit again"):
        talk.check(body)
    talk.check({**body, "type_etag": talk.job_type()[0]})
    with pytest.raises(BadInputError, match="submitter_platform is required"):
        talk.check({key: value for key, value in body.items() if key != "submitter_platform"})
    with pytest.raises(BadInputError, match="worker_tag is no UUID"):
        talk.check({**body, "type_etag": "", "worker_tag": "gpu"})


@pytest.mark.parametrize(
    "url", ["manager:8080", "ftp://manager", "http://", "http://a b", "http://x:99999", "file:///etc"]
)
def test_what_is_no_address(url):
    with pytest.raises(BadInputError, match="is no address"):
        Manager(url)


def test_nobody_answers():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(OperationalError, match=r"no Flamenco Manager answers \(.*refused\); start it"):
            Manager(f"http://127.0.0.1:{free.getsockname()[1]}").version()
        free.listen()
        with pytest.raises(OperationalError, match=r"no Flamenco Manager answers .*timed out"):
            Manager(f"http://127.0.0.1:{free.getsockname()[1]}", seconds=0.2).version()


@pytest.mark.parametrize(
    ("options", "text"),
    [({"batch": 0}, "--batch 0"), ({"batch": 1001}, "--batch"), ({"priority": 101}, "--priority 101")],
)
def test_requests_that_make_no_sense(scene, tmp_path, options, text):
    talk = Manager("http://127.0.0.1:1")
    with pytest.raises(BadInputError, match=text):
        submit(job_of(scene), tmp_path / "job", talk, blender=None, reporter=SilentReporter(), **options)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(BadInputError, match=r"is not empty \(it holds notes.txt\)"):
        submit(job_of(scene), tmp_path / "mine", talk, blender=None, reporter=SilentReporter())


@needs_node
def test_a_variable_that_the_manager_lacks_is_told_of(manager, scene, tmp_path):
    del manager.variables["matchcut"]
    manager.replies["/api/v3/jobs/check"] = (400, b'{"code": 400, "message": "no"}')
    listener = Listener()
    with pytest.raises(BadInputError):
        submitted(manager, scene, tmp_path, reporter=listener)
    assert len(listener.warnings) == 1 and "has no variable matchcut" in listener.warnings[0]
    with pytest.raises(BadInputError):
        submitted(manager, scene, tmp_path, reporter=listener, package="/opt/matchcut")
    assert len(listener.warnings) == 1


def test_folders_of_no_farm_and_damaged_records(tmp_path, capsys):
    assert main(["farm", "status", str(tmp_path)]) == 2
    assert "was not submitted to a farm" in capsys.readouterr().err
    (tmp_path / "farm.json").write_text('{"format": "matchcut-farm-job/1", "manager": 3}')
    with pytest.raises(BadInputError, match="is damaged"):
        FarmJob.read(tmp_path)
    assert main(["farm", "status"]) == 2 and main(["farm", "job-type"]) == 2
    assert main(["farm", "collect", str(tmp_path)]) == 2


def test_the_job_type_is_written_as_it_lies_in_the_package(tmp_path, capsys):
    assert main(["farm", "job-type", "--out", str(tmp_path / "scripts")]) == 0
    assert (tmp_path / "scripts" / "matchcut_render.js").read_bytes() == SCRIPT.read_bytes()
    assert capsys.readouterr().out.strip() == str(write_job_type(tmp_path / "scripts"))


def test_submitting_needs_the_standard_library_alone(root):
    code = f"""
import runpy, sys
sys.path.insert(0, {str(root)!r})
runpy.run_path({str(root / "__main__.py")!r}, run_name="loaded")["load_package"]()
import matchcut.evaluator.farm.submit
foreign = {{name.split(".")[0] for name in sys.modules}} - sys.stdlib_module_names - {{"matchcut", "__main__"}}
sys.exit(", ".join(name for name in foreign if not name.startswith("_")) or 0)
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=120)
