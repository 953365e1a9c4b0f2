# SPDX-License-Identifier: GPL-3.0-or-later
"""The video to rebuild: picked, read, and put on the scene's timeline."""
