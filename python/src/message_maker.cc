// SPDX-License-Identifier: Apache-2.0
// Messages of Python become trees of the core, which writes and copies them.
#include "message.h"

namespace thalweg_python {
namespace {

// Names of attributes, made once.
struct Names {
  PyObject* part = PyUnicode_InternFromString("_part");
  PyObject* values = PyUnicode_InternFromString("_values");
  PyObject* unknown = PyUnicode_InternFromString("_unknown");
  PyObject* type = PyUnicode_InternFromString("_full_name");
  PyObject* writers = PyUnicode_InternFromString("_writers");
  PyObject* list_fields = PyUnicode_InternFromString("ListFields");
};
const Names& names() {
  static const Names made;
  return made;
}

bool Fill(TwMessagePart* part, PyObject* message, TwStatus* status);

// What a value goes into: a field and how errors call it.
struct Target {
  TwMessagePart* part;
  TwMessageField field;
  PyObject* name;           // of the field
  PyObject* message_class;  // of its messages, or None
  TwStatus* status;         // one for the whole tree
};

bool Refuse(const Target& target, PyObject* value, const char* wanted) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%R has type %s, but expected one of: %s, for field \"%U\"", value,
               Py_TYPE(value)->tp_name, wanted, target.name);
  return false;
}

bool OutOfRange(const Target& target, PyObject* value) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "Value out of range: %R, for field \"%U\"", value, target.name);
  return false;
}

bool Failed(const TwStatus* status) {
  Raise(status, nullptr);
  return false;
}

bool PutField(const Target& target) {
  if (tw_message_put(target.part, &target.field, target.status) == TW_OK) return true;
  return Failed(target.status);
}

bool PutInt(Target& target, PyObject* value, int bits, bool is_signed) {
  const Ref index(PyNumber_Index(value));
  if (!index) return Refuse(target, value, "int");
  if (is_signed) {
    const int64_t number = PyLong_AsLongLong(index.get());
    const int64_t most = bits == 32 ? INT32_MAX : INT64_MAX;
    if (number == -1 && PyErr_Occurred()) return OutOfRange(target, value);
    if (number > most || number < -most - 1) return OutOfRange(target, value);
    target.field.single.i = number;
  } else {
    const uint64_t number = PyLong_AsUnsignedLongLong(index.get());
    if (number == UINT64_MAX && PyErr_Occurred()) return OutOfRange(target, value);
    if (bits == 32 && number > UINT32_MAX) return OutOfRange(target, value);
    target.field.single.u = number;
  }
  return PutField(target);
}

// The bytes of a str or of bytes; `held` keeps them.
bool BytesOf(PyObject* value, Ref* held, const char** data, Py_ssize_t* size) {
  if (PyUnicode_Check(value)) {
    *data = PyUnicode_AsUTF8AndSize(value, size);
    if (*data != nullptr) return true;
    PyErr_Clear();  // bytes that are no text were read as surrogates
    held->reset(PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape"));
    if (!*held) return false;
    value = held->get();
  }
  return PyBytes_AsStringAndSize(value, const_cast<char**>(data), size) == 0;
}

bool SetText(TwMessageField* field, PyObject* value, Ref* held) {
  const char* data = nullptr;
  Py_ssize_t size = 0;
  if (!BytesOf(value, held, &data, &size)) return false;
  field->values = data;
  field->single.u = static_cast<uint64_t>(size);
  return true;
}

bool PutMessage(const Target& target, PyObject* value) {
  const int same = PyObject_IsInstance(value, target.message_class);
  if (same < 0) return false;
  if (same == 0) {
    const char* wanted = reinterpret_cast<PyTypeObject*>(target.message_class)->tp_name;
    return Refuse(target, value, wanted);
  }
  TwMessagePart* part = tw_message_put_part(target.part, target.field.number, target.status);
  return part == nullptr ? Failed(target.status) : Fill(part, value, target.status);
}

// One value of a field.
bool PutValue(Target& target, PyObject* value) {
  switch (target.field.type) {
    case 1:  // double
    case 2:  // float
      target.field.single.d = PyFloat_AsDouble(value);
      if (target.field.single.d == -1 && PyErr_Occurred()) return Refuse(target, value, "float");
      return PutField(target);
    case 3:   // int64
    case 16:  // sfixed64
    case 18:  // sint64
      return PutInt(target, value, 64, true);
    case 5:   // int32
    case 14:  // enum
    case 15:  // sfixed32
    case 17:  // sint32
      return PutInt(target, value, 32, true);
    case 4:  // uint64
    case 6:  // fixed64
      return PutInt(target, value, 64, false);
    case 7:   // fixed32
    case 13:  // uint32
      return PutInt(target, value, 32, false);
    case 8: {  // bool
      const int truth = PyObject_IsTrue(value);
      if (truth < 0) return Refuse(target, value, "bool");
      target.field.single.u = static_cast<uint64_t>(truth);
      return PutField(target);
    }
    case 9:     // string
    case 12: {  // bytes
      Ref held;
      if (!SetText(&target.field, value, &held)) return Refuse(target, value, "bytes, str");
      return PutField(target);
    }
    case 11:  // message
      return PutMessage(target, value);
    default:
      PyErr_Format(PyExc_SystemError, "a field of type %d", target.field.type);
      return false;
  }
}

bool PutEntry(const Target& target, PyObject* key, PyObject* value) {
  TwMessageField place{};
  Ref held;
  if (PyUnicode_Check(key) || PyBytes_Check(key)) {
    place.type = 9;
    if (!SetText(&place, key, &held)) return false;
  } else {
    place.type = 3;
    place.single.i = PyLong_AsLongLong(key);
    if (place.single.i == -1 && PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Refuse(target, key, "int, str");
      PyErr_Clear();
      place.single.u = PyLong_AsUnsignedLongLong(key);  // the upper half of uint64
      if (PyErr_Occurred()) return OutOfRange(target, key);
    }
  }
  TwMessagePart* entry =
      tw_message_put_entry(target.part, target.field.number, &place, target.status);
  if (entry == nullptr) return Failed(target.status);
  Target inside{entry, {}, target.name, target.message_class, target.status};
  tw_message_field(entry, 2, &inside.field);
  return PutValue(inside, value);
}

bool PutMap(const Target& target, PyObject* map) {
  const Ref keys(PyDict_Keys(map));
  if (!keys) return false;
  if (PyList_Sort(keys.get()) != 0) PyErr_Clear();  // entries find their places anyway
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    const Ref value(Py_XNewRef(PyDict_GetItemWithError(map, key)));
    if (!value ? PyErr_Occurred() != nullptr : !PutEntry(target, key, value.get())) return false;
  }
  return true;
}

bool PutList(Target& target, PyObject* values) {
  const Ref list(PySequence_Fast(values, "a repeated field must be a list"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const Ref value(Py_NewRef(PySequence_Fast_GET_ITEM(list.get(), i)));
    if (!PutValue(target, value.get())) return false;
  }
  return true;
}

// Whether a message that was only asked for has something in it by now, and so is there.
bool IsThere(PyObject* message, bool* failed) {
  const Ref fields(PyObject_CallMethodNoArgs(message, names().list_fields));
  *failed = !fields;
  return fields && PyObject_IsTrue(fields.get()) == 1;
}

// `name` is the field's, behind "?" for a message that nobody has put there yet.
bool PutNamed(TwMessagePart* part, PyObject* writers, PyObject* name, PyObject* value,
              TwStatus* status) {
  Ref plain(Py_NewRef(name));
  if (PyUnicode_READ_CHAR(name, 0) == '?') {
    bool failed = false;
    if (!IsThere(value, &failed)) return !failed;
    plain.reset(PyUnicode_Substring(name, 1, PyUnicode_GET_LENGTH(name)));
    if (!plain) return false;
  }
  PyObject* row = PyDict_GetItemWithError(writers, plain.get());  // (number, class of messages)
  if (row == nullptr) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "no row of field %U", plain.get());
    return false;
  }
  Target target{part, {}, plain.get(), PyTuple_GET_ITEM(row, 1), status};
  const auto number = static_cast<int32_t>(PyLong_AsLong(PyTuple_GET_ITEM(row, 0)));
  if (tw_message_field(part, number, &target.field) == 0) {
    PyErr_Format(PyExc_SystemError, "the core has no field %U", plain.get());
    return false;
  }
  if (target.field.map != 0) return PutMap(target, value);
  return target.field.repeated != 0 ? PutList(target, value) : PutValue(target, value);
}

bool MergeInto(TwMessagePart* part, const TwMessagePart* other, TwStatus* status) {
  return tw_message_merge(part, other, status) == TW_OK || Failed(status);
}

// Fields that the type does not have, as they came.
bool PutUnknown(TwMessagePart* part, PyObject* message, PyObject* bytes, TwStatus* status) {
  if (PyBytes_GET_SIZE(bytes) == 0) return true;
  const Ref type(PyObject_GetAttr(message, names().type));
  const char* name = type ? PyUnicode_AsUTF8(type.get()) : nullptr;
  if (name == nullptr) return false;
  const auto size = static_cast<size_t>(PyBytes_GET_SIZE(bytes));
  const MessagePtr read(tw_message_parse(name, PyBytes_AS_STRING(bytes), size, status));
  return read ? MergeInto(part, tw_message_root(read.get()), status) : Failed(status);
}

bool FillValues(TwMessagePart* part, PyObject* message, TwStatus* status) {
  const Ref held(PyObject_GetAttr(message, names().part));
  if (!held) return false;
  if (IsPart(held.get())) {
    const TwMessagePart* const from = PartOf(held.get());
    return from != nullptr && MergeInto(part, from, status);
  }
  const Ref values(PyObject_GetAttr(message, names().values));
  const Ref writers(PyObject_CallMethodNoArgs(message, names().writers));
  const Ref unknown(PyObject_GetAttr(message, names().unknown));
  if (!values || !writers || !unknown) return false;
  const Ref copy(PyDict_Copy(values.get()));  // methods of Python are called on the way
  if (!copy) return false;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(copy.get(), &at, &name, &value) != 0;) {
    if (!PutNamed(part, writers.get(), name, value, status)) return false;
  }
  return PutUnknown(part, message, unknown.get(), status);
}

bool Fill(TwMessagePart* part, PyObject* message, TwStatus* status) {
  if (Py_EnterRecursiveCall(" while a message is made") != 0) return false;
  const bool filled = FillValues(part, message, status);
  Py_LeaveRecursiveCall();
  return filled;
}

}  // namespace

PyObject* MakeTree(PyObject*, PyObject* message) {
  const Ref type(PyObject_GetAttr(message, names().type));
  const char* name = type ? PyUnicode_AsUTF8(type.get()) : nullptr;
  if (name == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  MessagePtr made(tw_message_new(name, status.get()));
  if (!made) return Raise(status.get(), nullptr);
  return Fill(tw_message_filled(made.get()), message, status.get()) ? RootOf(std::move(made))
                                                                    : nullptr;
}

}  // namespace thalweg_python
