# SPDX-License-Identifier: GPL-3.0-or-later
"""Two thousand damaged videos: each is read or refused in one line; none crashes, hangs or fills the memory.

Run as a program with a folder, clips and numbers, this file is the child that reads them. It prints each number before
it reads that input, so that the parent can name the one with which the child ended.
"""

import faulthandler
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

INPUTS = 2000
BATCHES = 2
SECONDS = 30  # for one input; it takes some milliseconds, and more where the machine has other work
BATCH_SECONDS = 600
MEGABYTES = 600
CLIPS = ("clip.mp4", "clip.webm", "clip.gif")


def damaged(data, number):
    """`data` with bytes flipped, cut off, doubled or zeroed; the same for the same number."""
    chance = random.Random(number)
    data = bytearray(data)
    # headers are where a byte does most
    place = (
        chance.randrange(len(data))
        if chance.random() < 0.5
        else chance.choice((chance.randrange(400), -1 - chance.randrange(1200)))
    )
    place = max(0, place % len(data))
    length = chance.choice((1, 4, 16, 64, 256))
    kind = chance.choice(("flip", "flip", "flip", "extreme", "cut", "double", "zero"))
    if kind == "flip":
        for _ in range(chance.choice((1, 1, 2, 8, 32))):
            near = min(len(data) - 1, place + chance.randrange(length))
            data[near] ^= 1 << chance.randrange(8)
    elif kind == "extreme":
        data[place : place + 4] = chance.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\1"))
    elif kind == "cut":
        del data[max(1, place) :]
    elif kind == "double":
        data[place:place] = data[place : place + length]
    else:
        data[place : place + length] = bytes(len(data[place : place + length]))
    return bytes(data)


def clip_of(number):
    """Which clip the input of this number is made of."""
    return CLIPS[number % len(CLIPS)]


def child(folder, numbers):
    """Read the inputs `numbers`, one line for each on standard output."""
    sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
    import conftest  # noqa: F401  the package under its name
    from matchcut.evaluator.media.decode import frames, stream
    from matchcut.evaluator.media.probe import probe
    from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
    from matchcut.evaluator.protocol.memory import peak_memory_bytes

    originals = {name: (folder / name).read_bytes() for name in CLIPS}
    for number in numbers:
        print(f"{number}", end=" ", flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        name = clip_of(number)
        path = folder / f"{number}-{name}"
        path.write_bytes(damaged(originals[name], number))
        try:
            info = probe(path)
            count = sum(1 for _ in stream(path))
            assert count == info.timeline.frames, f"{count} frames streamed, {info.timeline.frames} probed"
            picked = frames(path, [0, count // 2, count - 1])
            assert [frame.index for frame in picked] == [0, count // 2, count - 1]
            print("read")
        except (BadInputError, OperationalError) as error:
            assert str(path) in str(error) and len(str(error).splitlines()) == 1, str(error)
            print("refused")
        path.unlink()
    faulthandler.cancel_dump_traceback_later()
    print("memory", peak_memory_bytes() // 2**20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with three clips: reordered H.264 in MP4, VP9 in WebM, and a GIF."""
    from media_samples import pictures, write_video

    made = tmp_path_factory.mktemp("fuzz")
    images = pictures(12, width=32, height=32)
    write_video(made / "clip.mp4", images, options={"bf": "2", "g": "6"})
    write_video(made / "clip.webm", images, codec="libvpx-vp9", options={"deadline": "realtime", "g": "6"})
    write_video(made / "clip.gif", images, codec="gif", pixels="rgb8", rate=Fraction(10))
    return made


def test_damaged_videos_are_read_or_refused(folder):
    children = [
        subprocess.Popen(
            [sys.executable, "-X", "faulthandler", __file__, str(folder), str(batch), str(BATCHES)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for batch in range(BATCHES)
    ]  # fmt: skip
    read = refused = 0
    try:
        for running in children:
            output, faults = running.communicate(timeout=BATCH_SECONDS)
            *lines, last = output.splitlines() or [""]
            number = last.split(" ")[0]
            assert running.returncode == 0, (
                f"input {number} ({clip_of(int(number or 0))}): exit status {running.returncode}\n{faults[-3000:]}"
            )
            assert int(last.split(" ")[1]) < MEGABYTES
            read += sum(line.endswith("read") for line in lines)
            refused += sum(line.endswith("refused") for line in lines)
    finally:
        for running in children:
            running.kill()
    assert read + refused == INPUTS
    assert read > INPUTS / 4 and refused > INPUTS / 20  # the damage is neither nothing nor everything


def test_the_damage_is_the_same_each_time():
    data = bytes(range(256)) * 8
    assert [damaged(data, number) for number in range(50)] == [damaged(data, number) for number in range(50)]
    assert len({damaged(data, number) for number in range(50)}) > 45


if __name__ == "__main__":
    child(Path(sys.argv[1]), range(int(sys.argv[2]), INPUTS, int(sys.argv[3])))
