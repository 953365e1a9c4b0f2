# SPDX-License-Identifier: GPL-3.0-or-later
"""What moves in a video, as numbers: the camera of every shot, and regions that move by themselves."""
