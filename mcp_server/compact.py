# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCPServer as agents need it: tools listed in few tokens, and every failure of a call in one line of its own."""

from __future__ import annotations

import inspect
import json
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool
from pydantic import ValidationError

from ..evaluator.protocol.errors import MatchcutError
from .stdio import readable

_NAMED: Final = ("properties", "$defs")  # their keys are names, not keywords
_NESTED: Final = ("items", "additionalProperties")


class CompactServer(MCPServer[Any]):
    """An MCPServer that lists its tools in few tokens, and whose errors begin with their kind.

    Titles that only repeat a name, indentation and null alternatives are left out of the list. What it takes and gives
    is unchanged, but that an argument that a tool does not have is refused instead of passed over.
    """

    async def run_stdio_async(self) -> None:
        """See MCPServer; a request that cannot be read is answered, where the SDK would say nothing."""
        async with stdio_server() as (read, write), readable(read, write) as messages:
            await self._lowlevel_server.run(messages, write, self._lowlevel_server.create_initialization_options())

    async def list_tools(self) -> list[Tool]:
        """See MCPServer."""
        return [_compact(tool) for tool in await super().list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """See MCPServer; an expected failure is a ToolError with its own line, without the library's words before."""
        schema = self._tool_input_schema(name)
        if schema is None:
            raise ToolError(f"bad_params: there is no tool {name[:100]}; list the tools")
        known = schema.get("properties", {})
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise ToolError(f"bad_params: {name} has no argument {unknown[0]!r}; it has {', '.join(known)}")
        try:
            return _without_indentation(await super().call_tool(name, arguments, context))
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(f"bad_params: {_what_is_wrong(cause)}") from cause
            if isinstance(cause, (ToolError, MatchcutError)):
                raise ToolError(str(cause)) from cause
            if isinstance(error, UnexpectedToolError):  # the SDK writes its traceback to standard error
                kind = type(cause).__name__
                raise UnexpectedToolError(f"failed: {name} has a fault of its own ({kind}); try another way") from cause
            raise


def _what_is_wrong(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)


def _without_indentation(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """The result with its data as one line of text: what indents nested lists is half of what the model reads."""
    if not isinstance(result, CallToolResult) or result.structured_content is None or len(result.content) != 1:
        return result
    text = json.dumps(result.structured_content, ensure_ascii=False)
    return result.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _compact(tool: Tool) -> Tool:
    paragraphs = inspect.cleandoc(tool.description or "").split("\n\n")
    return tool.model_copy(
        update={
            "description": "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
            "input_schema": compact_schema(tool.input_schema, nullable=False),
            "output_schema": compact_schema(tool.output_schema, nullable=True) if tool.output_schema else None,
        }
    )


def compact_schema(schema: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """A JSON Schema that says the same in fewer characters.

    Without `nullable` an alternative that is null is left out, for inputs: who has no value leaves the argument out.
    """
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" or (key == "default" and (value is None or value == "")):
            continue
        if key == "additionalProperties" and value is True:
            continue
        if key in _NAMED:
            found[key] = {name: compact_schema(one, nullable=nullable) for name, one in value.items()}
        elif key in _NESTED and isinstance(value, dict):
            found[key] = compact_schema(value, nullable=nullable)
        elif key == "anyOf":
            found |= _alternatives([compact_schema(one, nullable=nullable) for one in value], nullable=nullable)
        else:
            found[key] = value
    return found


def _alternatives(options: list[dict[str, Any]], *, nullable: bool) -> dict[str, Any]:
    given = [one for one in options if one.get("type") != "null"]
    if len(given) != 1 or len(given) == len(options):
        return {"anyOf": options}
    if not nullable:
        return given[0]
    if isinstance(given[0].get("type"), str) and "enum" not in given[0]:
        return {**given[0], "type": [given[0]["type"], "null"]}
    return {"anyOf": options}
