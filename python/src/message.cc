// SPDX-License-Identifier: Apache-2.0
// Protocol messages that were read: parts of a tree of the core. What is in a part becomes Python's
// when somebody asks for it, one level at a time, so that reading a large graph is the core's work.
#include "message.h"

namespace thalweg_python {
namespace {

// A part of a tree; `tree` is a capsule, which every part of it keeps. A root may be bytes of a
// message of `type` that nobody has asked for yet: then it has neither.
struct MessagePartObject {
  PyObject_HEAD PyObject* tree;
  const TwMessagePart* part;
  TwBuffer* unread;
  const char* type;
};

PyTypeObject* part_type = nullptr;
PyObject* part_name = nullptr;  // "_part", the attribute of a message that holds its part
constexpr const char kTree[] = "thalweg._core.message_tree";

void FreeTree(PyObject* capsule) {
  tw_message_free(static_cast<TwMessage*>(PyCapsule_GetPointer(capsule, kTree)));
}

PyObject* MakePart(PyObject* tree, const TwMessagePart* part) {
  auto* made = reinterpret_cast<MessagePartObject*>(part_type->tp_alloc(part_type, 0));
  if (made == nullptr) return nullptr;
  Py_INCREF(tree);
  made->tree = tree;
  made->part = part;
  return reinterpret_cast<PyObject*>(made);
}

void PartDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<MessagePartObject*>(self)->tree);
  tw_buffer_free(reinterpret_cast<MessagePartObject*>(self)->unread);
  type->tp_free(self);
  Py_DECREF(type);
}

// A message of Python's class of which nothing but its part is known; __init__ does not run.
PyObject* MakeMessage(PyObject* message_class, PyObject* tree, const TwMessagePart* part) {
  PyObject* held = MakePart(tree, part);
  if (held == nullptr) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(message_class);
  PyObject* message = type->tp_alloc(type, 0);
  if (message != nullptr && PyObject_GenericSetAttr(message, part_name, held) != 0) {
    Py_CLEAR(message);
  }
  Py_DECREF(held);
  return message;
}

PyObject* TextValue(const TwMessageField& field, size_t i) {
  constexpr int kString = 9;
  size_t size = 0;
  const char* text = tw_message_text(&field, i, &size);
  const auto length = static_cast<Py_ssize_t>(size);
  return field.type == kString ? PyUnicode_DecodeUTF8(text, length, "surrogateescape")
                               : PyBytes_FromStringAndSize(text, length);
}

template <class T>
T At(const TwMessageField& field, size_t i) {
  return static_cast<const T*>(field.values)[i];
}

// Value i of a field; `message_class` is that of its messages.
PyObject* Value(const TwMessageField& field, size_t i, PyObject* message_class, PyObject* tree) {
  const bool many = field.repeated != 0;
  switch (field.type) {
    case 1:  // double
      return PyFloat_FromDouble(many ? At<double>(field, i) : field.single.d);
    case 2:  // float
      return PyFloat_FromDouble(many ? static_cast<double>(At<float>(field, i)) : field.single.d);
    case 3:   // int64
    case 16:  // sfixed64
    case 18:  // sint64
      return PyLong_FromLongLong(many ? At<int64_t>(field, i) : field.single.i);
    case 5:   // int32
    case 14:  // enum
    case 15:  // sfixed32
    case 17:  // sint32
      return PyLong_FromLongLong(many ? At<int32_t>(field, i) : field.single.i);
    case 4:  // uint64
    case 6:  // fixed64
      return PyLong_FromUnsignedLongLong(many ? At<uint64_t>(field, i) : field.single.u);
    case 7:   // fixed32
    case 13:  // uint32
      return PyLong_FromUnsignedLongLong(many ? At<uint32_t>(field, i) : field.single.u);
    case 8:  // bool
      return PyBool_FromLong(many ? At<uint8_t>(field, i) : static_cast<long>(field.single.u));
    case 9:   // string
    case 12:  // bytes
      return TextValue(field, i);
    case 11:  // message
      return MakeMessage(message_class, tree, tw_message_part(&field, i));
    default:
      PyErr_Format(PyExc_SystemError, "a field of type %d", field.type);
      return nullptr;
  }
}

PyObject* ListOf(const TwMessageField& field, PyObject* message_class, PyObject* tree) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(field.count));
  for (size_t i = 0; list != nullptr && i < field.count; ++i) {
    PyObject* value = Value(field, i, message_class, tree);
    if (value == nullptr) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), value);
    }
  }
  return list;
}

// Adds the entries of a map field, each of which has a key and a value.
bool FillMap(const TwMessageField& field, PyObject* message_class, PyObject* tree, PyObject* map) {
  for (size_t i = 0; i < field.count; ++i) {
    TwMessageField parts[2];
    if (tw_message_fields(tw_message_part(&field, i), parts, 2) != 2) {
      PyErr_SetString(PyExc_SystemError, "an entry of a map without key or value");
      return false;
    }
    PyObject* key = Value(parts[0], 0, nullptr, tree);
    PyObject* value = key == nullptr ? nullptr : Value(parts[1], 0, message_class, tree);
    const bool added = value != nullptr && PyDict_SetItem(map, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    if (!added) return false;
  }
  return true;
}

// reader: (name, class of messages or None, function that makes the container or None).
PyObject* FieldValue(const TwMessageField& field, PyObject* reader, PyObject* tree) {
  PyObject* message_class = PyTuple_GET_ITEM(reader, 1);
  PyObject* container = PyTuple_GET_ITEM(reader, 2);
  if (field.map != 0) {
    PyObject* map = PyObject_CallOneArg(container, message_class);
    if (map != nullptr && !FillMap(field, message_class, tree, map)) Py_CLEAR(map);
    return map;
  }
  if (field.repeated == 0) return Value(field, 0, message_class, tree);
  PyObject* list = ListOf(field, message_class, tree);
  if (list == nullptr) return nullptr;
  PyObject* made = PyObject_CallFunctionObjArgs(container, message_class, list, nullptr);
  Py_DECREF(list);
  return made;
}

PyObject* PartValues(PyObject* self, PyObject* readers) {
  if (!PyDict_Check(readers)) return PyErr_Format(PyExc_TypeError, "values() takes a dict");
  const TwMessagePart* const part = PartOf(self);
  if (part == nullptr) return nullptr;
  PyObject* tree = reinterpret_cast<MessagePartObject*>(self)->tree;
  TwMessageField fields[TW_MESSAGE_FIELDS];
  const int32_t count = tw_message_fields(part, fields, TW_MESSAGE_FIELDS);
  PyObject* values = PyDict_New();
  for (int32_t i = 0; values != nullptr && i < count; ++i) {
    PyObject* number = PyLong_FromLong(fields[i].number);
    PyObject* reader = number == nullptr ? nullptr : PyDict_GetItemWithError(readers, number);
    if (reader == nullptr && !PyErr_Occurred()) {
      PyErr_Format(PyExc_SystemError, "the class of a message has no field %d", fields[i].number);
    }
    Py_XDECREF(number);
    PyObject* value = reader == nullptr ? nullptr : FieldValue(fields[i], reader, tree);
    if (value == nullptr || PyDict_SetItem(values, PyTuple_GET_ITEM(reader, 0), value) != 0) {
      Py_CLEAR(values);
    }
    Py_XDECREF(value);
  }
  return values;
}

PyObject* PartUnknown(PyObject* self, PyObject*) {
  const TwMessagePart* const part = PartOf(self);
  if (part == nullptr) return nullptr;
  size_t size = 0;
  const char* bytes = tw_message_unknown(part, &size);
  return PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(size));
}

PyObject* PartSerialize(PyObject* self, PyObject*) {
  const TwMessagePart* const part = PartOf(self);
  if (part == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* bytes = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  bytes = tw_message_serialize(part, status.get());
  Py_END_ALLOW_THREADS;
  return BytesOrRaise(bytes, status.get(), nullptr);
}

// What nobody has read needs no tree, which takes several times its bytes.
PyObject* PartWritten(PyObject* self, PyObject* unused) {
  const TwBuffer* const unread = reinterpret_cast<MessagePartObject*>(self)->unread;
  if (unread == nullptr) return PartSerialize(self, unused);
  return PyBytes_FromStringAndSize(static_cast<const char*>(tw_buffer_data(unread)),
                                   static_cast<Py_ssize_t>(tw_buffer_size(unread)));
}

PyMethodDef message_methods[] = {
    {"values", PartValues, METH_O,
     "values({field number: (name, class, container)}): {name: value} of the fields that are "
     "there."},
    {"unknown", PartUnknown, METH_NOARGS, "The bytes of the fields that the type does not have."},
    {"serialize", PartSerialize, METH_NOARGS, "The bytes of the message, its fields in order."},
    {"written", PartWritten, METH_NOARGS, "The bytes of the message, as they came where they did."},
    {nullptr, nullptr, 0, nullptr}};

// Bytes that are no such message.
PyObject* RaiseValueError(const TwStatus* status) {
  PyObject* text = Text(tw_status_message(status));
  if (text != nullptr) PyErr_SetObject(PyExc_ValueError, text);
  Py_XDECREF(text);
  return nullptr;
}

PyObject* ParseMessage(PyObject*, PyObject* args) {
  const char* type = nullptr;
  Py_buffer data;
  if (!PyArg_ParseTuple(args, "sy*", &type, &data)) return nullptr;
  const StatusPtr status = NewStatus();
  MessagePtr message;
  Py_BEGIN_ALLOW_THREADS;
  message.reset(tw_message_parse(type, data.buf, static_cast<size_t>(data.len), status.get()));
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&data);
  return message ? RootOf(std::move(message)) : RaiseValueError(status.get());
}

// Parses the bytes of `self` at the first look into it; false with an error. Python's lock is held
// meanwhile, so that no other thread does the same.
bool Read(MessagePartObject* self) {
  const StatusPtr status = NewStatus();
  MessagePtr message(tw_message_parse(self->type, tw_buffer_data(self->unread),
                                      tw_buffer_size(self->unread), status.get()));
  if (!message) return RaiseValueError(status.get()) != nullptr;
  self->tree = PyCapsule_New(message.get(), kTree, FreeTree);
  if (self->tree == nullptr) return false;
  self->part = tw_message_root(message.release());
  tw_buffer_free(std::exchange(self->unread, nullptr));
  return true;
}

PyMethodDef functions[] = {
    {"parse_message", ParseMessage, METH_VARARGS,
     "parse_message(type, data): the root of a message; ValueError for bytes that are none."},
    {"make_message", MakeTree, METH_O,
     "make_message(message): the root of a new tree of what a message of Python's has."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool IsPart(PyObject* object) { return PyObject_TypeCheck(object, part_type); }

const TwMessagePart* PartOf(PyObject* self) {
  auto* part = reinterpret_cast<MessagePartObject*>(self);
  return part->unread == nullptr || Read(part) ? part->part : nullptr;
}

PyObject* RootOf(MessagePtr message) {
  const TwMessagePart* root = tw_message_root(message.get());
  PyObject* tree = PyCapsule_New(message.get(), kTree, FreeTree);
  if (tree == nullptr) return nullptr;
  message.release();  // NOLINT(bugprone-unused-return-value): the capsule's
  PyObject* part = MakePart(tree, root);
  Py_DECREF(tree);
  return part;
}

PyObject* UnreadRoot(TwBuffer* bytes, const char* type) {
  auto* made = reinterpret_cast<MessagePartObject*>(part_type->tp_alloc(part_type, 0));
  if (made == nullptr) {
    tw_buffer_free(bytes);
    return nullptr;
  }
  made->unread = bytes;
  made->type = type;
  return reinterpret_cast<PyObject*>(made);
}

bool AddMessageType(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(PartDealloc)},
                                {Py_tp_methods, message_methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.MessagePart", sizeof(MessagePartObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  part_type = AddType(module, &spec);
  part_name = PyUnicode_InternFromString("_part");
  return part_type != nullptr && part_name != nullptr &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace thalweg_python
