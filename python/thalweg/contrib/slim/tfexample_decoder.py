# SPDX-License-Identifier: Apache-2.0
"""slim.tfexample_decoder: items made of the features of an Example.

    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {"image/encoded": tw.FixedLenFeature([], tw.string), "image/format": tw.FixedLenFeature([], tw.string),
         "label": tw.FixedLenFeature([], tw.int64)},
        {"image": slim.tfexample_decoder.Image(), "label": slim.tfexample_decoder.Tensor("label")})
    image, label = decoder.decode(serialized, ["image", "label"])
"""
from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from thalweg import dtypes, image as images
from thalweg.base import names
from thalweg.contrib.slim.data_decoder import DataDecoder
from thalweg.control.control_flow import cond
from thalweg.control.functional_ops import map_fn
from thalweg.graph import sparse_tensor
from thalweg.graph.ops import apply
from thalweg.operations import array_ops, math_ops, parsing, sparse_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, Scalar
    from thalweg.graph import tensor as graph_tensor


__all__ = ["BackupHandler", "BoundingBox", "Image", "ItemHandler", "ItemHandlerCallback", "LookupTensor", "SparseTensor",
           "TFExampleDecoder", "Tensor"]


def _listed(keys):
    return list(keys) if isinstance(keys, (tuple, list)) else [keys]


def _dense(tensor):
    return sparse_ops.sparse_tensor_to_dense(tensor) if _is_sparse(tensor) else tensor


def _is_sparse(tensor):
    return isinstance(tensor, sparse_tensor.SparseTensor)


class ItemHandler(metaclass=abc.ABCMeta):
    """Makes one item of some features: `keys` names these."""

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys = _listed(keys)

    @property
    def keys(self) -> list[str]:
        """The features that it needs."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item, a tensor, of the features by their names."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes of a dictionary of features."""

    def __init__(self, keys: str | Sequence[str], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes [n, 4] of four features, each with one side of all boxes: by default ymin, xmin, ymax, xmax behind `prefix`."""

    def __init__(self, keys: Sequence[str] | None = None, prefix: str | None = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([(prefix or "") + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        sides = [array_ops.expand_dims(side.values if _is_sparse(side) else side, 0) for side in sides]
        return array_ops.transpose(array_ops.concat(sides, 0))


class Tensor(ItemHandler):
    """A feature as it is, a sparse one dense, and of another shape where one is given.

    Parameters
    ----------
    tensor_key : str
        The feature.
    shape_keys : str or list of str, optional
        Features that have the sizes, one after the other.
    shape : list of int, optional
        The shape, instead.
    default_value : scalar
        For what a sparse feature leaves out.
    """

    def __init__(self, tensor_key: str, shape_keys: str | Sequence[str] | None = None, shape: Sequence[int] | None = None,
                 default_value: Scalar = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = _listed(shape_keys) if shape_keys else []
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = array_ops.reshape(array_ops.stack([_dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if not _is_sparse(tensor):
            return tensor if shape is None else array_ops.reshape(tensor, shape)
        if shape is not None:
            tensor = sparse_ops.sparse_reshape(tensor, shape)
        return sparse_ops.sparse_tensor_to_dense(tensor, self._default_value)


class LookupTensor(Tensor):
    """A `Tensor` whose values are looked up in a table."""

    def __init__(self, tensor_key: str, table: Any, shape_keys: str | Sequence[str] | None = None, shape: Sequence[int] | None = None,
                 default_value: Scalar = "") -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler or, where that is empty, of another."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = math_ops.equal(math_ops.reduce_prod(array_ops.shape(item)), 0)
        return cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A SparseTensor of features with the indices of its last dimension and its values.

    Parameters
    ----------
    indices_key, values_key : str, optional
        Sparse features, "indices" and "values" where they are left out.
    shape_key : str, optional
        A feature with the shape.
    shape : list of int, optional
        The shape, instead; that of the indices where both are left out.
    densify : bool
        Whether the item is dense.
    default_value : scalar
        For what is not there then.
    """

    def __init__(self, indices_key: str | None = None, values_key: str | None = None, shape_key: str | None = None,
                 shape: Sequence[int] | None = None, densify: bool = False, default_value: Scalar = 0) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape, self._densify, self._default_value = shape_key, shape, densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        shape = self._shape
        if self._shape_key:
            shape = keys_to_tensors[self._shape_key]
            shape = shape.values if _is_sparse(shape) else shape
        elif shape is None:
            shape = indices.dense_shape
        rank = array_ops.shape(indices.indices)[1]
        kept = array_ops.slice_(indices.indices, [0, 0], array_ops.stack([-1, rank - 1]))
        last = array_ops.reshape(math_ops.cast(indices.values, dtypes.int64), [-1, 1])
        made = sparse_tensor.SparseTensor(array_ops.concat([kept, last], 1), values.values, shape)
        return sparse_ops.sparse_tensor_to_dense(made, self._default_value) if self._densify else made


class Image(ItemHandler):
    """A picture.

    Parameters
    ----------
    image_key, format_key : str, optional
        Features with the file's bytes and their format, "image/encoded" and "image/format" where they are left out. Of the format
        "raw" the bytes are pixels; other formats are known by the bytes.
    shape : list of int, optional
        Of the item.
    channels : int
        1 or 3.
    dtype : DTypeLike
        Of the item.
    repeated : bool
        Whether the feature has several pictures, which are all of one size.
    dct_method : str
        How a JPEG is decoded: see decode_jpeg.
    """

    def __init__(self, image_key: str | None = None, format_key: str | None = None, shape: Sequence[int] | None = None, channels: int = 3,
                 dtype: DTypeLike = dtypes.uint8, repeated: bool = False, dct_method: str = "") -> None:
        self._image_key, self._format_key = image_key or "image/encoded", format_key or "image/format"
        self._shape, self._channels, self._dtype = shape, channels, dtypes.as_dtype(dtype)
        self._repeated, self._dct_method = repeated, dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        buffers, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda buffer: self._decode(buffer, kind), buffers, dtype=self._dtype)
        return self._decode(buffers, kind)

    def _decode(self, buffer: graph_tensor.Tensor, kind: graph_tensor.Tensor) -> graph_tensor.Tensor:
        def decoded():
            if self._dtype == dtypes.uint16:
                return images.decode_image(buffer, channels=self._channels, dtype=self._dtype)
            return math_ops.cast(images.decode_image(buffer, channels=self._channels), self._dtype)

        def from_jpeg():
            return math_ops.cast(images.decode_jpeg(buffer, channels=self._channels, dct_method=self._dct_method), self._dtype)

        def from_raw():
            return apply("DecodeRaw", [buffer], {"out_type": self._dtype})
        is_raw = apply("LogicalOr", [math_ops.equal(kind, "raw"), math_ops.equal(kind, "RAW")])
        made = cond(is_raw, from_raw, lambda: cond(images.is_jpeg(buffer), from_jpeg, decoded))
        made.set_shape([None, None, self._channels])
        return made if self._shape is None else array_ops.reshape(made, self._shape)


class TFExampleDecoder(DataDecoder):
    """Items of Examples.

    Parameters
    ----------
    keys_to_features : dict
        From the name of a feature to a FixedLenFeature, VarLenFeature or the like: see parse_single_example.
    items_to_handlers : dict
        From the name of an item to its ItemHandler.
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._features, self._handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of these items, or of all, of a serialized Example, a string scalar."""
        example = parsing.parse_single_example(serialized_example, self._features)
        for key, feature in sorted(self._features.items()):
            if isinstance(feature, parsing.FixedLenFeature):
                example[key] = array_ops.reshape(example[key], feature.shape)
        found = []
        for item in items or self._handlers:
            handler = self._handlers[item]
            found.append(handler.tensors_to_item({key: example[key] for key in handler.keys}))
        return found


names.complete(globals())
