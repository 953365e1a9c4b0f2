# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools at the end: is it on the timeline, is it modelled, hand it in, and what does it score."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from ..evaluator.protocol.errors import BadInputError, MatchcutError, OperationalError
from ..evaluator.protocol.files import write_text
from .calls import Calls, Instance, call
from .finish_records import (
    AuditAnswer,
    ScoreAnswer,
    SubmitAnswer,
    TimelineAnswer,
    audit_answer,
    bounded,
    check_answer,
    score_answer,
    submit_answer,
)
from .places import changed_at, find_reference
from .renders import Render, Renders
from .running import RunningCommand, Slot
from .scores import Question, Scores, check_judge, stamps
from .workplace import Setting, Workplace

SCENE_SECONDS: Final = 60.0
SAVE_SECONDS: Final = 240.0
WAIT_SECONDS: Final = 200.0
"""That one call waits for work, which goes on after it."""
SCENE: Final = "scene"
SUBMISSION: Final = "submission"
AGAIN: Final = "call again with the same arguments"

LOOKS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add_finish_tools(server: MCPServer, session: Calls, renders: Renders) -> None:
    """Give `server` the tools that end a task; `score` only where the task is none of a benchmark."""
    workplace = renders.workplace
    checks, audits, submissions = Slot("another check"), Slot("another audit"), Slot("another submission")
    known: dict[tuple[Path, int], tuple[dict[str, Any], list[int]]] = {}  # references' timelines and cuts

    @server.tool(title="Check Timeline", annotations=LOOKS)
    async def check_timeline(
        context: Context,
        video: Annotated[str, Field(description='Or job folder; default: the last render, else "scene"')] = "",
        reference: str = "",
        instance: Instance = None,
    ) -> TimelineAnswer:
        """Hold a render against the reference: size, rate, frames, shift, cuts, frozen, black or dropped frames.

        "scene": the open scene's own timeline and cameras at the cuts, unrendered.
        """
        try:
            given = await find_reference(session, context, workplace, reference, instance)
            rebuilt = None if video == SCENE else _video(renders, video, needed=bool(video))
            key = (given, changed_at(given, "reference"))
            if rebuilt is not None or key not in known:
                held = rebuilt or given  # held against itself, the reference tells its own timeline and cuts
                steps = [["check", "--reference", str(given), "--reconstruction", str(held)]]
                command = checks.running((given, held)) or checks.start((given, held), steps)
                await command.wait(context, WAIT_SECONDS)
                if command.state == "running":
                    return TimelineAnswer(passed=None, checked=str(held), note=f"{command.progress()}; {AGAIN}")
                _raise_failure(command)
                (data,) = command.results
                if rebuilt is not None:
                    return check_answer(data, str(rebuilt), "; ".join(command.warnings))
                known[key] = (data["reference"]["timeline"], data["shots"]["reference_cuts"])
            params = {"timeline": known[key][0], "cuts": known[key][1]}
            scene, note = await call(session, context, "check_scene", params, SCENE_SECONDS, instance)
            problems = bounded(scene["problems"])
            checked = f"the open scene, unrendered: {scene['timeline']}"
            return TimelineAnswer(passed=not problems, checked=checked, faults=problems, note=note)
        except MatchcutError as error:
            raise ToolError(str(error)) from error

    @server.tool(title="Audit", annotations=LOOKS)
    async def audit(
        context: Context,
        scene: Annotated[str, Field(description="A .blend; default: the open scene")] = "",
        reference: str = "",
        instance: Instance = None,
    ) -> AuditAnswer:
        """What a reconstruction may not contain: pictures in place of modelling, external assets; and what to do."""
        try:
            given = await find_reference(session, context, workplace, reference, instance)
            command = audits.running((given, scene, instance))
            if command is None:
                path, folder, blender = await _audited(session, context, workplace, scene, instance)
                steps = [["audit", str(path), "--reference", str(given), "--out", str(folder / "audit.json")]]
                command = audits.start((given, scene, instance), steps, blender=blender, place=folder)
            assert command.place is not None
            try:
                await command.wait(context, WAIT_SECONDS)
            finally:
                if command.state != "running" and not scene:
                    (command.place / "scene.blend").unlink(missing_ok=True)  # the copy was for this alone
            if command.state == "running":
                return AuditAnswer(passed=None, note=f"{command.progress()}; {AGAIN}")
            _raise_failure(command)
            return audit_answer(command.results[0], command.place / "audit.json")
        except MatchcutError as error:
            raise ToolError(str(error)) from error

    @server.tool(
        title="Submit",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )
    async def submit(
        context: Context,
        report: Annotated[str, Field(description="Markdown: what was rebuilt and how, what is missing")] = "",
        job: Annotated[str, Field(description="A finished render's folder; default: the last one")] = "",
        out: Annotated[str, Field(description="Folder; default: `submission` in the task's output")] = "",
        replace: Annotated[bool, Field(description="Give up the package of another render that is in it")] = False,
        reference: str = "",
        instance: Instance = None,
    ) -> SubmitAnswer:
        """Hand in: package a full render into a folder, and validate it.

        It holds scene.blend, reconstruction.mp4, comparison.mp4, contact_sheet.png, report.md and submission.json. The
        same render may be handed in again.
        """
        try:
            folder, blender = _job(renders, job)
            place = _submission(workplace, out, folder)
            given = await find_reference(session, context, workplace, reference, instance)
            key = (folder, place, given, report, replace)
            command = submissions.running(key)
            if command is None:
                options = ["--reference", str(given), "--out", str(place), *(["--replace"] if replace else [])]
                options += _remarks(folder, report)
                steps = [["package", str(folder), *options], ["validate", str(place), "--reference", str(given)]]
                command = submissions.start(key, steps, blender=blender, place=place)
            await command.wait(context, WAIT_SECONDS)
            if command.state == "running":
                return SubmitAnswer(passed=None, folder=str(place), note=f"{command.progress()}; {AGAIN}")
            _raise_failure(command)
            return submit_answer(command.results[1], place, command.warnings)
        except MatchcutError as error:
            raise ToolError(str(error)) from error

    if not workplace.task.benchmark:
        _add_score(server, session, renders)


def _add_score(server: MCPServer, session: Calls, renders: Renders) -> None:
    scores = Scores()

    @server.tool(
        title="Score",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True
        ),
    )
    async def score(
        context: Context,
        video: Annotated[str, Field(description="Or a job; default: the last render")] = "",
        checklist: Annotated[str, Field(description="Clip file or folder")] = "",
        setting: Setting = renders.workplace.task.setting,
        judge: Annotated[str, Field(description="openai:MODEL, anthropic:MODEL, local:URL#MODEL …")] = "",
        seconds: Annotated[int, Field(ge=1, le=240, description="To wait")] = 120,
        cancel: bool = False,
        reference: str = "",
    ) -> ScoreAnswer:
        """Score a render: timeline, cuts, SGC (0 is best) and checklist (0-100), each with its coverage.

        Takes minutes: call again with the same arguments while state is running. Frames and checks go to a judge that
        you name (its key: the environment); without one nothing is sent, the checklist stays unscored.
        """
        try:
            if cancel:
                command = scores.slot.command
                if command is None or not command.update():
                    raise BadInputError("bad_params: no scoring runs; leave `cancel` out to start one")
                await command.stop()
                return score_answer(command)
            rebuilt = _video(renders, video, needed=True)
            assert rebuilt is not None
            given = await find_reference(session, context, renders.workplace, reference)
            question = _question(renders.workplace, rebuilt, given, checklist, setting, judge)
            command = scores.ask(question, _base(renders.workplace, rebuilt))
            await command.wait(context, seconds)
            if command.state == "failed":
                _raise_failure(command)
            return score_answer(command)
        except MatchcutError as error:
            raise ToolError(str(error)) from error


# --- what is meant ----------------------------------------------------------------------------------------------------


def _own(renders: Renders, text: str) -> Render | None:
    """The job of this server whose folder `text` is, the last one where it is empty, or None."""
    with suppress(BadInputError):
        return renders.find(text)
    return None


def _video(renders: Renders, text: str, *, needed: bool) -> Path | None:
    """The video that is meant: a job's, or a file. None where nothing was rendered and nothing is `needed`.

    Raises OperationalError where it is being rendered, BadInputError where there is none.
    """
    job = _own(renders, text)
    if job is None and not text:
        if needed:
            raise BadInputError("bad_params: nothing was rendered yet; call render_start, or name a video")
        return None
    if job is None:
        place = _file_or_folder(renders.workplace, text, "video")
        folder = place if place.is_dir() else None
    else:
        place, folder = job.folder, job.folder
        if job.update():
            raise OperationalError(f"busy: {folder} is being rendered ({job.progress[2]}); call render_wait first")
    if folder is None:
        return place
    video = folder / "reconstruction.mp4"
    if not video.is_file():
        state = f" (it is {job.state().state})" if job is not None else ""
        raise BadInputError(f"bad_params: {folder}: no finished video lies here{state}; render all frames")
    return video


def _job(renders: Renders, text: str) -> tuple[Path, str]:
    """The folder of the render that is handed in, and the Blender that was open then."""
    job = _own(renders, text)
    if job is not None:
        _video(renders, text, needed=True)  # says what is wrong with it
        return job.folder, job.blender
    if not text:
        raise BadInputError("bad_params: nothing was rendered yet; call render_start, then submit")
    folder = renders.workplace.allowed_folder(text, "job")
    if not (folder / "job.json").is_file():
        raise BadInputError(f"bad_params: {folder}: no render job lies here; name the folder that render_start gave")
    return folder, ""


def _file_or_folder(workplace: Workplace, text: str, what: str) -> Path:
    try:
        return workplace.allowed(text, what)
    except BadInputError:
        folder = workplace.allowed_folder(text, what)
        if not folder.is_dir():
            raise
        return folder


def _submission(workplace: Workplace, out: str, job: Path) -> Path:
    output = workplace.task.output
    if not out:
        return (output if output is not None else job.parent) / SUBMISSION
    place = workplace.allowed_folder(out, "submission")
    if workplace.task.benchmark and output is not None and not place.is_relative_to(output.resolve()):
        raise BadInputError(f"not_allowed: {place}: this task is handed in below {output}; leave `out` out")
    return place


def _remarks(folder: Path, report: str) -> list[str]:
    """The options that put the agent's report into report.md; it lies in the job's folder."""
    if not report.strip():
        return []
    path = folder / "remarks.md"
    try:
        write_text(path, report)
    except UnicodeEncodeError as error:
        raise BadInputError("bad_params: report holds half of a character; give text") from error
    except OSError as error:
        raise BadInputError(f"bad_params: {path}: cannot be written ({error.strerror}); see to its folder") from error
    return ["--report", str(path)]


async def _audited(
    session: Calls, context: Context, workplace: Workplace, scene: str, instance: int | None
) -> tuple[Path, Path, str]:
    """The .blend that is audited, a folder for the report, and Blender's program."""
    if scene:
        path = workplace.allowed(scene, "scene")
        return path, workplace.new_folder(path, "audit"), ""
    place, _ = await call(session, context, "scene_place", {}, SAVE_SECONDS, instance)
    folder = workplace.new_folder(Path(place["file"]) if place["file"] else None, "audit")
    copy = folder / "scene.blend"
    try:
        await call(session, context, "save_copy", {"path": str(copy)}, SAVE_SECONDS, instance)
    except BaseException:
        with suppress(OSError):
            folder.rmdir()  # nothing is in it
        raise
    return copy, folder, place["blender"]


def _question(
    workplace: Workplace, video: Path, reference: Path, checklist: str, setting: Setting, judge: str
) -> Question:
    """What is scored. Raises BadInputError for a judge that is none, or files that may not be read."""
    clips = _file_or_folder(workplace, checklist, "checklist") if checklist else None
    if judge:
        check_judge(judge)
        if clips is None:
            raise BadInputError("bad_params: a judge rates a checklist; name it too")
        if judge.startswith("replay:"):
            folder, separator, model = judge.removeprefix("replay:").partition("#")
            judge = f"replay:{workplace.allowed_folder(folder, 'recorded judgments')}{separator}{model}"
    job = video.parent
    passes = (job / "job.json").is_file() and (job / "geometry" / "geometry.json").is_file()
    scene = job if passes else None
    return Question(reference, video, scene, clips, setting, judge, stamps([reference, video, clips]))


def _base(workplace: Workplace, video: Path) -> Path:
    """Where scorings get their folders: among the jobs."""
    if workplace.task.output is not None:
        return workplace.task.output / "matchcut"
    return video.parent.parent if (video.parent / "job.json").is_file() else video.parent / "matchcut"


def _raise_failure(command: RunningCommand) -> None:
    """Raise ToolError where it did not come to its end, in the words of the tools."""
    if command.state == "failed":
        raise ToolError(command.error.replace("--replace", "replace=true").replace("--out", "out"))
    if command.state == "cancelled":
        raise ToolError("failed: it was cancelled; call again to start anew")
