// SPDX-License-Identifier: Apache-2.0
// What is in a checkpoint, and the framing of records in files.
#include "core.h"

namespace thalweg_python {
namespace {

struct CheckpointObject {
  PyObject_HEAD TwCheckpoint* checkpoint;
};

TwCheckpoint* CheckpointOf(PyObject* self) {
  return reinterpret_cast<CheckpointObject*>(self)->checkpoint;
}

PyObject* CheckpointNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* path = nullptr;
  const char* const names[] = {"path", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s", const_cast<char**>(names), &path)) {
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  TwCheckpoint* checkpoint = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  checkpoint = tw_checkpoint_open(path, status.get());
  Py_END_ALLOW_THREADS;
  if (checkpoint == nullptr) return Raise(status.get(), nullptr);
  auto* self = reinterpret_cast<CheckpointObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) {
    tw_checkpoint_free(checkpoint);
    return nullptr;
  }
  self->checkpoint = checkpoint;
  return reinterpret_cast<PyObject*>(self);
}

void CheckpointDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_checkpoint_free(CheckpointOf(self));
  type->tp_free(self);
  Py_DECREF(type);
}

// Names are what a file says: bytes that are no UTF-8 are kept as Python keeps those of paths.
PyObject* TensorRow(const TwCheckpointTensor& tensor) {
  PyObject* dims = PyList_New(tensor.rank);
  for (int32_t d = 0; dims != nullptr && d < tensor.rank; ++d) {
    PyObject* size = PyLong_FromLongLong(tensor.dims[d]);
    if (size == nullptr) {
      Py_CLEAR(dims);
    } else {
      PyList_SET_ITEM(dims, d, size);
    }
  }
  if (dims == nullptr) return nullptr;
  PyObject* name = PyUnicode_DecodeUTF8(tensor.name, static_cast<Py_ssize_t>(tensor.name_size),
                                        "surrogateescape");
  if (name == nullptr) {
    Py_DECREF(dims);
    return nullptr;
  }
  return Py_BuildValue("(NiN)", name, tensor.dtype, dims);
}

PyObject* CheckpointTensors(PyObject* self, PyObject*) {
  const int32_t count = tw_checkpoint_num_tensors(CheckpointOf(self));
  PyObject* rows = PyList_New(0);
  for (int32_t i = 0; rows != nullptr && i < count; ++i) {
    TwCheckpointTensor tensor;
    const StatusPtr status = NewStatus();
    PyObject* row = tw_checkpoint_tensor(CheckpointOf(self), i, &tensor, status.get()) == TW_OK
                        ? TensorRow(tensor)
                        : Raise(status.get(), nullptr);
    if (row == nullptr || PyList_Append(rows, row) != 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  return rows;
}

PyObject* CheckpointRead(PyObject* self, PyObject* index) {
  const long i = PyLong_AsLong(index);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  const StatusPtr status = NewStatus();
  TensorPtr tensor;
  Py_BEGIN_ALLOW_THREADS;
  tensor.reset(tw_checkpoint_read(CheckpointOf(self), static_cast<int32_t>(i), status.get()));
  Py_END_ALLOW_THREADS;
  if (!tensor) return Raise(status.get(), nullptr);
  return TensorToPython(std::move(tensor));
}

PyMethodDef checkpoint_methods[] = {
    {"tensors", CheckpointTensors, METH_NOARGS, "(name, element type, shape) of each tensor."},
    {"read", CheckpointRead, METH_O, "read(i): the value of tensor i."},
    {nullptr, nullptr, 0, nullptr}};

// ---- Records ----

PyObject* RecordFrame(PyObject*, PyObject* data) { return Remade(data, tw_record_frame); }

PyObject* RecordLength(PyObject*, PyObject* args) {
  Py_buffer header;
  unsigned long long at = 0;
  if (!PyArg_ParseTuple(args, "y*K", &header, &at)) return nullptr;
  PyObject* found = nullptr;
  if (header.len == TW_RECORD_HEADER) {
    uint64_t length = 0;
    const StatusPtr status = NewStatus();
    found = tw_record_length(header.buf, at, &length, status.get()) == TW_OK
                ? PyLong_FromUnsignedLongLong(length)
                : Raise(status.get(), nullptr);
  } else {
    PyErr_Format(PyExc_ValueError, "a header of %d bytes is needed, got %zd", TW_RECORD_HEADER,
                 header.len);
  }
  PyBuffer_Release(&header);
  return found;
}

PyObject* RecordCheck(PyObject*, PyObject* args) {
  Py_buffer data;
  unsigned long long at = 0;
  if (!PyArg_ParseTuple(args, "y*K", &data, &at)) return nullptr;
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_record_check(data.buf, static_cast<size_t>(data.len), at, status.get());
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&data);
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

PyMethodDef record_functions[] = {
    {"record_frame", RecordFrame, METH_O, "A record as it stands in a file."},
    {"record_length", RecordLength, METH_VARARGS,
     "record_length(header, at): the bytes of the record that begins at byte `at` of a file."},
    {"record_check", RecordCheck, METH_VARARGS,
     "record_check(data, at): DataLossError unless the bytes match the footer after them."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool AddCheckpointType(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(CheckpointNew)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(CheckpointDealloc)},
                                {Py_tp_methods, checkpoint_methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Checkpoint", sizeof(CheckpointObject), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  return AddType(module, &spec) != nullptr &&
         PyModule_AddIntConstant(module, "RECORD_HEADER", TW_RECORD_HEADER) == 0 &&
         PyModule_AddIntConstant(module, "RECORD_FOOTER", TW_RECORD_FOOTER) == 0 &&
         PyModule_AddFunctions(module, record_functions) == 0;
}

}  // namespace thalweg_python
