# SPDX-License-Identifier: GPL-3.0-or-later
"""Single frames of a reference and of what was made of it: shown on top of each other, and compared in numbers."""
