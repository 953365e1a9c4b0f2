# SPDX-License-Identifier: GPL-3.0-or-later
"""The mathematics of matching a camera, with numpy alone, so that Blender's own Python runs it while one drags."""
