// SPDX-License-Identifier: Apache-2.0
// The module thalweg._core: its start, environments, errors.
#define THALWEG_IMPORTS_NUMPY
#include <cstring>

#include "core.h"

namespace thalweg_python {

PyTypeObject* environment_type = nullptr;
PyTypeObject* graph_type = nullptr;
PyTypeObject* operation_type = nullptr;
PyTypeObject* tensor_type = nullptr;
PyTypeObject* eager_tensor_type = nullptr;
PyTypeObject* memory_type = nullptr;
PyTypeObject* session_type = nullptr;
PyTypeObject* callable_type = nullptr;
PyTypeObject* partial_run_type = nullptr;
Hooks hooks{};

PyObject* Text(const char* bytes) {
  return PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(std::strlen(bytes)),
                              "backslashreplace");
}

PyObject* Raise(const TwStatus* status, PyObject* graph) {
  if (hooks.make_error == nullptr) {  // nobody has imported what sets it
    const Ref errors(PyImport_ImportModule("thalweg.errors"));
    if (errors == nullptr) return nullptr;
  }
  PyObject* message = Text(tw_status_message(status));
  if (message == nullptr) return nullptr;
  PyObject* error = PyObject_CallFunction(hooks.make_error, "iNO", tw_status_code(status), message,
                                          graph == nullptr ? Py_None : graph);
  if (error == nullptr) return nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
  return nullptr;
}

PyObject* RaiseRefusal(const TwStatus* status, PyObject* graph) {
  constexpr TwCode kInvalidArgument = 3;
  if (tw_status_code(status) != kInvalidArgument) return Raise(status, graph);
  PyObject* message = Text(tw_status_message(status));
  if (message == nullptr) return nullptr;
  PyErr_SetObject(PyExc_ValueError, message);
  Py_DECREF(message);
  return nullptr;
}

PyObject* BytesOrRaise(TwBuffer* buffer, const TwStatus* status, PyObject* graph) {
  if (buffer == nullptr) return Raise(status, graph);
  PyObject* bytes = PyBytes_FromStringAndSize(static_cast<const char*>(tw_buffer_data(buffer)),
                                              static_cast<Py_ssize_t>(tw_buffer_size(buffer)));
  tw_buffer_free(buffer);
  return bytes;
}

PyObject* Remade(PyObject* bytes,
                 TwBuffer* (*remake)(const void* bytes, size_t size, TwStatus* status)) {
  Py_buffer given;
  if (PyObject_GetBuffer(bytes, &given, PyBUF_SIMPLE) != 0) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* made = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  made = remake(given.buf, static_cast<size_t>(given.len), status.get());
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&given);
  return BytesOrRaise(made, status.get(), nullptr);
}

PyTypeObject* AddType(PyObject* module, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type == nullptr) return nullptr;
  if (PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) != 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

namespace {

TwEnvironment* EnvironmentOf(PyObject* self) {
  return reinterpret_cast<EnvironmentObject*>(self)->environment;
}

PyObject* EnvironmentNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  TwEnvironmentOptions options;
  tw_environment_options_init(&options);
  long long memory_limit = 0;
  const char* const names[] = {"threads",        "cpu_devices",    "memory_limit", "isa_level",
                               "strict_kernels", "least_severity", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iiLipi", const_cast<char**>(names),
                                   &options.threads, &options.cpu_devices, &memory_limit,
                                   &options.isa_level, &options.strict_kernels,
                                   &options.least_severity)) {
    return nullptr;
  }
  options.memory_limit = memory_limit;
  const StatusPtr status = NewStatus();
  TwEnvironment* environment = tw_environment_new(&options, status.get());
  if (environment == nullptr) return Raise(status.get(), nullptr);
  auto* self = reinterpret_cast<EnvironmentObject*>(type->tp_alloc(type, 0));
  if (self != nullptr) self->environment = environment;
  return reinterpret_cast<PyObject*>(self);
}

void EnvironmentDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  TwEnvironment* environment = EnvironmentOf(self);
  if (environment != nullptr) {
    Py_BEGIN_ALLOW_THREADS;
    tw_environment_free(environment);
    Py_END_ALLOW_THREADS;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* EnvironmentDevices(PyObject* self, PyObject*) {
  const int32_t count = tw_environment_num_devices(EnvironmentOf(self));
  PyObject* list = PyList_New(0);
  for (int32_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* pair = Py_BuildValue("(ss)", tw_environment_device_name(EnvironmentOf(self), i),
                                   tw_environment_device_type(EnvironmentOf(self), i));
    if (pair == nullptr || PyList_Append(list, pair) != 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  }
  return list;
}

PyObject* EnvironmentMemory(PyObject* self, PyObject*) {
  return Py_BuildValue("(LLL)",
                       static_cast<long long>(tw_environment_memory_in_use(EnvironmentOf(self))),
                       static_cast<long long>(tw_environment_memory_peak(EnvironmentOf(self))),
                       static_cast<long long>(tw_environment_memory_limit(EnvironmentOf(self))));
}

// Calls reset(names, number, status) with the texts of a list.
template <class Reset>
PyObject* ResetNamed(PyObject* containers, Reset&& reset) {
  PyObject* sequence = PySequence_Fast(containers, "containers must be a list of names");
  if (sequence == nullptr) return nullptr;
  std::vector<const char*> names;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    const char* name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(sequence, i));
    if (name == nullptr) {
      Py_DECREF(sequence);
      return nullptr;
    }
    names.push_back(name);
  }
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = reset(names.data(), static_cast<int32_t>(names.size()), status.get());
  Py_END_ALLOW_THREADS;
  Py_DECREF(sequence);
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

PyObject* EnvironmentReset(PyObject* self, PyObject* containers) {
  return ResetNamed(containers, [self](const char* const* names, int32_t n, TwStatus* status) {
    return tw_environment_reset(EnvironmentOf(self), names, n, status);
  });
}

PyObject* ResetTarget(PyObject*, PyObject* args) {
  const char* target = nullptr;
  PyObject* containers = nullptr;
  const char* config = nullptr;
  Py_ssize_t config_size = 0;
  if (!PyArg_ParseTuple(args, "sOz#", &target, &containers, &config, &config_size)) return nullptr;
  return ResetNamed(containers, [=](const char* const* names, int32_t n, TwStatus* status) {
    return tw_target_reset_config(target, names, n, config, static_cast<size_t>(config_size),
                                  status);
  });
}

PyObject* EnvironmentLoadLibrary(PyObject* self, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (text == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_environment_load_library(EnvironmentOf(self), text, status.get()) != TW_OK) {
    return Raise(status.get(), nullptr);
  }
  Py_RETURN_NONE;
}

PyObject* EnvironmentIsDifferentiable(PyObject* self, PyObject* op) {
  const char* text = PyUnicode_AsUTF8(op);
  if (text == nullptr) return nullptr;
  const char* reason = tw_environment_no_gradient(EnvironmentOf(self), text);
  return PyBool_FromLong(reason == nullptr || *reason == '\0');
}

PyObject* EnvironmentOpList(PyObject* self, PyObject* implemented_only) {
  const int only = PyObject_IsTrue(implemented_only);
  if (only < 0) return nullptr;
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_environment_op_list(EnvironmentOf(self), only, status.get()), status.get(),
                      nullptr);
}

PyMethodDef environment_methods[] = {
    {"devices", EnvironmentDevices, METH_NOARGS, "List of (name, type)."},
    {"memory", EnvironmentMemory, METH_NOARGS, "(bytes in use, the most so far, limit)."},
    {"reset", EnvironmentReset, METH_O, "Drops all state of the named containers."},
    {"load_library", EnvironmentLoadLibrary, METH_O, "Loads operations of a shared object."},
    {"is_differentiable", EnvironmentIsDifferentiable, METH_O,
     "Whether nobody said that the operation has no gradient."},
    {"op_list", EnvironmentOpList, METH_O, "op_list(implemented_only): an OpList message."},
    {nullptr, nullptr, 0, nullptr}};

bool AddEnvironmentType(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(EnvironmentNew)},
      {Py_tp_dealloc, reinterpret_cast<void*>(EnvironmentDealloc)},
      {Py_tp_methods, environment_methods},
      {Py_tp_doc, const_cast<char*>("Environment(threads=-1, cpu_devices=1, memory_limit=0, "
                                    "isa_level=-1, strict_kernels=False, least_severity=0): "
                                    "devices, threads and memory of sessions.")},
      {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Environment", sizeof(EnvironmentObject), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  environment_type = AddType(module, &spec);
  return environment_type != nullptr;
}

PyObject* SetHooks(PyObject*, PyObject* args) {
  Hooks given{};
  if (!PyArg_ParseTuple(args, "OOOO", &given.operation_class, &given.tensor_class,
                        &given.expand_fetch, &given.expand_feeds)) {
    return nullptr;
  }
  for (PyObject* hook :
       {given.operation_class, given.tensor_class, given.expand_fetch, given.expand_feeds}) {
    Py_INCREF(hook);
  }
  given.make_error = hooks.make_error;
  given.eager_tensor_class = hooks.eager_tensor_class;
  hooks = given;
  Py_RETURN_NONE;
}

// Apart from the others: what needs no graph fails, too.
PyObject* SetErrorHook(PyObject*, PyObject* make) {
  Py_XSETREF(hooks.make_error, Py_NewRef(make));
  Py_RETURN_NONE;
}

PyObject* SetEagerClass(PyObject*, PyObject* type) {
  if (!PyType_Check(type) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), eager_tensor_type)) {
    PyErr_Format(PyExc_TypeError, "Expected a class of EagerTensors, got %R", type);
    return nullptr;
  }
  Py_XSETREF(hooks.eager_tensor_class, Py_NewRef(type));
  Py_RETURN_NONE;
}

PyObject* ToNumpy(PyObject*, PyObject* args) {
  PyObject* value = nullptr;
  int dtype = 0;
  if (!PyArg_ParseTuple(args, "O|i", &value, &dtype)) return nullptr;
  TensorPtr tensor = TensorFromPython(value, dtype, false);
  if (!tensor) return nullptr;
  return Py_BuildValue("(iN)", tw_tensor_dtype(tensor.get()),
                       TensorToPython(TensorPtr(tw_tensor_share(tensor.get()))));
}

PyObject* TensorToProto(PyObject*, PyObject* args) {
  PyObject* value = nullptr;
  int dtype = 0;
  if (!PyArg_ParseTuple(args, "O|i", &value, &dtype)) return nullptr;
  const TensorPtr tensor = TensorFromPython(value, dtype, false);
  if (!tensor) return nullptr;
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_tensor_to_proto(tensor.get(), status.get()), status.get(), nullptr);
}

PyObject* TensorFromProto(PyObject*, PyObject* data) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(data, &bytes, &size) != 0) return nullptr;
  const StatusPtr status = NewStatus();
  TensorPtr tensor(tw_tensor_from_proto(bytes, static_cast<size_t>(size), status.get()));
  if (!tensor) return Raise(status.get(), nullptr);
  return TensorToPython(std::move(tensor));
}

PyObject* CodeName(PyObject*, PyObject* code) {
  const long number = PyLong_AsLong(code);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  return PyUnicode_FromString(tw_code_name(static_cast<TwCode>(number)));
}

PyMethodDef functions[] = {
    {"set_hooks", SetHooks, METH_VARARGS, "Tells the extension the classes of the package."},
    {"set_error_hook", SetErrorHook, METH_O, "Tells the extension what makes exceptions."},
    {"set_function_hook", SetFunctionHook, METH_O, "Tells the extension what calls functions."},
    {"to_numpy", ToNumpy, METH_VARARGS,
     "to_numpy(value, dtype=0): (dtype, array) of the tensor that the value makes."},
    {"tensor_to_proto", TensorToProto, METH_VARARGS,
     "tensor_to_proto(value, dtype=0): TensorProto bytes."},
    {"tensor_from_proto", TensorFromProto, METH_O, "The array of TensorProto bytes."},
    {"reset_target", ResetTarget, METH_VARARGS,
     "reset_target(target, containers, config): drops all state of a server's containers."},
    {"set_eager_class", SetEagerClass, METH_O, "Tells the extension the class of EagerTensors."},
    {"eager_tensor", EagerTensorOf, METH_VARARGS,
     "eager_tensor(value, dtype): an EagerTensor; dtype 0 is the value's own type."},
    {"read_saved_model", ReadSavedModel, METH_VARARGS,
     "read_saved_model(path, tags): (bytes of the MetaGraphDef, JSON of what else it has)."},
    {"record_steps", RecordSteps, METH_VARARGS,
     "record_steps(target, steps, slower_than_us, failing, timeout_ms, max_bytes, session, node): "
     "(report as JSON, [RunMetadata bytes])."},
    {"pack_trace", PackTrace, METH_O, "RunMetadata bytes as a compact recording."},
    {"unpack_trace", UnpackTrace, METH_O, "The RunMetadata bytes of any recording."},
    {"code_name", CodeName, METH_O, "The name of a canonical code."},
    {"optimizer_kinds", OptimizerKinds, METH_NOARGS,
     "{kind: (operation after Apply, has a Nesterov form, arguments, {slot: what it begins with}, "
     "{hyper-parameter: default})} of the core's optimizers."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "thalweg._core",
                          "Thalweg's C ABI for the package thalweg; not for direct use.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

bool FillModule(PyObject* module) {
  return AddEnvironmentType(module) && AddMemoryType(module) && AddGraphTypes(module) &&
         AddSessionTypes(module) && AddEagerTypes(module) && AddServerType(module) &&
         AddOptimizerType(module) && AddSaverType(module) && AddCheckpointType(module) &&
         AddEventFileType(module) && AddMessageType(module) && AddModelTypes(module) &&
         InitInterrupts() && PyModule_AddStringConstant(module, "version", tw_version()) == 0;
}

}  // namespace
}  // namespace thalweg_python

PyMODINIT_FUNC
PyInit__core() {  // NOLINT(bugprone-reserved-identifier): the name that Python looks for
  import_array();
  PyObject* module = PyModule_Create(&thalweg_python::definition);
  if (module != nullptr && !thalweg_python::FillModule(module)) Py_CLEAR(module);
  return module;
}
