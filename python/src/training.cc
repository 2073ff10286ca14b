// SPDX-License-Identifier: Apache-2.0
// Optimizers of the core.
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

PyMethodDef training_methods[] = {
    {"set", OptimizerSet, METH_VARARGS, "set(parameter, number or tensor)"},
    {"apply_gradients", OptimizerApply, METH_VARARGS,
     "apply_gradients(graph, gradients, handles, global_step, name, site): the operation that "
     "updates."},
    {"created", OptimizerCreated, METH_O,
     "created(graph): list of (handle, initializer, value, primary handle, slot name)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

namespace {

// Row by row to `table`, a new list or dict, until `row` finds none.
template <class AddRow>
PyObject* Filled(PyObject* table, const AddRow& row) {
  bool more = table != nullptr;
  for (int32_t i = 0; more; ++i) more = row(i);
  if (PyErr_Occurred()) Py_CLEAR(table);
  return table;
}

bool Put(PyObject* dict, const char* name, PyObject* value) {
  const bool done = value != nullptr && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return done;
}

PyObject* Arguments(int32_t kind) {
  PyObject* names = PyList_New(0);
  return Filled(names, [&](int32_t i) {
    const char* name = tw_optimizer_kind_argument(kind, i);
    if (name == nullptr) return false;
    PyObject* text = PyUnicode_FromString(name);
    const bool done = text != nullptr && PyList_Append(names, text) == 0;
    Py_XDECREF(text);
    return done;
  });
}

PyObject* Slots(int32_t kind) {
  PyObject* slots = PyDict_New();
  return Filled(slots, [&](int32_t i) {
    const char* initial = nullptr;
    const char* name = tw_optimizer_kind_slot(kind, i, &initial);
    return name != nullptr && Put(slots, name, PyUnicode_FromString(initial));
  });
}

PyObject* Numbers(int32_t kind) {
  PyObject* numbers = PyDict_New();
  return Filled(numbers, [&](int32_t i) {
    double value = 0;
    const char* name = tw_optimizer_kind_number(kind, i, &value);
    return name != nullptr && Put(numbers, name, PyFloat_FromDouble(value));
  });
}

}  // namespace

PyObject* OptimizerKinds(PyObject*, PyObject*) {
  PyObject* kinds = PyDict_New();
  return Filled(kinds, [&](int32_t i) {
    const char* operation = nullptr;
    int32_t has_nesterov = 0;
    const char* kind = tw_optimizer_kind(i, &operation, &has_nesterov);
    return kind != nullptr && Put(kinds, kind,
                                  Py_BuildValue("(sNNNN)", operation, PyBool_FromLong(has_nesterov),
                                                Arguments(i), Slots(i), Numbers(i)));
  });
}

bool AddOptimizerType(PyObject* module) {
  static PyType_Slot optimizer_slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(OptimizerNew)},
      {Py_tp_dealloc, reinterpret_cast<void*>(OptimizerDealloc)},
      {Py_tp_methods, training_methods},
      {0, nullptr}};
  static PyType_Spec optimizer_spec = {"thalweg._core.Optimizer", sizeof(OptimizerObject), 0,
                                       Py_TPFLAGS_DEFAULT, optimizer_slots};
  return AddType(module, &optimizer_spec) != nullptr;
}

}  // namespace thalweg_python
