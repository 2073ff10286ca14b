// SPDX-License-Identifier: Apache-2.0
// An event file that grows by whole records or not at all.
#include "core.h"

namespace thalweg_python {
namespace {

struct EventFileObject {
  PyObject_HEAD TwEventFile* file;  // null once it is closed
};

EventFileObject* Self(PyObject* self) { return reinterpret_cast<EventFileObject*>(self); }

PyObject* EventFileNew(PyTypeObject* type, PyObject* args, PyObject*) {
  const char *folder = nullptr, *suffix = nullptr;
  PyObject* encoded = nullptr;
  if (!PyArg_ParseTuple(args, "O&s", PyUnicode_FSConverter, &encoded, &suffix)) return nullptr;
  folder = PyBytes_AS_STRING(encoded);
  const StatusPtr status = NewStatus();
  TwEventFile* file = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  file = tw_event_file_new(folder, suffix, status.get());
  Py_END_ALLOW_THREADS;
  Py_DECREF(encoded);
  if (file == nullptr) return Raise(status.get(), nullptr);
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) {
    tw_event_file_free(file);
    return nullptr;
  }
  Self(self)->file = file;
  return self;
}

void EventFileDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_event_file_free(Self(self)->file);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* EventFileAppend(PyObject* self, PyObject* data) {
  if (Self(self)->file == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the event file is closed");
    return nullptr;
  }
  Py_buffer bytes;
  if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) != 0) return nullptr;
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_event_file_append(Self(self)->file, bytes.buf, static_cast<size_t>(bytes.len),
                              status.get());
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&bytes);
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

PyObject* EventFileClose(PyObject* self, PyObject*) {
  TwEventFile* const file = Self(self)->file;
  Self(self)->file = nullptr;
  tw_event_file_free(file);
  Py_RETURN_NONE;
}

PyObject* EventFilePath(PyObject* self, void*) {
  return PyUnicode_DecodeFSDefault(tw_event_file_path(Self(self)->file));
}

PyGetSetDef properties[] = {
    {"path", EventFilePath, nullptr, "Where it is; empty once it is closed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef event_file_methods[] = {
    {"append", EventFileAppend, METH_O,
     "append(data): whole records; where that fails, the file is as it was before."},
    {"close", EventFileClose, METH_NOARGS, "Closes the file, which nobody may append to just now."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool AddEventFileType(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(EventFileNew)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(EventFileDealloc)},
                                {Py_tp_methods, event_file_methods},
                                {Py_tp_getset, properties},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.EventFile", sizeof(EventFileObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return AddType(module, &spec) != nullptr;
}

}  // namespace thalweg_python
