# SPDX-License-Identifier: GPL-3.0-or-later
"""What an agent may ask of this Blender: plain functions that the bridge calls on the main thread; they return JSON."""
