# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera of a shot, matched to its picture by vanishing lines or known points, or laid down as it was measured.

`properties` is what a scene keeps, `solve` makes a camera of it, `apply` gives that to Blender's camera; `editing` is
the mode in which one draws, `overlay` what it shows; `motion` lays down what the evaluator has measured.
"""
