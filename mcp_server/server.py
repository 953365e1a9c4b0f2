# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP server: tools over one Session. `initialize` and the list of tools never touch Blender."""

from __future__ import annotations

from typing import Final

from mcp.server import MCPServer

from ..evaluator.protocol.version import VERSION
from .calls import Calls
from .look_tools import add_look_tools
from .render_tools import add_render_tools
from .renders import Renders
from .scene_tools import add_scene_tools

INSTRUCTIONS: Final = """\
Work in a Blender scene. Start with scene_summary; change the scene with run_python; look at it with render_frame \
after every step that matters; render it on the reference's timeline with render_start, then render_wait until it \
has ended. Frames count from 0 at the scene's first frame. A Blender in the background is a fresh \
process: save with bpy.ops.wm.save_as_mainfile what is to stay. An error that starts with busy or blender_gone means \
that nothing ran; outcome_unknown means that it may have run: look before you repeat it."""


def make_server(session: Calls, renders: Renders) -> MCPServer:
    """The server with its tools: those of a scene work through `session`, `renders` holds the jobs."""
    server: MCPServer = MCPServer("matchcut", instructions=INSTRUCTIONS, version=VERSION, log_level="WARNING")
    add_scene_tools(server, session)
    add_look_tools(server, session, renders.workplace)
    add_render_tools(server, session, renders)
    return server
