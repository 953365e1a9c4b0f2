# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP server: tools over one Session. `initialize` and the list of tools never touch Blender."""

from __future__ import annotations

from typing import Final

from mcp.server import MCPServer

from ..evaluator.protocol.transcript import TranscriptWriter
from ..evaluator.protocol.version import VERSION
from .calls import Calls
from .camera_tools import add_camera_tools
from .compact import CompactServer
from .finish_tools import add_finish_tools
from .look_tools import add_look_tools
from .prompts import add_prompts
from .render_tools import add_render_tools
from .renders import Renders
from .resources import add_resources
from .scene_tools import add_scene_tools
from .study_tools import add_study_tools
from .transcript import Recorder

INSTRUCTIONS: Final = """\
Rebuild a reference video as a scene in Blender; the prompt reconstruct and the resource matchcut://task say what is \
asked. Study the video with reference_info, reference_motion and reference_frames. Build with run_python in small \
steps; api_help, scene_summary and inspect tell what there is, undo takes a step back. After every step that matters \
see it with look, and beside the reference with compare. Render with render_start, then render_wait until it has \
ended; correct and render again. Finish with check_timeline, audit and submit. Frames count from 0: frame f is scene \
frame frame_start + f. Save with bpy.ops.wm.save_as_mainfile what is to stay. An error's first word says its kind: \
busy, blender_gone: nothing ran, call again; outcome_unknown: it may have run, look before you repeat it."""


def make_server(session: Calls, renders: Renders, transcript: TranscriptWriter | None = None) -> MCPServer:
    """The server with its tools: those of a scene work through `session`, `renders` holds the jobs.

    Every request is written to the `transcript` where there is one.
    """
    server = CompactServer(
        "matchcut", instructions=INSTRUCTIONS, version=VERSION, log_level="WARNING",
        middleware=[Recorder(transcript)] if transcript is not None else [],
    )  # fmt: skip
    add_study_tools(server, session, renders.workplace)
    add_scene_tools(server, session)
    add_look_tools(server, session, renders)
    add_render_tools(server, session, renders)
    add_camera_tools(server, session, renders.workplace)
    add_finish_tools(server, session, renders)
    add_resources(server, session, renders)
    add_prompts(server, renders.workplace.task)
    return server
