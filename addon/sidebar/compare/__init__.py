# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference laid over the 3D view, or over the last render, and as a filmstrip under the timeline.

An evaluator command decodes frames ahead into files (feeds.py starts it and follows the playhead), a thread reads them
(reader.py), and drawing takes what is in memory: uploading one frame is all that the main thread does with pictures.
"""
