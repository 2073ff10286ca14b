// SPDX-License-Identifier: Apache-2.0
// Values between Python and tensors.
#include <atomic>
#include <cstring>
#include <string>

#include "core.h"

namespace thalweg_python {
namespace {

constexpr TwDataType kFloat = 1, kDouble = 2, kInt32 = 3, kString = 7, kInt64 = 9, kBool = 10;
// Below this a copy costs less than sharing.
constexpr size_t kShareBytes = 1024;

// Arrays whose tensor has gone. A tensor may go on any thread, and without the GIL.
struct SharedArray {
  PyObject* array;
  SharedArray* next;
};
std::atomic<SharedArray*> gone{nullptr};

void OnTensorGone(void* arg) {
  auto* shared = static_cast<SharedArray*>(arg);
  shared->next = gone.load(std::memory_order_relaxed);
  while (!gone.compare_exchange_weak(shared->next, shared, std::memory_order_release)) {
  }
}

TensorPtr RaiseTensor(const StatusPtr& status) {
  Raise(status.get(), nullptr);
  return nullptr;
}

// What to install for an element type that no array can have without it; "" where nothing helps.
const char* WhatIsMissing(TwDataType dtype) {
  return dtype == kBfloat16 ? ": the Python package ml_dtypes is not installed" : "";
}

TensorPtr NewTensor(TwDataType dtype, const int64_t* dims, int rank) {
  const StatusPtr status = NewStatus();
  TensorPtr tensor(tw_tensor_new(dtype, dims, rank, status.get()));
  return tensor ? std::move(tensor) : RaiseTensor(status);
}

// The text of a str (UTF-8) or bytes; false with a Python error.
bool TextOf(PyObject* value, const char** text, Py_ssize_t* size) {
  if (PyUnicode_Check(value)) {
    *text = PyUnicode_AsUTF8AndSize(value, size);
    return *text != nullptr;
  }
  char* bytes = nullptr;
  if (PyBytes_Check(value) && PyBytes_AsStringAndSize(value, &bytes, size) == 0) {
    *text = bytes;
    return true;
  }
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "Expected a string (str or bytes), got %R of type '%s' instead.",
                 value, Py_TYPE(value)->tp_name);
  }
  return false;
}

TensorPtr StringScalar(PyObject* value) {
  const char* text = nullptr;
  Py_ssize_t size = 0;
  if (!TextOf(value, &text, &size)) return nullptr;
  TensorPtr tensor = NewTensor(kString, nullptr, 0);
  if (tensor) tw_tensor_set_string(tensor.get(), 0, text, static_cast<size_t>(size));
  return tensor;
}

// Strings of an array of objects, bytes or text.
TensorPtr StringTensor(PyArrayObject* given) {
  PyObject* objects = PyArray_Cast(given, NPY_OBJECT);
  if (objects == nullptr) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(
      PyArray_GETCONTIGUOUS(reinterpret_cast<PyArrayObject*>(objects)));
  Py_DECREF(objects);
  if (array == nullptr) return nullptr;
  TensorPtr tensor = NewTensor(kString, reinterpret_cast<const int64_t*>(PyArray_DIMS(array)),
                               PyArray_NDIM(array));
  auto** items = static_cast<PyObject**>(PyArray_DATA(array));
  for (npy_intp i = 0; tensor && i < PyArray_SIZE(array); ++i) {
    const char* text = nullptr;
    Py_ssize_t size = 0;
    if (!TextOf(items[i], &text, &size)) tensor.reset();
    if (tensor) tw_tensor_set_string(tensor.get(), i, text, static_cast<size_t>(size));
  }
  Py_DECREF(array);
  return tensor;
}

// Over the memory of `array`, or a copy of it; the array is contiguous and of the right type.
TensorPtr FromContiguous(PyArrayObject* array, TwDataType dtype, bool share) {
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(array));
  const auto* dims = reinterpret_cast<const int64_t*>(PyArray_DIMS(array));
  const int rank = PyArray_NDIM(array);
  if (share && bytes >= kShareBytes) {
    Py_INCREF(array);
    auto* shared = new SharedArray{reinterpret_cast<PyObject*>(array), nullptr};
    const StatusPtr status = NewStatus();
    TensorPtr tensor(tw_tensor_from_memory(dtype, dims, rank, PyArray_DATA(array), bytes,
                                           OnTensorGone, shared, status.get()));
    return tensor ? std::move(tensor) : RaiseTensor(status);
  }
  TensorPtr tensor = NewTensor(dtype, dims, rank);
  if (tensor && bytes > 0) std::memcpy(tw_tensor_data(tensor.get()), PyArray_DATA(array), bytes);
  return tensor;
}

// The element type of a value that was given without one: Python's own floats are float32 and its
// integers int32 where they fit, as TF1 has it; arrays keep theirs.
TwDataType OwnType(PyObject* value, PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  if (PyArray_Check(value) || PyArray_IsScalar(value, Generic)) return TypeOfNumpy(type);
  if (type == NPY_DOUBLE) return kFloat;
  if (type == NPY_INT64 && PyArray_SIZE(array) > 0) {
    PyObject* max = PyArray_Max(array, NPY_RAVEL_AXIS, nullptr);
    PyObject* min = PyArray_Min(array, NPY_RAVEL_AXIS, nullptr);
    const bool fits = max != nullptr && min != nullptr && PyLong_AsLongLong(max) <= INT32_MAX &&
                      PyLong_AsLongLong(min) >= INT32_MIN;
    Py_XDECREF(max);
    Py_XDECREF(min);
    PyErr_Clear();
    return fits ? kInt32 : kInt64;
  }
  return type == NPY_INT64 ? kInt32 : TypeOfNumpy(type);
}

// TypeError that names a value of `given` that its type has not; `equal` says where they are.
void RaiseNotKept(PyArrayObject* given, PyObject* equal, TwDataType dtype) {
  PyObject* at = PyArray_Check(equal) ? PyArray_ArgMin(reinterpret_cast<PyArrayObject*>(equal),
                                                       NPY_RAVEL_AXIS, nullptr)
                                      : PyLong_FromLong(0);
  if (at == nullptr) return;
  PyObject* value = PyObject_CallMethod(reinterpret_cast<PyObject*>(given), "item", "N", at);
  if (value == nullptr) return;
  PyErr_Format(PyExc_TypeError,
               "Expected %s, got values of type %S, of which %R cannot be a value of type %s: cast "
               "them to say what is meant.",
               TypeName(dtype), reinterpret_cast<PyObject*>(PyArray_DESCR(given)), value,
               TypeName(dtype));
  Py_DECREF(value);
}

// Whether an array kept its values when it became whole numbers or truth values; true for other
// types. False with a Python error.
bool CheckKept(PyArrayObject* given, PyObject* converted, TwDataType dtype) {
  const int type = PyArray_TYPE(reinterpret_cast<PyArrayObject*>(converted));
  const bool exact = PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
  const bool parts = PyArray_ISCOMPLEX(given) && !PyTypeNum_ISCOMPLEX(type);
  if (PyArray_CanCastSafely(PyArray_TYPE(given), type) || !(exact || parts)) return true;
  PyObject* equal = PyObject_RichCompare(reinterpret_cast<PyObject*>(given), converted, Py_EQ);
  if (equal == nullptr) return false;
  PyObject* all = PyArray_Check(equal) ? PyArray_All(reinterpret_cast<PyArrayObject*>(equal),
                                                     NPY_RAVEL_AXIS, nullptr)
                                       : Py_NewRef(equal);
  const int kept = all == nullptr ? -1 : PyObject_IsTrue(all);
  Py_XDECREF(all);
  if (kept == 0) RaiseNotKept(given, equal, dtype);
  Py_DECREF(equal);
  return kept > 0;
}

// An array over the memory of what speaks DLPack and nothing older; else what numpy makes of it.
PyObject* AnyArray(PyObject* value) {
  const bool is_own = PyList_CheckExact(value) || PyTuple_CheckExact(value);
  if (!is_own && !PyObject_CheckBuffer(value) && PyObject_HasAttrString(value, "__dlpack__") &&
      !PyObject_HasAttrString(value, "__array__")) {
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (numpy == nullptr) return nullptr;
    PyObject* made = PyObject_CallMethod(numpy, "from_dlpack", "O", value);
    Py_DECREF(numpy);
    return made;
  }
  return PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr);
}

TensorPtr FromArrayLike(PyObject* value, TwDataType dtype, bool share) {
  PyObject* any = AnyArray(value);
  if (any == nullptr) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(any);
  if (dtype == 0) dtype = OwnType(value, array);
  TensorPtr tensor;
  const int wanted = NumpyType(dtype);
  const bool text = PyArray_TYPE(array) == NPY_UNICODE || PyArray_TYPE(array) == NPY_STRING;
  if (dtype == kString && text && !PyArray_Check(value)) {
    // numpy's own texts lose the zero bytes that they end with; objects keep them.
    PyObject* whole = PyArray_FromAny(value, PyArray_DescrFromType(NPY_OBJECT), 0, 0, 0, nullptr);
    if (whole != nullptr) tensor = StringTensor(reinterpret_cast<PyArrayObject*>(whole));
    Py_XDECREF(whole);
  } else if (dtype == kString) {
    tensor = StringTensor(array);
  } else if (wanted < 0) {
    PyErr_Format(PyExc_TypeError, "Cannot make a tensor of type %s from %R of type '%s'%s.",
                 TypeName(dtype), value, Py_TYPE(value)->tp_name, WhatIsMissing(dtype));
  } else if (text) {
    PyErr_Format(PyExc_ValueError, "Expected %s, got %R, which is text.", TypeName(dtype), value);
  } else {
    PyObject* ready = PyArray_FromArray(array, PyArray_DescrFromType(wanted),
                                        NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
    if (ready != nullptr) {
      auto* contiguous = reinterpret_cast<PyArrayObject*>(ready);
      // A fresh array is ours alone, so sharing it is always safe.
      const bool fresh = ready != value && PyArray_BASE(contiguous) == nullptr;
      if (CheckKept(array, ready, dtype))
        tensor = FromContiguous(contiguous, dtype, share || fresh);
      Py_DECREF(ready);
    }
  }
  Py_DECREF(any);
  return tensor;
}

// A Python number as a scalar of the wanted type; null without an error when it is none of those
// handled here.
TensorPtr FromNumber(PyObject* value, TwDataType dtype) {
  if (PyFloat_CheckExact(value) && (dtype == 0 || dtype == kFloat || dtype == kDouble)) {
    TensorPtr tensor = NewTensor(dtype == 0 ? kFloat : dtype, nullptr, 0);
    const double number = PyFloat_AS_DOUBLE(value);
    if (!tensor) return nullptr;
    void* data = tw_tensor_data(tensor.get());
    if (dtype == kDouble) {
      std::memcpy(data, &number, sizeof number);
    } else {
      const auto narrow = static_cast<float>(number);
      std::memcpy(data, &narrow, sizeof narrow);
    }
    return tensor;
  }
  if (PyLong_CheckExact(value) && (dtype <= kInt64 || dtype == kBool)) {
    const long number = PyLong_AsLong(value);
    if (number == -1 && PyErr_Occurred()) {
      PyErr_Clear();  // too large for 64 bits: numpy says so
      return nullptr;
    }
    const bool small = number >= INT32_MIN && number <= INT32_MAX;
    if (dtype == 0) dtype = small ? kInt32 : kInt64;
    const bool is_truth = dtype == kBool && (number == 0 || number == 1);
    if (is_truth || dtype == kInt64 || (dtype == kInt32 && small) || dtype == kFloat) {
      TensorPtr tensor = NewTensor(dtype, nullptr, 0);
      if (!tensor) return nullptr;
      void* data = tw_tensor_data(tensor.get());
      const auto narrow = static_cast<int32_t>(number);
      const auto real = static_cast<float>(number);
      if (is_truth) *static_cast<bool*>(data) = number != 0;
      if (dtype == kInt64) std::memcpy(data, &number, sizeof number);
      if (dtype == kInt32) std::memcpy(data, &narrow, sizeof narrow);
      if (dtype == kFloat) std::memcpy(data, &real, sizeof real);
      return tensor;
    }
    return nullptr;
  }
  if (PyBool_Check(value) && (dtype == 0 || dtype == kBool)) {
    TensorPtr tensor = NewTensor(kBool, nullptr, 0);
    if (tensor) *static_cast<bool*>(tw_tensor_data(tensor.get())) = value == Py_True;
    return tensor;
  }
  return nullptr;
}

void MemoryDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_tensor_free(reinterpret_cast<MemoryObject*>(self)->tensor);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* MemoryOf(TensorPtr tensor) {
  auto* memory = reinterpret_cast<MemoryObject*>(memory_type->tp_alloc(memory_type, 0));
  if (memory != nullptr) memory->tensor = tensor.release();
  return reinterpret_cast<PyObject*>(memory);
}

PyObject* StringsToPython(const TwTensor* tensor, int rank, const npy_intp* dims) {
  size_t size = 0;
  if (rank == 0) {
    const char* text = tw_tensor_string(tensor, 0, &size);
    return PyBytes_FromStringAndSize(text, static_cast<Py_ssize_t>(size));
  }
  PyObject* array = PyArray_ZEROS(rank, dims, NPY_OBJECT, 0);
  if (array == nullptr) return nullptr;
  auto** items = static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
  const int64_t count = tw_tensor_num_elements(tensor);
  for (int64_t i = 0; i < count; ++i) {
    const char* text = tw_tensor_string(tensor, i, &size);
    PyObject* bytes = PyBytes_FromStringAndSize(text, static_cast<Py_ssize_t>(size));
    if (bytes == nullptr) {
      Py_DECREF(array);
      return nullptr;
    }
    Py_XDECREF(items[i]);
    items[i] = bytes;
  }
  return array;
}

}  // namespace

void ReleaseSharedArrays() {
  if (gone.load(std::memory_order_relaxed) == nullptr) return;
  SharedArray* list = gone.exchange(nullptr, std::memory_order_acquire);
  while (list != nullptr) {
    SharedArray* next = list->next;
    Py_DECREF(list->array);
    delete list;
    list = next;
  }
}

TensorPtr TensorFromPython(PyObject* value, TwDataType dtype, bool share) {
  if (PyArray_Check(value)) {
    auto* array = reinterpret_cast<PyArrayObject*>(value);
    const int type = PyArray_TYPE(array);
    const int wanted = NumpyType(dtype == 0 ? TypeOfNumpy(type) : dtype);
    if (wanted == type && type != NPY_OBJECT && PyArray_ISCARRAY_RO(array)) {
      return FromContiguous(array, dtype == 0 ? TypeOfNumpy(type) : dtype, share);
    }
    return FromArrayLike(value, dtype, share);
  }
  if (TensorPtr number = FromNumber(value, dtype)) return number;
  if (PyErr_Occurred()) return nullptr;
  if ((PyUnicode_Check(value) || PyBytes_Check(value)) && (dtype == 0 || dtype == kString)) {
    return StringScalar(value);
  }
  if (PyObject_TypeCheck(value, memory_type)) {
    const TwTensor* tensor = reinterpret_cast<MemoryObject*>(value)->tensor;
    if (dtype == 0 || tw_tensor_dtype(tensor) == dtype) return TensorPtr(tw_tensor_share(tensor));
    PyErr_Format(PyExc_TypeError, "Expected a value of type %s, got a handle of type %s.",
                 TypeName(dtype), TypeName(tw_tensor_dtype(tensor)));
    return nullptr;
  }
  if (value == Py_None || IsTensor(value) || IsOperation(value)) {
    PyErr_Format(PyExc_TypeError, "Expected a number, string, list or array, got %R of type '%s'.",
                 value, Py_TYPE(value)->tp_name);
    return nullptr;
  }
  return FromArrayLike(value, dtype, share);
}

PyObject* TensorToPython(TensorPtr tensor) {
  const TwDataType dtype = tw_tensor_dtype(tensor.get());
  const int rank = tw_tensor_rank(tensor.get());
  const int type = NumpyType(dtype);
  if (type < 0 && *WhatIsMissing(dtype) != 0) {
    PyErr_Format(PyExc_ImportError, "Cannot show a tensor of type %s%s.", TypeName(dtype),
                 WhatIsMissing(dtype));
    return nullptr;
  }
  if (type < 0) return MemoryOf(std::move(tensor));
  if (rank > NPY_MAXDIMS) {
    PyErr_Format(PyExc_ValueError, "A tensor of rank %d has no numpy array.", rank);
    return nullptr;
  }
  npy_intp dims[NPY_MAXDIMS];
  for (int i = 0; i < rank; ++i) dims[i] = tw_tensor_dim(tensor.get(), i);
  if (dtype == kString) return StringsToPython(tensor.get(), rank, dims);
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  if (rank == 0) {
    PyObject* scalar = PyArray_Scalar(tw_tensor_data(tensor.get()), descr, nullptr);
    Py_DECREF(descr);
    return scalar;
  }
  const size_t bytes = tw_tensor_bytes(tensor.get());
  if (bytes < kShareBytes || tw_tensor_is_shared(tensor.get())) {
    PyObject* array =
        PyArray_NewFromDescr(&PyArray_Type, descr, rank, dims, nullptr, nullptr, 0, nullptr);
    if (array != nullptr && bytes > 0) {
      std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)),
                  tw_tensor_data(tensor.get()), bytes);
    }
    return array;
  }
  void* data = tw_tensor_data(tensor.get());
  PyObject* memory = MemoryOf(std::move(tensor));
  if (memory == nullptr) {
    Py_DECREF(descr);
    return nullptr;
  }
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, dims, nullptr, data,
                                         NPY_ARRAY_CARRAY, nullptr);
  if (array == nullptr) {
    Py_DECREF(memory);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), memory) != 0) {
    Py_CLEAR(array);
  }
  return array;
}

bool AddMemoryType(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(MemoryDealloc)},
      {Py_tp_doc,
       const_cast<char*>("Memory of a tensor, or a value that Python cannot look into.")},
      {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Memory", sizeof(MemoryObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  memory_type = AddType(module, &spec);
  return memory_type != nullptr;
}

}  // namespace thalweg_python
