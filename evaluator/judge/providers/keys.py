# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of services: from the environment, else from the system's keyring; never from a file, an option or a scene."""

from __future__ import annotations

import os
from typing import Final, Literal

from ...protocol.errors import BadInputError, OperationalError

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


def place_of(variable: str) -> Literal["environment", "keyring", "nowhere"]:
    """Where the key of `variable` is found; never what it is."""
    if os.environ.get(variable, "").strip():
        return "environment"
    return "keyring" if _from_keyring(variable) else "nowhere"


def keyring_problem() -> str:
    """Why no key can be kept in the system's keyring, in one line; empty where it can."""
    try:
        import keyring
        from keyring.backends import fail
        from keyring.errors import KeyringError
    except ModuleNotFoundError:
        return "this Python has no package keyring; set the environment variable before starting Blender"
    try:
        none = isinstance(keyring.get_keyring(), fail.Keyring)
    except (KeyringError, RuntimeError, OSError) as error:
        return f"the system's keyring does not answer ({error}); set the environment variable before starting Blender"
    return "this system has no keyring; set the environment variable before starting Blender" if none else ""


def store_key(variable: str, key: str) -> None:
    """Keep `key` in the system's keyring; an empty one removes what is there.

    Raises BadInputError where it cannot be a key or there is no keyring, OperationalError where the keyring refuses.
    """
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise BadInputError("the key holds characters that cannot stand in a request; copy it anew")
    problem = keyring_problem()
    if problem:
        raise BadInputError(problem)
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        if key:
            keyring.set_password(SERVICE, variable, key)
        else:
            keyring.delete_password(SERVICE, variable)
    except PasswordDeleteError:
        pass  # there was none
    except (KeyringError, RuntimeError, OSError) as error:
        reason = type(error).__name__  # its text may hold more than the reader should see
        raise OperationalError(f"the system's keyring did not take it ({reason}); unlock it, and try again") from error


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
