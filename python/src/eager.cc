// SPDX-License-Identifier: Apache-2.0
// EagerTensor, and runs of one prepared operation that take and give them.
#include <array>
#include <atomic>

#include "run.h"

namespace thalweg_python {
namespace {

std::atomic<int64_t> next_id{0};

EagerTensorObject* AsEager(PyObject* self) { return reinterpret_cast<EagerTensorObject*>(self); }

void EagerDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  tw_tensor_free(AsEager(self)->value);
  Py_CLEAR(AsEager(self)->base.graph);
  type->tp_free(self);
  Py_DECREF(type);
}

int EagerTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(AsEager(self)->base.graph);
  return 0;
}

PyObject* EagerType(PyObject* self, void*) {
  return PyLong_FromLong(tw_tensor_dtype(ValueOf(self)));
}

PyObject* EagerDims(PyObject* self, void*) {
  const TwTensor* value = ValueOf(self);
  const int32_t rank = tw_tensor_rank(value);
  PyObject* dims = PyTuple_New(rank);
  for (int32_t i = 0; dims != nullptr && i < rank; ++i) {
    PyObject* dim = PyLong_FromLongLong(tw_tensor_dim(value, i));
    if (dim == nullptr) {
      Py_CLEAR(dims);
      break;
    }
    PyTuple_SET_ITEM(dims, i, dim);
  }
  return dims;
}

PyObject* EagerId(PyObject* self, void*) { return PyLong_FromLongLong(AsEager(self)->id); }

PyObject* EagerNumpy(PyObject* self, PyObject*) {
  return TensorToPython(TensorPtr(tw_tensor_share(ValueOf(self))));
}

// What a view of the memory needs beside it.
struct ViewShape {
  std::array<Py_ssize_t, NPY_MAXDIMS> dims;
  std::array<Py_ssize_t, NPY_MAXDIMS> strides;
};

int EagerGetBuffer(PyObject* self, Py_buffer* view, int flags) {
  TwTensor* value = ValueOf(self);
  const int type = NumpyType(tw_tensor_dtype(value));
  const int rank = tw_tensor_rank(value);
  const char* format = nullptr;
  switch (type) {
    case NPY_BOOL:
      format = "?";
      break;
    case NPY_INT8:
      format = "b";
      break;
    case NPY_UINT8:
      format = "B";
      break;
    case NPY_INT16:
      format = "h";
      break;
    case NPY_UINT16:
      format = "H";
      break;
    case NPY_INT32:
      format = "i";
      break;
    case NPY_UINT32:
      format = "I";
      break;
    case NPY_INT64:
      format = "l";
      break;
    case NPY_UINT64:
      format = "L";
      break;
    case NPY_FLOAT16:
      format = "e";
      break;
    case NPY_FLOAT:
      format = "f";
      break;
    case NPY_DOUBLE:
      format = "d";
      break;
    case NPY_CFLOAT:
      format = "Zf";
      break;
    case NPY_CDOUBLE:
      format = "Zd";
      break;
    default:
      break;
  }
  if (format == nullptr || rank > NPY_MAXDIMS || (flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, (flags & PyBUF_WRITABLE) != 0
                                           ? "The memory of a tensor may not be written to."
                                           : "A tensor of this type has no buffer.");
    view->obj = nullptr;
    return -1;
  }
  const auto bytes = static_cast<Py_ssize_t>(tw_tensor_bytes(value));
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  auto* shape = new ViewShape;
  view->itemsize = PyDataType_ELSIZE(descr);
  Py_DECREF(descr);
  Py_ssize_t stride = view->itemsize;
  for (int i = rank - 1; i >= 0; --i) {
    shape->dims[static_cast<size_t>(i)] = static_cast<Py_ssize_t>(tw_tensor_dim(value, i));
    shape->strides[static_cast<size_t>(i)] = stride;
    stride *= shape->dims[static_cast<size_t>(i)];
  }
  view->buf = tw_tensor_data(value);
  view->obj = Py_NewRef(self);
  view->len = bytes;
  view->readonly = 1;
  view->ndim = rank;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? shape->dims.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? shape->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = shape;
  return 0;
}

void EagerReleaseBuffer(PyObject*, Py_buffer* view) {
  delete static_cast<ViewShape*>(view->internal);
}

PyGetSetDef eager_members[] = {
    {"_dtype", EagerType, nullptr, "Number of the element type.", nullptr},
    {"_dims", EagerDims, nullptr, "Tuple of the shape.", nullptr},
    {"_id", EagerId, nullptr, "Which tensor of the process it is.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef eager_methods[] = {
    {"_numpy", EagerNumpy, METH_NOARGS, "The value: an array, a numpy scalar, bytes."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* MakeEagerTensor(TensorPtr value) {
  auto* type = reinterpret_cast<PyTypeObject*>(hooks.eager_tensor_class);
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  AsEager(made)->base.graph = Py_NewRef(Py_None);
  AsEager(made)->value = value.release();
  const int64_t id = next_id.fetch_add(1, std::memory_order_relaxed);
  AsEager(made)->id = id;
  AsEager(made)->base.output = {nullptr, static_cast<int32_t>(id & INT32_MAX)};  // for its hash
  return made;
}

PyObject* EagerTensorOf(PyObject*, PyObject* args) {
  PyObject* value = nullptr;
  int dtype = 0;
  if (!PyArg_ParseTuple(args, "Oi", &value, &dtype)) return nullptr;
  TensorPtr made = TensorFromPython(value, dtype, false);
  return made ? MakeEagerTensor(std::move(made)) : nullptr;
}

PyObject* CallableAtOnce(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  auto* callable = reinterpret_cast<CallableObject*>(self);
  const PreparedPtr prepared = *callable->prepared;
  const Request& request = prepared->request;
  if (!CheckOpen(callable->session)) return nullptr;
  if (static_cast<size_t>(nargs) != request.feeds.size()) {
    PyErr_Format(PyExc_ValueError, "Expected %zd tensors, got %zd", request.feeds.size(), nargs);
    return nullptr;
  }
  // Who calls holds them meanwhile.
  std::array<TwTensor*, 8> few;
  std::vector<TwTensor*> many(request.feeds.size() > few.size() ? request.feeds.size() : 0);
  TwTensor** values = many.empty() ? few.data() : many.data();
  for (Py_ssize_t i = 0; i < nargs; ++i) {
    if (!IsEagerTensor(args[i])) {
      PyErr_Format(PyExc_TypeError, "Expected an EagerTensor, got %R", args[i]);
      return nullptr;
    }
    values[i] = ValueOf(args[i]);
  }
  TensorHandles results(request.fetches.size());
  OptionsOfRun chosen(&AsSession(callable->session)->state->main_options);
  if (!chosen.Choose(nullptr, 0)) return nullptr;
  const bool ran = RunUnlocked(nullptr, &chosen, [&] {
    return tw_callable_run(prepared->callable, chosen.get(), values, results.data(), nullptr,
                           ThreadStatus());
  });
  if (!ran) return nullptr;
  const auto count = static_cast<Py_ssize_t>(request.fetches.size());
  PyObject* made = PyList_New(count);
  for (Py_ssize_t i = 0; made != nullptr && i < count; ++i) {
    PyObject* tensor = MakeEagerTensor(TensorPtr(std::exchange(results.data()[i], nullptr)));
    if (tensor == nullptr) {
      Py_CLEAR(made);
      break;
    }
    PyList_SET_ITEM(made, i, tensor);
  }
  return made;
}

bool AddEagerTypes(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(EagerDealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(EagerTraverse)},
                                {Py_tp_getset, eager_members},
                                {Py_tp_methods, eager_methods},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(EagerGetBuffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(EagerReleaseBuffer)},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.EagerTensor", sizeof(EagerTensorObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  eager_tensor_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(tensor_type)));
  return eager_tensor_type != nullptr && PyModule_AddType(module, eager_tensor_type) == 0;
}

}  // namespace thalweg_python
