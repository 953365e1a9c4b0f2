# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of the scene: drawn off screen or rendered small, with everything left as it was."""
