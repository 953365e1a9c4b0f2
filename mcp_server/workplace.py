# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this server may read and write files, and the task that it was started for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ..evaluator.protocol.errors import BadInputError
from ..evaluator.protocol.files import numbered_folder

Setting = Literal["proxy", "simplified", "detailed"]
RENDER: Final = "render"


@dataclass(frozen=True)
class Task:
    """What is asked for. In `benchmark` mode tools that evaluate are not there.

    The agent may name files in `output`, and `reference` itself, but not what lies beside it. With `no_refine` the
    first render of all frames is the last one, and nothing is looked at after it.
    """

    reference: Path | None = None
    setting: Setting = "simplified"
    output: Path | None = None
    benchmark: bool = False
    no_refine: bool = False


class Workplace:
    """The folders below which files may be named, and the task."""

    def __init__(self, folders: Sequence[Path] = (), task: Task | None = None) -> None:
        """`folders`: the first is for what belongs to no file."""
        self.folders = [folder.resolve() for folder in folders]
        self.task = task or Task()

    def allowed(self, text: str, what: str, beside: Path | None = None) -> Path:
        """The file that `text` names, absolute or from the first folder, in a folder that may be used.

        The folder of the file `beside` may be used as well. Raises BadInputError where it lies elsewhere or is no file.
        """
        path = self._inside(text, what, beside)
        if not _is(path.is_file, path):
            raise BadInputError(f"bad_params: {path}: there is no such file; name the {what}")
        return path

    def allowed_folder(self, text: str, what: str, beside: Path | None = None) -> Path:
        """As `allowed`, for a folder, which need not be there yet."""
        path = self._inside(text, what, beside)
        if _is(path.exists, path) and not path.is_dir():
            raise BadInputError(f"bad_params: {path}: this is a file; name a folder as the {what}")
        return path

    def new_folder(self, beside: Path | None, name: str = RENDER) -> Path:
        """A numbered folder for one job that nobody else has.

        It lies in `matchcut` in the task's output, else beside the file `beside`, else in the first folder.
        """
        if self.task.output is not None:
            return numbered_folder(self.task.output / "matchcut", name)
        if beside is None and not self.folders:
            raise BadInputError(
                "bad_params: the scene was never saved, so its renders have no place; save it first, or start this "
                "server with --folder DIR"
            )
        return numbered_folder((beside.parent if beside is not None else self.folders[0]) / "matchcut", name)

    def _inside(self, text: str, what: str, beside: Path | None) -> Path:
        near = [beside.parent.resolve()] if beside is not None and not self.task.benchmark else []
        folders = [*self.folders, *near]
        try:
            path = (folders[0] / text if folders else Path(text)).resolve()
        except (OSError, ValueError) as error:  # a loop of links, a zero byte
            raise BadInputError(f"bad_params: {text!r}: this is no path of a {what} ({error})") from error
        is_task = self.task.reference is not None and path == self.task.reference.resolve()
        if not is_task and not any(path.is_relative_to(folder) for folder in folders):
            listed = ", ".join(map(str, folders)) or "there is none"
            raise BadInputError(
                f"bad_params: {path}: the {what} is not in a folder that this server may use ({listed}); move it "
                "there, or start the server with --folder DIR"
            )
        return path


def _is(found: Callable[[], bool], path: Path) -> bool:
    """What the file system says, and in words where it cannot: a name that is too long, a folder that is closed."""
    try:
        return found()
    except OSError as error:
        text = str(path)
        raise BadInputError(f"bad_params: {text[:200]}: cannot be looked up ({error.strerror or error})") from error
