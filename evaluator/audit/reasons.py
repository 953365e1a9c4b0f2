# SPDX-License-Identifier: GPL-3.0-or-later
"""Why each kind of finding matters, in one sentence."""

from __future__ import annotations

from typing import Final

_ASSET: Final = "the protocol forbids external assets: what is seen has to be modelled in the scene"
_PICTURE: Final = "the protocol forbids pictures in place of modelling"

WHY: Final[dict[str, str]] = {
    "image_texture": f"{_PICTURE}: surfaces are to be procedural, not projected",
    "world_image": f"{_PICTURE}: around the scene it is a background, and an environment map is an external asset",
    "compositor_image": f"{_PICTURE}: the compositor can lay it over or in place of the render",
    "geometry_image": f"{_PICTURE}: geometry that reads an image takes shape or colour from it",
    "movie_clip": f"{_PICTURE}: footage can be laid over or in place of the render",
    "sequencer_picture": f"{_PICTURE}: the sequencer's output takes the place of the render",
    "sequencer_strip": "the sequencer's output takes the place of the render: see what it shows",
    "viewport_image": "pictures to look at while working are allowed: this one never renders",
    "unused_image": "nothing uses it, so it does not render; it is still in the file",
    "generated_image": "a test pattern that Blender draws itself is no asset",
    "coloured_geometry": f"{_PICTURE}: colours stored point by point can hold one",
    "traced_drawing": f"{_PICTURE}: a drawing coloured point by point can hold one",
    "mosaic": f"{_PICTURE}: faces, objects or lamps can be its dots",
    "colour_curves": "so many animated colours can play back footage dot by dot",
    "library": f"{_ASSET}, and the file alone does not show what is linked",
    "bundled_asset": "comes with Blender itself and is allowed",
    "appended": f"{_ASSET}; whether that file was the maker's own work, a person has to say",
    "asset": f"{_ASSET}; what is marked as an asset with an author or a licence may be someone else's",
    "volume": _ASSET,
    "cache_file": f"{_ASSET}; a cache carries geometry and motion that were made elsewhere",
    "import_node": f"{_ASSET}; the node reads geometry from a file as the scene renders",
    "simulation_cache": "what was computed before is shown as it is: see that it is the scene's own simulation",
    "light_profile": "a measured light profile is an external file",
    "font": "letters drawn with a font file are allowed; the file has to come along",
    "sound": "sound does not reach the picture",
    "file_output": "writes files of its own while the scene renders",
    "script": "Python in a scene can change what renders; renders and audits of ours never run it",
    "shader_code": "shader code can read pictures and compute anything: read it",
    "driver": "Python in a driver can do anything; renders of ours leave it out, so that the scene may look different",
    "hidden_data": "so much data can hold a picture: see what it is for",
}
