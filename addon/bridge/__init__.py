# SPDX-License-Identifier: GPL-3.0-or-later
"""The authenticated socket through which another process works in this Blender.

One thread (`listener`) speaks the protocol and never touches bpy; one queue (`dispatcher`) hands its requests to the
main thread; `server` drives that queue from a timer in the window, or from a loop in `blender -b` and the bpy wheel.
"""
