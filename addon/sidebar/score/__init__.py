# SPDX-License-Identifier: GPL-3.0-or-later
"""The one button that scores, and what runs."""
