// SPDX-License-Identifier: Apache-2.0
// The base classes of Graph, Operation and Tensor: handles of what the core holds.
#include <cstring>
#include <functional>

#include "core.h"

namespace thalweg_python {
namespace {

OperationObject* AsOperation(PyObject* self) { return reinterpret_cast<OperationObject*>(self); }
TensorObject* AsTensor(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

// An instance of a class that has `graph` as its first member.
PyObject* MakeHandle(PyObject* python_class, PyObject* graph) {
  auto* type = reinterpret_cast<PyTypeObject*>(python_class);
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  Py_INCREF(graph);
  reinterpret_cast<OperationObject*>(made)->graph = graph;
  return made;
}

template <class Get>
PyObject* ListOf(int32_t count, Get&& get) {
  PyObject* list = PyList_New(count);
  for (int32_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* item = get(i);
    if (item == nullptr) {
      Py_CLEAR(list);
    } else {
      PyList_SET_ITEM(list, i, item);
    }
  }
  return list;
}

// ---- Graph ----

PyObject* GraphNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* environment = nullptr;
  const char* const names[] = {"environment", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", const_cast<char**>(names), environment_type,
                                   &environment)) {
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  TwGraph* graph =
      tw_graph_new(reinterpret_cast<EnvironmentObject*>(environment)->environment, status.get());
  if (graph == nullptr) return Raise(status.get(), nullptr);
  auto* self = reinterpret_cast<GraphObject*>(type->tp_alloc(type, 0));
  if (self != nullptr) self->graph = graph;
  return reinterpret_cast<PyObject*>(self);
}

void GraphDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  tw_graph_free(GraphOf(self));
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* GraphNumNodes(PyObject* self, PyObject*) {
  return PyLong_FromLong(tw_graph_num_nodes(GraphOf(self)));
}

PyObject* GraphSetAside(PyObject* self, PyObject* first) {
  const long id = PyLong_AsLong(first);
  if (id == -1 && PyErr_Occurred() != nullptr) return nullptr;
  tw_graph_set_aside(GraphOf(self), static_cast<int32_t>(id));
  Py_RETURN_NONE;
}

PyObject* GraphNode(PyObject* self, PyObject* id) {
  const long number = PyLong_AsLong(id);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  TwNode* node = tw_graph_node(GraphOf(self), static_cast<int32_t>(number));
  if (node != nullptr) return MakeOperation(self, node);
  PyErr_Format(PyExc_IndexError, "the graph has no node %ld", number);
  return nullptr;
}

PyObject* GraphNodes(PyObject* self, PyObject* args) {
  int begin = 0;
  int end = tw_graph_num_nodes(GraphOf(self));
  if (!PyArg_ParseTuple(args, "|ii", &begin, &end)) return nullptr;
  return ListOf(end < begin ? 0 : end - begin, [&](int32_t i) {
    return MakeOperation(self, tw_graph_node(GraphOf(self), begin + i));
  });
}

PyObject* GraphFind(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  TwNode* node = tw_graph_find_node(GraphOf(self), text);
  if (node == nullptr) Py_RETURN_NONE;
  return MakeOperation(self, node);
}

// What the core says of names that are near: " Nearest: 'loss'.", or nothing.
PyObject* GraphNearest(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwOutput found;
  if (tw_graph_find_output(GraphOf(self), text, &found, status.get()) == TW_OK) return Text("");
  constexpr const char* kMark = "; nearest: ";
  const char* nearest = std::strstr(tw_status_message(status.get()), kMark);
  if (nearest == nullptr) return Text("");
  return PyUnicode_FromFormat(" Nearest: %s.", nearest + std::strlen(kMark));
}

PyObject* GraphHas(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  return PyBool_FromLong(tw_graph_find_node(GraphOf(self), text) != nullptr);
}

PyObject* GraphExport(PyObject* self, PyObject* text) {
  const int as_text = PyObject_IsTrue(text);
  if (as_text < 0) return nullptr;
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_graph_export(GraphOf(self), as_text, status.get()), status.get(), self);
}

PyObject* GraphExportLibrary(PyObject* self, PyObject*) {
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_graph_export_library(GraphOf(self), status.get()), status.get(), self);
}

// set: tw_graph_set_back_edge or tw_graph_set_input.
template <class F>
PyObject* SetSource(PyObject* self, PyObject* args, F set) {
  PyObject* node = nullptr;
  PyObject* source = nullptr;
  int index = 0;
  if (!PyArg_ParseTuple(args, "O!iO!", operation_type, &node, &index, tensor_type, &source)) {
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  if (set(GraphOf(self), NodeOf(node), index, OutputOf(source), status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

PyObject* GraphSetBackEdge(PyObject* self, PyObject* args) {
  return SetSource(self, args, tw_graph_set_back_edge);
}

PyObject* GraphSetInput(PyObject* self, PyObject* args) {
  return SetSource(self, args, tw_graph_set_input);
}

PyObject* GraphAddControlInput(PyObject* self, PyObject* args) {
  PyObject* node = nullptr;
  PyObject* before = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", operation_type, &node, operation_type, &before)) {
    return nullptr;
  }
  const StatusPtr status = NewStatus();
  if (tw_graph_add_control_input(GraphOf(self), NodeOf(node), NodeOf(before), status.get()) !=
      TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

PyObject* GraphSetDevice(PyObject* self, PyObject* args) {
  PyObject* node = nullptr;
  const char* device = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", operation_type, &node, &device)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_graph_set_device(GraphOf(self), NodeOf(node), device, status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

PyObject* GraphSetContainer(PyObject* self, PyObject* args) {
  PyObject* node = nullptr;
  const char* container = nullptr;
  if (!PyArg_ParseTuple(args, "O!s", operation_type, &node, &container)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_graph_set_container(GraphOf(self), NodeOf(node), container, status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

PyObject* GraphSetAnnotation(PyObject* self, PyObject* args) {
  PyObject* node = nullptr;
  const char* attr = nullptr;
  const char* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(args, "O!sy#", operation_type, &node, &attr, &data, &size)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_graph_set_annotation(GraphOf(self), NodeOf(node), attr, data, static_cast<size_t>(size),
                              status.get()) != TW_OK) {
    return RaiseRefusal(status.get(), self);
  }
  Py_RETURN_NONE;
}

template <class F>
PyCFunction Function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef graph_methods[] = {
    {"_add_node", Function(GraphAddNode), METH_FASTCALL,
     "_add_node(op, name, inputs, controls, attrs, device, site): an Operation. attrs is a list of "
     "(name, kind, value)."},
    {"_num_nodes", GraphNumNodes, METH_NOARGS, nullptr},
    {"_set_aside", GraphSetAside, METH_O,
     "_set_aside(first): the nodes from `first` on are a tool's, and no growth of the program's."},
    {"_node", GraphNode, METH_O, "The operation of an id."},
    {"_nodes", GraphNodes, METH_VARARGS, "_nodes(begin=0, end=all): operations by id."},
    {"_find", GraphFind, METH_O, "The operation of a name, or None."},
    {"_nearest", GraphNearest, METH_O,
     "Words about the names that are near one that is not there."},
    {"_has", GraphHas, METH_O, "Whether a node has this name."},
    {"_export", GraphExport, METH_O, "_export(text): a GraphDef."},
    {"_export_library", GraphExportLibrary, METH_NOARGS, "_export_library(): its functions alone."},
    {"_import", GraphImport, METH_VARARGS,
     "_import(data, text, prefix, input_map, controls, returns): adds the nodes of a GraphDef."},
    {"_set_shape", GraphSetShape, METH_VARARGS, "_set_shape(tensor, dims or None)"},
    {"_function_definition", GraphFunctionDefinition, METH_VARARGS,
     "_function_definition(name, arguments, results, result names): a FunctionDef."},
    {"_expand_call", GraphExpandCall, METH_VARARGS,
     "_expand_call(call, prefix): adds the nodes that steps run for a call; what would stand for "
     "its outputs."},
    {"_gradients", GraphGradients, METH_VARARGS,
     "_gradients(ys, xs, grad_ys, stops, allow_unconnected, colocate, scope, site, steps, place): "
     "steps are tuples of inputs, outputs, function of a place and the gradients of the outputs; "
     "place: None, or that of the step whose function asks."},
    {"_set_back_edge", GraphSetBackEdge, METH_VARARGS, "_set_back_edge(merge, index, source)"},
    {"_set_input", GraphSetInput, METH_VARARGS, "_set_input(node, index, source)"},
    {"_add_control_input", GraphAddControlInput, METH_VARARGS, "_add_control_input(node, before)"},
    {"_set_device", GraphSetDevice, METH_VARARGS, "_set_device(node, device)"},
    {"_set_container", GraphSetContainer, METH_VARARGS, "_set_container(node, container)"},
    {"_set_annotation", GraphSetAnnotation, METH_VARARGS,
     "_set_annotation(node, attr, AttrValue message)"},
    {nullptr, nullptr, 0, nullptr}};

// ---- what Operation and Tensor share ----

int HandleTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(AsOperation(self)->graph);
  return 0;
}

int HandleClear(PyObject* self) {
  Py_CLEAR(AsOperation(self)->graph);
  return 0;
}

void HandleDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  HandleClear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* HandleGraph(PyObject* self, void*) { return Py_NewRef(AsOperation(self)->graph); }

// ---- Operation ----

PyObject* OperationName(PyObject* self, void*) { return Text(tw_node_name(NodeOf(self))); }
PyObject* OperationType(PyObject* self, void*) { return Text(tw_node_op(NodeOf(self))); }
PyObject* OperationDevice(PyObject* self, void*) { return Text(tw_node_device(NodeOf(self))); }
PyObject* OperationSite(PyObject* self, void*) { return Text(tw_node_site(NodeOf(self))); }
PyObject* OperationId(PyObject* self, void*) { return PyLong_FromLong(tw_node_id(NodeOf(self))); }
PyObject* OperationInputs(PyObject* self, void*) {
  return ListOf(tw_node_num_inputs(NodeOf(self)), [&](int32_t i) {
    return MakeTensorOrNone(AsOperation(self)->graph, tw_node_input(NodeOf(self), i));
  });
}
PyObject* OperationControlInputs(PyObject* self, void*) {
  return ListOf(tw_node_num_control_inputs(NodeOf(self)), [&](int32_t i) {
    return MakeOperation(AsOperation(self)->graph, tw_node_control_input(NodeOf(self), i));
  });
}
PyObject* OperationOutputs(PyObject* self, void*) {
  return ListOf(tw_node_num_outputs(NodeOf(self)), [&](int32_t i) {
    return MakeTensor(AsOperation(self)->graph, {NodeOf(self), i});
  });
}
PyObject* OperationNumOutputs(PyObject* self, void*) {
  return PyLong_FromLong(tw_node_num_outputs(NodeOf(self)));
}

PyObject* OperationOutput(PyObject* self, PyObject* index) {
  const long i = PyLong_AsLong(index);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  if (i >= 0 && i < tw_node_num_outputs(NodeOf(self))) {
    return MakeTensor(AsOperation(self)->graph, {NodeOf(self), static_cast<int32_t>(i)});
  }
  PyErr_Format(PyExc_IndexError, "operation '%s' has %d outputs, asked for %ld",
               tw_node_name(NodeOf(self)), tw_node_num_outputs(NodeOf(self)), i);
  return nullptr;
}

PyObject* OperationAttr(PyObject* self, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* buffer = tw_node_attr(NodeOf(self), text, status.get());
  if (buffer == nullptr) return RaiseRefusal(status.get(), AsOperation(self)->graph);
  return BytesOrRaise(buffer, status.get(), nullptr);
}

PyObject* OperationNodeDef(PyObject* self, PyObject*) {
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_node_def(NodeOf(self), status.get()), status.get(),
                      AsOperation(self)->graph);
}

Py_hash_t OperationHash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(NodeOf(self)) >> 4);
}

PyObject* OperationCompare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsOperation(other)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((NodeOf(self) == NodeOf(other)) == (op == Py_EQ));
}

PyGetSetDef operation_members[] = {
    {"graph", HandleGraph, nullptr, "The graph that the operation is in.", nullptr},
    {"name", OperationName, nullptr, "The name of the operation.", nullptr},
    {"type", OperationType, nullptr, "What it computes, such as \"MatMul\".", nullptr},
    {"device", OperationDevice, nullptr, "The device asked for, \"\" for any.", nullptr},
    {"site", OperationSite, nullptr, "The line that made it.", nullptr},
    {"_id", OperationId, nullptr, nullptr, nullptr},
    {"inputs", OperationInputs, nullptr, "The tensors it reads.", nullptr},
    {"control_inputs", OperationControlInputs, nullptr, "Operations that run before it.", nullptr},
    {"outputs", OperationOutputs, nullptr, "The tensors it makes.", nullptr},
    {"_num_outputs", OperationNumOutputs, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef operation_methods[] = {
    {"_output", OperationOutput, METH_O, "The tensor of an output."},
    {"_attr", OperationAttr, METH_O, "An attribute as an AttrValue message."},
    {"_node_def", OperationNodeDef, METH_NOARGS, "The NodeDef message."},
    {nullptr, nullptr, 0, nullptr}};

// ---- Tensor ----

PyObject* TensorOp(PyObject* self, void*) {
  return MakeOperation(AsTensor(self)->graph, OutputOf(self).node);
}
PyObject* TensorIndex(PyObject* self, void*) { return PyLong_FromLong(OutputOf(self).index); }
PyObject* TensorName(PyObject* self, void*) {
  return PyUnicode_FromFormat("%s:%d", tw_node_name(OutputOf(self).node), OutputOf(self).index);
}
PyObject* TensorType(PyObject* self, void*) {
  return PyLong_FromLong(tw_output_dtype(OutputOf(self)));
}

PyObject* TensorDims(PyObject* self, void*) {
  constexpr int kCapacity = 32;
  int64_t few[kCapacity];
  std::vector<int64_t> many;
  int64_t* dims = few;
  const int32_t rank = tw_output_shape(OutputOf(self), few, kCapacity);
  if (rank < 0) Py_RETURN_NONE;
  if (rank > kCapacity) {
    many.resize(static_cast<size_t>(rank));
    dims = many.data();
    tw_output_shape(OutputOf(self), dims, rank);
  }
  PyObject* tuple = PyTuple_New(rank);
  for (int32_t i = 0; tuple != nullptr && i < rank; ++i) {
    PyObject* dim = dims[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(dims[i]);
    if (dim == nullptr) {
      Py_CLEAR(tuple);
    } else {
      PyTuple_SET_ITEM(tuple, i, dim);
    }
  }
  return tuple;
}

Py_hash_t TensorHash(PyObject* self) {
  const TwOutput output = OutputOf(self);
  return static_cast<Py_hash_t>((reinterpret_cast<uintptr_t>(output.node) >> 4) * 31 +
                                static_cast<uintptr_t>(output.index) + 1);
}

PyObject* TensorCompare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsTensor(other)) Py_RETURN_NOTIMPLEMENTED;
  const TwOutput mine = OutputOf(self);  // of an EagerTensor without a node
  const TwOutput others = OutputOf(other);
  const bool same = self == other || (mine.node != nullptr && mine.node == others.node &&
                                      mine.index == others.index);
  return PyBool_FromLong(same == (op == Py_EQ));
}

PyGetSetDef tensor_members[] = {
    {"graph", HandleGraph, nullptr, "The graph that the tensor is in.", nullptr},
    {"op", TensorOp, nullptr, "The operation that makes the tensor.", nullptr},
    {"value_index", TensorIndex, nullptr, "Which output of the operation it is.", nullptr},
    {"name", TensorName, nullptr, "\"operation:index\".", nullptr},
    {"_dtype", TensorType, nullptr, "Number of the element type; 100 more for a reference.",
     nullptr},
    {"_dims", TensorDims, nullptr, "Tuple with None for unknown; None for unknown rank.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

bool AddHandleTypes(PyObject* module) {
  static PyType_Slot operation_slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(HandleTraverse)},
      {Py_tp_clear, reinterpret_cast<void*>(HandleClear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(HandleDealloc)},
      {Py_tp_hash, reinterpret_cast<void*>(OperationHash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(OperationCompare)},
      {Py_tp_getset, operation_members},
      {Py_tp_methods, operation_methods},
      {0, nullptr}};
  static PyType_Slot tensor_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(HandleTraverse)},
                                       {Py_tp_clear, reinterpret_cast<void*>(HandleClear)},
                                       {Py_tp_dealloc, reinterpret_cast<void*>(HandleDealloc)},
                                       {Py_tp_hash, reinterpret_cast<void*>(TensorHash)},
                                       {Py_tp_richcompare, reinterpret_cast<void*>(TensorCompare)},
                                       {Py_tp_getset, tensor_members},
                                       {0, nullptr}};
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                              Py_TPFLAGS_DISALLOW_INSTANTIATION;
  static PyType_Spec operation_spec = {"thalweg._core.Operation", sizeof(OperationObject), 0,
                                       kFlags, operation_slots};
  static PyType_Spec tensor_spec = {"thalweg._core.Tensor", sizeof(TensorObject), 0, kFlags,
                                    tensor_slots};
  operation_type = AddType(module, &operation_spec);
  tensor_type = operation_type == nullptr ? nullptr : AddType(module, &tensor_spec);
  return tensor_type != nullptr;
}

}  // namespace

PyObject* MakeOperation(PyObject* graph, TwNode* node) {
  PyObject* made = MakeHandle(hooks.operation_class, graph);
  if (made != nullptr) AsOperation(made)->node = node;
  return made;
}

PyObject* MakeTensor(PyObject* graph, TwOutput output) {
  PyObject* made = MakeHandle(hooks.tensor_class, graph);
  if (made != nullptr) AsTensor(made)->output = output;
  return made;
}

PyObject* MakeTensorOrNone(PyObject* graph, TwOutput output) {
  if (output.node == nullptr) Py_RETURN_NONE;
  return MakeTensor(graph, output);
}

bool AddGraphTypes(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(GraphNew)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(GraphDealloc)},
                                {Py_tp_methods, graph_methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Graph", sizeof(GraphObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  graph_type = AddType(module, &spec);
  return graph_type != nullptr && AddHandleTypes(module);
}

}  // namespace thalweg_python
