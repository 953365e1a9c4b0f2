# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of the whole project; `blender_manifest.toml` states the same and a test compares them."""

VERSION = "0.1.0"
