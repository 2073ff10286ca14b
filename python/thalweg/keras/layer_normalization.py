# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers.LayerNormalization, which the package `keras` has not: each sample by its own mean and variance."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import thalweg
from thalweg.keras import constraints, initializers, regularizers

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_SERIALIZED = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


def layer_of(module: ModuleType) -> type:
    """The layer, as a class of a module that has the package's base of layers as `Layer`."""

    class LayerNormalization(module.Layer):
        """Along `axis`, the last by default, values get mean 0 and variance 1, then a scale and an offset that are trained."""

        def __init__(self, axis: Any = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
                     beta_initializer: Any = "zeros", gamma_initializer: Any = "ones", beta_regularizer: Any = None,
                     gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None, trainable: bool = True,
                     name: str | None = None, **kwargs: Any) -> None:
            super().__init__(name=name, trainable=trainable, **kwargs)
            if isinstance(axis, (list, tuple)):
                self.axis = list(axis)
            elif isinstance(axis, int):
                self.axis = axis
            else:
                raise ValueError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received instead: {axis}")
            self.epsilon, self.center, self.scale, self.supports_masking = epsilon, center, scale, True
            self.beta_initializer, self.gamma_initializer = initializers.get(beta_initializer), initializers.get(gamma_initializer)
            self.beta_regularizer, self.gamma_regularizer = regularizers.get(beta_regularizer), regularizers.get(gamma_regularizer)
            self.beta_constraint, self.gamma_constraint = constraints.get(beta_constraint), constraints.get(gamma_constraint)

        def _axes(self, rank):
            axes = self.axis if isinstance(self.axis, list) else [self.axis]
            found = [a + rank if a < 0 else a for a in axes]
            if any(not 0 <= a < rank for a in found):
                raise ValueError(f"Invalid axis: {self.axis}, of values of {rank} dimensions")
            if len(set(found)) != len(found):
                raise ValueError(f"Duplicate axis: {self.axis}")
            return found

        def build(self, input_shape: Any) -> None:
            """Scale and offset have the sizes of the normalized axes."""
            axes = self._axes(len(input_shape))
            shape = [input_shape[a] for a in axes]
            if None in shape:
                raise ValueError(f"The axes {axes} of the input must have known sizes: its shape is {tuple(input_shape)}")
            self.gamma = self.beta = None
            if self.scale:
                self.gamma = self.add_weight(name="gamma", shape=shape, initializer=self.gamma_initializer,
                                             regularizer=self.gamma_regularizer, constraint=self.gamma_constraint)
            if self.center:
                self.beta = self.add_weight(name="beta", shape=shape, initializer=self.beta_initializer,
                                            regularizer=self.beta_regularizer, constraint=self.beta_constraint)
            self.built = True

        def call(self, inputs: Any) -> Any:
            """The normalized values."""
            rank = inputs.shape.ndims
            axes = self._axes(rank)
            shape = np.ones(rank, int)
            shape[axes] = [inputs.shape[a].value for a in axes]
            mean, variance = thalweg.nn.moments(inputs, axes, keep_dims=True)
            scale, offset = (None if w is None else thalweg.reshape(w, shape) for w in (self.gamma, self.beta))
            return thalweg.nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)

        def compute_output_shape(self, input_shape: Any) -> Any:
            """That of the input."""
            return input_shape

        def get_config(self) -> dict[str, Any]:
            """The arguments that make such a layer."""
            config = {"axis": self.axis, "epsilon": self.epsilon, "center": self.center, "scale": self.scale}
            for kind, home in _SERIALIZED.items():
                for weight in ("beta", "gamma"):
                    config[f"{weight}_{kind}"] = home.serialize(getattr(self, f"{weight}_{kind}"))
            return {**super().get_config(), **config}

    LayerNormalization.__module__, LayerNormalization.__qualname__ = module.__name__, "LayerNormalization"
    return LayerNormalization
