# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that a user is told about in one line, and the exit status that each of them ends the program with."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of every command."""

    DONE = 0
    BAD_INPUT = 2
    OPERATIONAL_FAILURE = 3
    CANCELLED = 130


class MatchcutError(Exception):
    """An expected failure. Its text is one line: what is wrong, where, and what to do next."""

    exit_status = ExitStatus.OPERATIONAL_FAILURE


class BadInputError(MatchcutError):
    """What was given cannot be used; trying again without changing it is of no use (exit status 2)."""

    exit_status = ExitStatus.BAD_INPUT


class OperationalError(MatchcutError):
    """Something outside the input failed (a process, a request, a disk); it may work on another try (exit status 3)."""

    exit_status = ExitStatus.OPERATIONAL_FAILURE


class CancelledByUserError(MatchcutError):
    """The user or the parent process asked to stop (exit status 130)."""

    exit_status = ExitStatus.CANCELLED
