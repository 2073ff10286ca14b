// SPDX-License-Identifier: Apache-2.0
// Functions of Python inside a step (PyFunc). A thread of the step takes the GIL, and gives the
// inputs to the hook of operations/script_ops.py, which answers with a list of arrays or (code,
// message). Whoever waits for a step has released the GIL before, so nobody waits in a circle.
#include "core.h"

namespace thalweg_python {
namespace {

constexpr TwCode kCancelled = 1;
constexpr TwCode kInternal = 13;

PyObject* call_function = nullptr;  // (token, inputs, types) -> list of arrays, or (code, message)

class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

TwCode Fail(TwStatus* status, TwCode code, const char* message) {
  tw_status_set(status, code, message);
  return code;
}

// The Python error that is set, as a status.
TwCode FailByError(TwStatus* status) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value == nullptr ? nullptr : PyObject_Str(value);
  const char* words = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  Fail(status, kInternal, words == nullptr ? "a function of Python failed" : words);
  for (PyObject* object : {type, value, trace, text}) Py_XDECREF(object);
  PyErr_Clear();
  return kInternal;
}

PyObject* InputList(const TwTensor* const* inputs, int32_t n) {
  PyObject* list = PyList_New(n);
  for (int32_t i = 0; list != nullptr && i < n; ++i) {
    // The kernel holds the tensor too, so the array is a copy: the function may write into it.
    PyObject* array = TensorToPython(TensorPtr(tw_tensor_share(inputs[i])));
    if (array == nullptr) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, array);
    }
  }
  return list;
}

PyObject* TypeList(const TwDataType* types, int32_t n) {
  PyObject* list = PyList_New(n);
  for (int32_t i = 0; list != nullptr && i < n; ++i) {
    PyObject* number = PyLong_FromLong(types[i]);
    if (number == nullptr) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, number);
    }
  }
  return list;
}

// False with a Python error.
bool TakeOutputs(PyObject* answer, TwTensor** outputs, int32_t n) {
  if (PyList_GET_SIZE(answer) != n) {
    PyErr_SetString(PyExc_SystemError, "the hook of PyFunc gave another number of values");
    return false;
  }
  for (int32_t i = 0; i < n; ++i) {
    outputs[i] = TensorFromPython(PyList_GET_ITEM(answer, i), 0, false).release();
    if (outputs[i] == nullptr) {
      for (int32_t k = 0; k < i; ++k) {
        tw_tensor_free(outputs[k]);
        outputs[k] = nullptr;
      }
      return false;
    }
  }
  return true;
}

TwCode TakeAnswer(PyObject* answer, TwTensor** outputs, int32_t n, TwStatus* status) {
  if (PyList_Check(answer)) return TakeOutputs(answer, outputs, n) ? TW_OK : FailByError(status);
  int code = 0;
  const char* message = nullptr;
  if (!PyArg_ParseTuple(answer, "is", &code, &message)) return FailByError(status);
  if (code == TW_OK) {  // Ctrl-C came while the function ran: again, for who called the step
    PyErr_SetInterrupt();
    code = kCancelled;
  }
  return Fail(status, code, message);
}

bool IsFinalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

TwCode Call(void*, const char* token, size_t token_size, const TwTensor* const* inputs,
            int32_t num_inputs, const TwDataType* types, TwTensor** outputs, int32_t num_outputs,
            TwStatus* status) {
  // A thread that outlives the interpreter must not ask for the GIL.
  if (IsFinalizing()) return Fail(status, kCancelled, "Python has ended");
  const OpenToSignals open;
  const WithGil gil;
  PyObject* values = InputList(inputs, num_inputs);
  PyObject* numbers = values == nullptr ? nullptr : TypeList(types, num_outputs);
  PyObject* answer = numbers == nullptr ? nullptr
                                        : PyObject_CallFunction(call_function, "y#OO", token,
                                                                static_cast<Py_ssize_t>(token_size),
                                                                values, numbers);
  const TwCode code =
      answer == nullptr ? FailByError(status) : TakeAnswer(answer, outputs, num_outputs, status);
  for (PyObject* object : {values, numbers, answer}) Py_XDECREF(object);
  return code;
}

}  // namespace

PyObject* SetFunctionHook(PyObject*, PyObject* hook) {
  Py_XSETREF(call_function, Py_NewRef(hook));
  tw_set_host_function(Call, nullptr);
  Py_RETURN_NONE;
}

}  // namespace thalweg_python
