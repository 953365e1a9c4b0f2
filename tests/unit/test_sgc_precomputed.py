# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates of other programs: the authors' folders are read as they are or soundly, and hostile files are refused."""

import io
import json
import zipfile

import cv2
import numpy as np
import pytest
import sgc_scenes as scenes
from hypothesis import given, settings
from hypothesis import strategies as st
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.sgc.estimators import open_geometry
from matchcut.evaluator.sgc.estimators.arrays import read_array
from matchcut.evaluator.sgc.estimators.base import Reading
from matchcut.evaluator.sgc.estimators.precomputed import open_folder
from matchcut.evaluator.sgc.paper import score_paper

SILENT = SilentReporter()
AS_AUTHORS = Reading(rescale_intrinsics=False, invert_inverse_depth=False)


def write_folder(folder, frames=3, **changes):
    """The rigid scene in the authors' folders; `changes` go into cameras.json."""
    views = [scenes.view(step) for step in range(frames)]
    names = [f"{number:05d}" for number in range(frames)]
    for kind in ("depths", "tracks", "masks", "pictures"):
        (folder / kind).mkdir(parents=True)
    np.savez_compressed(folder / "depths" / "clip_depths.npz", depths=np.stack([view.depth for view in views]))
    for number in range(frames):
        mask = np.zeros((scenes.H, scenes.W), np.uint8)
        mask[10:20, 30:50] = 255
        cv2.imwrite(str(folder / "masks" / f"{names[number]}.png"), mask)
        cv2.imwrite(str(folder / "pictures" / f"{names[number]}.png"), np.full((60, 80, 3), (255, 0, 10 * number)))
    for number in range(1, frames):
        tracks = scenes.pair(number).tracks
        start = np.column_stack([tracks.previous, np.ones((len(tracks.previous), 2))])
        end = np.column_stack([tracks.current, tracks.visibility, tracks.confidence])
        np.save(folder / "tracks" / f"{names[number - 1]}_{names[number - 1]}.npy", start)
        np.save(folder / "tracks" / f"{names[number - 1]}_{names[number]}.npy", end)
    write_cameras(folder, frames=names, world_to_camera=[view.camera[:3].tolist() for view in views], **changes)
    return folder


def write_cameras(folder, **changes):
    data = {"format": "matchcut-cameras/1", "estimator": "exact/1", "intrinsics": [scenes.K.tolist()], **changes}
    (folder / "cameras.json").write_text(json.dumps(data))


def edit(folder, **changes):
    data = json.loads((folder / "cameras.json").read_text())
    write_cameras(folder, **{**data, **changes})


# ---- what is read ----------------------------------------------------------------------------------------------------


def test_a_folder_gives_the_geometry_that_was_written(tmp_path):
    geometry = open_geometry("precomputed", write_folder(tmp_path / "clip"), reporter=SILENT)
    assert (geometry.size, geometry.pairs_expected) == ((scenes.W, scenes.H), 2)
    assert geometry.estimator == "precomputed/1 of exact/1" and geometry.scale == "shared_with_poses"
    for pair, step in zip(geometry.pairs(), (1, 2), strict=True):
        exact = scenes.pair(step)
        assert pair.frame == step
        assert np.array_equal(pair.previous.depth, exact.previous.depth)
        assert np.array_equal(pair.current.depth, exact.current.depth)
        assert np.allclose(pair.current.intrinsics, scenes.K) and not pair.current.sky.any()
        assert np.allclose(pair.current.world_to_camera, exact.current.world_to_camera)
        assert np.array_equal(pair.tracks.current, exact.tracks.current, equal_nan=True)
        assert np.array_equal(pair.tracks.visibility, exact.tracks.visibility)
        assert pair.current.moving[10:20, 30:50].all() and pair.current.moving.sum() == 200
    pictures = list(geometry.images())
    assert [picture[0, 0].tolist() for picture in pictures] == [[0, 0, 255], [10, 0, 255], [20, 0, 255]]
    assert pictures[0].shape == (scenes.H, scenes.W, 3)
    assert score_paper(geometry, reporter=SILENT).score is not None


def test_no_pair_crosses_a_cut_and_the_cameras_file_may_be_named(tmp_path):
    folder = write_folder(tmp_path / "clip", frames=4)
    geometry = open_folder(folder / "cameras.json", [(0, 1), (2, 3)])
    assert [pair.frame for pair in geometry.pairs()] == [1, 3] and geometry.pairs_expected == 2
    with pytest.raises(BadInputError, match="which do not hold the shots"):
        open_folder(folder, [(0, 4)])


def test_intrinsics_of_another_picture_are_scaled_unless_read_as_the_authors_do(tmp_path):
    half = np.diag([0.5, 0.5, 1.0]) @ scenes.K
    half[:2, 2] = (scenes.K[:2, 2] + 0.5) / 2 - 0.5
    size = [scenes.W // 2, scenes.H // 2]
    folder = write_folder(tmp_path / "clip", intrinsics_size=size)
    edit(folder, intrinsics=[half.tolist()])
    pair = next(open_folder(folder).pairs())
    assert np.allclose(pair.current.intrinsics, scenes.K)
    as_authors = open_folder(folder, reading=AS_AUTHORS)
    assert np.allclose(next(as_authors.pairs()).current.intrinsics, half)
    assert any("as they are" in note for note in as_authors.notes)


def test_inverse_depth_is_inverted_unless_read_as_the_authors_do(tmp_path):
    folder = write_folder(tmp_path / "clip", depth="inverse", depth_divisor=1000.0)
    depths = np.load(folder / "depths" / "clip_depths.npz")["depths"].copy()
    depths[:, :5] = 0
    depths[:, 5, 0], depths[:, 5, 1] = np.nan, -3
    np.savez(folder / "depths" / "clip_depths.npz", depths=depths)
    geometry = open_folder(folder)
    frame = next(geometry.pairs()).current
    assert geometry.scale == "affine_inverse" and "reciprocal" in geometry.depth_unit
    assert frame.sky[:5].all() and frame.depth[:5].max() == 0 and not frame.sky[6:].any()
    assert frame.depth[5, :2].tolist() == [0, 0] and frame.sky[5, :3].tolist() == [False, True, False]
    assert np.allclose(frame.depth[6:], 1000 / depths[1, 6:])
    as_authors = open_folder(folder, reading=AS_AUTHORS)
    assert np.allclose(next(as_authors.pairs()).current.depth[6:], depths[1, 6:] / 1000)
    assert any("taken for depth" in note for note in as_authors.notes)


def test_what_is_missing_is_none_and_told(tmp_path):
    folder = write_folder(tmp_path / "clip")
    (folder / "tracks" / "00000_00001.npy").unlink()
    for path in (folder / "masks").iterdir():
        path.unlink()
    (folder / "masks").rmdir()
    (folder / "pictures" / "00001.png").unlink()
    geometry = open_folder(folder)
    assert geometry.images is None and any("every pixel counts as static" in note for note in geometry.notes)
    result = score_paper(geometry, reporter=SILENT)
    assert (result.pairs_scored, result.pairs_expected) == (1, 2)
    assert "only 0 usable tracks" in result.pairs[0].reason


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frames": ["a", "a", "b"]}, "given twice"),
        ({"frames": ["a", "b"]}, "names 2 frames"),
        ({"frames": []}, "frames"),
        ({"frames": ["../a", "b", "c"]}, "frames/0"),
        ({"intrinsics": [scenes.K.tolist()] * 2}, "2 intrinsics"),
        ({"intrinsics": [np.zeros((3, 3)).tolist()]}, "intrinsics"),
        ({"intrinsics": [[[1, 2], [3, 4]]]}, "intrinsics/0"),
        ({"intrinsics_size": [0, 5]}, "intrinsics_size"),
        ({"world_to_camera": [(2 * np.eye(4)).tolist()] * 3}, "no rotation"),
        ({"world_to_camera": [np.diag([1.0, 1, -1, 1]).tolist()] * 3}, "no rotation"),
        ({"world_to_camera": [[[1e400] * 4] * 3] * 3}, "not valid JSON|world_to_camera"),
        ({"depth": "nearness"}, "depth"),
        ({"depth_divisor": 0}, "depth_divisor"),
        ({"depths": "../elsewhere"}, "outside"),
        ({"tracks": "/etc"}, "outside"),
        ({"depths": "nothing"}, r"no \*_depths\.npz"),
        ({"format": "other"}, "format"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_wrong_cameras_file_is_named(tmp_path, changes, said):
    folder = write_folder(tmp_path / "clip")
    edit(folder, **changes)
    with pytest.raises(BadInputError, match=said) as caught:
        list(open_folder(folder).pairs())
    assert "clip" in str(caught.value) and "\n" not in str(caught.value)


def header(shape, descr="'<f4'", fortran=False):
    """The start of a .npy file that claims a shape."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zipped(name, data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def saved(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


GOOD = np.ones((3, scenes.H, scenes.W), np.float32)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cannot be read"),
        (b"PK\x03\x04nothing", "cannot be read"),
        (saved(depth=GOOD), "no array 'depths', but depth"),
        (saved(depths=GOOD[:2]), "holds 2 depths"),
        (saved(depths=GOOD[0]), "expected numbers"),
        (saved(depths=GOOD.astype(complex)), "expected numbers"),
        (saved(depths=np.asfortranarray(GOOD)), "column by column"),
        (saved(depths=GOOD.astype(object)), "objects"),
        (saved(depths=np.ones((3, 0, 4), np.float32)), "no usable size"),
        (saved(depths=GOOD)[:-400], "cannot be read"),
        (zipped("depths.npy", b"none"), "cannot be read"),
        (zipped("depths.npy", header((3, 10**6, 10**6))), "more than 2 GB"),
        (zipped("depths.npy", header((3, 10**9, 10**9, 10**9))), "expected|more than 2 GB"),
        (zipped("depths.npy", header((3, -5, 4))), "cannot be read"),
        (zipped("depths.npy", header((3, 4, 5), "'|O'")), "objects"),
        (zipped("depths.npy", header((3, 4, 5))), "ends early"),
        (zipped("depths.npy", b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), "cannot be read"),
    ],
)
def test_damaged_depths_are_named(tmp_path, data, said):
    folder = write_folder(tmp_path / "clip")
    (folder / "depths" / "clip_depths.npz").write_bytes(data)
    with pytest.raises(BadInputError, match=said) as caught:
        list(open_folder(folder).pairs())
    assert "clip_depths.npz" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cannot be read"),
        (header((4, 4)), "ends early"),
        (header((4, 4), "'|O'"), "objects"),
        (header((10**6, 10**6)), "more than 2 GB"),
        (header((4, 3)) + bytes(48), "expected rows"),
        (header((16,)) + bytes(64), "expected rows"),
        (header((4, 4), "'<U1'") + bytes(64), "expected rows"),
        (header((4, 4)) + bytes(64), "it holds 4 tracks"),
    ],
)
def test_damaged_tracks_are_named(tmp_path, data, said):
    folder = write_folder(tmp_path / "clip")
    (folder / "tracks" / "00000_00001.npy").write_bytes(data)
    with pytest.raises(BadInputError, match=said) as caught:
        list(open_folder(folder).pairs())
    assert "00000_00001.npy" in str(caught.value)


def test_masks_of_another_size_and_masks_that_are_none_are_named(tmp_path):
    folder = write_folder(tmp_path / "clip")
    path = folder / "masks" / "00001.png"
    cv2.imwrite(str(path), np.zeros((5, 7), np.uint8))
    with pytest.raises(BadInputError, match=r"00001\.png: the mask is 7x5, the depths are 160x120"):
        list(open_folder(folder).pairs())
    path.write_bytes(b"none")
    with pytest.raises(BadInputError, match=r"00001\.png: no picture"):
        list(open_folder(folder).pairs())


def test_values_that_are_no_numbers_give_no_depth_and_no_track(tmp_path):
    folder = write_folder(tmp_path / "clip", frames=2)
    depths = np.stack([scenes.view(0).depth, scenes.view(1).depth]).astype(np.float64)
    depths[:, :30], depths[:, 30:40], depths[:, 40:50] = np.nan, 1e300, -1
    np.savez(folder / "depths" / "clip_depths.npz", depths=depths)
    path = folder / "tracks" / "00000_00001.npy"
    tracks = np.load(path)
    tracks[::3, 2:], tracks[1::3, 0] = np.nan, np.inf
    np.save(path, tracks)
    (pair,) = open_folder(folder).pairs()
    assert (pair.current.depth[:50] == 0).all() and np.isfinite(pair.current.depth).all()
    assert (pair.tracks.confidence[::3] == 0).all()
    result = score_paper(open_folder(folder), reporter=SILENT)
    assert result.pairs_scored == 1 and result.score is not None


def test_column_order_is_read_right(tmp_path):
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    np.save(tmp_path / "a.npy", array)
    assert np.array_equal(read_array(tmp_path / "a.npy"), array)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 600), st.binary(min_size=1, max_size=6), st.booleans())
def test_changed_bytes_are_read_or_refused(tmp_path_factory, place, put, in_depths):
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    if not folder.exists():
        write_folder(folder, frames=2)
    path = folder / "depths" / "clip_depths.npz" if in_depths else folder / "tracks" / "00000_00001.npy"
    before = path.read_bytes()
    path.write_bytes(before[:place] + put + before[place + len(put) :])
    try:
        for pair in open_folder(folder).pairs():
            assert np.isfinite(pair.current.depth).all() and (pair.current.depth >= 0).all()
            assert len(pair.tracks.previous) == len(pair.tracks.current) == len(pair.tracks.confidence)
    except BadInputError as error:
        assert path.name in str(error) or folder.name in str(error)
    finally:
        path.write_bytes(before)
