# SPDX-License-Identifier: GPL-3.0-or-later
"""What an alignment says in words: the shift of a reconstruction, and the stretches that are not in their place.

Where the path of the alignment goes on frame by frame, nothing is wrong but, perhaps, the shift. A step in its shift
is named by what caused it: a held picture, a jump, a stretch played backwards or at another speed.

What is found depends on how much moves and on how alike the two videos are. In a copy, whatever its colours, and with
a camera or a subject that moves visibly from frame to frame: a single repeated or dropped frame; a stretch played
twice, backwards or at another speed from about 6 frames on; a change of speed of 4 % from three lost or gained frames
on, before which these are named one by one. Ends are within a frame, those of a speed within three. In a rough
stand-in for the scene it takes a second or more. Where hardly anything moves for the length of a fault it is not
found, since nothing shows it; frames in another order, and faults that undo each other within a few frames, are not
either. Shots of both videos that differ in length are told by their cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .align import BACKWARDS, BLACK, REFINED, REPEATED, Alignment, largest_change
from .records import Fault

_MOVED: Final = 4  # grey levels; smallest change of a cell that counts as the reference having moved
_HELD_BACK: Final = 12  # grey levels; least movement that a held picture leaves out, all its steps together
_NOT_BLACK: Final = 48  # grey levels; brightest cell of a picture that is certainly not black
_FAINT = 6  # a held picture that an encoder improves changes by less than this part of what was to be seen
_LONG = 12  # frames of a held picture that is told where the content decides nothing else
_LULL = 2  # frames
_SETTLED = 3  # frames in step that a shift at the start is read from
_SPEED_STEPS, _LONGEST_STEP = 3, 3  # as many steps of the shift, of at most so many frames, are another speed
_SAME_SPEED, _OTHER_SPEED = 0.1, 0.02  # relative differences
_PARKED = 0.2  # a speed below it is none
_MANY = 6  # faults, from which on it is asked whether the whole is at another speed
_STRAIGHT = 1.5  # frames that a steady speed may stray from a line


@dataclass(frozen=True)
class Grid:
    """Places at which both videos are compared, as frames of each."""

    reference: NDArray[np.int64]
    reconstruction: NDArray[np.int64]
    frames_per_place: float
    """Frames of the reference from one place to the next."""

    def shown(self, place: int) -> int:
        """Frame of the reference at a place."""
        return int(self.reference[min(max(place, 0), len(self.reference) - 1)])

    def own(self, place: int) -> int:
        """Frame of the reconstruction at a place."""
        return int(self.reconstruction[min(max(place, 0), len(self.reconstruction) - 1)])

    def frames(self, places: int) -> int:
        """A distance in frames of the reference."""
        return round(places * self.frames_per_place)


def held_stretches(
    reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], alignment: Alignment
) -> list[tuple[int, int]]:
    """Inclusive stretches in which the reconstruction repeats one picture while the reference moves.

    Signatures (n, h, w) and (m, h, w), place by place. A step counts when the reference moves both at its time and at
    the time that the reconstruction shows.
    """
    count = min(len(reference), len(reconstruction)) - 1
    change, given = largest_change(reconstruction)[:count], largest_change(reference)
    at_time = given[:count]
    if not alignment.reason and count > 0:
        # the step from place p to p + 1, told by what is shown at the last place before that says something
        latest = np.searchsorted(alignment.frames, np.arange(count), side="right") - 1
        there = alignment.shown[latest] + np.arange(count) - alignment.frames[latest]
        inside = (there >= 0) & (there < len(given))
        there_moves = given[there.clip(0, len(given) - 1)]
        at_time = np.where(inside, np.minimum(at_time, there_moves), at_time)
    moves = at_time >= _MOVED
    # a dim or blurred reconstruction changes less everywhere: only a step that should have been seen counts
    followed = moves & (change > REPEATED)
    share = float(np.median(change[followed] / at_time[followed])) if followed.any() else 1.0
    expected = at_time * min(1.0, share)
    repeats = (change <= REPEATED) | ((change <= REFINED) & (change <= expected / _FAINT))
    missed = repeats & (expected >= _MOVED)
    # repeats beside a missed step belong to the same hold even where the reference slows down for a moment
    padded = np.pad(missed, _LULL)
    beside = np.any([padded[lag : lag + len(missed)] for lag in range(2 * _LULL + 1)], axis=0)
    found = runs(repeats & beside)
    return [(a, b + 1) for a, b in found if expected[a : b + 1][missed[a : b + 1]].sum() >= _HELD_BACK]


def black_stretches(reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Inclusive stretches in which the reconstruction is black and the reference is not; signatures (n, h, w)."""
    count = min(len(reference), len(reconstruction))
    dark = reconstruction[:count].max(axis=(1, 2)) <= BLACK
    return runs(dark & (reference[:count].max(axis=(1, 2)) >= _NOT_BLACK))


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end) - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]


@dataclass(frozen=True)
class _Step:
    """A change of the shift between two places of the reconstruction that follow each other in the alignment."""

    before: int
    after: int
    shown_before: int
    shown_after: int

    @property
    def later(self) -> int:
        """Places by which what follows is later than what was before."""
        return (self.after - self.before) - (self.shown_after - self.shown_before)


@dataclass(frozen=True)
class _Slope:
    """A stretch whose shift changes steadily: at place p of the reconstruction, base + speed · p is shown."""

    first: int
    last: int
    shown_first: int
    shown_last: int
    speed: float
    base: float
    strays: float
    """Largest distance from the line."""
    usual: float
    """Median distance from the line."""

    @property
    def keeps_a_speed(self) -> bool:
        """Whether it is at another speed on the whole, though pauses of the picture hide it for a while."""
        return abs(self.speed - 1) >= _OTHER_SPEED and self.speed >= _PARKED and self.usual <= 2 * _STRAIGHT

    def goes_on_in(self, other: _Slope) -> bool:
        """Whether another stretch is the same one after a pause of the picture."""
        apart = self.base + self.speed * other.first - other.base - other.speed * other.first
        return abs(self.speed / other.speed - 1) < _SAME_SPEED and abs(apart) <= _LONGEST_STEP


def offset_and_faults(
    reference: NDArray[np.uint8], reconstruction: NDArray[np.uint8], alignment: Alignment, grid: Grid
) -> tuple[int | None, str, list[Fault]]:
    """(shift in frames of the reference, why there is none, faults in order) of two aligned videos."""
    held = held_stretches(reference, reconstruction, alignment)
    black = black_stretches(reference, reconstruction)
    held = [stretch for stretch in held if not _within(stretch, black)]
    if alignment.reason:
        # a single repeated frame says nothing beside a reference that it cannot be compared with
        long = [stretch for stretch in held if stretch[1] - stretch[0] + 1 >= _LONG]
        return None, alignment.reason, _told_alone(long, black, grid)
    return _Reading(alignment, held, black, largest_change(reference), grid).read()


def _told_alone(held: list[tuple[int, int]], black: list[tuple[int, int]], grid: Grid) -> list[Fault]:
    """Faults that need no alignment; what of the reference they concern is what lies at the same time."""
    faults = [_frozen(*stretch, (stretch[0], stretch[1]), "", grid) for stretch in _joined(held)]
    faults += [_black(*stretch, (stretch[0], stretch[1]), "", grid) for stretch in black]
    return sorted(faults, key=lambda fault: fault.first)


class _Reading:
    """Goes through one alignment and names what it finds."""

    def __init__(
        self,
        alignment: Alignment,
        held: list[tuple[int, int]],
        black: list[tuple[int, int]],
        steps_of_reference: NDArray[np.int16],
        grid: Grid,
    ) -> None:
        self.frames = [int(value) for value in alignment.frames]
        self.shown = [int(value) for value in alignment.shown]
        self.supported = alignment.supported
        self.held, self.black, self.grid = held, black, grid
        self.steps_of_reference = steps_of_reference
        backwards = alignment.modes == BACKWARDS
        self.reversed = [(a, b) for a, b in runs(backwards) if b - a >= 2]
        steady = np.ones(len(self.frames), np.bool_)
        for a, b in self.reversed:
            steady[a : b + 1] = False
        self.steady = [int(index) for index in np.flatnonzero(steady)]
        """Indices of what does not play backwards."""

    def read(self) -> tuple[int | None, str, list[Fault]]:
        """(shift in frames of the reference, why there is none, faults in order)."""
        faults = [self._reversed(a, b) for a, b in self.reversed]
        start = self._start()
        if start is None:
            faults += _told_alone([], self.black, self.grid)
            return None, "it plays backwards", sorted(faults, key=lambda fault: fault.first)
        slopes, steps = self._speeds(self._steps())
        faults += [self._speed(slope) for slope in slopes]
        if any(slope.first <= self.frames[start] for slope in slopes):
            start = self.steady[0]
        # before the start nothing is told but a picture that is held there
        steps = [
            step for step in steps if step.before >= self.frames[start] or 0 < step.later < step.after - step.before
        ]
        offset = self.grid.frames(self.frames[start] - self.shown[start])
        spans = [(slope.first - _LULL, slope.last + _LULL) for slope in slopes]
        spans += [(self.frames[a], self.frames[b]) for a, b in self.reversed]
        for step in steps:
            faults += self._name(step)
        held = [
            stretch
            for stretch in self.held
            if not _within(stretch, spans)
            and not any(fault.kind == "repeated" and self._is(stretch, fault) for fault in faults)
        ]
        faults += [
            _frozen(*stretch, self._missed(stretch), self._then(stretch), self.grid) for stretch in _joined(held)
        ]
        faults += [_black(*stretch, self._missed(stretch), self._then(stretch), self.grid) for stretch in self.black]
        return offset, "", sorted(faults, key=lambda fault: (fault.first, fault.last))

    def _start(self) -> int | None:
        """Index from which the first shift holds for some frames."""
        frames, shown = self.frames, self.shown
        for place, index in enumerate(self.steady):
            following = self.steady[place : place + _SETTLED]
            in_step = all(frames[b] - frames[a] == shown[b] - shown[a] for a, b in pairwise(following))
            if in_step and len(following) == _SETTLED and self.supported[following].any():
                return index
        supported = [index for index in self.steady if self.supported[index]]
        return supported[0] if len(supported) >= _SETTLED else None

    def _steps(self) -> list[_Step]:
        pairs = pairwise(self.steady)
        steps = [_Step(self.frames[a], self.frames[b], self.shown[a], self.shown[b]) for a, b in pairs]
        return [step for step in steps if step.later]

    def _speeds(self, steps: list[_Step]) -> tuple[list[_Slope], list[_Step]]:
        """Stretches at another speed, and the steps that belong to none."""
        groups: list[list[_Step]] = []
        for step in steps:
            group = groups[-1] if groups else []
            same = bool(group) and (group[-1].later > 0) == (step.later > 0)
            if same and _small(group[-1]) and _small(step) and self._near(group, step):
                group.append(step)
            else:
                groups.append([step])
        slopes: list[_Slope] = []
        for group in groups:
            slope = self._slope(group) if len(group) >= _SPEED_STEPS else None
            if slope is not None and slopes and slopes[-1].goes_on_in(slope):
                slope = self._line(slopes.pop().first, slope.last)
            if slope is not None:
                slopes.append(slope)
        left = [
            [step for step in group if not any(s.first <= step.before and step.after <= s.last for s in slopes)]
            for group in groups
        ]
        others = [step for group in left for step in _merged(group)]
        if len(slopes) + len(others) >= _MANY:
            whole = self._line(self.frames[0], self.frames[-1])
            if whole.keeps_a_speed:
                return [whole], []
        return slopes, others

    def _near(self, group: list[_Step], step: _Step) -> bool:
        """Whether a step follows as the ones of its group do."""
        distance = step.after - group[-1].after
        known = [b.after - a.after for a, b in pairwise(group)]
        usual = sorted(known)[len(known) // 2] if known else len(self.frames) // _SPEED_STEPS
        return distance <= max(3 * usual, 16)

    def _slope(self, group: list[_Step]) -> _Slope | None:
        """The line on which the steps of a group lie; None where they lie on none."""
        apart = sorted(b.after - a.after for a, b in pairwise(group))[(len(group) - 1) // 2]
        first, last = group[0].before, group[-1].after
        # what lies before the first and after the last step belongs to it where it is no longer than between two
        first = self.frames[0] if first - self.frames[0] <= 1.5 * apart + 1 else first
        last = self.frames[-1] if self.frames[-1] - last <= 1.5 * apart + 1 else last
        line = self._line(first, last)
        return line if line.speed >= _PARKED and line.strays <= _STRAIGHT + line.speed else None

    def _line(self, first: int, last: int) -> _Slope:
        chosen = [i for i in self.steady if first <= self.frames[i] <= last]
        x, y = np.array([self.frames[i] for i in chosen]), np.array([self.shown[i] for i in chosen])
        speed, base = (float(value) for value in np.polyfit(x, y, 1))
        apart = abs(y - base - speed * x)
        return _Slope(first, last, int(y[0]), int(y[-1]), speed, base, float(apart.max()), float(np.median(apart)))

    def _speed(self, slope: _Slope) -> Fault:
        own = self.grid.own(slope.first), self.grid.own(slope.last)
        shown = self.grid.shown(slope.shown_first), self.grid.shown(slope.shown_last)
        text = f"{_frames(*own)} {_verb(own, 'play')} {slope.speed:.3g} times as fast as the reference"
        text += f", showing its {_frames(*shown)}{self._lies(slope.last)}"
        return _fault("speed", own, shown, text, speed=round(slope.speed, 4))

    def _name(self, step: _Step) -> list[Fault]:
        """Faults that one step of the shift is."""
        grid, between = self.grid, (step.before + 1, step.after - 1)
        then = self._told(step.after, step.after - step.shown_after)
        if any(self.frames[a] > step.before and self.frames[b] < step.after for a, b in self.reversed):
            return []  # told by the stretch that plays backwards
        if any(first <= between[1] and last >= between[0] for first, last in self.black):
            return []  # told by the black stretch
        if step.later < 0:
            own = grid.own(step.before), grid.own(step.after)
            lost = grid.shown(step.shown_after + step.later), grid.shown(step.shown_after - 1)
            text = f"the reference's {_frames(*lost)} are missing between {_frames(*own)}{then}"
            return [_fault("dropped", own, lost, text)]
        if between[0] <= between[1]:
            left_out = self.steps_of_reference[max(step.shown_before, 0) : max(step.shown_after - 1, 0)]
            if left_out.max(initial=0) >= _MOVED:
                return []  # a held picture, told by itself
            own, shown = (
                (grid.own(between[0]), grid.own(step.before + step.later)),
                (grid.shown(step.shown_before),) * 2,
            )
            text = f"{_frames(*own)} {_verb(own, 'show')} the reference's {_frames(*shown)} again{then}"
            return [_fault("repeated", own, shown, text)]
        strange = self._strange(step)
        if strange is not None:
            own = grid.own(strange[0]), grid.own(strange[1])
            text = f"{_frames(*own)} {_verb(own, 'show')} nothing of the reference{then}"
            return [_fault("inserted", own, (None, None), text)]
        places = min(step.later, self.frames[-1] - step.after + 1)
        own = grid.own(step.after), grid.own(step.after + places - 1)
        shown = grid.shown(step.shown_after), grid.shown(step.shown_after + places - 1)
        text = f"{_frames(*own)} {_verb(own, 'show')} the reference's {_frames(*shown)} again{then}"
        return [_fault("repeated", own, shown, text)]

    def _strange(self, step: _Step) -> tuple[int, int] | None:
        """Places around a step back that show nothing of the reference, where they explain it."""
        index = self.frames.index(step.after)
        around = [(a, b) for a, b in runs(~self.supported) if a <= index and index - 1 <= b]
        if not around or around[0][1] - around[0][0] + 1 < step.later / 2:
            return None
        last = self.frames[around[0][1]]
        return last - step.later + 1, last

    def _reversed(self, a: int, b: int) -> Fault:
        own = self.grid.own(self.frames[a]), self.grid.own(self.frames[b])
        shown = self.grid.shown(self.shown[b]), self.grid.shown(self.shown[a])
        text = f"{_frames(*own)} {_verb(own, 'play')} the reference's {_frames(*shown)} backwards"
        text += self._lies(self.frames[b] + 1)
        return _fault("reversed", own, shown, text)

    def _shift(self, place: int) -> int | None:
        """Shift of what is shown from a place on; None where nothing follows."""
        following = [i for i in self.steady if self.frames[i] >= place]
        return self.frames[following[0]] - self.shown[following[0]] if following else None

    def _lies(self, place: int) -> str:
        """Where what follows lies, as the end of a sentence."""
        return self._told(place, self._shift(place))

    def _told(self, place: int, shift: int | None) -> str:
        if shift is None or place >= self.frames[-1]:
            return ""
        frames = self.grid.frames(shift)
        if frames == 0:
            return "; what follows is on time"
        return f"; what follows lies {_count(abs(frames))} {'late' if frames > 0 else 'early'}"

    def _then(self, stretch: tuple[int, int]) -> str:
        return self._lies(stretch[1] + 1)

    def _missed(self, stretch: tuple[int, int]) -> tuple[int, int]:
        """Places of the reference that a stretch would show if it went on."""
        latest = max((i for i in self.steady if self.frames[i] <= stretch[0]), default=self.steady[0])
        shift = self.frames[latest] - self.shown[latest]
        return stretch[0] - shift, stretch[1] - shift

    def _is(self, stretch: tuple[int, int], fault: Fault) -> bool:
        """Whether a held picture is what was named as repeated frames."""
        return self.grid.own(stretch[0]) <= fault.first <= self.grid.own(stretch[1])


def _merged(group: list[_Step]) -> list[_Step]:
    """Steps of one direction; what a path took over single frames in a row is one step."""
    merged = group[:1]
    for step in group[1:]:
        last = merged[-1]
        if step.before == last.after and last.after - last.before == 1 == step.after - step.before:
            merged[-1] = _Step(last.before, last.after, last.shown_before, step.shown_after - 1)
        else:
            merged.append(step)
    return merged


def _small(step: _Step) -> bool:
    """Whether a step may be one of a steady speed; over a pause of the picture it is as much longer."""
    return abs(step.later) <= max(_LONGEST_STEP, 0.75 * (step.after - step.before))


def _joined(held: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Held pictures with at most one other between them, as one stretch."""
    joined: list[list[tuple[int, int]]] = []
    for stretch in held:
        if joined and stretch[0] - joined[-1][-1][1] <= 2:
            joined[-1].append(stretch)
        else:
            joined.append([stretch])
    return [(group[0][0], group[-1][1]) for group in joined]


def _within(stretch: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(first <= stretch[0] and stretch[1] <= last for first, last in spans)


def _frozen(first: int, last: int, missed: tuple[int, int], then: str, grid: Grid) -> Fault:
    own, shown = (grid.own(first), grid.own(last)), (grid.shown(missed[0]), grid.shown(missed[1]))
    return _fault(
        "frozen", own, shown, f"{_frames(*own)} {_verb(own, 'hold')} one picture while the reference moves{then}"
    )


def _black(first: int, last: int, missed: tuple[int, int], then: str, grid: Grid) -> Fault:
    own, shown = (grid.own(first), grid.own(last)), (grid.shown(missed[0]), grid.shown(missed[1]))
    return _fault("black", own, shown, f"{_frames(*own)} {_verb(own, 'be')} black, the reference is not{then}")


def _fault(
    kind: str, own: tuple[int, int], shown: tuple[int | None, int | None], detail: str, speed: float | None = None
) -> Fault:
    return Fault.model_validate(
        {
            "kind": kind, "first": own[0], "last": own[1], "reference_first": shown[0], "reference_last": shown[1],
            "speed": speed, "detail": detail,
        }
    )  # fmt: skip


def _frames(first: int, last: int) -> str:
    return f"frame {first}" if first == last else f"frames {first} to {last}"


def _count(frames: int) -> str:
    return "1 frame" if frames == 1 else f"{frames} frames"


def _verb(frames: tuple[int, int], verb: str) -> str:
    one = frames[0] == frames[1]
    if verb == "be":
        return "is" if one else "are"
    return f"{verb}s" if one else verb
