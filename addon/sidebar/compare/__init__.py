# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference laid over the 3D view, or over the last render, and as a filmstrip under the timeline.

An evaluator command decodes frames ahead into files (feeds.py starts it and follows the playhead), a thread reads them
(reader.py), and a timer hands them to the graphics card one by one, as it makes what else drawing lacks (lacking.py).
The view itself is drawn into a picture where it stands beside or against the reference, and kept (views.py).
"""
