# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the configurations that are no contestants: they show what a judge makes of a known video."""

from typing import Final

CEILING: Final = "control-ceiling"
"""The reference itself."""
FLOOR: Final = "control-floor"
"""A foreign video."""
CONTROLS: Final = (CEILING, FLOOR)
