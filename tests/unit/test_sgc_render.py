# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC of a render job on disk: pairs from chunks, cuts, damaged data, and the command."""

import json
import tracemalloc

import numpy as np
import pytest
import sgc_scenes as scenes
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.estimators import blender
from matchcut.evaluator.sgc.measure import Request, measure
from matchcut.evaluator.sgc.records import FrameGeometry

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
    pairs = list(blender.open_job(finished).pairs())
    assert [pair.frame for pair in pairs] == [1, 2, 3, 4, 5]
    for pair in pairs:
        before, after = scenes.view(pair.frame - 1), scenes.view(pair.frame)
        assert np.array_equal(pair.previous.depth, before.depth) and np.array_equal(pair.current.depth, after.depth)
        assert np.array_equal(pair.previous.world_to_camera, before.camera)
        assert np.array_equal(pair.current.world_to_camera, after.camera)
        assert not pair.current.moving.any() and pair.current.moving.shape == after.depth.shape


def test_tracks_start_on_the_authors_grid_and_end_where_the_point_is(finished):
    pair = next(blender.open_job(finished).pairs())
    step = max(1, int(np.sqrt(scenes.H * scenes.W / 9000)))
    assert len(pair.tracks.previous) == len(range(0, scenes.H, step)) * len(range(0, scenes.W, step))
    assert pair.tracks.previous[0].tolist() == [0, 0] and pair.tracks.previous[1].tolist() == [step, 0]
    exact = scenes.pair(1).tracks
    index = (pair.tracks.previous[:, 1] * scenes.W + pair.tracks.previous[:, 0]).astype(int)
    assert pair.tracks.current == pytest.approx(exact.current[index], abs=1e-4)
    assert (pair.tracks.confidence == 1).all()


def test_the_grid_is_coarser_in_a_large_picture():
    size = (540, 960)
    flat, nowhere = np.ones(size, np.float32), np.zeros(size, bool)
    frame = FrameGeometry(0, flat, nowhere, nowhere, scenes.K, np.eye(4))
    tracks = blender.flow_tracks(frame, frame, np.zeros((*size, 2), np.float32))
    assert len(tracks.previous) == 78 * 138  # step int(sqrt(57.6)) = 7
    assert (tracks.visibility == 1).all()


def test_hidden_points_and_those_that_leave_are_not_visible(finished):
    pair = next(blender.open_job(finished).pairs())
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
    z = pair.current.depth[np.clip(end[:, 1], 0, scenes.H - 1), np.clip(end[:, 0], 0, scenes.W - 1)]
    covered = inside & ~seen & (z < 0.7 * pair.previous.depth[start[:, 1], start[:, 0]])
    assert covered.sum() > 20
    assert visible[covered].mean() < 0.02
    assert visible[inside & seen].mean() > 0.95


def test_sky_has_no_tracks_and_counts_as_static(tmp_path):
    job = scenes.Job(frames=2, sky=True).write(tmp_path / "job")
    (pair,) = blender.open_job(job).pairs()
    start = pair.tracks.previous.astype(int)
    sky = pair.previous.depth[start[:, 1], start[:, 0]] == 0
    assert sky.any() and not pair.tracks.visibility[sky].any()
    assert not pair.current.moving[pair.current.depth == 0].any()
    assert scenes.measure_render(job, cuts=[], reporter=SILENT).score is not None


def test_objects_that_are_not_static_move(tmp_path):
    objects = [entry | {"static": entry["id"] not in (3, 7)} for entry in scenes.OBJECTS]
    job = scenes.Job(frames=2, objects=objects).write(tmp_path / "job")
    (pair,) = blender.open_job(job).pairs()
    assert np.array_equal(pair.current.moving, np.isin(scenes.view(1).ids, (3, 7))) and pair.current.moving.any()


def test_without_objects_everything_is_static_and_the_result_says_so(tmp_path):
    job = scenes.Job(frames=2, objects=[]).write(tmp_path / "job")
    result = scenes.measure_render(job, cuts=[], reporter=SILENT)
    assert any("every pixel counts as static" in note for note in result.notes)


# ---- the measurement -------------------------------------------------------------------------------------------------


def test_result_covers_every_pair_and_does_not_depend_on_the_chunks(finished, tmp_path):
    result = scenes.measure_render(finished, cuts=[], reporter=SILENT)
    assert (result.pairs_scored, result.pairs_expected) == (5, 5)
    assert result.estimator == blender.ESTIMATOR and "scene unit" in result.parameters["depth_unit"]
    other = scenes.Job(chunk=1).write(tmp_path / "job")
    assert scenes.measure_render(other, cuts=[], reporter=SILENT).model_dump_json() == result.model_dump_json()


def test_no_pair_crosses_a_cut(finished):
    result = scenes.measure_render(finished, cuts=[2, 4], reporter=SILENT)
    assert [pair.frame for pair in result.pairs] == [1, 3, 5]
    assert (result.pairs_scored, result.pairs_expected) == (3, 3)


def test_a_video_of_cuts_alone_is_unscored(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    result = scenes.measure_render(job, cuts=[1], reporter=SILENT)
    assert result.score is None and result.pairs_expected == 0 and "no two consecutive frames" in result.reason


def test_one_frame_is_unscored(tmp_path):
    result = scenes.measure_render(scenes.Job(frames=1).write(tmp_path / "job"), cuts=[], reporter=SILENT)
    assert result.score is None and result.pairs_expected == 0 and result.reason


def test_a_pair_without_flow_lowers_the_coverage(tmp_path):
    job = scenes.Job(frames=3).write(tmp_path / "job")
    edit_chunk(job, lambda arrays: arrays["flow_next"][0].fill(np.nan), "000000.npz")
    result = scenes.measure_render(job, cuts=[], reporter=SILENT)
    assert (result.pairs_scored, result.pairs_expected) == (1, 2)
    assert "only 0 usable tracks" in result.pairs[0].reason


@pytest.mark.parametrize("cut", [0, -3, 6])
def test_a_cut_that_is_no_frame_is_refused(finished, cut):
    with pytest.raises(BadInputError, match=f"cut {cut}"):
        measure(finished, Request(mode="paper", cuts=(cut,)), name="job", reporter=SILENT)


def test_progress_counts_the_pairs(finished):
    seen = []

    class Recorder(SilentReporter):
        def progress(self, stage, done, total, text=""):
            seen.append((stage, done, total))

    scenes.measure_render(finished, cuts=[3], reporter=Recorder())
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
        scenes.measure_render(job, cuts=[], reporter=SILENT)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_chunk_that_was_cut_short_is_named(tmp_path, keep):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    path = job / "geometry" / "000000.npz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)


def test_a_chunk_that_is_a_bare_array_is_named(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    with (job / "geometry" / "000000.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)


def test_bytes_that_changed_inside_a_chunk_are_noticed(tmp_path):
    job = scenes.Job(frames=2).write(tmp_path / "job")
    path = job / "geometry" / "000000.npz"
    data = bytearray(path.read_bytes())
    for position in range(2000, 2040):
        data[position] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"000000\.npz"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)


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
        scenes.measure_render(job, cuts=[], reporter=SILENT)
    assert "geometry" in str(caught.value)


def test_sizes_that_change_between_chunks_are_refused(tmp_path):
    job = scenes.Job().write(tmp_path / "job")

    def smaller(arrays):
        for name in ("depth", "flow_next", "object_ids"):
            arrays[name] = arrays[name][:, :-2]

    edit_chunk(job, smaller)
    with pytest.raises(BadInputError, match=r"depth is float32 \(2, 118, 160\), expected shape"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"job\.json"):
        scenes.measure_render(tmp_path, cuts=[], reporter=SILENT)
    job = scenes.Job().write(tmp_path / "job")
    (job / "geometry" / "000004.npz").unlink()
    with pytest.raises(BadInputError, match=r"000004\.npz"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)
    (job / "geometry" / "geometry.json").unlink()
    with pytest.raises(BadInputError, match="with its passes"):
        scenes.measure_render(job, cuts=[], reporter=SILENT)


def test_a_chunk_that_would_fill_the_memory_is_refused_by_its_header(tmp_path):
    job = scenes.Job().write(tmp_path / "job")

    def huge(arrays):
        arrays["depth"] = np.zeros((2, 4, 3_000_000), np.float32)

    edit_chunk(job, huge)
    tracemalloc.start()
    try:
        with pytest.raises(BadInputError, match="expected shape"):
            scenes.measure_render(job, cuts=[], reporter=SILENT)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
