// SPDX-License-Identifier: Apache-2.0
// The saver of the core.
#include <cstring>

#include "core.h"

namespace thalweg_python {
namespace {

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
  const char* const keywords[] = {"graph",         "names",
                                  "handles",       "max_to_keep",
                                  "hours",         "scope",
                                  "site",          "tensor_names",
                                  "tensor_slices", "tensors",
                                  "write_version", "variable_slices",
                                  "keep_best",     "best_is_greatest",
                                  "in_background", "patience",
                                  nullptr};
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O!O!OidssO!O!OiO!ippd", const_cast<char**>(keywords), graph_type, &graph,
          &PyList_Type, &names, &handles, &options.max_to_keep,
          &options.keep_checkpoint_every_n_hours, &options.scope, &options.site, &PyList_Type,
          &tensor_names, &PyList_Type, &tensor_slices, &tensors, &options.write_version,
          &PyList_Type, &variable_slices, &options.keep_best, &options.best_is_greatest,
          &options.in_background, &options.patience_seconds)) {
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
  if (!PyArg_ParseTuple(args, "O!O!O!O!idiippd", graph_type, &graph, tensor_type, &filename,
                        tensor_type, &save_tensor, operation_type, &restore_op,
                        &options.max_to_keep, &options.keep_checkpoint_every_n_hours,
                        &options.write_version, &options.keep_best, &options.best_is_greatest,
                        &options.in_background, &options.patience_seconds)) {
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
  Py_BEGIN_ALLOW_THREADS;  // it waits for what is written in the background
  tw_saver_free(SaverOf(self));
  Py_END_ALLOW_THREADS;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* SaverSave(PyObject* self, PyObject* args) {
  PyObject* session = nullptr;
  PyObject* metric = nullptr;
  TwSaveRequest request{};
  request.struct_size = sizeof request;
  long long step = -1;
  Py_buffer contents{};
  if (!PyArg_ParseTuple(args, "O!sLOzz*", session_type, &session, &request.path, &step, &metric,
                        &request.suffix, &contents)) {
    return nullptr;
  }
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&contents, PyBuffer_Release);
  const std::shared_ptr<TwSession> open = OpenSession(session);
  if (open == nullptr) return nullptr;
  double value = 0;
  if (metric != Py_None) {
    value = PyFloat_AsDouble(metric);
    if (PyErr_Occurred()) return nullptr;
    request.metric = &value;
  }
  request.global_step = step;
  request.contents = contents.buf;
  request.contents_size = static_cast<size_t>(contents.len);
  const StatusPtr status = NewStatus();
  TwBuffer* written = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  written = tw_saver_save_request(SaverOf(self), open.get(), &request, status.get());
  Py_END_ALLOW_THREADS;
  return BytesOrRaise(written, status.get(), nullptr);
}

PyObject* SaverIsWriting(PyObject* self, PyObject*) {
  return PyBool_FromLong(tw_saver_is_writing(SaverOf(self)));
}

PyObject* SaverWait(PyObject* self, PyObject* seconds) {
  const double given = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred()) return nullptr;
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_saver_wait(SaverOf(self), given, status.get());
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

PyObject* DifferencesToPython(const TwDifferences* differences) {
  PyObject* list = PyList_New(0);
  const int32_t count = tw_differences_count(differences);
  for (int32_t i = 0; list != nullptr && i < count; ++i) {
    TwDifference one;
    tw_differences_at(differences, i, &one, nullptr);
    PyObject* name = PyUnicode_DecodeUTF8(one.name, static_cast<Py_ssize_t>(std::strlen(one.name)),
                                          "surrogateescape");
    PyObject* row = name == nullptr ? nullptr
                                    : Py_BuildValue("(iNss)", static_cast<int>(one.kind), name,
                                                    one.in_checkpoint, one.in_graph);
    if (row == nullptr || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject* SaverCompare(PyObject* self, PyObject* args) {
  PyObject* session = nullptr;
  const char* path = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &session, &path)) return nullptr;
  std::shared_ptr<TwSession> open;
  if (session != Py_None) {
    if (PyObject_TypeCheck(session, session_type) == 0) {
      PyErr_SetString(PyExc_TypeError, "a session or None is needed");
      return nullptr;
    }
    open = OpenSession(session);
    if (open == nullptr) return nullptr;
  }
  const StatusPtr status = NewStatus();
  TwDifferences* found = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  found = tw_saver_compare(SaverOf(self), open.get(), path, status.get());
  Py_END_ALLOW_THREADS;
  if (found == nullptr) return Raise(status.get(), nullptr);
  PyObject* list = DifferencesToPython(found);
  tw_differences_free(found);
  return list;
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

PyObject* BestCheckpoint(PyObject*, PyObject* args) {
  const char* path = nullptr;
  const char* state_file = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &path, &state_file)) return nullptr;
  const StatusPtr status = NewStatus();
  return BytesOrRaise(tw_best_checkpoint(path, state_file, status.get()), status.get(), nullptr);
}

PyObject* RemoveCheckpoint(PyObject*, PyObject* args) {
  const char* path = nullptr;
  int version = 0;
  if (!PyArg_ParseTuple(args, "si", &path, &version)) return nullptr;
  const StatusPtr status = NewStatus();
  if (tw_checkpoint_remove(path, version, status.get()) != TW_OK) {
    return Raise(status.get(), nullptr);
  }
  Py_RETURN_NONE;
}

PyMethodDef saver_methods[] = {
    {"save", SaverSave, METH_VARARGS,
     "save(session, path, step or -1, metric or None, suffix or None, contents or None): what was "
     "written, or will be."},
    {"is_writing", SaverIsWriting, METH_NOARGS, "Whether something is written in the background."},
    {"wait", SaverWait, METH_O,
     "wait(seconds): until nothing is written in the background; negative: as long as the saver "
     "has patience."},
    {"compare", SaverCompare, METH_VARARGS,
     "compare(session or None, path): (kind, name, in the checkpoint, in the graph) of what "
     "differs; what fits is restored into the session."},
    {"restore", SaverRestore, METH_VARARGS, "restore(session, path)"},
    {"of_nodes", SaverOfNodes, METH_VARARGS | METH_CLASS,
     "of_nodes(graph, filename, save_tensor, restore_op, max_to_keep, hours, write_version, "
     "keep_best, best_is_greatest, in_background, patience)"},
    {"kept", SaverKept, METH_NOARGS, "(path, seconds since 1970) of what is kept, oldest first."},
    {"set_kept", SaverSetKept, METH_VARARGS, "set_kept(paths, times)"},
    {"set_state_file", SaverSetStateFile, METH_O,
     "The file that a save writes instead of \"checkpoint\"; \"\": none."},
    {"latest_checkpoint", LatestCheckpoint, METH_O | METH_STATIC,
     "The newest checkpoint of a directory."},
    {"best_checkpoint", BestCheckpoint, METH_VARARGS | METH_STATIC,
     "best_checkpoint(directory, state file): the one with the best metric."},
    {"remove_checkpoint", RemoveCheckpoint, METH_VARARGS | METH_STATIC,
     "remove_checkpoint(path, version of the format)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool AddSaverType(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(SaverNew)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(SaverDealloc)},
                                {Py_tp_methods, saver_methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Saver", sizeof(SaverObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  return AddType(module, &spec) != nullptr;
}

}  // namespace thalweg_python
