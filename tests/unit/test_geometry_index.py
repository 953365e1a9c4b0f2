"""The geometry folder of a render job as the parent sees it, without Blender and without numpy."""

import time
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.geometry import (
    ARRAYS,
    chunk_path,
    chunks_of,
    is_complete,
    write_about,
    write_index,
)
from matchcut.evaluator.protocol.render_job import RenderJob
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.sgc.estimators.blender import read_index

SIZE = (16, 9)
ABOUT = {
    "view_layers": ["ViewLayer"],
    "engine": "CYCLES",
    "objects": [{"id": 1, "name": "ball", "static": False}],
    "notes": ["a note"],
}


def job(first=0, last=13, size=SIZE):
    return RenderJob("s.blend", Timeline(*size, Fraction(24), 100), first, last, passes=True)


def write_chunk(path, first, last, size=SIZE, leave_out=()):
    count, (width, height) = last - first + 1, size
    shapes = {"depth": (), "flow_next": (2,), "flow_previous": (2,), "object_ids": ()}
    arrays = {name: np.ones((count, height, width, *tail), np.float32) for name, tail in shapes.items()}
    arrays |= {"frames": np.arange(first, last + 1, dtype=np.int32)}
    arrays |= {"intrinsics": np.ones((count, 3, 3)), "world_to_camera": np.ones((count, 4, 4))}
    assert set(arrays) == set(ARRAYS)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{name: values for name, values in arrays.items() if name not in leave_out})


def test_the_index_is_written_when_every_chunk_is_there(tmp_path):
    write_about(tmp_path, ABOUT)
    for first, last in chunks_of(job(first=5, last=30)):
        with pytest.raises(OperationalError, match=f"{first:06d}.npz: the passes of frames {first}-{last} are missing"):
            write_index(tmp_path, job(first=5, last=30))
        write_chunk(chunk_path(tmp_path, first), first, last)
    write_index(tmp_path, job(first=5, last=30))
    index = read_index(tmp_path / "geometry")
    assert (index.first, index.last) == (5, 30)
    assert [(chunk.first, chunk.last) for chunk in index.chunks] == [(5, 16), (17, 28), (29, 30)]
    assert index.moving_ids == {1} and index.notes == ("a note",)


def test_without_what_the_child_says_of_it_there_is_no_index(tmp_path):
    write_chunk(chunk_path(tmp_path, 0), 0, 3)
    with pytest.raises(BadInputError, match=r"about\.json: there is no such file"):
        write_index(tmp_path, job(last=3))


def test_a_chunk_is_whole_or_it_is_not(tmp_path):
    path = chunk_path(tmp_path, 4)
    assert not is_complete(path, 4, 7, SIZE)
    write_chunk(path, 4, 7)
    assert is_complete(path, 4, 7, SIZE)
    assert not is_complete(path, 4, 6, SIZE) and not is_complete(path, 5, 8, SIZE)
    assert not is_complete(path, 4, 7, (9, 16))
    whole = path.read_bytes()
    for broken in (b"", b"no zip", whole[:-1], whole[:100] + b"\1\2\3" + whole[103:], whole[: len(whole) // 2]):
        path.write_bytes(broken)
        assert not is_complete(path, 4, 7, SIZE)
    write_chunk(path, 4, 7, leave_out=("flow_previous",))
    assert not is_complete(path, 4, 7, SIZE)


@pytest.mark.parametrize("size, frames", [((16, 9), 12), ((960, 540), 12), ((1920, 1080), 3), ((7680, 4320), 1)])
def test_chunks_take_a_bounded_number_of_pixels(size, frames):
    bounds = chunks_of(job(first=3, last=27, size=size))
    assert bounds[0] == (3, 2 + frames) and bounds[-1][1] == 27
    assert sorted(frame for first, last in bounds for frame in range(first, last + 1)) == list(range(3, 28))


def test_a_chunk_that_would_fill_the_memory_is_not_unpacked(tmp_path):
    path = chunk_path(tmp_path, 0)
    for name, shape in (("flow_next", (12, *SIZE[::-1], 2, 40_000)), ("depth", (12, *SIZE[::-1])), ("extra", (9,))):
        write_chunk(path, 0, 11, leave_out=(name,))
        assert is_complete(path, 0, 11, SIZE) is (name == "extra")
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file, file.open(f"{name}.npy", "w") as member:
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, header)
            for _ in range(60):
                member.write(bytes(2**20))
        began = time.process_time()
        assert not is_complete(path, 0, 11, SIZE), name
        assert time.process_time() - began < 0.05, "it was unpacked"
