# SPDX-License-Identifier: GPL-3.0-or-later
"""The videos that are shown: each decoded ahead of the playhead by an evaluator command, read by a thread, uploaded."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import gpu

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message
from ....evaluator.protocol.timeline import nearest_frame, parse_rate
from ... import jobs
from .reader import FrameReader, Identity, Store
from .timings import measured

AHEAD: Final = 24
"""Frames after the playhead that are read into memory."""
BEHIND: Final = 4
"""Frames before it."""
MARGIN: Final = 48
"""Frames after the playhead that have to be decoded, or the command is started for them."""
RESTART_SECONDS: Final = 1.5
"""That a command at least runs before one for another place takes over."""
TEXTURE_BYTES: Final = 64 * 1024**2
"""Of one feed on the graphics card."""
UPLOADED_AHEAD: Final = 2
"""Pictures after the present one that are on the graphics card before they are drawn."""
SAME_RATE: Final = 1e-5
"""Relative difference below which two rates are the same; Blender keeps its own in single precision."""


@dataclass(frozen=True)
class Wanted:
    """A video at one size."""

    video: Path
    size: int
    """Of the longer side in pixels, at most."""
    every: int = 1
    """Each n-th frame alone."""


@dataclass
class Feed:
    """A video that is shown: what is known of it, and its frames as far as they have come."""

    wanted: Wanted
    reader: FrameReader
    store: Store | None = None
    rate: Fraction | None = None
    error: str = ""
    """Why there are no frames, in one line."""
    job: jobs.Job | None = None
    start: int = 0
    """The frame that the last command began with."""
    began: float = 0.0
    read_as: Identity | None = None
    """The video as it was when the last command began."""
    useless: int | None = None
    """A frame that a whole run did not bring."""
    textures: OrderedDict[int, Any] = field(default_factory=OrderedDict)
    taken: float = 0.0
    """When the feed was last asked for."""

    @property
    def key(self) -> str:
        """Of its quiet command."""
        return f"compare {self.wanted.video} {self.wanted.size} {self.wanted.every}"

    @property
    def running(self) -> bool:
        """Whether frames are being decoded."""
        return self.job is not None and self.job.state == "running"

    @property
    def expected(self) -> int:
        """Frames that the cache holds once everything is decoded."""
        return -(-self.store.frames // self.wanted.every) if self.store is not None else 0

    @property
    def missing(self) -> bool:
        """Whether the video is not where it was."""
        return self.reader.watched and self.reader.identity is None

    def frame_at(self, scene_frame: int, start: int, rate: float) -> int | None:
        """The video's frame that a scene shows; None before and after it.

        At the video's own rate they are counted alike; at another one the nearest by time is it.
        """
        if self.store is None or self.rate is None:
            return None
        frame = scene_frame - start
        if abs(rate / float(self.rate) - 1) > SAME_RATE:
            frame = nearest_frame(frame / Fraction(rate), self.rate)
        return frame if 0 <= frame < self.store.frames else None

    def scene_frame(self, frame: int, start: int, rate: float) -> int:
        """The scene's frame that shows a frame of the video; at another rate than the video's the nearest by time."""
        if self.rate is None or abs(rate / float(self.rate) - 1) <= SAME_RATE:
            return start + frame
        return start + round(frame * rate / float(self.rate))

    def texture(self, frame: int) -> tuple[int, Any] | None:
        """(frame, texture) of this frame, else of the nearest one in memory; None where there is none yet.

        Called while drawing. Most pictures are on the graphics card by then: see `upload`.
        """
        if self.store is None:
            return None
        found: int | None = frame
        if frame not in self.textures and self.reader.frame(frame) is None:
            near = [*self.textures, *([] if (held := self.reader.nearest(frame)) is None else [held])]
            found = min(near, key=lambda other: abs(other - frame), default=None)
        if found is None:
            return None
        if found not in self.textures and not self._hand_over(found):
            return None
        self.textures.move_to_end(found)
        return found, self.textures[found]

    def upload(self, frame: int) -> None:
        """Hand one picture to the graphics card ahead of the drawing: this frame's, else one that comes next.

        Called by the timer, never while drawing.
        """
        if self.store is not None:
            coming = range(frame, min(frame + UPLOADED_AHEAD, self.store.frames - 1) + 1)
            lacks = next((one for one in coming if one not in self.textures), None)
            if lacks is not None:
                self._hand_over(lacks)

    def _hand_over(self, frame: int) -> bool:
        """Make a picture's texture; whether it is in memory."""
        pixels = self.reader.frame(frame)
        if self.store is None or pixels is None:
            return False
        with measured("upload"):
            size = (self.store.width, self.store.height)
            buffer = gpu.types.Buffer("FLOAT", pixels.size, pixels)
            self.textures[frame] = gpu.types.GPUTexture(size, format="R32F", data=buffer)
        while len(self.textures) > TEXTURE_BYTES // (self.store.width * self.store.height * 4):
            self.textures.popitem(last=False)
        return True

    def follow(self, frame: int) -> None:
        """Read around this frame of the video, and see that it is decoded. Called by the timer, never while drawing."""
        if not self._file_is_known():
            return
        if self.store is not None:
            last = min(frame + AHEAD, self.store.frames - 1)
            self.reader.want([*range(frame, last + 1), *range(frame - 1, max(-1, frame - 1 - BEHIND), -1)])
        self._decode(frame)

    def follow_all(self, frames: Sequence[int]) -> None:
        """As `follow`, for a handful of frames that are shown at once."""
        if not self._file_is_known():
            return
        self.reader.want(frames)
        if self.read_as is None:
            self._start(0)
        elif not self.running and not self.missing and any(frame not in self.reader.there for frame in frames):
            self._start_if_of_use(0)

    def _file_is_known(self) -> bool:
        """Whether the thread has seen the video; a changed one is decoded anew, of one that is gone nothing is."""
        now = self.reader.identity
        if not self.reader.watched:
            return False
        if now is None:
            if self.store is None:
                self.error = f"{self.wanted.video} is not there; pick it again"
        elif self.read_as is not None and now != self.read_as:  # what was decoded is of another file of that name
            self.textures.clear()
            self.store, self.rate, self.error, self.useless = None, None, "", None
            self._start(0)
        if self.job is not None and self.job.state == "failed":
            self.error = self.error or self.job.error
        return now is not None or self.store is not None

    def _decode(self, frame: int) -> None:
        if self.read_as is None:
            self._start(frame)
        if self.store is None or self.missing:
            return
        there, last = self.reader.there, self.store.frames - 1
        if self.useless in there:
            self.useless = None
        lacking = next((f for f in range(frame, min(frame + MARGIN, last) + 1) if f not in there), None)
        if lacking is None:
            return
        if not self.running:
            self._start_if_of_use(lacking)
        elif time.monotonic() - self.began > RESTART_SECONDS and lacking == frame:
            front = next((f for f in range(self.start, last + 1) if f not in there), last)
            if not front <= frame <= front + MARGIN:
                self._start(frame)

    def _start_if_of_use(self, frame: int) -> None:
        if frame != self.useless and not self.error and time.monotonic() - self.began > RESTART_SECONDS:
            self._start(frame)

    def _start(self, frame: int) -> None:
        arguments = ["decode", str(self.wanted.video), "--size", str(self.wanted.size)]
        arguments += ["--start", str(frame), "--every", str(self.wanted.every)]
        self.start, self.began, self.read_as = frame, time.monotonic(), self.reader.identity
        try:
            self.job = jobs.start_quiet(self.key, arguments, self._finish, self._hear)
            self.error = ""
        except BadInputError as error:
            self.error = str(error)

    def _hear(self, message: Message) -> None:
        if message.type == "result" and message.data is not None:
            data = message.data
            self.rate = parse_rate(data["rate"])
            self.store = Store(Path(message.path), int(data["width"]), int(data["height"]), int(data["frames"]))
            self.reader.open(self.store)
        elif message.type == "progress":
            self.reader.look()
        elif message.type == "error":
            self.error = message.text

    def _finish(self, messages: list[Message]) -> None:
        made = messages[-1].data if messages else None
        self.useless = self.start if made and not made.get("decoded") else None
        self.reader.look()

    def close(self) -> None:
        """Stop decoding and reading, and give the textures back."""
        jobs.stop_quiet(self.key)
        self.reader.close()
        self.textures.clear()


_feeds: dict[Wanted, Feed] = {}


def find(wanted: Wanted) -> Feed | None:
    """The feed of a video, if it is there: for drawing."""
    return _feeds.get(wanted)


def feed(wanted: Wanted) -> Feed:
    """The feed of a video, made where there is none: for the timer."""
    found = _feeds.get(wanted)
    if found is None:
        found = _feeds[wanted] = Feed(wanted, FrameReader(wanted.video))
    found.taken = time.monotonic()
    return found


def close_unused(seconds: float) -> None:
    """Close the feeds that nobody has asked for within the last `seconds`."""
    for wanted, found in list(_feeds.items()):
        if time.monotonic() - found.taken > seconds:
            found.close()
            del _feeds[wanted]


def close_all() -> None:
    """Close every feed: what is shown starts anew."""
    for found in _feeds.values():
        found.close()
    _feeds.clear()


def version() -> int:
    """Grows with everything that any feed's reader takes in."""
    return sum(found.reader.version for found in _feeds.values())


def state() -> tuple[Any, ...]:
    """What the panel tells of the feeds besides their frames; another one when there is news."""
    return tuple((found.wanted, found.error, found.missing, found.running) for found in _feeds.values())


def busy() -> bool:
    """Whether frames are being decoded, or a feed has just been made."""
    return any(found.running or (found.store is None and not found.error) for found in _feeds.values())
