// SPDX-License-Identifier: Apache-2.0
// What the files of the extension share: the objects that Python sees, and how values and errors
// cross the border. Only the C ABI is used.
// Ownership: objects own their handles and hold their graph; functions give new references, and
// borrow their arguments.
// Threads: with the GIL held.
// Errors: null or false with a Python error set.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL thalweg_numpy
#ifndef THALWEG_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <signal.h>

#include <memory>
#include <vector>

#include "thalweg/api/c_api.h"

namespace thalweg_python {

constexpr TwDataType kBfloat16 = 14;  // numpy has no such type

struct EnvironmentObject {
  PyObject_HEAD TwEnvironment* environment;
};

// Base classes of thalweg.Graph, Operation and Tensor. `graph` is a GraphObject, owned.
struct GraphObject {
  PyObject_HEAD TwGraph* graph;
};
struct OperationObject {
  PyObject_HEAD PyObject* graph;
  TwNode* node;
};
struct TensorObject {
  PyObject_HEAD PyObject* graph;
  TwOutput output;
};
// A tensor that has its value: what operations that run at once take and give. It is of no graph.
struct EagerTensorObject {
  TensorObject base;
  TwTensor* value;
  int64_t id;
};
// Keeps a tensor's memory alive for the array that shows it; also an opaque value (a resource).
struct MemoryObject {
  PyObject_HEAD TwTensor* tensor;
};

extern PyTypeObject* environment_type;
extern PyTypeObject* graph_type;
extern PyTypeObject* operation_type;
extern PyTypeObject* tensor_type;
extern PyTypeObject* eager_tensor_type;
extern PyTypeObject* memory_type;
extern PyTypeObject* session_type;
extern PyTypeObject* callable_type;
extern PyTypeObject* partial_run_type;

// Functions of the Python part that the extension calls; None until set_hooks.
struct Hooks {
  PyObject* operation_class;  // what MakeOperation and MakeTensor make
  PyObject* tensor_class;
  PyObject* make_error;    // (code, message, graph or None) -> exception
  PyObject* expand_fetch;  // object -> (list of fetches, function of the list of their values)
  PyObject* expand_feeds;  // dict -> dict whose keys are tensors and names
  PyObject* eager_tensor_class;  // what MakeEagerTensor makes
};
extern Hooks hooks;

inline bool IsTensor(PyObject* object) { return PyObject_TypeCheck(object, tensor_type); }
inline bool IsEagerTensor(PyObject* object) {
  return PyObject_TypeCheck(object, eager_tensor_type);
}
inline TwTensor* ValueOf(PyObject* eager_tensor) {
  return reinterpret_cast<EagerTensorObject*>(eager_tensor)->value;
}
inline bool IsOperation(PyObject* object) { return PyObject_TypeCheck(object, operation_type); }
inline TwOutput OutputOf(PyObject* tensor) {
  return reinterpret_cast<TensorObject*>(tensor)->output;
}
inline TwNode* NodeOf(PyObject* operation) {
  return reinterpret_cast<OperationObject*>(operation)->node;
}
inline TwGraph* GraphOf(PyObject* graph) { return reinterpret_cast<GraphObject*>(graph)->graph; }

// The session of a Session, which stays while it is held; null with a Python error when it is
// closed.
std::shared_ptr<TwSession> OpenSession(PyObject* session);

// New references, null with a Python error.
PyObject* MakeOperation(PyObject* graph, TwNode* node);
PyObject* MakeTensor(PyObject* graph, TwOutput output);
// None for an output without a node.
PyObject* MakeTensorOrNone(PyObject* graph, TwOutput output);

// ---- Errors ----
struct StatusDeleter {
  void operator()(TwStatus* s) const { tw_status_free(s); }
};
using StatusPtr = std::unique_ptr<TwStatus, StatusDeleter>;
inline StatusPtr NewStatus() { return StatusPtr(tw_status_new()); }
// An owned reference.
struct Decref {
  void operator()(PyObject* o) const { Py_XDECREF(o); }
};
using Ref = std::unique_ptr<PyObject, Decref>;
// Text of bytes that should be UTF-8; what is not shows as \\xNN.
PyObject* Text(const char* bytes);
// Raises the exception of the code; always null. `graph` (may be null) is where its node is found.
PyObject* Raise(const TwStatus* status, PyObject* graph);
// As Raise; a graph's refusal of a node is a ValueError, as TF1 programs expect.
PyObject* RaiseRefusal(const TwStatus* status, PyObject* graph);
// The bytes of a buffer, which is freed; null with the status' error when there is none.
PyObject* BytesOrRaise(TwBuffer* buffer, const TwStatus* status, PyObject* graph);
// What a function of the core makes of bytes, as bytes; other threads run meanwhile.
PyObject* Remade(PyObject* bytes,
                 TwBuffer* (*remake)(const void* bytes, size_t size, TwStatus* status));

// ---- Values (convert.cc) ----
struct TensorDeleter {
  void operator()(TwTensor* t) const { tw_tensor_free(t); }
};
using TensorPtr = std::unique_ptr<TwTensor, TensorDeleter>;
// A tensor of `dtype` (0: the value's own) from an array, a number, a string, nested lists of
// them or a MemoryObject. With `share` a large aligned array is not copied; it lives until the
// tensor's last user is done and must not change meanwhile. Null with a Python error.
TensorPtr TensorFromPython(PyObject* value, TwDataType dtype, bool share);
// An array, a numpy scalar, bytes; memory that nobody else uses is not copied. Null with an error.
PyObject* TensorToPython(TensorPtr tensor);
// A new reference to an EagerTensor, null with a Python error.
PyObject* MakeEagerTensor(TensorPtr value);
// eager_tensor(value, dtype): an EagerTensor of a value, dtype 0 for the value's own.
PyObject* EagerTensorOf(PyObject* module, PyObject* args);
// Drops the arrays whose tensors have gone since.
void ReleaseSharedArrays();
// The numpy type number of an element type, -1 when there is none; and back (0: none).
int NumpyType(TwDataType dtype);
TwDataType TypeOfNumpy(int numpy_type);

// A name for messages: "float32", "int32_ref".
const char* TypeName(TwDataType dtype);

// Adds the types and functions of a file to the module; false with a Python error.
bool AddGraphTypes(PyObject* module);
bool AddSessionTypes(PyObject* module);
bool AddEagerTypes(PyObject* module);
bool AddServerType(PyObject* module);
PyObject* RecordSteps(PyObject* module, PyObject* args);  // functions of the module
PyObject* PackTrace(PyObject* module, PyObject* recording);
PyObject* UnpackTrace(PyObject* module, PyObject* recording);
bool AddOptimizerType(PyObject* module);
PyObject* OptimizerKinds(PyObject*, PyObject*);  // the table of the core, a function of the module
bool AddSaverType(PyObject* module);
bool AddCheckpointType(PyObject* module);
bool AddEventFileType(PyObject* module);
bool AddMemoryType(PyObject* module);
bool AddMessageType(PyObject* module);
bool AddModelTypes(PyObject* module);
// A function of the module.
PyObject* ReadSavedModel(PyObject* module, PyObject* args);
PyTypeObject* AddType(PyObject* module, PyType_Spec* spec);

// add_node(op, name, inputs, controls, attrs, device, site): see graph_nodes.cc.
PyObject* GraphAddNode(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* GraphExpandCall(PyObject* self, PyObject* args);
PyObject* GraphFunctionDefinition(PyObject* self, PyObject* args);
PyObject* GraphGradients(PyObject* self, PyObject* args);
PyObject* GraphSetShape(PyObject* self, PyObject* args);
PyObject* GraphImport(PyObject* self, PyObject* args);
// The tensors of a sequence (None: an output without a node, when allowed); false with an error.
bool OutputsOf(PyObject* sequence, bool allow_none, std::vector<TwOutput>* outputs);
PyObject* GradientToPython(PyObject* graph, const TwGradient& gradient);

// set_function_hook(hook): what functions of Python are called through; see host_function.cc.
PyObject* SetFunctionHook(PyObject* module, PyObject* hook);

// ---- Interrupts (interrupt.cc) ----
// While one lives on the main thread, Ctrl-C cancels the run that uses `options`.
class InterruptScope {
 public:
  explicit InterruptScope(TwRunOptions* options);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  // True once Ctrl-C has cancelled the run.
  bool interrupted() const;
};
// Threads of the core take no signals, as Python overlooks one that comes to a thread which does
// not use it. Where one is made in such a thread, that takes what Python's threads take while it
// lives: programs that a function starts inherit it, and could not be stopped otherwise.
class OpenToSignals {
 public:
  OpenToSignals();
  ~OpenToSignals();
  OpenToSignals(const OpenToSignals&) = delete;
  OpenToSignals& operator=(const OpenToSignals&) = delete;

 private:
  const bool is_ours_;
  sigset_t before_;
};
bool OnMainThread();
// Remembers the main thread, makes the pipe. False with a Python error.
bool InitInterrupts();

}  // namespace thalweg_python
