# SPDX-License-Identifier: GPL-3.0-or-later
"""Released CineRecon annotations, with the fields that the paper's appendix A describes.

The paper names what is stored and not how it is spelt, so each field is looked for under several spellings; what is
found under none of them is reported. Frames are local, from 0, and intervals include both ends, as ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ..records import SETTINGS, Check, Clip, Entity
from ..validate import Fault
from .converter import Imported, Request
from .fields import (
    MAX_DEPTH,
    Fields,
    category_of,
    clean,
    dimension_of,
    documents,
    frame,
    identifier,
    interval,
    listed,
    plain,
    record_or_none,
    settings_of,
)

CLIPS: Final = ("clips", "checkpoints", "annotations", "segments", "data")
CLIP_ID: Final = ("clip_id", "id", "checkpoint_id", "clip", "clip_name", "checkpoint", "cp_id", "name", "uid")
VIDEO: Final = ("video_id", "video", "source_video", "source_video_id", "reference_video", "reference", "video_name")
OFFSET: Final = (
    "frame_offset", "source_frame_offset", "source_offset", "offset", "source_start_frame", "source_start",
    "start_frame_in_source", "clip_start_frame",
)  # fmt: skip
COUNT: Final = ("frame_count", "num_frames", "n_frames", "frames", "length_frames", "total_frames")
SOURCE_FRAMES: Final = ("source_frames", "source_frame_range", "source_range", "source_interval")
LOCAL_FRAMES: Final = ("local_frames", "local_frame_range", "local_range", "frame_range")
LAST: Final = ("source_end_frame", "source_end", "end_frame_in_source", "clip_end_frame")
CUTS: Final = ("shot_transitions", "shot_cuts", "transitions", "cuts", "shot_changes", "shot_boundaries")
ENTITIES: Final = ("entities", "entity_table", "subjects", "subject_table", "entity_list")
CHECKS: Final = ("checks", "checklist", "check_items", "items", "requirements", "statements", "records")

NAME: Final = ("name", "label", "display_name", "title")
DESCRIPTION: Final = (
    "description", "identification_description", "identifying_description", "identification", "desc",
    "short_description",
)  # fmt: skip
FIRST: Final = (
    "first_frame", "first_appearance_frame", "first_appearance", "first_visible_frame", "appears_at", "first_seen",
)  # fmt: skip
MEMBERS: Final = ("members", "group_members", "includes", "scope", "member_ids")

CATEGORY: Final = ("category", "check_category", "type", "class")
SETTING: Final = (
    "settings", "applicable_settings", "representation_settings", "setting", "representations", "applies_to", "levels",
)  # fmt: skip
SUBJECTS: Final = (
    "subjects", "subject_ids", "subject_identifiers", "referenced_subjects", "subject", "subject_id", "entities",
    "entity_ids", "entity_id",
)  # fmt: skip
START: Final = ("start", "start_frame", "local_start", "local_start_frame", "begin", "from")
END: Final = ("end", "end_frame", "local_end", "local_end_frame", "stop", "to")
RANGE: Final = ("interval", "frame_range", "local_range", "temporal_range", "local_temporal_range", "range", "frames")
FRAME: Final = ("frame", "local_frame", "frame_index", "at")
EVIDENCE: Final = ("evidence_frames", "evidence", "evidence_frame", "evidence_frame_indices")
SAMPLES: Final = ("sample_frames", "sampled_frames", "samples", "sample_frame_indices")
STATEMENT: Final = ("statement", "requirement", "text", "assertion", "claim", "description", "check")


def convert(request: Request) -> Imported:
    """See converter.py. Raises BadInputError where a file cannot be read or no file holds a clip."""
    clips: list[Clip] = []
    lost: list[Fault] = []
    taken: dict[str, dict[str, int]] = {}
    for file, data in documents(request.path):
        before = len(clips)
        for place, one, video in _clips_of(data, file, lost):
            clip = _clip(Fields(one, file, place, lost), video, request, taken)
            if clip is not None:
                clips.append(clip)
        if len(clips) == before:
            lost.append(Fault(file, "(top)", "no clip was found in it"))
    return Imported(clips, lost)


def _clips_of(data: Any, file: str, lost: list[Fault], place: str = "", video: Any = None) -> Iterator[
    tuple[str, dict[str, Any], Any]
]:  # fmt: skip
    """(place, clip, the video that something around it names): out of a clip, a list, or a file of a video or all."""
    if place.count("/") >= MAX_DEPTH:
        lost.append(Fault(file, clean(place), "is nested too deeply; it is not carried over"))
        return
    if isinstance(data, list):
        for index, one in enumerate(data):
            if isinstance(one, dict):
                yield from _clips_of(one, file, lost, f"{place}/{index}".strip("/"), video)
            else:
                lost.append(Fault(file, clean(f"{place}/{index}").strip("/"), "is no object; it is not carried over"))
        return
    if not isinstance(data, dict):
        lost.append(Fault(file, clean(place) or "(top)", "is no object; it is not carried over"))
        return
    names = {plain(name): name for name in data}
    if any(name in names for name in CHECKS):
        yield place, data, video
        return
    known = [names[name] for name in ("videos", *CLIPS) if name in names]
    inner = next((name for name in known if isinstance(data[name], list | dict)), None)
    if inner is not None:
        around = Fields(data, file, place, lost)
        around.take(plain(inner))
        own = around.take(*VIDEO, "id", "name") if plain(inner) != "videos" else None
        around.finish()
        yield from _clips_of(data[inner], file, lost, f"{place}/{inner}".strip("/"), own if own is not None else video)
    elif data and all(isinstance(value, list | dict) for value in data.values()):  # by ids of videos or clips
        for key, value in data.items():
            where = f"{place}/{key}".strip("/")
            is_clip = isinstance(value, dict) and any(plain(name) in CHECKS for name in value)
            yield from _clips_of(
                {"id": key, **value} if is_clip else value, file, lost, where, video if is_clip else key
            )
    else:
        lost.append(Fault(file, clean(place) or "(top)", "holds neither clips nor checks; it is not carried over"))


def _clip(source: Fields, video: Any, request: Request, taken: dict[str, dict[str, int]]) -> Clip | None:
    own_video = source.take(*VIDEO)
    video = identifier(own_video if own_video is not None else video, {}, "")
    if not video:
        source.report("the clip is left out: it names no video")
        return None
    told = source.take(*CLIP_ID)
    name = identifier(told, taken.setdefault(video, {}), "clip")
    if told is not None and name != str(told):
        source.report(f"its id {str(told)[:80]!r} became {name!r}")
    offset, count = _place(source)
    if offset is None or count is None:
        source.report("the clip is left out: its frame offset and its number of frames are not both there")
        return None
    cuts = [frame(cut) for cut in listed(source.take(*CUTS))]
    entities, ids = _entities(source)
    checks = _checks(source, request, ids)
    values = {
        "id": name, "video": video, "frame_offset": offset, "frame_count": count,
        "shot_transitions": [cut for cut in cuts if cut is not None], "entities": entities, "checks": checks,
    }  # fmt: skip
    if None in cuts:
        source.report("a shot transition that is no frame number is left out", "shot_transitions")
    source.take("format", "schema", "schema_version", "version")
    source.finish()
    return record_or_none(Clip, values, source)


def _place(source: Fields) -> tuple[int | None, int | None]:
    """Offset in the video and number of frames, from whichever of the ways in which they can be told is there."""
    whole, local = interval(source.take(*SOURCE_FRAMES)), interval(source.take(*LOCAL_FRAMES))
    offset, count, last = frame(source.take(*OFFSET)), frame(source.take(*COUNT)), frame(source.take(*LAST))
    if offset is None and whole is not None:
        offset = whole[0]
    counts = [
        count,
        None if whole is None else whole[1] - whole[0] + 1,
        None if local is None else local[1] - local[0] + 1,
        None if last is None or offset is None else last - offset + 1,
    ]
    told = [one for one in counts if one is not None]
    if len(set(told)) > 1:
        source.report(
            f"it tells its number of frames in several ways ({', '.join(map(str, told))}); {told[0]} is taken"
        )
    if local is not None and local[0] != 0:
        source.report(f"its local frames begin with {local[0]} and not with 0")
    return offset, told[0] if told else None


def _entities(source: Fields) -> tuple[list[Entity], dict[str, str]]:
    """The entity table, and our id for each id and name of the source."""
    table = source.take(*ENTITIES)
    if isinstance(table, dict):
        table = {key: {"description": one} if isinstance(one, str) else one for key, one in table.items()}
    found: list[tuple[Fields, dict[str, Any], list[Any]]] = []
    ids: dict[str, str] = {}
    taken: dict[str, int] = {}
    for index, one in enumerate(source.rows(table, "entities")):
        entity = Fields(one, source.file, source.below("entities", index), source.lost)
        told, name = entity.take("id", "entity_id", "subject_id", "key"), entity.take(*NAME)
        own = identifier(told if told is not None else name, taken, f"entity_{index + 1}")
        if told is not None and own != str(told):
            entity.report(f"its id {str(told)[:80]!r} became {own!r}")
        for word in (told, name):
            if isinstance(word, str | int):
                ids.setdefault(plain(str(word)), own)
        first = frame(entity.take(*FIRST))
        if first is None:
            entity.report("the frame at which it first appears is not there; 0 is taken")
        values = {
            "id": own, "name": str(name if name is not None else told if told is not None else own),
            "description": str(entity.take(*DESCRIPTION) or ""), "first_frame": first or 0,
        }  # fmt: skip
        found.append((entity, values, listed(entity.take(*MEMBERS))))
        entity.finish()
    made = []
    for entity, values, members in found:
        record = record_or_none(Entity, {**values, "members": _known(members, ids, entity, "members")}, entity)
        made += [record] if record is not None else []
    return made, ids


def _known(words: list[Any], ids: dict[str, str], source: Fields, name: str) -> list[str]:
    """Our ids of what is named; what is not in the entity table is reported."""
    known = []
    for word in words:
        if isinstance(word, dict):
            word = word.get("id", word.get("name"))
        own = ids.get(plain(str(word)))
        if own is None:
            source.report(f"{str(word)[:80]!r} is not in the entity table; it is left out of {name}", name)
        elif own not in known:
            known.append(own)
    return known


def _checks(source: Fields, request: Request, ids: dict[str, str]) -> list[Check]:
    """The checks; those of a checklist for each setting that are the same are one check with these settings."""
    table = source.take(*CHECKS)
    rows: list[tuple[str, dict[str, Any]]] = []
    by_setting = isinstance(table, dict) and bool(table) and all(settings_of(name)[0] for name in table)
    if by_setting:
        merged: dict[str, dict[str, Any]] = {}
        for setting, inner in table.items():
            for index, one in enumerate(source.rows(inner, "checks", setting)):
                same = {name: value for name, value in one.items() if plain(name) not in (*SETTING, "id", "check_id")}
                row = merged.setdefault(json.dumps(same, sort_keys=True), {**one, "settings": []})
                row["settings"] = [*row["settings"], *settings_of(setting)[0]]
                if len(row["settings"]) == 1:
                    rows.append((f"{setting}/{index}", row))
    else:
        rows = [(str(index), one) for index, one in enumerate(source.rows(table, "checks"))]
    taken: dict[str, int] = {}
    made = []
    for number, (place, one) in enumerate(rows, start=1):
        check = _check(
            Fields(one, source.file, source.below("checks", place), source.lost), request, ids, taken, number
        )
        made += [check] if check is not None else []
    return made


def _check(source: Fields, request: Request, ids: dict[str, str], taken: dict[str, int], number: int) -> Check | None:
    told = source.take("id", "check_id", "item_id", "uid", "key")
    word = source.take(*CATEGORY)
    category = category_of(word, dict(request.categories))
    if category is None:
        source.report(
            f"the check is left out: its category {str(word)[:80]!r} is none of ours; say which with --category"
        )
        return None
    dimension = source.take("dimension")
    if dimension is not None and plain(str(dimension)).split("_")[0] != dimension_of(category):
        source.report(
            f"its dimension {str(dimension)[:80]!r} is not that of {category}, {dimension_of(category)}", "dimension"
        )
    named = source.take(*SETTING)
    settings, foreign = settings_of(named)
    if named is None:
        settings = [one for one in SETTINGS if not (category == "object_appearance" and one == "proxy")]
        source.report(f"it names no setting; {', '.join(settings)} are taken", "settings")
    for other in foreign:
        source.report(f"the setting {other[:80]!r} is none of ours", "settings")
    start, end = _span(source)
    if start is None or end is None:
        source.report("the check is left out: its frames are not there")
        return None
    frames = {}
    for name, spellings in (("evidence_frames", EVIDENCE), ("sample_frames", SAMPLES)):
        told_frames = [frame(value) for value in listed(source.take(*spellings))]
        if None in told_frames:
            source.report("what is no frame number is left out", name)
        frames[name] = [value for value in told_frames if value is not None]
    values = {
        "id": identifier(told, taken, f"check_{number:03d}"), "category": category, "settings": settings,
        "subjects": _known(listed(source.take(*SUBJECTS)), ids, source, "subjects"), "start": start, "end": end,
        **frames, "statement": source.take(*STATEMENT),
    }  # fmt: skip
    source.finish()
    return record_or_none(Check, values, source)


def _span(source: Fields) -> tuple[int | None, int | None]:
    """First and last local frame of a check, told as two numbers, a range, or one frame."""
    start, end = frame(source.take(*START)), frame(source.take(*END))
    if start is None and end is None:
        told = source.take(*RANGE)
        span = interval(told)
        one = frame(told if not isinstance(told, list) else told[0] if len(told) == 1 else None)
        start, end = span if span is not None else (one, one)
    if start is None and end is None:
        start = end = frame(source.take(*FRAME))
    if end is None:
        end = start
    return start, end
