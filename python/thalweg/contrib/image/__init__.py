# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.image: images moved by projective maps, flows and control points; components and matches."""
from thalweg.base import names
from thalweg.contrib.image.regions import bipartite_match, connected_components
from thalweg.contrib.image.splines import interpolate_spline
from thalweg.contrib.image.transforms import (
    angles_to_projective_transforms,
    compose_transforms,
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
    rotate,
    transform,
    translate,
    translations_to_projective_transforms,
)
from thalweg.contrib.image.warps import dense_image_warp, sparse_image_warp

__all__ = ["angles_to_projective_transforms", "bipartite_match", "compose_transforms", "connected_components", "dense_image_warp",
           "flat_transforms_to_matrices", "interpolate_spline", "matrices_to_flat_transforms", "rotate", "sparse_image_warp",
           "transform", "translate", "translations_to_projective_transforms"]
names.complete(globals())
