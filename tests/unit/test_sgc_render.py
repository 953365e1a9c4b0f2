# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC of a render job on disk: pairs from chunks, cuts, damaged data, and the command."""

import json

import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter, parse_message
from matchcut.evaluator.report.text import COMPONENT_LABELS, COMPONENT_UNITS, significant
from matchcut.evaluator.sgc.estimators import blender
from matchcut.evaluator.sgc.measure import measure_render
from matchcut.evaluator.sgc.records import COMPONENTS, SgcResult

SILENT = SilentReporter()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A job of six frames in chunks of four; not to be changed."""
    return scenes.Job().write(tmp_path_factory.mktemp("finished") / "job")


def edit_chunk(job, change, name="000004.npz"):
    path = job / "geometry" / name
    with np.load(path) as file:
        arrays = dict(file)
    change(arrays)
    np.savez_compressed(path, **arrays)


def edit_index(job, change):
    path = job / "geometry" / "geometry.json"
    index = json.loads(path.read_text())
    change(index)
    path.write_text(json.dumps(index))


# ---- the estimator ---------------------------------------------------------------------------------------------------


def test_pairs_carry_exact_geometry_across_chunks(finished):
    pairs = list(blender.pairs(finished / "geometry"))
    assert [pair.frame for pair in pairs] == [1, 2, 3, 4, 5]
    for pair in pairs:
        before, after = scenes.view(pair.frame - 1), scenes.view(pair.frame)
        assert np.array_equal(pair.previous_depth, before.depth) and np.array_equal(pair.depth, after.depth)
        assert np.array_equal(pair.previous_world_to_camera, before.camera)
        assert np.array_equal(pair.world_to_camera, after.camera)
        assert not pair.moving.any() and pair.moving.shape == after.depth.shape


def test_tracks_start_on_the_authors_grid_and_end_where_the_point_is(finished):
    pair = next(blender.pairs(finished / "geometry"))
    step = max(1, int(np.sqrt(scenes.H * scenes.W / 9000)))
    assert len(pair.tracks.previous) == len(range(0, scenes.H, step)) * len(range(0, scenes.W, step))
    assert pair.tracks.previous[0].tolist() == [0, 0] and pair.tracks.previous[1].tolist() == [step, 0]
    exact = scenes.pair(1).tracks
    index = (pair.tracks.previous[:, 1] * scenes.W + pair.tracks.previous[:, 0]).astype(int)
    assert pair.tracks.current == pytest.approx(exact.current[index], abs=1e-4)
    assert (pair.tracks.confidence == 1).all()


def test_the_grid_is_coarser_in_a_large_picture():
    size = (540, 960)
    frame = blender._Frame(
        0, np.ones(size, np.float32), np.zeros((*size, 2), np.float32), np.ones(size, np.uint16), scenes.K, np.eye(4)
    )
    tracks = blender._tracks(frame, frame)
    assert len(tracks.previous) == 78 * 138  # step int(sqrt(57.6)) = 7
    assert (tracks.visibility == 1).all()


def test_hidden_points_and_those_that_leave_are_not_visible(finished):
    pair = next(blender.pairs(finished / "geometry"))
    before, after = scenes.view(0), scenes.view(1)
    end = np.round(pair.tracks.current).astype(int)
    inside = (end >= 0).all(1) & (end < (scenes.W, scenes.H)).all(1)
    start = pair.tracks.previous.astype(int)
    visible = pair.tracks.visibility > 0
    assert not visible[~inside].any()
    number = before.ids[start[:, 1], start[:, 0]]
    seen = np.zeros(len(end), bool)
    seen[inside] = after.ids[end[inside, 1], end[inside, 0]] == number[inside]
    # another surface lies in front of these by far
    z = pair.depth[np.clip(end[:, 1], 0, scenes.H - 1), np.clip(end[:, 0], 0, scenes.W - 1)]
    covered = inside & ~seen & (z < 0.7 * pair.previous_depth[start[:, 1], start[:, 0]])
    assert covered.sum() > 20
    assert visible[covered].mean() < 0.02
    assert visible[inside & seen].mean() > 0.95


def test_sky_has_no_tracks_and_counts_as_static(tmp_path):
    job = scenes.Job(frames=2, sky=True).write(tmp_path / "job")
    (pair,) = blender.pairs(job / "geometry")
    start = pair.tracks.previous.astype(int)
    sky = pair.previous_depth[start[:, 1], start[:, 0]] == 0
    assert sky.any() and not pair.tracks.visibility[sky].any()
    assert not pair.moving[pair.depth == 0].any()
    assert measure_render(job, cuts=[], reporter=SILENT).score is not None


def test_objects_that_are_not_static_move(tmp_path):
    objects = [entry | {"static": entry["id"] not in (3, 7)} for entry in scenes.OBJECTS]
    job = scenes.Job(frames=2, objects=objects).write(tmp_path / "job")
    (pair,) = blender.pairs(job / "geometry")
    assert np.array_equal(pair.moving, np.isin(scenes.view(1).ids, (3, 7))) and pair.moving.any()


def test_without_objects_everything_is_static_and_the_result_says_so(tmp_path):
    job = scenes.Job(frames=2, objects=[]).write(tmp_path / "job")
    result = measure_render(job, cuts=[], reporter=SILENT)
    assert any("every pixel counts as static" in note for note in result.notes)


# ---- the measurement -------------------------------------------------------------------------------------------------


def test_result_covers_every_pair_and_does_not_depend_on_the_chunks(finished, tmp_path):
    result = measure_render(finished, cuts=[], reporter=SILENT)
    assert (result.pairs_scored, result.pairs_expected) == (5, 5)
    assert result.estimator == blender.ESTIMATOR and "scene unit" in result.parameters["depth_unit"]
    other = scenes.Job(chunk=1).write(tmp_path / "job")
    assert measure_render(other, cuts=[], reporter=SILENT).model_dump_json() == result.model_dump_json()


def test_no_pair_crosses_a_cut(finished):
    result = measure_render(finished, cuts=[2, 4], reporter=SILENT)
    assert [pair.frame for pair in result.pairs] == [1, 3, 5]
    assert (result.pairs_scored, result.pairs_expected) == (3, 3)


def test_a_video_of_cuts_alone_is_unscored(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    result = measure_render(job, cuts=[1], reporter=SILENT)
    assert result.score is None and result.pairs_expected == 0 and "no two consecutive frames" in result.reason


def test_one_frame_is_unscored(tmp_path):
    result = measure_render(scenes.Job(frames=1).write(tmp_path / "job"), cuts=[], reporter=SILENT)
    assert result.score is None and result.pairs_expected == 0 and result.reason


def test_a_pair_without_flow_lowers_the_coverage(tmp_path):
    job = scenes.Job(frames=3).write(tmp_path / "job")
    edit_chunk(job, lambda arrays: arrays["flow_next"][0].fill(np.nan), "000000.npz")
    result = measure_render(job, cuts=[], reporter=SILENT)
    assert (result.pairs_scored, result.pairs_expected) == (1, 2)
    assert "only 0 usable tracks" in result.pairs[0].reason


@pytest.mark.parametrize("cut", [0, -3, 6])
def test_a_cut_that_is_no_frame_is_refused(finished, cut):
    with pytest.raises(BadInputError, match=f"cut {cut}"):
        measure_render(finished, cuts=[cut], reporter=SILENT)


def test_progress_counts_the_pairs(finished):
    seen = []

    class Recorder(SilentReporter):
        def progress(self, stage, done, total, text=""):
            seen.append((stage, done, total))

    measure_render(finished, cuts=[3], reporter=Recorder())
    assert seen == [("sgc", done, 4) for done in range(1, 5)]


# ---- damaged data ----------------------------------------------------------------------------------------------------


def spoil(name, value):
    def change(arrays):
        arrays[name][0].flat[0] = value

    return change


def drop(name):
    return lambda arrays: arrays.pop(name)


def put(name, make):
    return lambda arrays: arrays.update({name: make(arrays[name])})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop("depth"), "depth"),
        (drop("frames"), "frames"),
        (spoil("depth", np.nan), "depth holds values that are not finite"),
        (spoil("depth", np.inf), "depth holds values that are not finite"),
        (spoil("depth", -1), "negative"),
        (spoil("world_to_camera", np.nan), "world_to_camera"),
        (put("world_to_camera", lambda array: array * 2), "camera"),
        (put("intrinsics", lambda array: array * 0), "camera"),
        (put("intrinsics", lambda array: array[:, :2]), "intrinsics"),
        (put("object_ids", lambda array: array[:, 1:]), "object_ids"),
        (put("flow_next", lambda array: array[..., 0]), "flow_next"),
        (put("depth", lambda array: array.astype(np.int32)), "depth"),
        (put("depth", lambda array: array[0, 0, 0]), "depth"),
        (put("depth", lambda array: array.astype(object)), "cannot be read"),
        (put("frames", lambda array: array + 1), "frames 4 to 5"),
        (put("frames", lambda array: array[:1]), "frames 4 to 5"),
        (put("frames", lambda array: array.astype("U4")), "frames 4 to 5"),
    ],
)
def test_a_damaged_chunk_is_named(tmp_path, change, said):
    job = scenes.Job().write(tmp_path / "job")
    edit_chunk(job, change)
    with pytest.raises(BadInputError, match=r"000004\.npz") as caught:
        measure_render(job, cuts=[], reporter=SILENT)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_chunk_that_was_cut_short_is_named(tmp_path, keep):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    path = job / "geometry" / "000000.npz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        measure_render(job, cuts=[], reporter=SILENT)


def test_a_chunk_that_is_a_bare_array_is_named(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    with (job / "geometry" / "000000.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        measure_render(job, cuts=[], reporter=SILENT)


def test_bytes_that_changed_inside_a_chunk_are_noticed(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    path = job / "geometry" / "000000.npz"
    data = bytearray(path.read_bytes())
    for position in range(2000, 2040):
        data[position] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        measure_render(job, cuts=[], reporter=SILENT)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda index: index.update(format="other/1"), "format"),
        (lambda index: index.pop("objects"), "objects"),
        (lambda index: index["objects"][0].pop("static"), "static"),
        (lambda index: index.update(chunks=[]), "frames 0 to 5"),
        (lambda index: index["chunks"].pop(0), "frames 0 to 5"),
        (lambda index: index["chunks"].reverse(), "frames 0 to 5"),
        (lambda index: index.update(chunks=7), "chunks|wrong"),
        (lambda index: (index["chunks"].pop(), index.update(last=3)), "the job asks for 0 to 5"),
    ],
)
def test_a_wrong_index_is_named(tmp_path, change, said):
    job = scenes.Job().write(tmp_path / "job")
    edit_index(job, change)
    with pytest.raises(BadInputError, match=said) as caught:
        measure_render(job, cuts=[], reporter=SILENT)
    assert "geometry" in str(caught.value)


def test_sizes_that_change_between_chunks_are_refused(tmp_path):
    job = scenes.Job().write(tmp_path / "job")

    def smaller(arrays):
        for name in ("depth", "flow_next", "object_ids"):
            arrays[name] = arrays[name][:, :-2]

    edit_chunk(job, smaller)
    with pytest.raises(BadInputError, match="differ in size"):
        measure_render(job, cuts=[], reporter=SILENT)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"job\.json"):
        measure_render(tmp_path, cuts=[], reporter=SILENT)
    job = scenes.Job().write(tmp_path / "job")
    (job / "geometry" / "000004.npz").unlink()
    with pytest.raises(BadInputError, match=r"000004\.npz"):
        measure_render(job, cuts=[], reporter=SILENT)
    (job / "geometry" / "geometry.json").unlink()
    with pytest.raises(BadInputError, match="with its passes"):
        measure_render(job, cuts=[], reporter=SILENT)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_command_prints_the_components_with_units(finished, capsys):
    assert main(["sgc", str(finished), "--cuts", "3"]) == 0
    shown = capsys.readouterr().out
    assert "pairs scored: 4 of 4" in shown and blender.ESTIMATOR in shown
    result = measure_render(finished, cuts=[3], reporter=SILENT)
    rows = {label: line for line in shown.splitlines() for label in COMPONENT_LABELS.values() if line.startswith(label)}
    assert len(rows) == 5 and significant(result.score) in shown.splitlines()[0]
    for name in COMPONENTS:
        row = rows[COMPONENT_LABELS[name]]
        assert significant(result.components[name]) in row and COMPONENT_UNITS[name] in row and row.endswith(" 4")


def test_command_writes_and_prints_the_same_result(finished, tmp_path, capsys):
    out = tmp_path / "result" / "sgc.json"
    assert main(["sgc", str(finished), "--out", str(out), "--json"]) == 0
    printed = SgcResult.from_data(json.loads(capsys.readouterr().out), "printed")
    assert printed == SgcResult.read(out) == measure_render(finished, cuts=[], reporter=SILENT)


def test_command_with_messages_prints_messages_alone(finished, tmp_path, capsys):
    out = tmp_path / "sgc.json"
    assert main(["sgc", str(finished), "--out", str(out), "--messages"]) == 0
    messages = [parse_message(line) for line in capsys.readouterr().out.splitlines()]
    assert None not in messages
    assert [message.type for message in messages] == ["progress"] * 5 + ["result", "done"]
    assert messages[-2].path == str(out) and messages[-2].data["scored"] == 5


def test_command_says_why_nothing_was_scored(tmp_path, capsys):
    objects = [entry | {"static": False} for entry in scenes.OBJECTS]
    job = scenes.Job(frames=2, objects=objects).write(tmp_path / "job")
    assert main(["sgc", str(job)]) == 0
    shown = capsys.readouterr().out
    assert "unscored" in shown and "reason: none of 1 pairs" in shown


@pytest.mark.parametrize("arguments", [["--cuts", "x"], ["--cuts", "99"]])
def test_command_refuses_bad_cuts(finished, capsys, arguments):
    assert main(["sgc", str(finished), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1


def test_command_refuses_a_folder_that_is_no_job_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "sgc.json"
    assert main(["sgc", str(tmp_path / "nothing"), "--out", str(out)]) == 2
    assert "job.json" in capsys.readouterr().err and not out.exists()
