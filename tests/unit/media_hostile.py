# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are no videos or bad ones, made by script; run as a program, the child that tries commands on them."""

import contextlib
import faulthandler
import io
import json
import os
import socket
import struct
import sys
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

SECONDS = 30
"""For one command on one file."""


def tried(commands):
    """Run each list of arguments; (exit status, standard output, error lines, seconds) of each, and the peak memory."""
    from matchcut.evaluator.cli.main import main
    from matchcut.evaluator.protocol.memory import peak_memory_bytes

    for arguments in commands:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        out, err, started = io.StringIO(), io.StringIO(), time.monotonic()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(arguments)
            except SystemExit as stopped:
                status = stopped.code
        faulthandler.cancel_dump_traceback_later()
        lines = [line for line in err.getvalue().splitlines() if line.startswith("matchcut")]
        traces = "Traceback" in err.getvalue()
        print(
            json.dumps(
                [status, out.getvalue(), lines, traces, time.monotonic() - started, peak_memory_bytes() // 2**20]
            )
        )


def make_refused(folder, images, write_video):
    """What cannot be read: (name, what the error line has to hold)."""
    made = []

    def add(name, said, data=None):
        if data is not None:
            (folder / name).write_bytes(data)
        made.append((name, said))

    good = write_video(folder / "good.mp4", images, options={"bf": "2"}).read_bytes()
    add("missing.mp4", "there is no such file")
    add("empty.mp4", "the file is empty", b"")
    add("text.mp4", "cannot be opened as a video", b"no video at all\n" * 100)
    add("zeros.mp4", "cannot be opened as a video", bytes(10000))
    add("noise.mov", "cannot be opened as a video", np.random.default_rng(0).bytes(20000))
    add("cut.mp4", "cannot be opened as a video", good[: len(good) // 2])
    add("folder.mp4", "give a video file")
    (folder / "folder.mp4").mkdir()
    _add_sound(folder / "sound.m4a", cover=None)
    add("sound.m4a", "has no video stream")
    _add_sound(folder / "cover.m4a", cover=images[0])
    add("cover.m4a", "no video stream but a cover picture")
    add("picture.png", "cannot be opened as a video", _png(images[0]))
    with av.open(str(folder / "none.mkv"), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        out.start_encoding()
    add("none.mkv", "cannot be opened as a video")
    mkv = write_video(folder / "whole.mkv", images).read_bytes()
    add("header.mkv", "no frame can be decoded", mkv[: mkv.index(b"\x1f\x43\xb6\x75") + 20])  # ends in a cluster's head
    add("codec.mp4", "of a codec that is not known", good.replace(b"avc1", b"zzz1"))
    add("samples.mp4", "claims 4000000000 samples", with_samples(good, 4_000_000_000))
    matrix = write_video(folder / "ycgco.mp4", images, options={"x264-params": "colormatrix=YCgCo"})
    add(matrix.name, "cannot be converted to RGB")
    add(
        "wide.gif", "more than the 67108864 pixels", with_screen(_written(folder / "g.gif", images, write_video), 16384)
    )
    add("widest.gif", "no frame can be decoded", with_screen(_written(folder / "g.gif", images, write_video), 65535))
    vp8 = write_video(folder / "small.webm", images[:2], codec="libvpx", options={"deadline": "realtime"}).read_bytes()
    frame = vp8.index(b"\x9d\x01\x2a") + 3  # start code of a VP8 keyframe, then 14 bits each of width and height
    add("frame.webm", "", vp8[:frame] + struct.pack("<HH", 16383, 16383) + vp8[frame + 4 :])
    add("list.m3u8", "cannot be opened as a video", playlist("good.mp4"))
    add("list.mp4", "cannot be opened as a video", playlist("good.mp4"))
    add("list.ffconcat", "cannot be opened as a video", b"ffconcat version 1.0\nfile good.mp4\n")
    add("list.mpd", "cannot be opened as a video", b'<?xml version="1.0"?><MPD><BaseURL>good.mp4</BaseURL></MPD>')
    if os.name == "posix":
        os.mkfifo(folder / "pipe.mp4")
        with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(folder):  # its address may be 100 bytes long
            server.bind("socket.mp4")
        (folder / "loop.mp4").symlink_to("loop.mp4")
        (folder / "device.mp4").symlink_to("/dev/zero")
        made += [(f"{name}.mp4", "file; give a video file") for name in ("pipe", "socket", "device")]
        add("loop.mp4", "")
        if os.geteuid() != 0:
            add("locked.mp4", "may not be read", good)
            (folder / "locked.mp4").chmod(0)
    return made


def make_odd(folder, images, write_video):
    """What can be read, and looks as if it could not: (name, frames)."""
    names = ["100% ü %05d.mp4", "-dash.mp4", "concat.mp4"]
    names += ["two\nlines.mp4", "file:a|b.mp4", " .mp4"] if os.name == "posix" else []
    good = write_video(folder / "plain.mp4", images)
    for name in names:
        (folder / name).write_bytes(good.read_bytes())
    made = [(name, len(images)) for name in names]
    one = write_video(folder / "one.mp4", images[:1])
    if os.name == "posix":
        (folder / "link.mp4").symlink_to("plain.mp4")
        made.append(("link.mp4", len(images)))
    later = [*range(6), *range(10**9, 10**9 + len(images) - 6)]
    jump = write_video(folder / "jump.mkv", images, timestamps=later)
    mkv = write_video(folder / "plain.mkv", images).read_bytes()
    place = mkv.index(b"\x44\x89\x88") + 3  # Duration, a number of eight bytes
    for name, seconds in (("nan", float("nan")), ("infinite", float("inf")), ("ages", 1e300), ("before", -1e300)):
        (folder / f"{name}.mkv").write_bytes(mkv[:place] + struct.pack(">d", seconds) + mkv[place + 8 :])
        made.append((f"{name}.mkv", len(images)))
    return [*made, (one.name, 1), (jump.name, len(images))]


def with_samples(data, count):
    """An MP4 that claims `count` samples of one byte, all in one piece."""
    data = bytearray(data)
    sizes, runs, times = data.index(b"stsz"), data.index(b"stsc"), data.index(b"stts")
    data[sizes + 8 : sizes + 16] = struct.pack(">II", 1, count)
    data[runs + 16 : runs + 20] = struct.pack(">I", count)
    data[times + 12 : times + 16] = struct.pack(">I", count)
    return bytes(data)


def with_screen(data, side):
    """A GIF whose header names a screen of `side` squared."""
    return data[:6] + struct.pack("<HH", side, side) + data[10:]


def playlist(name):
    """An HLS playlist of one local file."""
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{name}\n#EXT-X-ENDLIST\n".encode()


def _written(path, images, write_video):
    return write_video(path, images, codec="gif", pixels="rgb8", rate=Fraction(10)).read_bytes()


def _png(image):
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def _add_sound(path, cover):
    with av.open(str(path), "w", format="mp4") as out:
        sound = out.add_stream("aac", rate=48000)
        if cover is not None:
            from av.stream import Disposition

            picture = out.add_stream("mjpeg", rate=1)
            picture.width, picture.height, picture.pix_fmt = cover.shape[1], cover.shape[0], "yuvj420p"
            picture.disposition = Disposition.attached_pic
            out.mux(picture.encode(av.VideoFrame.from_ndarray(cover, format="rgb24")))
            out.mux(picture.encode(None))
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4800), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 48000
        out.mux(sound.encode(frame))
        out.mux(sound.encode(None))


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
    import conftest  # noqa: F401  the package under its name

    tried(json.loads(sys.stdin.read()))
