# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents as small declarative files, one beside this for each program, and how they are started."""
