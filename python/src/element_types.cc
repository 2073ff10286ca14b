// SPDX-License-Identifier: Apache-2.0
// Element types and numpy's numbers for them.
#include "core.h"

namespace thalweg_python {
namespace {

constexpr int kMaxTypes = 24;
// A type of the package ml_dtypes, whose number is known only at run time.
constexpr int kOfMlDtypes = -2;

struct TypeRow {
  const char* name;
  int numpy;
};
// By TensorFlow's numbers. Quantized types show their integers.
constexpr TypeRow kTypes[kMaxTypes] = {{"invalid", -1},
                                       {"float32", NPY_FLOAT},
                                       {"float64", NPY_DOUBLE},
                                       {"int32", NPY_INT32},
                                       {"uint8", NPY_UINT8},
                                       {"int16", NPY_INT16},
                                       {"int8", NPY_INT8},
                                       {"string", NPY_OBJECT},
                                       {"complex64", NPY_CFLOAT},
                                       {"int64", NPY_INT64},
                                       {"bool", NPY_BOOL},
                                       {"qint8", NPY_INT8},
                                       {"quint8", NPY_UINT8},
                                       {"qint32", NPY_INT32},
                                       {"bfloat16", kOfMlDtypes},
                                       {"qint16", NPY_INT16},
                                       {"quint16", NPY_UINT16},
                                       {"uint16", NPY_UINT16},
                                       {"complex128", NPY_CDOUBLE},
                                       {"float16", NPY_HALF},
                                       {"resource", -1},
                                       {"variant", -1},
                                       {"uint32", NPY_UINT32},
                                       {"uint64", NPY_UINT64}};

// The number under which ml_dtypes registered its bfloat16; imports the package at the first call,
// so that programs without the type do not pay for it. -1 where it is not installed.
int Bfloat16OfNumpy() {
  static int number = -1;
  if (number >= 0) return number;
  PyObject* module = PyImport_ImportModule("ml_dtypes");
  PyObject* type = module == nullptr ? nullptr : PyObject_GetAttrString(module, "bfloat16");
  PyArray_Descr* descr = nullptr;
  if (type != nullptr && PyArray_DescrConverter(type, &descr) == NPY_SUCCEED) {
    number = descr->type_num;
    Py_DECREF(descr);
  }
  Py_XDECREF(type);
  Py_XDECREF(module);
  PyErr_Clear();
  return number;
}

}  // namespace

int NumpyType(TwDataType dtype) {
  const int type = dtype > 0 && dtype < kMaxTypes ? kTypes[dtype].numpy : -1;
  return type == kOfMlDtypes ? Bfloat16OfNumpy() : type;
}

const char* TypeName(TwDataType dtype) {
  if (dtype > 100 && dtype < 100 + kMaxTypes) dtype -= 100;
  return dtype > 0 && dtype < kMaxTypes ? kTypes[dtype].name : "invalid";
}

TwDataType TypeOfNumpy(int numpy_type) {
  switch (numpy_type) {
    case NPY_BYTE:
      return 6;
    case NPY_UBYTE:
      return 4;
    case NPY_SHORT:
      return 5;
    case NPY_USHORT:
      return 17;
    case NPY_INT:
      return 3;
    case NPY_UINT:
      return 22;
    case NPY_LONG:
    case NPY_LONGLONG:
      return 9;
    case NPY_ULONG:
    case NPY_ULONGLONG:
      return 23;
    case NPY_HALF:
      return 19;
    case NPY_FLOAT:
      return 1;
    case NPY_DOUBLE:
      return 2;
    case NPY_CFLOAT:
      return 8;
    case NPY_CDOUBLE:
      return 18;
    case NPY_BOOL:
      return 10;
    case NPY_OBJECT:
    case NPY_STRING:
    case NPY_UNICODE:
      return 7;
    default:
      return numpy_type >= NPY_USERDEF && numpy_type == Bfloat16OfNumpy() ? kBfloat16 : 0;
  }
}

}  // namespace thalweg_python
