# SPDX-License-Identifier: Apache-2.0
"""Protocol messages without the protobuf package: messages.GraphDef(), ConfigProto(allow_soft_placement=True) ...

Classes are made from the table of the vendored facts when first asked for; each behaves as users of protobuf expect:
fields as attributes, SerializeToString, ParseFromString, FromString, CopyFrom, HasField, WhichOneof, ListFields.

Bytes are read by the core, whole; what is in a message becomes Python's a level at a time, when somebody looks. The core
writes and copies messages too.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import _core
from thalweg._message_table import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Self

    from thalweg.base.typing import Array, ArrayLike, DTypeLike, ShapeLike
    from thalweg.messages import TensorProto

_DEFAULTS = {"string": "", "bytes": b"", "bool": False, "double": 0.0, "float": 0.0}


class Field:
    """One field: how it is read and written; an attribute of its class, by which each message finds its value."""

    def __init__(self, row: str) -> None:
        self.name, number, kind, flag = row.split()[:4]
        self.number = int(number)
        self.map = flag.split(",") if kind == "map" else None
        self.enum = kind[5:] if kind.startswith("enum:") else None
        self.kind = "enum" if self.enum else kind
        self.repeated = flag == "repeated"
        self.oneof = flag[6:] if flag.startswith("oneof:") else None
        self.is_message = "." in kind and not self.enum and not self.map

    def __get__(self, message: Message | None, owner: type[Message] | None = None) -> Any:
        """The value that a message has, or has by default."""
        if message is None:
            return self
        values, name = message._values, self.name
        if name in values:
            return values[name]
        if self.repeated:
            made = Repeated(self.message_class())
        elif self.map:
            made = MessageMap(self.message_class())
        elif self.is_message:
            made = _class(self.kind)()
            object.__setattr__(made, "_parent", (message, name))
            return values.setdefault("?" + name, made)
        else:
            return self.default()
        values[name] = made
        return made

    def default(self) -> Any:
        return _DEFAULTS.get(self.kind, 0)

    def message_class(self) -> type[Message] | None:
        """The class of its messages, or of its map's; None where they are none."""
        kind = self.map[1] if self.map else self.kind
        return _class(kind) if _is_message(kind) else None

    def reader(self) -> tuple[Any, ...]:
        """What the core needs to make the value: name, class of messages, and what makes a container of it and the values."""
        return self.name, self.message_class(), MessageMap if self.map else Repeated if self.repeated else None


class DecodeError(ValueError):
    """The bytes are no message of this kind."""


class Repeated(list):
    """A repeated field; `add` makes one more message."""

    def __init__(self, message_class: type[Message] | None = None, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self._message_class = message_class

    def add(self, **fields: object) -> Any:
        """Makes one more message, of these fields, and gives it."""
        self.append(self._message_class(**fields))
        return self[-1]

    def MergeFrom(self, other: Any) -> None:
        """Adds the elements of another."""
        self.extend(other)


class MessageMap(dict):
    """A map field: map[key] makes a value where values are messages."""

    def __init__(self, message_class: type[Message] | None) -> None:
        super().__init__()
        self._message_class = message_class

    def __missing__(self, key: Any):
        if self._message_class is None:
            raise KeyError(key)
        made = self[key] = self._message_class()
        return made


class _Unread:
    """The values of a message that was read, at the first look into it; from then on the message has its own."""

    def __get__(self, message: Message | None, owner: type[Message] | None = None) -> Any:
        return self if message is None else message._look()


class Message:
    """Base of all messages."""

    _fields = {}
    _values = _Unread()
    _made_readers = None
    _part = None  # what was read and not looked at yet; then there are no _values
    _parent = None
    _unknown = b""
    _of_failures = False  # of a RunMetadata: filled by a run that fails, too

    def __init__(self, **fields: object) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in fields.items():
            self._set(name, value)

    def _set(self, name, value):
        field = self._field(name)
        if value is None:  # as if it were not given
            return
        if field.repeated:
            items = getattr(self, name)
            items.extend(items._message_class(**v) if isinstance(v, dict) else v for v in value)
        elif field.map:
            getattr(self, name).update(value)
        elif field.is_message:
            message = getattr(self, name)
            message.CopyFrom(_class(field.kind)(**value) if isinstance(value, dict) else value)
        else:
            setattr(self, name, value)

    @classmethod
    def _field(cls, name):
        try:
            return cls._fields[name]
        except KeyError:
            raise ValueError(f"Protocol message {cls.__name__} has no \"{name}\" field.") from None

    def _tree(self):
        """All that is in it, as a part of a tree of the core that does not change."""
        return self._part if self._part is not None else _core.make_message(self)

    def _tree_of(self, other):
        """The tree of a message that is to be added: of this class, or of protobuf's own one of the same name."""
        if type(other) is type(self):
            return other._tree()
        if isinstance(other, Message) or type(other).__name__ != type(self).__name__ or not hasattr(other, "SerializeToString"):
            raise TypeError(f"a {type(self).__name__} takes the fields of another one, not of a {type(other).__name__}")
        return _core.parse_message(self._full_name, other.SerializeToString())

    def _look(self):
        """The values of a message that was read; from here on they may change."""
        part = self._part
        if part is None:  # another thread has looked
            return self.__dict__["_values"]
        state = self.__dict__
        values = state.setdefault("_values", part.values(self._made_readers or self._readers()))
        state["_unknown"], state["_part"] = part.unknown(), None
        return values

    @classmethod
    def _readers(cls):
        """{number: (name, class of messages, container)} of the fields, made once for a class."""
        cls._made_readers = {f.number: f.reader() for f in cls._ordered}
        return cls._made_readers

    @classmethod
    def _writers(cls):
        """{name: (number, class of messages)} of the fields, made once for a class; for the core."""
        if "_made_writers" not in cls.__dict__:
            cls._made_writers = {f.name: (f.number, f.message_class()) for f in cls._ordered}
        return cls._made_writers

    def __getattr__(self, name: str):
        raise AttributeError(f"{type(self).__name__} has no field {name}")

    def __setattr__(self, name: str, value: object) -> None:
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

    def SetInParent(self) -> None:
        """Makes it count as there, though nothing was set in it."""
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

    def ListFields(self) -> list[tuple[Field, Any]]:
        """(field, value) of what is there, in the order of the fields' numbers."""
        return [(f, v) for f in self._ordered for v in [self._present(f)] if v is not None]

    def HasField(self, name: str) -> bool:
        """Whether a field, or one of a oneof, is there."""
        field = self._fields.get(name)
        if field is None:
            return self.WhichOneof(name) is not None
        return self._present(field) is not None

    def WhichOneof(self, oneof: str) -> str | None:
        """The name of the field of a oneof that is there, or None."""
        for field in self._ordered:
            if field.oneof == oneof and self._present(field) is not None:
                return field.name
        return None

    def ClearField(self, name: str) -> None:
        """Takes away what a field has."""
        self._values.pop(name, None)
        self._values.pop("?" + name, None)

    def Clear(self) -> None:
        """Takes away all that is in it."""
        for name, value in (("_values", {}), ("_unknown", b""), ("_part", None)):
            object.__setattr__(self, name, value)

    def CopyFrom(self, other: Message) -> None:
        """Becomes equal to another message."""
        if other is not self:
            tree = self._tree_of(other)
            self.Clear()
            self._merge(tree)

    def MergeFrom(self, other: Message) -> None:
        """Adds what another message has: single fields are replaced, repeated ones grow."""
        self._merge(self._tree_of(other))

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        """The bytes of the message."""
        return self._tree().serialize() if deterministic else self._tree().written()

    def ByteSize(self) -> int:
        """How many bytes it takes."""
        return len(self.SerializeToString())

    def ParseFromString(self, data: bytes) -> int:
        """Becomes what the bytes hold; a DecodeError where they are not of its kind."""
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Adds what the bytes hold; the message is as it was when they are not of its kind."""
        try:
            part = _core.parse_message(self._full_name, data)
        except ValueError as error:
            raise DecodeError(str(error)) from None
        self._merge(part)
        return len(data)

    def _take(self, part):
        """Becomes what a tree has, which the core may make only when somebody asks for it."""
        state = self.__dict__
        state.pop("_values", None)
        state["_part"], state["_unknown"] = part, b""
        self._touch()

    def _merge(self, part):
        """Adds what a tree has."""
        if self._part is None and not self._values and not self._unknown:
            object.__delattr__(self, "_values")
            object.__setattr__(self, "_part", part)
        else:
            read = type(self)()
            object.__delattr__(read, "_values")
            object.__setattr__(read, "_part", part)
            self._add(read)
        self._touch()

    def _add(self, other):
        """Adds the fields of a message that nobody else has."""
        for field, value in other.ListFields():
            if field.map:
                getattr(self, field.name).update(value)
            elif field.repeated:
                getattr(self, field.name).extend(value)
            elif field.is_message:
                mine = getattr(self, field.name)
                mine._add(value)
                mine._touch()
            else:
                self._choose(field)
                self._values[field.name] = value
        object.__setattr__(self, "_unknown", self._unknown + other._unknown)

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """A message of its bytes; a DecodeError where they are not of its kind."""
        made = cls()
        made.MergeFromString(data)
        return made

    def __eq__(self, other: Message) -> bool:
        return type(other) is type(self) and self.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)

    __hash__ = None

    def __deepcopy__(self, memo):
        made = type(self)()
        made._merge(self._tree())
        return made

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
    fields = {f.name: f for f in ordered}
    members = {**fields, "_fields": fields, "_ordered": ordered, "_full_name": full_name,
               "_by_number": {f.number: f for f in ordered}, "__module__": __name__, "__doc__": f"The message {full_name}."}
    for name in TABLE:
        prefix, _, last = name.rpartition(".")
        if prefix == full_name and not _is_message(name):
            members.update(_enum(name))
    for field in ordered:
        members[field.name.upper() + "_FIELD_NUMBER"] = field.number
    for name in TABLE:
        prefix, _, last = name.rpartition(".")
        if prefix == full_name and _is_message(name):
            members[last] = _class(name)
    made = type(full_name.rpartition(".")[2], (Message,), members)
    return _classes.setdefault(full_name, made)  # another thread may have made it meanwhile: there is one class of a message


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

    def Name(self, number: int) -> str:
        """The name of a value."""
        for name, value in self.items():
            if value == number:
                return name
        raise ValueError(f"the enum has no name defined for value {number!r}")

    def Value(self, name: str) -> int:
        """The value of a name."""
        if name not in self:
            raise ValueError(f"the enum has no value defined for name {name!r}")
        return self[name]

    def __getattr__(self, name: str):
        if name not in self:
            raise AttributeError(name)
        return self[name]


def make_tensor_proto(values: ArrayLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False,
                      allow_broadcast: bool = False) -> TensorProto:
    """The TensorProto of an array, list or number; with `allow_broadcast`, one value may fill the shape."""
    import numpy as np

    from thalweg import dtypes
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


def tensor_value(tensor: TensorProto) -> Any:
    """The value of a TensorProto, as a run would give it: a scalar is no array."""
    return _core.tensor_from_proto(tensor.SerializeToString())


def make_ndarray(tensor: TensorProto) -> Array:
    """The array of a TensorProto, also of a scalar."""
    value = tensor_value(tensor)
    return np.array(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)
