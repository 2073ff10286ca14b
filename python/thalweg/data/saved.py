# SPDX-License-Identifier: Apache-2.0
"""Datasets in the files of a folder, as TensorFlow 2 saves and loads them."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.control.type_specs import TensorSpec
from thalweg.data import structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.making import make
from thalweg.gfile import GFile
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import Text
    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Operation

_SPEC_FILE = "dataset_spec.pb"
_SHARD = TensorSpec([], dtypes.int64)


def _compression(name: Text | None, others: str = "") -> str:
    if name not in (None, "", "NONE", "GZIP"):
        raise ValueError(f"Invalid `compression` {name!r}. It must be None, 'NONE' or 'GZIP'{others}.")
    return "" if name in (None, "NONE") else name


def _encode(spec: object, value: messages.Message) -> None:
    if isinstance(spec, TensorSpec):
        told = value.tensor_spec_value
        told.dtype = spec.dtype.as_datatype_enum
        told.shape.CopyFrom(spec.shape.as_proto())
        told.SetInParent()
    elif isinstance(spec, Mapping):
        value.dict_value.SetInParent()
        for key in sorted(spec):
            _encode(spec[key], value.dict_value.fields[key])
    elif hasattr(spec, "_fields"):
        value.named_tuple_value.name = type(spec).__name__
        for key, part in zip(spec._fields, spec):
            pair = value.named_tuple_value.values.add()
            pair.key = key
            _encode(part, pair.value)
    elif isinstance(spec, tuple):
        value.tuple_value.SetInParent()
        for part in spec:
            _encode(part, value.tuple_value.values.add())
    else:
        raise NotImplementedError(f"a dataset whose elements hold what {spec} is of cannot be saved: only tensors can")


def _decode(value: messages.Message, path: str) -> object:
    kind = value.WhichOneof("kind")
    if kind == "tensor_spec_value":
        told = value.tensor_spec_value
        return TensorSpec(TensorShape(told.shape), dtypes.as_dtype(told.dtype))
    if kind == "dict_value":
        return {key: _decode(part, path) for key, part in value.dict_value.fields.items()}
    if kind in ("tuple_value", "list_value"):
        return tuple(_decode(part, path) for part in getattr(value, kind).values)
    raise NotImplementedError(f"{path}: elements of {kind} cannot be told by the file: say `element_spec`")


def _shard_function(shard_func: Callable[..., object] | None, spec: object) -> ElementFunction:
    """What gives the number of an element's shard."""
    def in_one(*_: object) -> object:
        return convert_to_tensor(0, dtypes.int64)
    return ElementFunction(shard_func or in_one, spec, "shard_func").expect(_SHARD)


def _reader_function(reader_func: Callable[[Dataset], Dataset] | None, spec: object) -> ElementFunction:
    """What makes one dataset of a dataset of those of the shards."""
    def in_turn(shards: Dataset) -> Dataset:
        return shards.interleave(lambda shard: shard, cycle_length=os.cpu_count(), num_parallel_calls=-1)
    function = ElementFunction(reader_func or in_turn, structure.DatasetSpec(structure.DatasetSpec(spec)), "reader_func")
    if not isinstance(function.output_structure, structure.DatasetSpec):
        raise TypeError(f"`reader_func` must return a `Dataset` object. Got {function.output_structure}")
    return function


def save(dataset: Dataset, path: Text, compression: Text | None = None, shard_func: Callable[..., object] | None = None) -> Operation:
    """See Dataset.save."""
    path, spec = os.fsdecode(path), dataset.element_spec
    told = messages.StructuredValue()
    _encode(spec, told)
    os.makedirs(path, exist_ok=True)
    with GFile(os.path.join(path, _SPEC_FILE), "wb") as file:
        file.write(told.SerializeToString())
    function = _shard_function(shard_func, spec)
    return apply("SaveDataset", [dataset._variant, convert_to_tensor(path, dtypes.string), function.captured],
                 {"compression": _compression(compression), "shard_func": function.defined, "use_shard_func": shard_func is not None})


def snapshot(dataset: Dataset, path: Text, compression: Text | None = "AUTO", reader_func: Callable[[Dataset], Dataset] | None = None,
             shard_func: Callable[..., object] | None = None, name: str | None = None) -> Dataset:
    """See Dataset.snapshot."""
    spec = dataset.element_spec
    shard, reader = _shard_function(shard_func, spec), _reader_function(reader_func, spec)
    kind = "AUTO" if compression == "AUTO" else _compression(compression, " or 'AUTO'")
    return dataset._made("SnapshotDatasetV2", [convert_to_tensor(path, dtypes.string), reader.captured, shard.captured],
                         {"compression": kind, "reader_func": reader.defined, "shard_func": shard.defined}, name=name)


def load(path: Text, element_spec: object = None, compression: Text | None = None,
         reader_func: Callable[[Dataset], Dataset] | None = None) -> Dataset:
    """See Dataset.load."""
    path = os.fsdecode(path)
    if element_spec is None:
        name = os.path.join(path, _SPEC_FILE)
        with GFile(name, "rb") as file:
            told = file.read()
        try:
            element_spec = _decode(messages.StructuredValue.FromString(told), name)
        except messages.DecodeError as error:
            raise ValueError(f"{name}: does not say what elements are: {error}") from error
    function = _reader_function(reader_func, element_spec)
    return make("LoadDataset", [convert_to_tensor(path, dtypes.string), function.captured], element_spec,
                {"compression": _compression(compression), "reader_func": function.defined})
