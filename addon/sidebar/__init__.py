# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab: a folder for each panel, with what it shows, its buttons, and what they do."""
