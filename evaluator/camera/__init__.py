# SPDX-License-Identifier: GPL-3.0-or-later
"""Cameras out of what is seen: vanishing lines, picked points, measured motion; and how Blender writes them down."""
