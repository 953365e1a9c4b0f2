# SPDX-License-Identifier: GPL-3.0-or-later
"""A benchmark on disk: loaded, counted, and every fault of it found at its place."""

import json
import shutil

import numpy as np
import pytest
from bench_samples import TIMELINE, clip, write_benchmark
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.checklist.records import Entity
from matchcut.evaluator.checklist.statistics import benchmark_statistics
from matchcut.evaluator.checklist.whole import validate_benchmark
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter

CUT = 48


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """96 frames at 24 fps that drift over one texture, and from frame 48 on over another one."""
    chance = np.random.default_rng(1)
    grounds = [chance.integers(low, low + 90, (12, 40, 3)).repeat(4, 0).repeat(4, 1) for low in (10, 150)]
    pictures = [grounds[n >= CUT][:, n : n + 64].astype(np.uint8) for n in range(TIMELINE.frames)]
    out = tmp_path_factory.mktemp("reference") / "reference.mp4"
    encode(pictures, TIMELINE.rate, out, reporter=SilentReporter(), total=TIMELINE.frames)
    return out


def clips():
    crossing = clip("c2", "v1", "shot_transitions", "subject_motion", offset=36, frames=24)
    return [
        clip("c1", "v1", "rotation", "object_presence", "action_events"),
        crossing.model_copy(update={"shot_transitions": [CUT - 36]}),
        clip("c1", "v2", "zoom", ("object_appearance", ("simplified", "detailed"))),
    ]


@pytest.fixture
def bench(tmp_path, reference):
    return write_benchmark(tmp_path / "bench", clips(), references={"v1": reference, "v2": reference})


def change(path, **fields):
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, **fields}), encoding="utf-8")


def test_loaded_in_the_benchmarks_order(bench):
    change(bench / "benchmark.json", videos=["v2", "v1"])
    loaded = load_benchmark(bench)
    assert loaded == load_benchmark(bench / "benchmark.json")
    assert [(one.video, one.id) for one in loaded.clips] == [("v2", "c1"), ("v1", "c1"), ("v1", "c2")]
    assert loaded.video("v1").reference.is_file() and loaded.video("v1").record.timeline == TIMELINE
    assert [video.id for video in load_benchmark(bench, videos=["v1"]).videos] == ["v1"]
    with pytest.raises(BadInputError, match="has no video 'v3'"):
        load_benchmark(bench, videos=["v3"])
    with pytest.raises(BadInputError, match=r"holds no benchmark.json"):
        load_benchmark(bench / "videos")


def test_statistics_are_those_of_the_paper(bench):
    found = benchmark_statistics(load_benchmark(bench))
    assert (found["videos"], found["clips"], found["records"]) == (2, 3, 7)
    assert found["video_seconds"] == {"total": 8.0, "mean": 4.0, "shortest": 4.0, "longest": 4.0}
    assert found["clips_per_video"] == {"total": 3, "mean": 1.5, "shortest": 1, "longest": 2}
    assert found["clip_seconds"] == {"total": 1.833, "mean": 0.611, "shortest": 0.417, "longest": 1.0}
    assert found["checks_per_setting"] == {"proxy": 6, "simplified": 7, "detailed": 7}
    assert found["checks_of_all_settings"] == 20
    assert found["checks_per_dimension"]["static"] == {"proxy": 1, "simplified": 2, "detailed": 2}
    assert found["same_in_all_settings"] == {"camera": True, "dynamic": True}


def test_camera_checks_of_one_setting_alone_are_told(bench):
    path = bench / "videos/v2/clips/c1.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["checks"][0]["settings"] = ["proxy", "detailed"]
    path.write_text(json.dumps(data), encoding="utf-8")
    assert benchmark_statistics(load_benchmark(bench))["same_in_all_settings"] == {"camera": False, "dynamic": True}


def test_good_benchmark_has_no_fault_even_with_its_videos_opened(bench, capsys):
    assert main(["checklist", "validate", str(bench)]) == 0
    assert capsys.readouterr().out == "6 files, 3 clips, 7 checks: no faults\n"
    assert main(["checklist", "stats", str(bench), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["benchmark"] == {"name": "small", "version": "1"}


@pytest.mark.parametrize(
    ("transitions", "place", "reason"),
    [
        ([], "shot_transitions", "found in the video at frame 12 is missing"),
        ([9], "shot_transitions/0", "no cut was found in the video at frame 9; those of the clip are 12"),
        ([13], None, None),
        ([12, 20], "shot_transitions/1", "no cut was found in the video at frame 20"),
    ],
)
def test_cuts_are_compared_with_the_video(bench, capsys, transitions, place, reason):
    change(bench / "videos/v1/clips/c2.json", shot_transitions=transitions)
    status = main(["checklist", "validate", str(bench), "--json"])
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert (status == 2) == (place is not None)
    if place is not None:
        assert place in [fault["path"] for fault in faults] and any(reason in fault["reason"] for fault in faults)
    for option in ("--no-videos", "--detector=none"):
        assert main(["checklist", "validate", str(bench), option]) == 0
    reference, folder = bench / "videos/v1/reference.mp4", bench / "videos/v1/clips"
    assert main(["checklist", "validate", str(folder), "--reference", str(reference)]) == status


def faults_of(bench):
    return [(fault.file, fault.path, fault.reason) for fault in validate_benchmark(bench).faults]


def only(bench, file, path, reason):
    ((found, place, why),) = faults_of(bench)
    assert found == str(bench / file) and place == path and reason in why
    with pytest.raises(BadInputError):
        load_benchmark(bench)


BENCH, ONE = "benchmark.json", "videos/v1/video.json"


@pytest.mark.parametrize(
    ("file", "fields", "path", "reason"),
    [
        (BENCH, {"videos": ["v1", "v2", "v1"]}, "videos/2", "named twice"),
        (BENCH, {"videos": []}, "videos", "at least 1"),
        (BENCH, {"licence": ""}, "licence", "at least 1"),
        (BENCH, {"extra": 1}, "extra", "not permitted"),
        (BENCH, {"format": "matchcut-benchmark/2"}, "(top)", "matchcut-benchmark/1"),
        (ONE, {"id": "v9"}, "id", "'v9' is not the name of its folder, 'v1'"),
        (ONE, {"sha256": "0"}, "sha256", "pattern"),
        (ONE, {"timeline": {"width": 64, "height": 48, "rate": "24", "frames": 96}}, "timeline", "24000/1001"),
        (ONE, {"timeline": {"width": 64, "height": 48, "rate": "24/1", "frames": -1}}, "timeline", "whole numbers"),
        ("videos/v1/clips/c1.json", {"video": "v2"}, "video", "'v1'"),
    ],
)
def test_each_fault_of_its_own_files(bench, file, fields, path, reason):
    change(bench / file, **fields)
    if file.endswith("c1.json"):  # another clip of the folder has another video, then
        assert ("video" in {place for _, place, _ in faults_of(bench)}) and reason in faults_of(bench)[-1][2]
    else:
        only(bench, file, path, reason)


def test_missing_and_extra_folders(bench):
    (bench / "videos/v3").mkdir()
    assert faults_of(bench) == [(str(bench / BENCH), "videos", "the folder videos/v3 is not listed")]
    (bench / "videos/v3").rmdir()
    (bench / "videos/v2/reference.mp4").unlink()
    assert faults_of(bench) == [(str(bench / "videos/v2/reference.mp4"), "(top)", "the reference is missing")]
    shutil.rmtree(bench / "videos/v2")
    only(bench, "videos/v2", "(top)", "the folder of this video is missing")


def test_video_without_clips(bench):
    shutil.rmtree(bench / "videos/v2/clips")
    only(bench, "videos/v2/clips", "(top)", "no such file or folder")


def test_reference_that_is_another_video(bench, capsys):
    path = bench / "videos/v2/reference.mp4"
    path.write_bytes(path.read_bytes()[:-400])
    change(bench / ONE, timeline={"width": 64, "height": 48, "rate": "25/1", "frames": 96})
    assert main(["checklist", "validate", str(bench)]) == 2
    out = capsys.readouterr().out
    assert f"{bench / 'videos/v2/video.json'}: sha256: is not that of reference.mp4" in out
    assert f"{bench / ONE}: timeline: reference.mp4 is 64x48, 24/1 fps" in out
    path.write_bytes(b"no video")
    assert main(["checklist", "validate", str(bench)]) == 2
    assert f"{path}: (top): " in capsys.readouterr().out


def test_an_entity_keeps_its_name_in_all_clips_of_a_video(bench):
    for name, called in (("c1", "Person A"), ("c2", "Person B")):
        entity = Entity(id="p", name=called, description="", first_frame=0).model_dump()
        change(bench / f"videos/v1/clips/{name}.json", entities=[entity])
    only(bench, "videos/v1/clips/c2.json", "entities/0/name", "'p' is called 'Person A' in c1.json")
    change(bench / "videos/v2/clips/c1.json", entities=[{**entity, "name": "Person C"}])
    assert len(faults_of(bench)) == 1  # another video has people of its own


def test_reference_beside_a_benchmark_is_refused(bench, capsys):
    assert main(["checklist", "validate", str(bench), "--reference", "x.mp4"]) == 2
    assert "is a benchmark and has its own references" in capsys.readouterr().err
