# SPDX-License-Identifier: GPL-3.0-or-later
"""SGC in the robust mode: what remains inconsistent once every pose and depth is in one gauge, in pixels and shares."""
