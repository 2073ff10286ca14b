# SPDX-License-Identifier: Apache-2.0
"""tw.initializers: what makes first values of variables."""
from thalweg.base import names
from thalweg.variables.init_ops import (
    Initializer,
    constant_initializer as constant,
    glorot_normal_initializer as glorot_normal,
    glorot_uniform_initializer as glorot_uniform,
    he_normal,
    he_uniform,
    identity_initializer as identity,
    lecun_normal,
    lecun_uniform,
    ones_initializer as ones,
    orthogonal_initializer as orthogonal,
    random_normal_initializer as random_normal,
    random_uniform_initializer as random_uniform,
    truncated_normal_initializer as truncated_normal,
    variance_scaling_initializer as variance_scaling,
    zeros_initializer as zeros,
)

__all__ = ["Initializer", "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity",
           "lecun_normal", "lecun_uniform", "ones", "orthogonal", "random_normal", "random_uniform", "truncated_normal", "variance_scaling", "zeros"]


names.complete(globals())
