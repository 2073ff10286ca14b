# SPDX-License-Identifier: Apache-2.0
"""Checkpoints without a session: what is in them, and variables that start from them."""
import glob
import os
import struct

import numpy as np

from thalweg import dtypes, errors, messages, records
from thalweg.messages import _read_varint
from thalweg.shapes import TensorShape

_MAGIC = 0xDB4775248B80FB57


def _damaged(path, what):
    return errors.DataLossError(None, None, f"{path}: {what}")


def _handle(data, place):
    offset, place = _read_varint(data, place)
    size, place = _read_varint(data, place)
    return offset, size, place


def _block(path, data, offset, size):
    """(key, value) of a block of a table."""
    if offset + size + 5 > len(data):
        raise _damaged(path, "a block lies beyond the end of the file")
    block, kind = data[offset:offset + size], data[offset + size]
    if records.masked_crc(data[offset:offset + size + 1]) != struct.unpack_from("<I", data, offset + size + 1)[0]:
        raise _damaged(path, "block checksum mismatch")
    if kind != 0:
        raise errors.UnimplementedError(None, None, f"{path}: compressed tables are not read")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end, place, key = len(block) - 4 - 4 * restarts, 0, b""
    while place < end:
        shared, place = _read_varint(block, place)
        fresh, place = _read_varint(block, place)
        length, place = _read_varint(block, place)
        key = key[:shared] + block[place:place + fresh]
        yield key, block[place + fresh:place + fresh + length]
        place += fresh + length


def _table(path):
    """All (key, value) of a table file."""
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 48 or struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise _damaged(path, "not a checkpoint's index (bad magic number)")
    try:
        _, _, place = _handle(data, len(data) - 48)
        offset, size, _ = _handle(data, place)
        for _, handle in _block(path, data, offset, size):
            offset, size, _ = _handle(handle, 0)
            yield from _block(path, data, offset, size)
    except (IndexError, struct.error, messages.DecodeError) as error:
        raise _damaged(path, f"malformed table ({error})") from None


class CheckpointReader:
    """NewCheckpointReader("dir/model-10").get_tensor("weights")."""

    def __init__(self, filepattern):
        self._prefix = os.fspath(filepattern)
        index = self._prefix + ".index"
        self._entries = {}
        self._shards = 1
        if not os.path.exists(index):
            self._read_v1_headers()
            return
        for key, value in _table(index):
            if key == b"":
                self._shards = messages.BundleHeaderProto.FromString(value).num_shards
            elif b"\0" not in key:  # a part of a sliced tensor has a key that begins with a zero
                self._entries[key.decode()] = messages.BundleEntryProto.FromString(value)
            else:
                self._entries[key] = messages.BundleEntryProto.FromString(value)

    def _read_v1_headers(self):
        """The entries of files of format V1: their values are the core's to read."""
        paths = sorted(glob.glob(self._prefix))
        if not paths:
            raise errors.NotFoundError(None, None, f"Unsuccessful TensorSliceReader constructor: Failed to find any matching "
                                                   f"files for {self._prefix}")
        for path in paths:
            key, header = next(_table(path), (None, b""))
            if key != b"":
                raise _damaged(path, "no checkpoint: it has no header")
            for tensor in messages.SavedTensorSlices.FromString(header).meta.tensor:
                self._entries[tensor.name] = messages.BundleEntryProto(dtype=tensor.type, shape=tensor.shape, slices=tensor.slice)

    def _names(self):
        return [n for n in self._entries if isinstance(n, str)]

    def has_tensor(self, tensor_str):
        return tensor_str in self._entries

    def get_variable_to_shape_map(self):
        return {n: TensorShape(self._entries[n].shape).as_list() for n in self._names()}

    def get_variable_to_dtype_map(self):
        return {n: dtypes.as_dtype(self._entries[n].dtype) for n in self._names()}

    def debug_string(self):
        shapes = self.get_variable_to_shape_map()
        return "".join(f"{n} (DT_{t.name.upper()}) {shapes[n]}\n" for n, t in self.get_variable_to_dtype_map().items()).encode()

    def get_tensor(self, tensor_str):
        """The value of a variable."""
        entry = self._entries.get(tensor_str)
        if entry is None:
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        if entry.slices:
            return self._restored(tensor_str, entry)
        path = f"{self._prefix}.data-{entry.shard_id:05d}-of-{self._shards:05d}"
        with open(path, "rb") as f:
            f.seek(entry.offset)
            data = f.read(entry.size)
        if len(data) != entry.size:
            raise _damaged(path, f"{tensor_str} lies beyond the end of the file")
        kind, shape = dtypes.as_dtype(entry.dtype), TensorShape(entry.shape).as_list()
        if kind is dtypes.string:
            return _strings(data, shape)
        array = np.frombuffer(data, np.uint16 if kind is dtypes.bfloat16 else kind.as_numpy_dtype)
        if array.size != np.prod(shape, dtype=np.int64):
            raise _damaged(path, f"{tensor_str} has {array.size} elements, which do not fill a shape of {shape}")
        array = array.reshape(shape).copy()
        return array if shape else array[()]

    def _restored(self, name, entry):
        """A tensor that was saved in parts: the core puts them together."""
        from thalweg import ops
        from thalweg.graph import Graph
        from thalweg.session import Session
        graph = Graph()
        with graph.as_default():
            found = ops.apply("RestoreV2", [self._prefix, [name], [""]], {"dtypes": [dtypes.as_dtype(entry.dtype)]})
        with Session(graph=graph) as session:
            return session.run(found)[0]


def _strings(data, shape):
    count, lengths, place = int(np.prod(shape, dtype=np.int64)), [], 0
    for _ in range(count):
        length, place = _read_varint(data, place)
        lengths.append(length)
    place += 4  # the checksum of the lengths
    values = np.empty(count, object)
    for i, length in enumerate(lengths):
        values[i] = data[place:place + length]
        place += length
    return values.reshape(shape) if shape else values[0]


def NewCheckpointReader(filepattern):  # noqa: N802
    """Reads a checkpoint."""
    return CheckpointReader(filepattern)


def _found(ckpt_dir_or_file):
    from thalweg.saver import latest_checkpoint
    if os.path.isdir(ckpt_dir_or_file):
        found = latest_checkpoint(ckpt_dir_or_file)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}")
        return found
    return ckpt_dir_or_file


def load_checkpoint(ckpt_dir_or_file):
    """A reader of a checkpoint, or of the newest one of a directory."""
    return CheckpointReader(_found(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file, name):
    """The value of a variable; the name may end with :0."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file):
    """[(name, shape)] of all variables."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Variables start with what a checkpoint holds: {name there: variable or name, "scope/": "other scope/"}."""
    from thalweg import graph
    path = _found(ckpt_dir_or_file)
    reader = CheckpointReader(path)
    all_variables = {v.op.name: v for v in graph.get_collection(graph.GraphKeys.GLOBAL_VARIABLES)}
    for theirs, ours in assignment_map.items():
        if isinstance(ours, str) and theirs.endswith("/"):
            if not ours.endswith("/"):
                raise ValueError(f"Assignment map with scope only name {ours} should map to scope only {theirs}. Should be "
                                 "'scope/': 'other_scope/'.")
            prefix = "" if ours == "/" else ours
            begin = "" if theirs == "/" else theirs
            pairs = [(begin + name[len(prefix):], v) for name, v in all_variables.items() if name.startswith(prefix)]
            pairs = [(n, v) for n, v in pairs if reader.has_tensor(n)]
            if not pairs:
                raise ValueError(f"Tensors in scope {theirs!r} of the checkpoint {path} match no variables in scope {ours!r}")
        else:
            if isinstance(ours, str):
                if ours not in all_variables:
                    raise ValueError(f"Variable {ours} is not found in the graph")
                ours = all_variables[ours]
            pairs = [(theirs, ours)]
        for name, variable in pairs:
            _start_from(reader, path, name, variable)


def _start_from(reader, path, name, variable):
    """The initializer of a variable gives what the checkpoint has under a name."""
    from thalweg import graph, ops
    if isinstance(variable, list) or hasattr(variable, "_get_variable_list"):
        raise NotImplementedError("init_from_checkpoint of partitioned variables is not there yet")
    if not reader.has_tensor(name):
        raise ValueError(f"Tensor {name} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}")
    shape = reader.get_variable_to_shape_map()[name]
    if not variable.shape.is_compatible_with(shape):
        raise ValueError(f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {name} "
                         f"({shape}) from checkpoint reader.")
    kind = variable.dtype.base_dtype
    with variable.graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
        value = ops.apply("RestoreV2", [path, [name], [""]], {"dtypes": [kind]})[0]
        value.set_shape(shape)
        variable._initial_value = value
        if variable._resource:
            variable._initializer = ops.apply("AssignVariableOp", [variable.handle, value])
        else:
            variable._initializer = ops.apply("Assign", [variable._ref_tensor, value]).op
