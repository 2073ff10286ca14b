// SPDX-License-Identifier: Apache-2.0
// Optimizers and the saver of the core.
#include "core.h"

namespace thalweg_python {
namespace {

struct OptimizerObject {
  PyObject_HEAD TwOptimizer* optimizer;
};

TwOptimizer* OptimizerOf(PyObject* self) {
  return reinterpret_cast<OptimizerObject*>(self)->optimizer;
}

PyObject* OptimizerNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* kind = nullptr;
  const char* name = nullptr;
  int use_locking = 0;
  int use_nesterov = 0;
  const char* const names[] = {"kind", "name", "use_locking", "use_nesterov", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss|pp", const_cast<char**>(names), &kind, &name,
                                   &use_locking, &use_nesterov)) {
    return nullptr;
  }
  auto* self = reinterpret_cast<OptimizerObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->optimizer = tw_optimizer_new(kind, name);
  tw_optimizer_set_flags(self->optimizer, use_locking, use_nesterov);
  return reinterpret_cast<PyObject*>(self);
}

void OptimizerDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_optimizer_free(OptimizerOf(self));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* OptimizerSet(PyObject* self, PyObject* args) {
  const char* parameter = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "sO", &parameter, &value)) return nullptr;
  if (IsTensor(value)) {
    tw_optimizer_set_tensor(OptimizerOf(self), parameter, OutputOf(value));
  } else {
    const double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return nullptr;
    tw_optimizer_set_number(OptimizerOf(self), parameter, number);
  }
  Py_RETURN_NONE;
}

// None, a tensor or (values, indices, dense shape).
bool GradientOf(PyObject* given, TwGradient* gradient) {
  *gradient = TwGradient{};
  if (given == Py_None) return true;
  if (IsTensor(given)) {
    gradient->values = OutputOf(given);
    return true;
  }
  PyObject* parts[3];
  if (!PyArg_ParseTuple(given, "O!O!O", tensor_type, &parts[0], tensor_type, &parts[1],
                        &parts[2])) {
    return false;
  }
  gradient->values = OutputOf(parts[0]);
  gradient->indices = OutputOf(parts[1]);
  if (IsTensor(parts[2])) gradient->dense_shape = OutputOf(parts[2]);
  return true;
}

PyObject* OptimizerApply(PyObject* self, PyObject* args) {
  PyObject* graph = nullptr;
  PyObject* given = nullptr;
  PyObject* handles = nullptr;
  PyObject* global_step = nullptr;
  const char* name = nullptr;
  const char* site = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!OOss", graph_type, &graph, &PyList_Type, &given, &handles,
                        &global_step, &name, &site)) {
    return nullptr;
  }
  std::vector<TwOutput> variables;
  if (!OutputsOf(handles, false, &variables)) return nullptr;
  std::vector<TwGradient> gradients(variables.size());
  if (static_cast<size_t>(PyList_GET_SIZE(given)) != variables.size()) {
    PyErr_SetString(PyExc_ValueError, "as many gradients as variables are needed");
    return nullptr;
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    PyObject* gradient = PyList_GET_ITEM(given, static_cast<Py_ssize_t>(i));
    if (!GradientOf(gradient, &gradients[i])) return nullptr;
  }
  const TwOutput step = IsTensor(global_step) ? OutputOf(global_step) : TwOutput{nullptr, 0};
  TwNode* done = nullptr;
  tw_optimizer_set_site(OptimizerOf(self), site);
  const StatusPtr status = NewStatus();
  if (tw_optimizer_apply_gradients(OptimizerOf(self), GraphOf(graph), gradients.data(),
                                   variables.data(), static_cast<int32_t>(variables.size()), step,
                                   name, &done, status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), graph);
  }
  return MakeOperation(graph, done);
}

PyObject* OptimizerCreated(PyObject* self, PyObject* graph) {
  PyObject* list = PyList_New(0);
  const int32_t count = tw_optimizer_num_created(OptimizerOf(self));
  for (int32_t i = 0; list != nullptr && i < count; ++i) {
    TwVariable variable;
    TwOutput primary;
    const char* slot = nullptr;
    tw_optimizer_created(OptimizerOf(self), i, &variable, &primary, &slot);
    PyObject* row = Py_BuildValue(
        "(NNNNs)", MakeTensor(graph, variable.handle), MakeOperation(graph, variable.initializer),
        MakeTensor(graph, variable.value), MakeTensorOrNone(graph, primary), slot);
    if (row == nullptr || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyMethodDef methods[] = {
    {"set", OptimizerSet, METH_VARARGS, "set(parameter, number or tensor)"},
    {"apply_gradients", OptimizerApply, METH_VARARGS,
     "apply_gradients(graph, gradients, handles, global_step, name, site): the operation that "
     "updates."},
    {"created", OptimizerCreated, METH_O,
     "created(graph): list of (handle, initializer, value, primary handle, slot name)."},
    {nullptr, nullptr, 0, nullptr}};

// ---- Saver ----

struct SaverObject {
  PyObject_HEAD TwSaver* saver;
};

TwSaver* SaverOf(PyObject* self) { return reinterpret_cast<SaverObject*>(self)->saver; }

// The texts of a list of as many; they live as long as the list.
bool TextsOf(PyObject* list, size_t count, std::vector<const char*>* texts) {
  if (static_cast<size_t>(PyList_GET_SIZE(list)) != count) {
    PyErr_SetString(PyExc_ValueError, "as many names as variables are needed");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    texts->push_back(PyUnicode_AsUTF8(PyList_GET_ITEM(list, i)));
    if (texts->back() == nullptr) return false;
  }
  return true;
}

PyObject* AdoptSaver(PyTypeObject* type, TwSaver* saver) {
  auto* self = reinterpret_cast<SaverObject*>(type->tp_alloc(type, 0));
  if (self != nullptr) {
    self->saver = saver;
  } else {
    tw_saver_free(saver);
  }
  return reinterpret_cast<PyObject*>(self);
}

PyObject* SaverNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* graph = nullptr;
  PyObject* names = nullptr;
  PyObject* handles = nullptr;
  TwSaverOptions options{};
  options.struct_size = sizeof options;
  PyObject* tensor_names = nullptr;
  PyObject* tensor_slices = nullptr;
  PyObject* tensors = nullptr;
  PyObject* variable_slices = nullptr;
  const char* const keywords[] = {"graph",         "names",   "handles",       "max_to_keep",
                                  "hours",         "scope",   "site",          "tensor_names",
                                  "tensor_slices", "tensors", "write_version", "variable_slices",
                                  nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!OidssO!O!OiO!", const_cast<char**>(keywords),
                                   graph_type, &graph, &PyList_Type, &names, &handles,
                                   &options.max_to_keep, &options.keep_checkpoint_every_n_hours,
                                   &options.scope, &options.site, &PyList_Type, &tensor_names,
                                   &PyList_Type, &tensor_slices, &tensors, &options.write_version,
                                   &PyList_Type, &variable_slices)) {
    return nullptr;
  }
  std::vector<TwOutput> variables;
  std::vector<TwOutput> besides;
  std::vector<const char*> texts;
  std::vector<const char*> others;
  std::vector<const char*> slices;
  std::vector<const char*> parts;
  if (!OutputsOf(handles, false, &variables) || !TextsOf(names, variables.size(), &texts) ||
      !TextsOf(variable_slices, variables.size(), &parts) || !OutputsOf(tensors, false, &besides) ||
      !TextsOf(tensor_names, besides.size(), &others) ||
      !TextsOf(tensor_slices, besides.size(), &slices)) {
    return nullptr;
  }
  options.variable_slices = parts.data();
  options.tensor_names = others.data();
  options.tensor_slices = slices.data();
  options.tensors = besides.data();
  options.num_tensors = static_cast<int32_t>(besides.size());
  const StatusPtr status = NewStatus();
  TwSaver* saver = tw_saver_new(GraphOf(graph), texts.data(), variables.data(),
                                static_cast<int32_t>(variables.size()), &options, status.get());
  if (saver == nullptr) return RaiseRefusal(status.get(), graph);
  return AdoptSaver(type, saver);
}

PyObject* SaverOfNodes(PyObject* type, PyObject* args) {
  PyObject* graph = nullptr;
  PyObject* filename = nullptr;
  PyObject* save_tensor = nullptr;
  PyObject* restore_op = nullptr;
  TwSaverOptions options{};
  options.struct_size = sizeof options;
  if (!PyArg_ParseTuple(args, "O!O!O!O!idi", graph_type, &graph, tensor_type, &filename,
                        tensor_type, &save_tensor, operation_type, &restore_op,
                        &options.max_to_keep, &options.keep_checkpoint_every_n_hours,
                        &options.write_version)) {
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  TwSaver* saver = tw_saver_of_nodes(GraphOf(graph), OutputOf(filename), OutputOf(save_tensor),
                                     NodeOf(restore_op), &options, status.get());
  if (saver == nullptr) return RaiseRefusal(status.get(), graph);
  return AdoptSaver(reinterpret_cast<PyTypeObject*>(type), saver);
}

void SaverDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_saver_free(SaverOf(self));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* SaverSave(PyObject* self, PyObject* args) {
  PyObject* session = nullptr;
  const char* path = nullptr;
  long long step = -1;
  if (!PyArg_ParseTuple(args, "O!sL", session_type, &session, &path, &step)) return nullptr;
  const std::shared_ptr<TwSession> open = OpenSession(session);
  if (open == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* written = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  written = tw_saver_save(SaverOf(self), open.get(), path, step, status.get());
  Py_END_ALLOW_THREADS;
  return BytesOrRaise(written, status.get(), nullptr);
}

PyObject* SaverRestore(PyObject* self, PyObject* args) {
  PyObject* session = nullptr;
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", session_type, &session, &path)) return nullptr;
  const std::shared_ptr<TwSession> open = OpenSession(session);
  if (open == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_saver_restore(SaverOf(self), open.get(), path, status.get());
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

PyObject* SaverKept(PyObject* self, PyObject*) {
  PyObject* list = PyList_New(0);
  const int32_t count = tw_saver_num_kept(SaverOf(self));
  for (int32_t i = 0; list != nullptr && i < count; ++i) {
    double saved_at = 0;
    const char* path = tw_saver_kept(SaverOf(self), i, &saved_at);
    PyObject* row = Py_BuildValue("(sd)", path, saved_at);
    if (row == nullptr || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject* SaverSetKept(PyObject* self, PyObject* args) {
  PyObject* paths = nullptr;
  PyObject* times = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &paths, &PyList_Type, &times)) return nullptr;
  std::vector<const char*> texts;
  std::vector<double> saved_at;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(times); ++i) {
    saved_at.push_back(PyFloat_AsDouble(PyList_GET_ITEM(times, i)));
    if (PyErr_Occurred()) return nullptr;
  }
  if (!TextsOf(paths, saved_at.size(), &texts)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_saver_set_kept(SaverOf(self), texts.data(), saved_at.data(),
                        static_cast<int32_t>(texts.size()), status.get()) != TW_OK) {
    return Raise(status.get(), nullptr);
  }
  Py_RETURN_NONE;
}

PyObject* SaverSetStateFile(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_saver_set_state_file(SaverOf(self), text, status.get()) != TW_OK) {
    return Raise(status.get(), nullptr);
  }
  Py_RETURN_NONE;
}

PyObject* LatestCheckpoint(PyObject*, PyObject* directory) {
  const char* path = PyUnicode_AsUTF8(directory);
  if (path == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_latest_checkpoint(path, status.get()), status.get(), nullptr);
}

PyMethodDef saver_methods[] = {
    {"save", SaverSave, METH_VARARGS, "save(session, path, step or -1): what was written."},
    {"restore", SaverRestore, METH_VARARGS, "restore(session, path)"},
    {"of_nodes", SaverOfNodes, METH_VARARGS | METH_CLASS,
     "of_nodes(graph, filename, save_tensor, restore_op, max_to_keep, hours, write_version)"},
    {"kept", SaverKept, METH_NOARGS, "(path, seconds since 1970) of what is kept, oldest first."},
    {"set_kept", SaverSetKept, METH_VARARGS, "set_kept(paths, times)"},
    {"set_state_file", SaverSetStateFile, METH_O,
     "The file that a save writes instead of \"checkpoint\"; \"\": none."},
    {"latest_checkpoint", LatestCheckpoint, METH_O | METH_STATIC,
     "The newest checkpoint of a directory."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool AddTrainingTypes(PyObject* module) {
  static PyType_Slot optimizer_slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(OptimizerNew)},
      {Py_tp_dealloc, reinterpret_cast<void*>(OptimizerDealloc)},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Slot saver_slots[] = {{Py_tp_new, reinterpret_cast<void*>(SaverNew)},
                                      {Py_tp_dealloc, reinterpret_cast<void*>(SaverDealloc)},
                                      {Py_tp_methods, saver_methods},
                                      {0, nullptr}};
  static PyType_Spec optimizer_spec = {"thalweg._core.Optimizer", sizeof(OptimizerObject), 0,
                                       Py_TPFLAGS_DEFAULT, optimizer_slots};
  static PyType_Spec saver_spec = {"thalweg._core.Saver", sizeof(SaverObject), 0,
                                   Py_TPFLAGS_DEFAULT, saver_slots};
  return AddType(module, &optimizer_spec) != nullptr && AddType(module, &saver_spec) != nullptr;
}

}  // namespace thalweg_python
