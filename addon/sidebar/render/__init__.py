# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene rendered on the reference's timeline, in other processes."""
