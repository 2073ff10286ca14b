# SPDX-License-Identifier: Apache-2.0
"""Protocol messages without the protobuf package: messages.GraphDef(), ConfigProto(allow_soft_placement=True) ...

Classes are made from the table of the vendored facts when first asked for; each behaves as users of protobuf expect:
fields as attributes, SerializeToString, ParseFromString, FromString, CopyFrom, HasField, WhichOneof, ListFields.
"""
import struct

from thalweg._message_table import TABLE

TABLE.setdefault("google.protobuf.Any", "message\ntype_url 1 string -\nvalue 2 bytes -")
for _kind in ("bytes", "float", "int64", "bool"):
    TABLE[f"tensorflow.HParamDef.{_kind.capitalize()}List"] = \
        f"message\nvalue 1 {_kind} repeated" + ("" if _kind == "bytes" else " packed")
TABLE["tensorflow.HParamDef.HParamType"] = "message\n" + "\n".join(
    f"{_kind}_value {_number} {_kind} oneof:kind\n"
    f"{_kind}_list {_number + (1 if _kind == 'bool' else 3)} tensorflow.HParamDef.{_kind.capitalize()}List oneof:kind"
    for _kind, _number in (("int64", 1), ("float", 2), ("bytes", 3), ("bool", 7)))
TABLE["tensorflow.HParamDef"] = "message\nhparam 1 map string,tensorflow.HParamDef.HParamType"

_FIXED = {"double": "<d", "float": "<f", "fixed32": "<I", "fixed64": "<Q", "sfixed32": "<i", "sfixed64": "<q"}
_MAX_DEPTH = 100  # of messages in each other: as protobuf reads them
_DEFAULTS = {"string": "", "bytes": b"", "bool": False, "double": 0.0, "float": 0.0}


class Field:
    """One field: how it is read and written."""

    def __init__(self, row):
        self.name, number, kind, flag, *packed = row.split()
        self.number = int(number)
        self.map = flag.split(",") if kind == "map" else None
        self.enum = kind[5:] if kind.startswith("enum:") else None
        self.kind = "enum" if self.enum else kind
        self.repeated = flag == "repeated"
        self.oneof = flag[6:] if flag.startswith("oneof:") else None
        self.packed = bool(packed)
        self.is_message = "." in kind and not self.enum and not self.map
        self.wire = 2 if self.is_message or self.map else _wire_of(kind)

    def default(self):
        return _DEFAULTS.get(self.kind, 0)


def _write_varint(out, value):
    value &= 0xFFFFFFFFFFFFFFFF
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _read_varint(data, place):
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise DecodeError("truncated or too long varint")
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, place
        shift += 7


class DecodeError(ValueError):
    """The bytes are no message of this kind."""


def _write_scalar(out, kind, value):
    if kind in _FIXED:
        out += struct.pack(_FIXED[kind], value)
    elif kind in ("string", "bytes"):
        value = value.encode() if isinstance(value, str) else value
        _write_varint(out, len(value))
        out += value
    else:
        value = int(value)
        _write_varint(out, (value << 1) ^ (value >> 63) if kind.startswith("sint") else value)


def _from_varint(kind, value):
    if kind == "bool":
        return value != 0
    if kind.startswith("sint"):
        return (value >> 1) ^ -(value & 1)
    if kind in ("int32", "int64", "enum") and value >= 1 << 63:
        return value - (1 << 64)
    return value & 0xFFFFFFFF if kind == "uint32" else value


class Repeated(list):
    """A repeated field; `add` makes one more message."""

    def __init__(self, message_class=None, items=()):
        super().__init__(items)
        self._message_class = message_class

    def add(self, **fields):
        self.append(self._message_class(**fields))
        return self[-1]

    def MergeFrom(self, other):
        self.extend(other)


class MessageMap(dict):
    """A map field whose values are messages: map[key] makes one."""

    def __init__(self, message_class):
        super().__init__()
        self._message_class = message_class

    def __missing__(self, key):
        made = self[key] = self._message_class()
        return made


class Message:
    """Base of all messages."""

    _fields = {}

    def __init__(self, **fields):
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_parent", None)
        object.__setattr__(self, "_unknown", b"")
        for name, value in fields.items():
            self._set(name, value)

    def _set(self, name, value):
        field = self._field(name)
        if field.repeated:
            items = getattr(self, name)
            items.extend(items._message_class(**v) if isinstance(v, dict) else v for v in value)
        elif field.map:
            getattr(self, name).update(value)
        elif field.is_message:
            message = getattr(self, name)
            message.CopyFrom(_class(field.kind)(**value) if isinstance(value, dict) else value)
        elif value is not None:
            setattr(self, name, value)

    @classmethod
    def _field(cls, name):
        try:
            return cls._fields[name]
        except KeyError:
            raise ValueError(f"Protocol message {cls.__name__} has no \"{name}\" field.") from None

    def __getattr__(self, name):
        if name not in self._fields:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        values, field = self._values, self._fields[name]
        if name in values:
            return values[name]
        if field.repeated:
            made = Repeated(_class(field.kind) if field.is_message else None)
        elif field.map:
            value_kind = field.map[1]
            made = MessageMap(_class(value_kind)) if _is_message(value_kind) else {}
        elif field.is_message:
            made = _class(field.kind)()
            object.__setattr__(made, "_parent", (self, name))
            return values.setdefault("?" + name, made)
        else:
            return field.default()
        values[name] = made
        return made

    def __setattr__(self, name, value):
        field = self._fields.get(name)
        if field is None or field.repeated or field.map or field.is_message:
            raise AttributeError(f"Assignment not allowed to \"{name}\" of {type(self).__name__}.")
        if field.enum and isinstance(value, str):
            members = _enum(field.enum)
            if value not in members:
                raise ValueError(f"unknown enum label {value!r}: expected one of {', '.join(members)}")
            value = members[value]
        if field.kind == "bytes" and not isinstance(value, bytes) or field.kind == "string" and not isinstance(value, (str, bytes)):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: "
                            f"{'bytes' if field.kind == 'bytes' else 'str'}")
        if field.kind == "string" and isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                raise ValueError(f"{value!r} is no text in UTF-8, which field \"{name}\" of {type(self).__name__} takes") from None
        self._choose(field)
        self._values[name] = value
        self._touch()

    def _choose(self, field):
        """Setting one of a oneof clears the others."""
        if field.oneof:
            for other in self._fields.values():
                if other.oneof == field.oneof and other is not field:
                    self._values.pop(other.name, None)

    def _touch(self):
        """A message that is changed is there, and so is what it lies in."""
        if self._parent is not None:
            parent, name = self._parent
            made = parent._values.pop("?" + name, None)
            object.__setattr__(self, "_parent", None)
            if made is self:
                parent._choose(parent._fields[name])
                parent._values[name] = self
                parent._touch()

    def SetInParent(self):
        self._touch()

    def _present(self, field):
        """The value when it is there, else None; a half-made message is there once something is in it."""
        value = self._values.get(field.name)
        if value is None and field.is_message and not field.repeated:
            value = self._values.get("?" + field.name)
            if value is not None and not value.ListFields():
                return None
        if value is None or (field.repeated or field.map) and not value:
            return None
        if not field.oneof and not field.is_message and not field.repeated and not field.map and value == field.default():
            return None
        return value

    def ListFields(self):
        return [(f, v) for f in self._ordered for v in [self._present(f)] if v is not None]

    def HasField(self, name):
        field = self._fields.get(name)
        if field is None:
            return self.WhichOneof(name) is not None
        return self._present(field) is not None

    def WhichOneof(self, oneof):
        for field in self._ordered:
            if field.oneof == oneof and self._present(field) is not None:
                return field.name
        return None

    def ClearField(self, name):
        self._values.pop(name, None)
        self._values.pop("?" + name, None)

    def Clear(self):
        self._values.clear()

    def CopyFrom(self, other):
        if other is not self:
            self.Clear()
            self.MergeFrom(other)
            self._touch()

    def MergeFrom(self, other):
        self.MergeFromString(other.SerializeToString())

    def SerializeToString(self, deterministic=False):
        out = bytearray()
        for field, value in self.ListFields():
            if field.map:
                for key in sorted(value):
                    entry = bytearray()
                    _write_field(entry, 1, field.map[0], key)
                    _write_field(entry, 2, field.map[1], value[key])
                    _write_varint(out, field.number << 3 | 2)
                    _write_scalar(out, "bytes", bytes(entry))
            elif field.repeated and field.wire != 2:
                packed = bytearray()
                for item in value:
                    _write_scalar(packed, field.kind, item)
                _write_varint(out, field.number << 3 | 2)
                _write_scalar(out, "bytes", bytes(packed))
            else:
                for item in value if field.repeated else [value]:
                    _write_field(out, field.number, field.kind, item)
        return bytes(out) + self._unknown

    def ByteSize(self):
        return len(self.SerializeToString())

    def ParseFromString(self, data):
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data):
        return self._merge(data, _MAX_DEPTH)

    def _merge(self, data, depth):
        """Adds what the bytes hold; `depth` is how many messages may still lie in each other."""
        if depth <= 0:
            raise DecodeError(f"messages lie more than {_MAX_DEPTH} deep in each other")
        place, end = 0, len(data)
        while place < end:
            start = place
            tag, place = _read_varint(data, place)
            if tag >> 3 == 0:
                raise DecodeError("field number 0")
            value, place = _read_value(data, place, tag & 7)
            field = self._by_number.get(tag >> 3)
            packed = field is not None and field.repeated and field.wire != 2 and tag & 7 == 2
            if field is None or tag & 7 != field.wire and not packed:
                object.__setattr__(self, "_unknown", self._unknown + bytes(data[start:place]))
            elif packed:
                getattr(self, field.name).extend(_unpack(field, value))
            else:
                self._take(field, value, depth)
        self._touch()
        return end

    def _take(self, field, value, depth):
        if field.map:
            key, item = _read_entry(field, value, depth)
            getattr(self, field.name)[key] = item
        elif field.repeated:
            getattr(self, field.name).append(_value(field.kind, value, depth))
        elif field.is_message:
            getattr(self, field.name)._merge(value, depth - 1)
        else:
            self._choose(field)
            self._values[field.name] = _value(field.kind, value, depth)

    @classmethod
    def FromString(cls, data):
        made = cls()
        made.MergeFromString(data)
        return made

    def __eq__(self, other):
        return type(other) is type(self) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None

    def __deepcopy__(self, memo):
        return type(self).FromString(self.SerializeToString())

    def __reduce__(self):
        return _from_bytes, (self._full_name, self.SerializeToString())

    def __repr__(self):
        return "\n".join(_text(self, "")) + "\n"

    __str__ = __repr__


def _from_bytes(full_name, data):
    return _class(full_name).FromString(data)


def _text(message, indent):
    for field, value in message.ListFields():
        if field.map:
            for key in sorted(value):
                yield f"{indent}{field.name} {{"
                yield f"{indent}  key: {_quoted(key)}"
                if isinstance(value[key], Message):
                    yield f"{indent}  value {{"
                    yield from _text(value[key], indent + "    ")
                    yield f"{indent}  }}"
                else:
                    yield f"{indent}  value: {_quoted(value[key])}"
                yield f"{indent}}}"
            continue
        for item in value if field.repeated else [value]:
            if isinstance(item, Message):
                yield f"{indent}{field.name} {{"
                yield from _text(item, indent + "  ")
                yield f"{indent}}}"
            else:
                names = {v: k for k, v in reversed(_enum(field.enum).items())} if field.enum else {}
                yield f"{indent}{field.name}: {names.get(item) or _quoted(item)}"


def _quoted(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return '"' + "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else {10: "\\n", 34: '\\"', 92: "\\\\"}.get(
            b, f"\\{b:03o}") for b in data) + '"'
    return str(value)


def _write_field(out, number, kind, value):
    if isinstance(value, Message):
        kind, value = "bytes", value.SerializeToString()
    wire = 2 if kind in ("string", "bytes") else {8: 1, 4: 5}[struct.calcsize(_FIXED[kind])] if kind in _FIXED else 0
    _write_varint(out, number << 3 | wire)
    _write_scalar(out, kind, value)


def _read_value(data, place, wire):
    if wire == 0:
        return _read_varint(data, place)
    if wire == 2:
        size, place = _read_varint(data, place)
    elif wire in (1, 5):
        size = 8 if wire == 1 else 4
    else:
        raise DecodeError(f"wire type {wire}")
    if place + size > len(data):
        raise DecodeError("truncated message")
    return data[place:place + size], place + size


def _value(kind, raw, depth):
    if isinstance(raw, int):
        return _from_varint(kind, raw)
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind], raw)[0]
    if kind == "string":
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"text that is not UTF-8: {error}") from None
    if kind == "bytes":
        return bytes(raw)
    made = _class(kind)()
    made._merge(raw, depth - 1)
    return made


def _unpack(field, data):
    if field.kind in _FIXED:
        if len(data) % struct.calcsize(_FIXED[field.kind]) != 0:
            raise DecodeError(f"{len(data)} bytes are no whole number of values of type {field.kind}")
        return [v[0] for v in struct.iter_unpack(_FIXED[field.kind], data)]
    items, place = [], 0
    while place < len(data):
        value, place = _read_varint(data, place)
        items.append(_from_varint(field.kind, value))
    return items


def _wire_of(kind):
    if kind in ("string", "bytes") or _is_message(kind):
        return 2
    return {"double": 1, "fixed64": 1, "sfixed64": 1, "float": 5, "fixed32": 5, "sfixed32": 5}.get(kind, 0)


def _read_entry(field, data, depth):
    key_kind, value_kind = field.map
    key = _DEFAULTS.get(key_kind, 0)
    item = _class(value_kind)() if _is_message(value_kind) else _DEFAULTS.get(value_kind, 0)
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        raw, place = _read_value(data, place, tag & 7)
        if tag == 8 + _wire_of(key_kind):
            key = _value(key_kind, raw, depth)
        elif tag == 16 + _wire_of(value_kind):
            item = _value(value_kind, raw, depth - 1)
    return key, item


def _is_message(kind):
    return TABLE.get(kind, "").startswith("message")


def _enum(full_name):
    return {name: int(value) for name, value in (row.split() for row in TABLE[full_name].splitlines())}


_classes = {}


def _class(full_name):
    made = _classes.get(full_name)
    if made is not None:
        return made
    rows = TABLE[full_name].splitlines()[1:]
    ordered = sorted((Field(row) for row in rows), key=lambda f: f.number)
    members = {"_fields": {f.name: f for f in ordered}, "_ordered": ordered, "_full_name": full_name,
               "_by_number": {f.number: f for f in ordered}, "__module__": __name__, "__doc__": f"The message {full_name}."}
    for name in TABLE:
        prefix, _, last = name.rpartition(".")
        if prefix == full_name and not _is_message(name):
            members.update(_enum(name))
    for field in ordered:
        members[field.name.upper() + "_FIELD_NUMBER"] = field.number
    made = _classes[full_name] = type(full_name.rpartition(".")[2], (Message,), members)
    for name in TABLE:
        prefix, _, last = name.rpartition(".")
        if prefix == full_name and _is_message(name):
            setattr(made, last, _class(name))
    return made


def __getattr__(name):
    full_name = "tensorflow." + name
    if full_name in TABLE:
        return _class(full_name) if _is_message(full_name) else Enum(_enum(full_name))
    if name.isupper() or name[:3] == "DT_":  # a value of an enum that stands in no message, as types_pb2.DT_FLOAT
        for other in TABLE:
            if other.count(".") == 1 and not _is_message(other) and name in _enum(other):
                return _enum(other)[name]
    raise AttributeError(f"module 'thalweg.messages' has no attribute '{name}'")


class Enum(dict):
    """The values of an enum by their names; each is an attribute too."""

    def Name(self, number):  # noqa: N802
        """The name of a value."""
        for name, value in self.items():
            if value == number:
                return name
        raise ValueError(f"the enum has no name defined for value {number!r}")

    def Value(self, name):  # noqa: N802
        """The value of a name."""
        if name not in self:
            raise ValueError(f"the enum has no value defined for name {name!r}")
        return self[name]

    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """The TensorProto of an array, list or number; with `allow_broadcast`, one value may fill the shape."""
    import numpy as np

    from thalweg import _core, dtypes
    number = 0 if dtype is None else dtypes.as_dtype(dtype)._number
    if shape is not None:
        number, array = _core.to_numpy(values, number)
        array, shape = np.asarray(array), [int(d) for d in shape]
        if verify_shape and list(array.shape) != shape:
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
        if array.size > np.prod(shape, dtype=np.int64):
            raise ValueError(f"Too many elements provided. Needed at most {np.prod(shape)}, but received {array.size}")
        values = np.broadcast_to(array, shape) if allow_broadcast and array.size == 1 else np.reshape(array, shape)
    return _class("tensorflow.TensorProto").FromString(_core.tensor_to_proto(values, number))


def make_ndarray(tensor):
    """The array of a TensorProto."""
    from thalweg import _core
    return _core.tensor_from_proto(tensor.SerializeToString())
