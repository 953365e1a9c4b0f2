# SPDX-License-Identifier: GPL-3.0-or-later
"""Property groups that several panels use."""

import bpy
from bpy.props import StringProperty

PATH_OPTIONS = {"PATH_SUPPORTS_BLEND_RELATIVE"}


class MATCHCUT_PG_line(bpy.types.PropertyGroup):
    """One line of the results or of a list of warnings."""

    section: StringProperty()  # type: ignore[valid-type]
    label: StringProperty()  # type: ignore[valid-type]
    text: StringProperty()  # type: ignore[valid-type]
    verdict: StringProperty()  # type: ignore[valid-type]
    """good | bad | unscored | plain, as in results.ResultLine."""


CLASSES = (MATCHCUT_PG_line,)
