# SPDX-License-Identifier: GPL-3.0-or-later
"""What the last score said."""
