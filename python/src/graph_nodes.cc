// SPDX-License-Identifier: Apache-2.0
// New nodes of a graph: one by one, imported, as gradients.
#include <cstring>
#include <string>

#include "core.h"

namespace thalweg_python {
namespace {

struct BuilderDeleter {
  void operator()(TwNodeBuilder* b) const { tw_node_builder_free(b); }
};
using BuilderPtr = std::unique_ptr<TwNodeBuilder, BuilderDeleter>;

bool TextOf(PyObject* value, const char** text, Py_ssize_t* size) {
  if (PyUnicode_Check(value)) {
    *text = PyUnicode_AsUTF8AndSize(value, size);
    return *text != nullptr;
  }
  char* bytes = nullptr;
  if (PyBytes_AsStringAndSize(value, &bytes, size) != 0) return false;
  *text = bytes;
  return true;
}

// Unknown dimensions are None or negative; an unknown rank is None.
bool ShapeOf(PyObject* value, std::vector<int64_t>* dims, int32_t* rank) {
  *rank = -1;
  if (value == Py_None) return true;
  const Ref sequence(PySequence_Fast(value, "a shape is a sequence of dimensions, or None"));
  if (!sequence) return false;
  *rank = static_cast<int32_t>(PySequence_Fast_GET_SIZE(sequence.get()));
  for (int32_t i = 0; i < *rank; ++i) {
    PyObject* dim = PySequence_Fast_GET_ITEM(sequence.get(), i);
    dims->push_back(dim == Py_None ? -1 : PyLong_AsLongLong(dim));
    if (PyErr_Occurred()) return false;
  }
  return true;
}

bool SetScalarAttr(TwNodeBuilder* builder, const char* name, char kind, PyObject* value) {
  switch (kind) {
    case 'i':
      tw_node_builder_attr_int(builder, name, PyLong_AsLongLong(value));
      break;
    case 'f':
      tw_node_builder_attr_float(builder, name, static_cast<float>(PyFloat_AsDouble(value)));
      break;
    case 'b':
      tw_node_builder_attr_bool(builder, name, PyObject_IsTrue(value));
      break;
    case 't':
      tw_node_builder_attr_type(builder, name, static_cast<TwDataType>(PyLong_AsLong(value)));
      break;
    case 's': {
      const char* text = nullptr;
      Py_ssize_t size = 0;
      if (!TextOf(value, &text, &size)) return false;
      tw_node_builder_attr_string(builder, name, text, static_cast<size_t>(size));
      break;
    }
    case 'h': {
      std::vector<int64_t> dims;
      int32_t rank = -1;
      if (!ShapeOf(value, &dims, &rank)) return false;
      tw_node_builder_attr_shape(builder, name, dims.data(), rank);
      break;
    }
    case 'v': {  // (dtype or 0, value)
      PyObject* given = nullptr;
      int dtype = 0;
      if (!PyArg_ParseTuple(value, "iO", &dtype, &given)) return false;
      const TensorPtr tensor = TensorFromPython(given, dtype, false);
      if (!tensor) return false;
      tw_node_builder_attr_tensor(builder, name, tensor.get());
      tw_node_builder_attr_type(builder, "dtype", tw_tensor_dtype(tensor.get()));
      break;
    }
    case 'p': {
      char* bytes = nullptr;
      Py_ssize_t size = 0;
      if (PyBytes_AsStringAndSize(value, &bytes, &size) != 0) return false;
      tw_node_builder_attr_proto(builder, name, bytes, static_cast<size_t>(size));
      break;
    }
    default:
      PyErr_Format(PyExc_SystemError, "attribute '%s' of unknown kind '%c'", name, kind);
  }
  return !PyErr_Occurred();
}

bool SetListAttr(TwNodeBuilder* builder, const char* name, char kind, PyObject* value) {
  const Ref sequence(PySequence_Fast(value, "the attribute is a list"));
  if (!sequence) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
  const auto n = static_cast<int32_t>(count);
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<TwDataType> types;
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.get(), i);
    const char* text = nullptr;
    Py_ssize_t size = 0;
    if (kind == 'I') integers.push_back(PyLong_AsLongLong(item));
    if (kind == 'F') floats.push_back(static_cast<float>(PyFloat_AsDouble(item)));
    if (kind == 'T') types.push_back(static_cast<TwDataType>(PyLong_AsLong(item)));
    if (kind == 'S' && TextOf(item, &text, &size)) {
      texts.push_back(text);
      sizes.push_back(static_cast<size_t>(size));
    }
    if (PyErr_Occurred()) return false;
  }
  if (kind == 'I') tw_node_builder_attr_int_list(builder, name, integers.data(), n);
  if (kind == 'F') tw_node_builder_attr_float_list(builder, name, floats.data(), n);
  if (kind == 'T') tw_node_builder_attr_type_list(builder, name, types.data(), n);
  if (kind == 'S') tw_node_builder_attr_string_list(builder, name, texts.data(), sizes.data(), n);
  return true;
}

bool SetAttr(TwNodeBuilder* builder, PyObject* attr) {
  const char* name = nullptr;
  int kind = 0;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(attr, "sCO", &name, &kind, &value)) return false;
  return std::strchr("IFTS", kind) != nullptr
             ? SetListAttr(builder, name, static_cast<char>(kind), value)
             : SetScalarAttr(builder, name, static_cast<char>(kind), value);
}

// Inputs and control inputs; those of another graph are refused.
bool SetInputs(PyObject* graph, TwNodeBuilder* builder, PyObject* inputs, PyObject* controls) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); ++i) {
    PyObject* input = PyList_GET_ITEM(inputs, i);
    if (input == Py_None) {  // the back edge of a Merge, set later
      tw_node_builder_input(builder, {nullptr, 0});
      continue;
    }
    if (!IsTensor(input)) {
      PyErr_Format(PyExc_TypeError, "input %zd is no Tensor: %R", i, input);
      return false;
    }
    if (IsEagerTensor(input)) {
      PyErr_SetString(PyExc_RuntimeError,
                      "Attempting to capture an EagerTensor without building a function.");
      return false;
    }
    if (reinterpret_cast<TensorObject*>(input)->graph != graph) {
      PyErr_Format(PyExc_ValueError, "%S must be from the same graph as %S.", input,
                   i > 0 ? PyList_GET_ITEM(inputs, 0) : graph);
      return false;
    }
    tw_node_builder_input(builder, OutputOf(input));
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(controls); ++i) {
    PyObject* before = PyList_GET_ITEM(controls, i);
    if (!IsOperation(before) || reinterpret_cast<OperationObject*>(before)->graph != graph) {
      PyErr_Format(PyExc_ValueError, "Control input %R must be an operation of the same graph.",
                   before);
      return false;
    }
    tw_node_builder_control(builder, NodeOf(before));
  }
  return true;
}

bool FillStrings(PyObject* sequence, std::vector<const char*>* texts) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sequence); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(sequence, i));
    if (text == nullptr) return false;
    texts->push_back(text);
  }
  return true;
}

PyObject* TensorList(PyObject* graph, const std::vector<TwOutput>& outputs) {
  PyObject* list = PyList_New(0);
  for (const TwOutput& output : outputs) {
    const Ref tensor(MakeTensorOrNone(graph, output));
    if (!tensor || PyList_Append(list, tensor.get()) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

}  // namespace

bool OutputsOf(PyObject* sequence, bool allow_none, std::vector<TwOutput>* outputs) {
  const Ref fast(PySequence_Fast(sequence, "expected a list of tensors"));
  if (!fast) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    if (allow_none && item == Py_None) {
      outputs->push_back({nullptr, 0});
    } else if (IsTensor(item)) {
      outputs->push_back(OutputOf(item));
    } else {
      PyErr_Format(PyExc_TypeError, "expected a Tensor, got %R", item);
      return false;
    }
  }
  return true;
}

PyObject* GradientToPython(PyObject* graph, const TwGradient& g) {
  if (g.values.node == nullptr) Py_RETURN_NONE;
  if (g.indices.node == nullptr) return MakeTensor(graph, g.values);
  return Py_BuildValue("(NNN)", MakeTensor(graph, g.values), MakeTensor(graph, g.indices),
                       MakeTensorOrNone(graph, g.dense_shape));
}

PyObject* GraphAddNode(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 7 || !PyList_Check(args[2]) || !PyList_Check(args[3]) || !PyList_Check(args[4])) {
    PyErr_SetString(PyExc_TypeError,
                    "_add_node takes op, name, lists of inputs, controls, attrs, device, site");
    return nullptr;
  }
  const char* op = PyUnicode_AsUTF8(args[0]);
  const char* name = PyUnicode_AsUTF8(args[1]);
  const char* device = PyUnicode_AsUTF8(args[5]);
  const char* site = PyUnicode_AsUTF8(args[6]);
  if (op == nullptr || name == nullptr || device == nullptr || site == nullptr) return nullptr;
  BuilderPtr builder(tw_node_builder_new(GraphOf(self), op, name));
  if (!SetInputs(self, builder.get(), args[2], args[3])) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[4]); ++i) {
    if (!SetAttr(builder.get(), PyList_GET_ITEM(args[4], i))) return nullptr;
  }
  if (*device != '\0') tw_node_builder_device(builder.get(), device);
  if (*site != '\0') tw_node_builder_site(builder.get(), site);
  const StatusPtr status = NewStatus();
  TwNode* node = tw_node_builder_finish(builder.release(), status.get());
  return node == nullptr ? RaiseRefusal(status.get(), self) : MakeOperation(self, node);
}

PyObject* GraphSetShape(PyObject* self, PyObject* args) {
  PyObject* tensor = nullptr;
  PyObject* shape = nullptr;
  if (!PyArg_ParseTuple(args, "O!O", tensor_type, &tensor, &shape)) return nullptr;
  std::vector<int64_t> dims;
  int32_t rank = -1;
  if (!ShapeOf(shape, &dims, &rank)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_graph_set_shape(GraphOf(self), OutputOf(tensor), dims.data(), rank, status.get()) !=
      TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

PyObject* GraphImport(PyObject* self, PyObject* args) {
  const char* data = nullptr;
  Py_ssize_t size = 0;
  int text = 0;
  const char* prefix = nullptr;
  PyObject* map_names = nullptr;
  PyObject* map_tensors = nullptr;
  PyObject* controls = nullptr;
  PyObject* returns = nullptr;
  if (!PyArg_ParseTuple(args, "y#psO!O!O!O!", &data, &size, &text, &prefix, &PyList_Type,
                        &map_names, &PyList_Type, &map_tensors, &PyList_Type, &controls,
                        &PyList_Type, &returns)) {
    return nullptr;
  }
  std::vector<const char*> from;
  std::vector<const char*> wanted;
  std::vector<TwOutput> to;
  std::vector<TwNode*> before;
  if (!FillStrings(map_names, &from) || !FillStrings(returns, &wanted) ||
      !OutputsOf(map_tensors, false, &to)) {
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(controls); ++i) {
    before.push_back(NodeOf(PyList_GET_ITEM(controls, i)));
  }
  TwImportOptions options{};
  options.struct_size = sizeof options;
  options.prefix = prefix;
  options.input_map_from = from.data();
  options.input_map_to = to.data();
  options.num_input_map = static_cast<int32_t>(to.size());
  options.control_inputs = before.data();
  options.num_control_inputs = static_cast<int32_t>(before.size());
  options.return_outputs = wanted.data();
  options.num_return_outputs = static_cast<int32_t>(wanted.size());
  std::vector<TwOutput> returned(wanted.size());
  const StatusPtr status = NewStatus();
  if (tw_graph_import(GraphOf(self), data, static_cast<size_t>(size), text, &options,
                      returned.data(), status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  return TensorList(self, returned);
}

PyObject* GraphExpandCall(PyObject* self, PyObject* args) {
  PyObject* call = nullptr;
  const char* prefix = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", operation_type, &call, &prefix)) return nullptr;
  std::vector<TwOutput> outputs(static_cast<size_t>(tw_node_num_outputs(NodeOf(call))));
  const StatusPtr status = NewStatus();
  if (tw_graph_expand_call(GraphOf(self), NodeOf(call), prefix, outputs.data(), status.get()) !=
      TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  return TensorList(self, outputs);
}

PyObject* GraphFunctionDefinition(PyObject* self, PyObject* args) {
  const char* name = nullptr;
  PyObject* lists[2];
  PyObject* result_names = nullptr;
  if (!PyArg_ParseTuple(args, "sOOO!", &name, &lists[0], &lists[1], &PyList_Type, &result_names)) {
    return nullptr;
  }
  std::vector<TwOutput> arguments, results;
  std::vector<const char*> names;
  if (!OutputsOf(lists[0], false, &arguments) || !OutputsOf(lists[1], false, &results) ||
      !FillStrings(result_names, &names)) {
    return nullptr;
  }
  if (!names.empty() && names.size() != results.size()) {
    PyErr_Format(PyExc_ValueError, "Expected %zd output names for %zd outputs", names.size(),
                 results.size());
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_function_definition(GraphOf(self), name, arguments.data(),
                                             static_cast<int32_t>(arguments.size()), results.data(),
                                             static_cast<int32_t>(results.size()),
                                             names.empty() ? nullptr : names.data(), status.get()),
                      status.get(), self);
}

bool GradientFromPython(PyObject* item, TwGradient* gradient) {
  *gradient = {};
  if (item == Py_None) return true;
  std::vector<TwOutput> parts;
  const Ref single(PyTuple_Check(item) ? Py_NewRef(item) : PyTuple_Pack(1, item));
  if (!single || !OutputsOf(single.get(), true, &parts)) return false;
  if (parts.size() != 1 && parts.size() != 3) {
    PyErr_Format(PyExc_ValueError, "a gradient has 1 or 3 parts, got %zd", parts.size());
    return false;
  }
  gradient->values = parts[0];
  if (parts.size() == 3) gradient->indices = parts[1], gradient->dense_shape = parts[2];
  return true;
}

// A function written in Python that gives the gradients of `inputs` from those of `outputs`.
struct PythonStep {
  PyObject* graph = nullptr;
  PyObject* function = nullptr;
  std::vector<TwOutput> inputs, outputs;
};

constexpr const char* kPlace = "thalweg gradient place";

// An error of the function stays set.
TwCode CallStep(void* argument, const TwGradientPlace* place, const TwGradient* incoming,
                TwGradient* made) {
  constexpr TwCode kFailed = 2;
  const auto& step = *static_cast<const PythonStep*>(argument);
  const Ref list(PyList_New(0));
  if (!list) return kFailed;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Ref item(GradientToPython(step.graph, incoming[i]));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return kFailed;
  }
  const Ref here(PyCapsule_New(const_cast<TwGradientPlace*>(place), kPlace, nullptr));
  if (!here) return kFailed;
  const Ref result(PyObject_CallFunctionObjArgs(step.function, here.get(), list.get(), nullptr));
  if (!result) return kFailed;
  const Ref fast(PySequence_Fast(result.get(), "expected a list of gradients"));
  if (!fast) return kFailed;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast.get());
  if (count != static_cast<Py_ssize_t>(step.inputs.size())) {
    PyErr_Format(PyExc_ValueError, "A gradient function gave %zd gradients for %zd inputs", count,
                 step.inputs.size());
    return kFailed;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!GradientFromPython(PySequence_Fast_GET_ITEM(fast.get(), i), &made[i])) return kFailed;
  }
  return TW_OK;
}

bool StepsOf(PyObject* graph, PyObject* sequence, std::vector<PythonStep>* steps) {
  const Ref fast(PySequence_Fast(sequence, "expected a list of steps"));
  if (!fast) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    PyObject *inputs, *outputs;
    PythonStep step{.graph = graph};
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(fast.get(), i), "OOO", &inputs, &outputs,
                          &step.function) ||
        !OutputsOf(inputs, false, &step.inputs) || !OutputsOf(outputs, false, &step.outputs)) {
      return false;
    }
    steps->push_back(std::move(step));
  }
  return true;
}

PyObject* GraphGradients(PyObject* self, PyObject* args) {
  PyObject* lists[5];
  PyObject* place = nullptr;
  int allow_unconnected = 0;
  int colocate = 0;
  const char* scope = nullptr;
  const char* site = nullptr;
  if (!PyArg_ParseTuple(args, "OOOOppssOO", &lists[0], &lists[1], &lists[2], &lists[3],
                        &allow_unconnected, &colocate, &scope, &site, &lists[4], &place)) {
    return nullptr;
  }
  std::vector<TwOutput> ys;
  std::vector<TwOutput> xs;
  std::vector<TwOutput> grad_ys;
  std::vector<TwOutput> stops;
  std::vector<PythonStep> python_steps;
  if (!OutputsOf(lists[0], false, &ys) || !OutputsOf(lists[1], false, &xs) ||
      !OutputsOf(lists[2], true, &grad_ys) || !OutputsOf(lists[3], false, &stops) ||
      !StepsOf(self, lists[4], &python_steps)) {
    return nullptr;
  }
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    PyErr_Format(PyExc_ValueError, "%zd ys but %zd grad_ys", ys.size(), grad_ys.size());
    return nullptr;
  }
  TwGradientOptions options{};
  options.struct_size = sizeof options;
  options.grad_ys = grad_ys.empty() ? nullptr : grad_ys.data();
  options.stop_gradients = stops.data();
  options.num_stop_gradients = static_cast<int32_t>(stops.size());
  options.allow_unconnected = allow_unconnected;
  options.colocate = colocate;
  options.scope = scope;
  options.site = site;
  std::vector<TwGradientStep> steps;
  for (PythonStep& step : python_steps) {
    steps.push_back({step.inputs.data(), static_cast<int32_t>(step.inputs.size()),
                     step.outputs.data(), static_cast<int32_t>(step.outputs.size()), CallStep,
                     &step});
  }
  options.steps = steps.data();
  options.num_steps = static_cast<int32_t>(steps.size());
  if (place != Py_None) {
    options.within = static_cast<const TwGradientPlace*>(PyCapsule_GetPointer(place, kPlace));
    if (options.within == nullptr) return nullptr;
  }
  std::vector<TwGradient> gradients(xs.size());
  const StatusPtr status = NewStatus();
  if (tw_graph_gradients(GraphOf(self), ys.data(), static_cast<int32_t>(ys.size()), xs.data(),
                         static_cast<int32_t>(xs.size()), &options, gradients.data(),
                         status.get()) != TW_OK) {
    return PyErr_Occurred() == nullptr ? Raise(status.get(), self) : nullptr;
  }
  PyObject* list = PyList_New(0);
  for (const TwGradient& gradient : gradients) {
    const Ref item(GradientToPython(self, gradient));
    if (!item || PyList_Append(list, item.get()) != 0) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

}  // namespace thalweg_python
