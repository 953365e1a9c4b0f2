# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of services: from the environment, else from the system's keyring; never from a file, an option or a scene."""

from __future__ import annotations

import os
from typing import Final

from ...protocol.errors import BadInputError

SERVICE: Final = "matchcut"
"""The name under which the keyring holds the keys; the user name is that of the environment variable."""


def find_key(variable: str) -> str | None:
    """The key that `variable` holds, else the keyring's entry (`matchcut`, `variable`); None where there is neither.

    Raises BadInputError, which never repeats the key, where it holds characters that no request can carry.
    """
    found = os.environ.get(variable, "").strip()
    where = variable
    if not found:
        found, where = _from_keyring(variable), f"the keyring's entry {SERVICE} / {variable}"
    if not (found.isascii() and found.isprintable() and " " not in found):
        raise BadInputError(f"{where}: holds characters that cannot stand in a request; set it anew")
    return found or None


def missing_key(variable: str) -> str:
    """One line for a key that is not there."""
    return f"no key: set the environment variable {variable}, or run: keyring set {SERVICE} {variable}"


def _from_keyring(variable: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ModuleNotFoundError:  # an installation without it
        return ""
    try:
        return (keyring.get_password(SERVICE, variable) or "").strip()
    except (KeyringError, RuntimeError, OSError):  # no keyring on this machine, or it stays locked
        return ""
