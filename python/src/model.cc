// SPDX-License-Identifier: Apache-2.0
// Models, and their signatures as functions. A call is a vectorcall: values by name, no dictionary.
#include "model.h"

#include <cstddef>
#include <utility>

// After Python.h, which model.h brings.
#include <structmember.h>

namespace thalweg_python {

bool TextsOf(PyObject* list, const char* what, std::vector<const char*>* texts) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* const item = PyList_GET_ITEM(list, i);
    if (!PyUnicode_Check(item)) {
      PyErr_Format(PyExc_TypeError, "%s are text, got %R of type '%s'", what, item,
                   Py_TYPE(item)->tp_name);
      return false;
    }
    texts->push_back(PyUnicode_AsUTF8(item));
    if (texts->back() == nullptr) return false;
  }
  return true;
}

int32_t FindSignature(const ModelState& state, PyObject* name) {
  if (name != Py_None && !PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "the name of a signature is text, got %R of type '%s'", name,
                 Py_TYPE(name)->tp_name);
    return -1;
  }
  const char* text = name == Py_None ? "" : PyUnicode_AsUTF8(name);
  if (text == nullptr) return -1;
  const int32_t place = tw_model_find_signature(state.model, text, ThreadStatus());
  if (place < 0) Raise(ThreadStatus(), nullptr);
  return place;
}

namespace {

PyTypeObject* function_type = nullptr;

// ---- Calls ----

// The place of a name among a function's inputs; -1 where it is none.
Py_ssize_t PlaceOf(const Function& function, PyObject* name, size_t likely) {
  const size_t count = function.inputs.size();
  if (likely < count && function.inputs[likely] == name) return static_cast<Py_ssize_t>(likely);
  for (size_t i = 0; i < count; ++i) {
    if (function.inputs[i] == name) return static_cast<Py_ssize_t>(i);
  }
  for (size_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(function.inputs[i], name) == 0) return static_cast<Py_ssize_t>(i);
  }
  return -1;
}

// Raises what the core says of names that do not fit; `unnamed`: the input that was given without
// one, or -1.
void RaiseNames(const ModelState& state, int32_t place, Py_ssize_t unnamed, PyObject* names) {
  const Function& function = state.functions[static_cast<size_t>(place)];
  std::vector<const char*> given;
  if (unnamed >= 0) {
    given.push_back(PyUnicode_AsUTF8(function.inputs[static_cast<size_t>(unnamed)]));
    if (given.back() == nullptr) return;
  }
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    given.push_back(PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i)));
    if (given.back() == nullptr) return;
  }
  const std::vector<TwTensor*> none(given.size());
  std::vector<TwTensor*> results(function.outputs.size());
  tw_model_run_names(state.model, place, nullptr, given.data(), none.data(),
                     static_cast<int32_t>(given.size()), results.data(), nullptr, ThreadStatus());
  Raise(ThreadStatus(), nullptr);
}

// Adds to an error of a conversion which input of which model it is about.
void NameInput(const ModelState& state, int32_t place, PyObject* name) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  TwModelSignature signature{};
  tw_model_signature(state.model, place, &signature, nullptr);
  PyErr_Format(type, "%s: signature '%s': input %R: %S", state.path.c_str(), signature.name, name,
               value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

bool Convert(const ModelState& state, int32_t signature, Py_ssize_t input, PyObject* value,
             TwTensor** values) {
  const Function& function = state.functions[static_cast<size_t>(signature)];
  const auto i = static_cast<size_t>(input);
  TwTensor* const made = TensorFromPython(value, function.dtypes[i], true).release();
  if (made == nullptr) {
    NameInput(state, signature, function.inputs[i]);
    return false;
  }
  values[i] = made;
  return true;
}

// One value without a name is for the only input, or the only one that has no default.
Py_ssize_t OnlyInput(const Function& function) {
  Py_ssize_t found = -1;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (function.optional[i]) continue;
    if (found >= 0) return -1;
    found = static_cast<Py_ssize_t>(i);
  }
  return found < 0 && function.inputs.size() == 1 ? 0 : found;
}

bool FillInputs(const ModelState& state, int32_t place, PyObject* const* args, Py_ssize_t nargs,
                PyObject* names, TwTensor** values) {
  const Function& function = state.functions[static_cast<size_t>(place)];
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  Py_ssize_t unnamed = -1;
  if (nargs > 0) {
    unnamed = OnlyInput(function);
    if (nargs > 1 || unnamed < 0) {
      PyErr_SetString(PyExc_TypeError,
                      "values are given by name, as in model(x=array); without one only where "
                      "there is one input");
      return false;
    }
    if (!Convert(state, place, unnamed, args[0], values)) return false;
  }
  for (Py_ssize_t i = 0; i < named; ++i) {
    const Py_ssize_t input = PlaceOf(function, PyTuple_GET_ITEM(names, i), static_cast<size_t>(i));
    if (input < 0 || values[input] != nullptr) {
      RaiseNames(state, place, unnamed, names);
      return false;
    }
    if (!Convert(state, place, input, args[nargs + i], values)) return false;
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (values[i] != nullptr || function.optional[i]) continue;
    RaiseNames(state, place, unnamed, names);
    return false;
  }
  return true;
}

// An array where there is one output, else a dictionary.
PyObject* BuildResults(const Function& function, TwTensor** results) {
  if (function.outputs.size() == 1) {
    return TensorToPython(TensorPtr(std::exchange(results[0], nullptr)));
  }
  PyObject* made = PyDict_New();
  for (size_t i = 0; made != nullptr && i < function.outputs.size(); ++i) {
    PyObject* value = TensorToPython(TensorPtr(std::exchange(results[i], nullptr)));
    if (value == nullptr || PyDict_SetItem(made, function.outputs[i], value) != 0) Py_CLEAR(made);
    Py_XDECREF(value);
  }
  return made;
}

PyObject* Call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const StatePtr state = *AsModel(self)->state;
  const int32_t place = AsModel(self)->place;
  ReleaseSharedArrays();
  if (place < 0) {
    tw_model_find_signature(state->model, nullptr, ThreadStatus());
    return Raise(ThreadStatus(), nullptr);
  }
  const Function& function = state->functions[static_cast<size_t>(place)];
  TensorHandles values(function.inputs.size());
  TensorHandles results(function.outputs.size());
  if (!FillInputs(*state, place, args, PyVectorcall_NARGS(nargsf), names, values.data())) {
    return nullptr;
  }
  OptionsOfRun chosen(&state->main_options);
  if (!chosen.Choose(nullptr, 0)) return nullptr;
  const bool ran = RunUnlocked(nullptr, &chosen, [&] {
    return tw_model_run(state->model, place, chosen.get(), values.data(), results.data(), nullptr,
                        ThreadStatus());
  });
  return ran ? BuildResults(function, results.data()) : nullptr;
}

// ---- Models ----

PyObject* Interned(const char* text) {
  PyObject* made = Text(text);
  if (made != nullptr) PyUnicode_InternInPlace(&made);
  return made;
}

void ReadFunctions(ModelState* state) {
  for (int32_t s = 0; s < tw_model_num_signatures(state->model); ++s) {
    TwModelSignature signature{};
    tw_model_signature(state->model, s, &signature, nullptr);
    Function& function = state->functions.emplace_back();
    TwModelTensor tensor{};
    for (int32_t i = 0; i < signature.num_inputs; ++i) {
      tw_model_input(state->model, s, i, &tensor, nullptr);
      function.inputs.push_back(Interned(tensor.name));
      function.dtypes.push_back(tensor.dtype);
      function.optional.push_back(tensor.is_optional != 0);
    }
    for (int32_t i = 0; i < signature.num_outputs; ++i) {
      tw_model_output(state->model, s, i, &tensor, nullptr);
      function.outputs.push_back(Interned(tensor.name));
    }
  }
}

PyObject* NewObject(PyTypeObject* type, const StatePtr& state, int32_t place) {
  auto* self = reinterpret_cast<ModelObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->vectorcall = Call;
  self->place = place;
  self->state = new StatePtr(state);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* ModelNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* environment = nullptr;
  PyObject* path = nullptr;
  PyObject* tags = nullptr;
  int map_weights = 0;
  const char* const names[] = {"environment", "path", "tags", "map_weights", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O&O!|p", const_cast<char**>(names),
                                   environment_type, &environment, PyUnicode_FSConverter, &path,
                                   &PyList_Type, &tags, &map_weights)) {
    return nullptr;
  }
  auto state = std::make_shared<ModelState>();
  state->path = PyBytes_AS_STRING(path);
  Py_DECREF(path);
  std::vector<const char*> texts;
  if (!TextsOf(tags, "tags", &texts)) return nullptr;
  TwModelOptions options{};
  options.struct_size = sizeof options;
  options.tags = texts.data();
  options.num_tags = static_cast<int32_t>(texts.size());
  options.map_weights = map_weights;
  TwEnvironment* const where = reinterpret_cast<EnvironmentObject*>(environment)->environment;
  OptionsOfRun chosen(&state->main_options);
  if (!chosen.Choose(nullptr, 0)) return nullptr;
  options.run_options = chosen.get();
  const bool loaded = RunUnlocked(nullptr, &chosen, [&] {
    state->model = tw_model_load(where, state->path.c_str(), &options, ThreadStatus());
    return tw_status_code(ThreadStatus());
  });
  if (!loaded) return nullptr;
  ReadFunctions(state.get());
  return NewObject(type, state, tw_model_find_signature(state->model, nullptr, nullptr));
}

void ModelDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete AsModel(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}

// signature(name or None): its callable, planned.
PyObject* ModelPrepare(PyObject* self, PyObject* name) {
  const StatePtr state = *AsModel(self)->state;
  const int32_t place = FindSignature(*state, name);
  if (place < 0) return nullptr;
  OptionsOfRun chosen(&state->main_options);
  if (!chosen.Choose(nullptr, 0)) return nullptr;
  const bool prepared = RunUnlocked(nullptr, &chosen, [&] {
    return tw_model_prepare(state->model, place, chosen.get(), ThreadStatus());
  });
  return prepared ? NewObject(function_type, state, place) : nullptr;
}

// [(name, tensor, element type, dims or None, is optional)]
template <class Get>
PyObject* Tensors(const ModelState& state, int32_t signature, int32_t count, Get&& get) {
  PyObject* rows = PyList_New(0);
  for (int32_t i = 0; rows != nullptr && i < count; ++i) {
    TwModelTensor tensor{};
    get(state.model, signature, i, &tensor, nullptr);
    PyObject* dims = tensor.rank < 0 ? Py_NewRef(Py_None) : PyList_New(tensor.rank);
    for (int32_t d = 0; dims != nullptr && d < tensor.rank; ++d) {
      PyObject* size =
          tensor.dims[d] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(tensor.dims[d]);
      PyList_SET_ITEM(dims, d, size);
    }
    PyObject* row = dims == nullptr ? nullptr
                                    : Py_BuildValue("(NNiNO)", Text(tensor.name),
                                                    Text(tensor.tensor), tensor.dtype, dims,
                                                    tensor.is_optional != 0 ? Py_True : Py_False);
    if (row == nullptr || PyList_Append(rows, row) != 0) Py_CLEAR(rows);
    Py_XDECREF(row);
  }
  return rows;
}

// (name, method, inputs, outputs, why it cannot be run) of signature i.
PyObject* ModelDescribe(PyObject* self, PyObject* index) {
  const ModelState& state = **AsModel(self)->state;
  const long i = PyLong_AsLong(index);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  TwModelSignature found{};
  if (tw_model_signature(state.model, static_cast<int32_t>(i), &found, ThreadStatus()) != TW_OK) {
    return Raise(ThreadStatus(), nullptr);
  }
  const auto place = static_cast<int32_t>(i);
  return Py_BuildValue("(NNNNN)", Text(found.name), Text(found.method),
                       Tensors(state, place, found.num_inputs, tw_model_input),
                       Tensors(state, place, found.num_outputs, tw_model_output),
                       Text(found.unusable));
}

PyObject* ModelFacts(PyObject* self, PyObject*) {
  TwModel* const model = (*AsModel(self)->state)->model;
  return Py_BuildValue("(iNNN)", tw_model_num_signatures(model), Text(tw_model_kind(model)),
                       Text(tw_model_tags(model)), Text(tw_model_unknown_operations(model)));
}

PyObject* FunctionRepr(PyObject* self) {
  TwModelSignature found{};
  tw_model_signature((*AsModel(self)->state)->model, AsModel(self)->place, &found, nullptr);
  return PyUnicode_FromFormat("<signature '%s' of a model>", found.name);
}

PyObject* Place(PyObject* self, void*) { return PyLong_FromLong(AsModel(self)->place); }

PyMethodDef model_methods[] = {
    {"_prepare", ModelPrepare, METH_O, "_prepare(name or None): the callable of a signature."},
    {"_convert", ModelConvert, METH_VARARGS,
     "_convert(name or None, path, saved_model, keep_batch_norms): writes a frozen graph."},
    {"_costs", ModelCosts, METH_VARARGS,
     "_costs(name or None, batch, shapes): what a step costs, as JSON."},
    {"_verify", ModelVerify, METH_VARARGS,
     "_verify(name or None, inputs, values, atol, rtol): what differs, as JSON."},
    {"_fetch", ModelFetch, METH_VARARGS,
     "_fetch(name or None, tensors, inputs): a list of arrays."},
    {"_describe", ModelDescribe, METH_O, "_describe(i): what signature i is."},
    {"_facts", ModelFacts, METH_NOARGS, "(number of signatures, kind, tags, unknown operations)"},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef place_members[] = {{"_place", Place, nullptr, nullptr, nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef vectorcall_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ModelObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

bool AddModelTypes(PyObject* module) {
  static PyType_Slot model_slots[] = {{Py_tp_new, reinterpret_cast<void*>(ModelNew)},
                                      {Py_tp_dealloc, reinterpret_cast<void*>(ModelDealloc)},
                                      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                      {Py_tp_methods, model_methods},
                                      {Py_tp_getset, place_members},
                                      {Py_tp_members, vectorcall_members},
                                      {0, nullptr}};
  static PyType_Slot function_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(ModelDealloc)},
                                         {Py_tp_repr, reinterpret_cast<void*>(FunctionRepr)},
                                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                         {Py_tp_getset, place_members},
                                         {Py_tp_members, vectorcall_members},
                                         {0, nullptr}};
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  static PyType_Spec model_spec = {"thalweg._core.Model", sizeof(ModelObject), 0,
                                   kFlags | Py_TPFLAGS_BASETYPE, model_slots};
  static PyType_Spec function_spec = {"thalweg._core.ModelFunction", sizeof(ModelObject), 0,
                                      kFlags | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};
  function_type = AddType(module, &function_spec);
  return AddType(module, &model_spec) != nullptr && function_type != nullptr;
}

}  // namespace thalweg_python
