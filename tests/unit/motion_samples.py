# SPDX-License-Identifier: GPL-3.0-or-later
"""Small videos whose motion is known: cameras that turn, zoom and move in a room, and discs that move by themselves."""

import classical_scenes as scenes
import cv2
import numpy as np


def turning(frames, pan_deg=0.0, tilt_deg=0.0, roll_deg=0.0):
    """Pictures of a camera that turns evenly by so much: to the right, up, and clockwise."""
    made = []
    for share in np.linspace(0, 1, frames):
        pan, tilt, roll = np.radians([pan_deg, tilt_deg, roll_deg]) * share
        # world to camera, x right, y down: turned to the right the world goes to the left
        made.append(scenes.view(_posed((0, 0, 0), pan, tilt, roll))[0])
    return made


def going(frames, right=0.0, up=0.0, forward=0.0):
    """Pictures of a camera that goes evenly by so much, in the room's units."""
    places = np.linspace(0, 1, frames)[:, None] * (right, -up, forward)
    return [scenes.view(_posed(place, 0, 0, 0))[0] for place in places]


def orbiting(frames, degrees, distance=5.0):
    """Pictures of a camera that goes to the right around a point straight ahead, which stays in the middle."""
    made = []
    for angle in np.radians(degrees) * np.linspace(0, 1, frames):
        place = (distance * np.sin(angle), 0, distance - distance * np.cos(angle))
        made.append(scenes.view(_posed(place, -angle, 0, 0))[0])
    return made


def zooming(frames, factor, pan_deg=0.0):
    """Pictures of a lens whose focal length grows by `factor` in equal steps, of a camera that turns to the right."""
    before = scenes.FOCAL
    made = []
    try:
        for share in np.linspace(0, 1, frames):
            scenes.FOCAL = before * factor**share
            made.append(scenes.view(_posed((0, 0, 0), share * np.radians(pan_deg), 0, 0))[0])
    finally:
        scenes.FOCAL = before
    return made


def with_discs(pictures, discs):
    """The pictures with textured discs: (x, y, radius) at the first frame and (x, y) pixels that each goes a frame."""
    y, x = np.mgrid[0 : scenes.HEIGHT, 0 : scenes.WIDTH]
    made = []
    for number, picture in enumerate(pictures):
        image = picture.copy()
        for seed, (left, top, radius, across, down) in enumerate(discs):
            place = left + across * number, top + down * number
            inside = np.hypot(x - place[0], y - place[1]) < radius
            u, v = (x - place[0] + 200).astype(np.float32), (y - place[1] + 200).astype(np.float32)
            pattern = cv2.remap(scenes.texture(90 + seed), 2 * u, 2 * v, cv2.INTER_LINEAR)
            image[inside] = pattern[inside][:, None].clip(0, 255)
        made.append(image)
    return made


def shaking(pictures, seed=5, pixels=1.5):
    """The pictures, each moved by its own amount, about so many pixels."""
    random = np.random.default_rng(seed)
    made = []
    for picture in pictures:
        matrix = np.float32([[1, 0, random.normal(0, pixels)], [0, 1, random.normal(0, pixels)]])
        made.append(cv2.warpAffine(picture, matrix, picture.shape[1::-1], borderMode=cv2.BORDER_REFLECT))
    return made


def _posed(place, pan, tilt, roll):
    """World to camera at `place`, turned by `pan` to the right, then `tilt` up, then `roll` clockwise."""
    around_y = cv2.Rodrigues(np.array([0.0, -pan, 0]))[0]
    around_x = cv2.Rodrigues(np.array([-tilt, 0.0, 0]))[0]
    around_z = cv2.Rodrigues(np.array([0.0, 0, -roll]))[0]
    pose = np.eye(4)
    pose[:3, :3] = around_z @ around_x @ around_y
    pose[:3, 3] = -pose[:3, :3] @ np.asarray(place, float)
    return pose
