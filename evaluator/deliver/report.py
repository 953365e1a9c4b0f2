# SPDX-License-Identifier: GPL-3.0-or-later
"""report.md: a package's record as a page for a person, with the contact sheet as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..media.records import Comparison, TimelineCheck
from ..protocol.errors import BadInputError
from ..shots.records import ShotCheck
from .records import Submission

MOST_LINES = 100
"""Of one list; a page for a person names no more."""
MOST_REMARKS = 100_000
"""Characters of what the maker says."""


def report_text(submission: Submission, remarks: str = "") -> str:
    """The page. What it says of report.md and submission.json themselves is nothing: they come after it.

    `remarks` are the maker's own, in Markdown: quoted, to be told apart from the page's.
    """
    sections = [
        ("# Reconstruction of " + escaped(submission.reference.name), _summary(submission)),
        ("## Pictures", _pictures(submission)),
        *([("## What its maker says", _quoted(remarks))] if remarks.strip() else []),
        ("## Verification", _verification(submission)),
        ("## How it was rendered", _table(("setting", "value"), _settings(submission))),
        ("## What the scene needs besides itself", _external(submission)),
        ("## What was not as it should be", _notes(submission)),
        ("## Files", _table(("file", "bytes", "SHA-256"), _files(submission))),
        ("## Made with", _table(("", "version"), _versions(submission))),
    ]
    return "\n".join(f"{heading}\n\n{text}\n" for heading, text in sections)


def check_remarks(remarks: str) -> None:
    """Raise BadInputError where the maker's remarks are too long, or hold what no text file can."""
    if len(remarks) > MOST_REMARKS:
        raise BadInputError(f"the maker's report has {len(remarks):,} characters; at most {MOST_REMARKS:,} are taken")
    if "\0" in remarks or any("\ud800" <= letter <= "\udfff" for letter in remarks):
        raise BadInputError("the maker's report is no text: it holds a zero byte, or half of a character")


def figures(submission: Submission) -> list[tuple[str, str]]:
    """(what it is, how the page writes it) of each figure that has to stand in report.md."""
    reference, shown = submission.reference, submission.rendered
    found = [
        ("the reference's hash", reference.sha256),
        ("the reference's timeline", str(reference.timeline)),
        ("the reconstruction's timeline", str(submission.reconstruction)),
        ("the comparison's timeline", str(submission.comparison)),
        ("the Blender", shown.blender),
        ("the engine", shown.engine),
        ("the device", shown.device),
        ("the samples", _samples(submission)),
        ("the view transform", shown.view_transform),
        ("the verdict", verdict(submission)),
    ]
    found += [(f"the hash of {file.name}", file.sha256) for file in submission.files if file.name != "report.md"]
    return [(what, escaped(text)) for what, text in found]


def verdict(submission: Submission) -> str:
    """One sentence."""
    if submission.passed:
        return "The reconstruction lies on the reference's timeline, and its cuts are in their places."
    told = [] if submission.timeline_check.passed else ["it does not lie on the reference's timeline"]
    told += [] if submission.shot_check.passed else ["its cuts or fades are not all in their places"]
    return f"NOT AS IT SHOULD BE: {', and '.join(told)}."


def escaped(text: str) -> str:
    """Text of a stranger as Markdown that shows it and does nothing else, on one line."""
    line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#!~&" else letter for letter in line)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(lines: Sequence[str], none: str) -> str:
    shown = [f"- {escaped(line)}" for line in lines[:MOST_LINES]]
    shown += [f"- and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join(shown) or none


def _summary(submission: Submission) -> str:
    reference = submission.reference
    rows = [
        ("reference", str(reference.timeline)),
        ("reconstruction", str(submission.reconstruction)),
        (
            "shots",
            str(len(reference.cuts) + 1)
            + (f", the later ones from {_frames(reference.cuts)} on" if reference.cuts else ""),
        ),
        ("reference SHA-256", reference.sha256),
    ]
    return f"{escaped(verdict(submission))}\n\n{_table(('', ''), rows)}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _pictures(submission: Submission) -> str:
    sheet = submission.contact_sheet
    pairs = ", ".join(str(moment.reference) for moment in sheet.moments)
    return (
        "![Pairs of frames, the reference at the left, the reconstruction at the right](contact_sheet.png)\n\n"
        f"Each pair shows the reference at the left and the reconstruction at the right, at the reference's frames "
        f"{pairs}. The whole of both in step is [comparison.mp4](comparison.mp4): {escaped(str(submission.comparison))}"
    )


def _verification(submission: Submission) -> str:
    head = ("", "reference", "reconstruction", "")
    return _table(head, [*_timeline_rows(submission.timeline_check), *_shot_rows(submission.shot_check)])


def _timeline_rows(check: TimelineCheck) -> Iterator[tuple[str, str, str, str]]:
    for item in check.comparisons:
        yield item.name, item.reference, item.reconstruction, _agrees(item)
    if check.offset_frames is None:
        yield "offset", "", "unknown", f"not decided by the content: {check.offset_reason}"
    else:
        yield "offset", "", f"{check.offset_frames:+d} frames", "agrees" if check.offset_frames == 0 else "DIFFERS"
    for fault in check.faults[:MOST_LINES]:
        given = _stretch(fault.reference_first, fault.reference_last)
        yield fault.kind, given, _stretch(fault.first, fault.last), fault.detail
    if not check.faults:
        yield "faults in the pictures", "", "none", "agrees"


def _shot_rows(check: ShotCheck) -> Iterator[tuple[str, str, str, str]]:
    for cut in check.matches[:MOST_LINES]:
        told = "agrees" if cut.verdict == "found" else cut.verdict.upper()
        told += f" {cut.error_frames:+d}" if cut.error_frames else ""
        yield "cut", _frame(cut.reference), _frame(cut.reconstruction), told
    for match in check.fade_matches[:MOST_LINES]:
        fades = [None if fade is None else (fade.first, fade.last) for fade in (match.reference, match.reconstruction)]
        fade = match.reference or match.reconstruction
        name = "fade" if fade is None else f"fade {fade.kind}, {fade.shade}"
        given, own = ("none" if ends is None else _stretch(*ends) for ends in fades)
        yield name, given, own, "agrees" if match.verdict == "found" else match.verdict.upper()
    if not check.matches and not check.fade_matches:
        yield "cuts", "none", "none", "agrees"


def _settings(submission: Submission) -> Iterator[tuple[str, str]]:
    asked, shown = submission.asked, submission.rendered
    yield "scene", f"scene.blend, the job's copy of {asked.scene}"
    yield "SHA-256 of that scene", asked.scene_sha256
    yield "Blender", shown.blender
    yield "engine", shown.engine + ("" if asked.engine is None else " (chosen for the job)")
    yield "device", f"{shown.device} (asked for: {asked.device})"
    yield "samples", _samples(submission)
    yield "denoiser", shown.denoiser or "none"
    chosen = "" if asked.view_transform is None else " (chosen for the job)"
    yield "view transform", f"{shown.view_transform} on {shown.display_device}{chosen}"
    yield "scale", f"{asked.scale:g} times the reference's size"
    yield "add-ons", ", ".join(asked.addons) or "none"
    frames, seconds = submission.reference.timeline.frames, shown.seconds_per_frame
    yield "time", "unknown" if seconds is None else f"{seconds:.3f} s a frame, {seconds * frames:.1f} s for {frames}"
    memory = shown.peak_memory_bytes
    yield "most memory", "unknown" if memory is None else f"{memory / 2**20:.0f} MiB"


def _samples(submission: Submission) -> str:
    samples = submission.rendered.samples
    if samples is None:
        return "the engine has none"
    return f"{samples} a pixel" + ("" if submission.asked.samples is None else " (chosen for the job)")


def _external(submission: Submission) -> str:
    files = submission.external_files
    if files is None:
        return "Unknown: no Blender was there to open it."
    lines = [f"{it.type} {it.name}: {it.file}{' (missing)' if it.missing else ''}" for it in files]
    return _list(lines, "Nothing: all that it needs is in it.")


def _notes(submission: Submission) -> str:
    return _list(submission.rendered.notes, "Nothing was noted while it was rendered.")


def _files(submission: Submission) -> Iterator[tuple[str, str, str]]:
    for file in submission.files:
        if file.name != "report.md":
            yield file.name, f"{file.bytes:,}", file.sha256


def _versions(submission: Submission) -> Iterator[tuple[str, str]]:
    yield "Matchcut", submission.matchcut
    yield from submission.libraries.items()


def _agrees(item: Comparison) -> str:
    return "agrees" if item.agrees else "DIFFERS"


def _frame(index: int | None) -> str:
    return "none" if index is None else f"frame {index}"


def _stretch(first: int | None, last: int | None) -> str:
    return _frame(first) if first == last else f"frames {first} to {last}"


def _frames(cuts: list[int]) -> str:
    told = ", ".join(map(str, cuts[:MOST_LINES]))
    return f"frame{'s' if len(cuts) > 1 else ''} {told}" + (" …" if len(cuts) > MOST_LINES else "")
