# SPDX-License-Identifier: GPL-3.0-or-later
"""What a numbered folder of renders or scores was asked for, kept in it: so that it can be gone on with another day.

    FOLDER/request.json         the command line, with paths as seen from the folder, and whose it is

No bpy: tested on its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...evaluator.protocol.errors import BadInputError
from ...evaluator.protocol.files import read_json, write_json

RENDER: Final = "render"
SCORE: Final = "score"
"""The commands, and how the names of their folders begin."""
REQUEST: Final = "request.json"
REQUEST_FORMAT: Final = "matchcut-request/1"
COPY: Final = "scene.blend"
"""The copy of the scene that is worked on."""
MOST: Final = 20
"""Folders of a kind that are looked at, the newest first."""


@dataclass(frozen=True)
class Owner:
    """Whose a folder is: the scene by the id that it keeps, else by its name, its file's and its reference's."""

    scene_id: str
    blend: str
    scene: str
    reference: str

    def is_same(self, other: Owner) -> bool:
        """Whether both are one scene, renamed or saved under another name, or not saved since it was given its id."""
        names = (self.blend, self.scene, self.reference)
        return (self.scene_id == other.scene_id != "") or names == (other.blend, other.scene, other.reference)


@dataclass(frozen=True)
class Request:
    """A command that works in `folder`; `arguments` are its command line, paths in it are Path objects."""

    folder: Path
    owner: Owner
    arguments: tuple[str | Path, ...]

    @property
    def command_line(self) -> list[str]:
        """As a process takes it."""
        return [str(argument) for argument in self.arguments]

    def write(self) -> None:
        """Keep it in its folder. Raises OSError where that cannot be written to."""
        write_json(
            self.folder / REQUEST,
            {
                "format": REQUEST_FORMAT,
                "scene_id": self.owner.scene_id,
                "blend": self.owner.blend,
                "scene": self.owner.scene,
                "reference": self.owner.reference,
                "arguments": [_seen_from(self.folder, argument) for argument in self.arguments],
            },
        )

    @classmethod
    def read(cls, folder: Path) -> Request:
        """What `write` kept. Raises BadInputError where there is none or it is damaged."""
        data = read_json(folder / REQUEST, REQUEST_FORMAT)
        try:
            owner = Owner(*(str(data[name]) for name in ("scene_id", "blend", "scene", "reference")))
            arguments = tuple(_again(folder, argument) for argument in data["arguments"])
        except (KeyError, TypeError) as error:
            raise BadInputError(f"{folder / REQUEST}: damaged ({error!r}); start anew") from error
        return cls(folder, owner, arguments)


def numbered(base: Path, name: str) -> list[Path]:
    """The folders `NAME-001` … in `base`, the newest first, at most MOST of them."""
    pattern = re.compile(rf"{re.escape(name)}-(\d{{1,9}})")
    try:
        found = [(int(match[1]), path) for path in base.iterdir() if (match := pattern.fullmatch(path.name))]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)[:MOST]]


def unfinished(base: Path, name: str, owner: Owner, is_finished: Callable[[Path], bool]) -> Request | None:
    """The owner's last request of this command in `base`, where it did not end and its copy of the scene is there."""
    for request in _of(owner, numbered(base, name)):
        if request.arguments[:1] != (name,):  # a file that came from elsewhere starts nothing else
            continue
        return None if is_finished(request.folder) or not (request.folder / COPY).is_file() else request
    return None


def may_be_of(owner: Owner, folder: Path) -> bool:
    """Whether a folder is the owner's; one that names nobody may be."""
    try:
        return Request.read(folder).owner.is_same(owner)
    except BadInputError:
        return True


def _of(owner: Owner, folders: Sequence[Path]) -> Iterator[Request]:
    for folder in folders:
        try:
            request = Request.read(folder)
        except BadInputError:
            continue
        if request.owner.is_same(owner):
            yield request


def _seen_from(folder: Path, argument: str | Path) -> Any:
    if isinstance(argument, str):
        return argument
    try:
        return {"path": os.path.relpath(argument, folder).replace(os.sep, "/")}
    except ValueError:  # another drive of Windows
        return {"path": str(argument)}


def _again(folder: Path, argument: Any) -> str | Path:
    if isinstance(argument, str):
        return argument
    return Path(os.path.normpath(folder / argument["path"]))
