# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometry of a video by classical computer vision: flow, camera poses, focal length and depth, without weights."""
