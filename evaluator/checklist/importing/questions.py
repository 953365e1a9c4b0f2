# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of questions about videos, as 4DCodeBench and others ask them: a question, a yes or no, and when.

A question becomes a check whose statement says what its answer has to be. Questions that lie near each other share a
clip of at most two seconds. Times are in seconds of the video or in its frames, from 0.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from ...protocol.errors import BadInputError
from ...protocol.timeline import Timeline, nearest_frame, parse_rate
from ..records import FRAME_CATEGORIES, SETTINGS, Category, Check, Clip, Entity, Setting
from ..validate import MAX_CLIP_SECONDS, Fault
from .converter import Imported, Request
from .fields import (
    MAX_DEPTH,
    Fields,
    category_of,
    clean,
    documents,
    frame,
    identifier,
    interval,
    listed,
    plain,
    record_or_none,
    seconds,
    settings_of,
)

QUESTIONS: Final = ("questions", "question_set", "qa", "qa_pairs", "items", "checks")
VIDEO: Final = ("video_id", "video", "video_name", "scene_id", "scene", "source_video", "source")
RATE: Final = ("fps", "rate", "frame_rate")
TEXT: Final = ("question", "text", "prompt", "query")
ANSWER: Final = ("answer", "expected_answer", "expected", "ground_truth", "gt", "label")
CATEGORY: Final = ("category", "type", "question_type", "dimension", "aspect", "skill")
SUBJECTS: Final = ("subjects", "entities", "objects", "subject", "entity", "object")
FRAMES: Final = ("frames", "frame_range", "frame_interval")
TIMES: Final = ("time_range", "interval", "span", "times", "temporal_range", "seconds")
START: Final = ("start_time", "start_seconds", "start_sec", "start_s", "start")
END: Final = ("end_time", "end_seconds", "end_sec", "end_s", "end")
TIME: Final = ("time", "timestamp", "at", "time_seconds")
HIGHEST_RATE: Final = 1000
_YES: Final = frozenset({"yes", "true", "y", "1"})
_NO: Final = frozenset({"no", "false", "n", "0"})
_TYPES: Final[dict[str, Category]] = {
    "existence": "object_presence", "count": "object_presence", "counting": "object_presence",
    "attribute": "object_appearance", "attributes": "object_appearance", "color": "object_appearance",
    "colour": "object_appearance", "material": "object_appearance", "shape": "object_appearance",
    "layout": "spatial_relations", "relation": "spatial_relations", "movement": "subject_motion",
    "trajectory": "subject_motion", "interaction": "action_events", "temporal_order": "action_events",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question with frames of its video, both included."""

    source: Fields
    id: str
    category: Category
    settings: list[Setting]
    first: int
    last: int
    subjects: list[str]
    statement: str


@dataclass
class Video:
    """What is asked of one video; `names` are the ids of the entities that are named in any question."""

    rate: Fraction | None
    asked: list[Asked] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)


def convert(request: Request) -> Imported:
    """See converter.py. Raises BadInputError where a file cannot be read."""
    lost: list[Fault] = []
    videos: dict[str, Video] = {}
    for file, data in documents(request.path):
        count = 0
        for place, one, name, rate in _questions_of(data, file, lost):
            count += 1
            _ask(Fields(one, file, place, lost), name, rate, request, videos)
        if not count:
            lost.append(Fault(file, "(top)", "no question was found in it"))
    clips: list[Clip] = []
    for name, video in videos.items():
        clips += _clips(name, video, request.timelines.get(name))
    return Imported(clips, lost)


def _questions_of(
    data: Any, file: str, lost: list[Fault], place: str = "", video: Any = None, rate: Any = None
) -> Iterator[tuple[str, dict[str, Any], Any, Any]]:
    """(place, question, its video's name and rate as something around it tells them)."""
    if place.count("/") >= MAX_DEPTH:
        lost.append(Fault(file, clean(place), "is nested too deeply; it is not carried over"))
        return
    if isinstance(data, list):
        for index, one in enumerate(data):
            yield from _questions_of(one, file, lost, f"{place}/{index}".strip("/"), video, rate)
        return
    if not isinstance(data, dict):
        lost.append(Fault(file, clean(place) or "(top)", "is no object; it is not carried over"))
        return
    names = {plain(name): name for name in data}
    inner = next((names[name] for name in ("videos", *QUESTIONS) if name in names), None)
    if any(name in names for name in TEXT) and not isinstance(
        data[names[next(n for n in TEXT if n in names)]], list | dict
    ):
        yield place, data, video, rate
    elif inner is not None and isinstance(data[inner], list | dict):
        around = Fields(data, file, place, lost)
        around.take(plain(inner))
        own = around.take(*VIDEO, "id", "name") if plain(inner) != "videos" else None
        own_rate = around.take(*RATE)
        around.finish()
        yield from _questions_of(
            data[inner], file, lost, f"{place}/{inner}".strip("/"), video if own is None else own, own_rate or rate
        )
    elif data and all(isinstance(value, list | dict) for value in data.values()):  # by videos
        for key, value in data.items():
            yield from _questions_of(value, file, lost, f"{place}/{key}".strip("/"), video or key, rate)
    else:
        lost.append(
            Fault(file, clean(place) or "(top)", "holds neither questions nor a question; it is not carried over")
        )


def _ask(source: Fields, name: Any, rate: Any, request: Request, videos: dict[str, Video]) -> None:
    """Put a question to its video, or report why not."""
    told = source.take(*VIDEO)
    name = identifier(told if told is not None else name, {}, "")
    if not name:
        source.report("the question is left out: it names no video")
        return
    timeline = request.timelines.get(name)
    own_rate = source.take(*RATE)
    video = videos.setdefault(name, Video(timeline.rate if timeline is not None else None))
    if video.rate is None:
        video.rate = _rate(own_rate if own_rate is not None else rate)
    word = source.take(*CATEGORY)
    categories: dict[str, Category] = {**_TYPES, **request.categories}
    category = category_of(word, categories)
    if category is None:
        source.report(
            f"the question is left out: its kind {str(word)[:80]!r} is no category of ours; say which with --category"
        )
        return
    text, answer = source.take(*TEXT), _yes_or_no(given := source.take(*ANSWER))
    if answer is None:
        source.report(f"the question is left out: its answer {str(given)[:80]!r} is neither yes nor no")
        return
    span = _span(source, video.rate, timeline)
    if isinstance(span, str):
        source.report(f"the question is left out: {span}")
        return
    first, last = span
    if category in FRAME_CATEGORIES and first != last:
        source.report(f"{category} is checked at one frame: of the frames {first} to {last} the middle one is taken")
        first = last = (first + last) // 2
    if category not in FRAME_CATEGORIES and first == last:
        source.report(f"the question is left out: {category} is checked over an interval, and it names one frame")
        return
    words = " ".join(str(text).split())
    own = identifier(source.take("id", "question_id", "qid", "key"), video.taken, f"q{len(video.asked) + 1:03d}")
    statement = f'The answer to "{words}" is {"yes" if answer else "no"}.'
    settings, subjects = _settings(source, category), _subjects(source, video)
    video.asked.append(Asked(source, own, category, settings, first, last, subjects, statement))
    source.finish()


def _rate(value: Any) -> Fraction | None:
    try:
        rate = parse_rate(str(value)) if not isinstance(value, bool) else Fraction(0)
    except BadInputError:
        return None
    return rate if 0 < rate <= HIGHEST_RATE else None


def _yes_or_no(answer: Any) -> bool | None:
    word = re.sub(r"[^a-z0-9]", "", str(answer).lower())
    return True if word in _YES else False if word in _NO else None


def _settings(source: Fields, category: Category) -> list[Setting]:
    settings, foreign = settings_of(source.take("settings", "setting"))
    for other in foreign:
        source.report(f"the setting {other[:80]!r} is none of ours", "settings")
    settings = settings or list(SETTINGS)
    return [one for one in settings if not (category == "object_appearance" and one == "proxy")]


def _subjects(source: Fields, video: Video) -> list[str]:
    found = []
    for word in listed(source.take(*SUBJECTS)):
        label = str(word.get("name", word.get("id")) if isinstance(word, dict) else word)[:200]
        own = video.names.get(plain(label))
        if own is None:
            own = video.names[plain(label)] = identifier(label, video.ids, "subject")
            video.labels[own] = label
        found += [own] if own not in found else []
    return found


def _span(source: Fields, rate: Fraction | None, timeline: Timeline | None) -> tuple[int, int] | str:
    """First and last frame of the video, or why they are not known."""
    told = source.take(*FRAMES)
    span = interval(told)
    one = frame(source.take("frame", "frame_index"))
    if span is None:
        one = one if one is not None else frame(told)
        start, end = frame(source.take("start_frame")), frame(source.take("end_frame"))
        if start is not None:
            span = (start, start if end is None else end)
        elif one is not None:
            span = (one, one)
    if span is None:
        found = _seconds(source)
        if found is None:
            if timeline is None or timeline.duration > MAX_CLIP_SECONDS:
                return "it names no time, and a check needs a frame or an interval"
            span = (0, timeline.frames - 1)
        elif rate is None:
            return "its time is in seconds, and the video's rate is not known; give the videos with --videos"
        else:
            first = nearest_frame(found[0], rate)
            span = (first, first if found[0] == found[1] else max(first, nearest_frame(found[1], rate) - 1))
    first, last = span
    if timeline is not None:
        if first == last == timeline.frames:  # the end of the video, which is the end of its last frame
            first = last = timeline.frames - 1
        if last >= timeline.frames:
            return f"its frames {first} to {last} lie beyond the video's last one, {timeline.frames - 1}"
    if not 0 <= first <= last:
        return f"its frames {first} to {last} are no interval"
    longest = _longest(rate)
    if longest is None and last > first:
        return "the video's rate is not known, and a clip lasts two seconds at most; give the videos with --videos"
    if longest is not None and last - first + 1 > longest:
        return f"its frames {first} to {last} last longer than a clip of {MAX_CLIP_SECONDS} s"
    return first, last


def _seconds(source: Fields) -> tuple[Fraction, Fraction] | None:
    told = source.take(*TIMES)
    if isinstance(told, dict):
        told = [told.get("start"), told.get("end")]
    if isinstance(told, list) and len(told) == 2:
        first, last = seconds(told[0]), seconds(told[1])
    else:
        one = told if told is not None and not isinstance(told, list) else source.take(*TIME)
        first, last = seconds(source.take(*START)), seconds(source.take(*END))
        if first is None:
            first = last = seconds(one)
    if first is None:
        return None
    return first, first if last is None else last


def _longest(rate: Fraction | None) -> int | None:
    return None if rate is None else int(MAX_CLIP_SECONDS * rate)


def _clips(name: str, video: Video, timeline: Timeline | None) -> Iterator[Clip]:
    """Clips of two seconds at most, each with the questions that lie within, in the order of time."""
    waiting = deque(sorted(video.asked, key=lambda one: (one.first, one.last)))
    longest = _longest(video.rate) or 1
    number = 0
    while waiting:
        first, inside, later = waiting[0].first, list[Asked](), list[Asked]()
        while waiting and waiting[0].first < first + longest:
            one = waiting.popleft()
            (inside if one.last < first + longest else later).append(one)
        waiting.extendleft(reversed(later))
        number += 1
        clip = _clip(f"{name[:60]}_q{number:03d}", name, first, inside, video)
        if clip is not None:
            yield clip


def _clip(name: str, of: str, first: int, inside: list[Asked], video: Video) -> Clip | None:
    checks = []
    for one in inside:
        start, end = one.first - first, one.last - first
        check = record_or_none(Check, {
            "id": one.id, "category": one.category, "settings": one.settings, "subjects": one.subjects, "start": start,
            "end": end, "evidence_frames": sorted({start, end}), "statement": one.statement,
        }, one.source)  # fmt: skip
        checks += [check] if check is not None else []
    source = inside[0].source
    used = {subject for check in checks for subject in check.subjects}
    entities = [
        record_or_none(Entity, {"id": own, "name": label, "description": "", "first_frame": 0}, source)
        for own, label in video.labels.items()
        if own in used
    ]
    values = {
        "id": name, "video": of, "frame_offset": first, "frame_count": max(one.last for one in inside) - first + 1,
        "shot_transitions": [], "entities": [entity for entity in entities if entity is not None], "checks": checks,
    }  # fmt: skip
    return record_or_none(Clip, values, source) if checks else None
