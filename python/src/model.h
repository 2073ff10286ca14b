// SPDX-License-Identifier: Apache-2.0
// What a model of Python is, for the sources that make it: model.cc runs it, model_verbs.cc looks
// into it and writes it.
// Ownership: a Model and the callables of its signatures share the state, which owns the model and
// the names.
// Threads: with the GIL held, which a run lets go.
// Errors: null, false or -1 with a Python error set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run.h"

namespace thalweg_python {

// A signature, and its names as Python's interned ones.
struct Function {
  std::vector<PyObject*> inputs;
  std::vector<TwDataType> dtypes;
  std::vector<PyObject*> outputs;
  std::vector<bool> optional;
};

// What a Model and the callables of its signatures share.
struct ModelState {
  TwModel* model = nullptr;
  std::string path;
  std::vector<Function> functions;
  MainOptions main_options;

  ModelState() = default;
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;
  ~ModelState() {
    for (const Function& function : functions) {
      for (PyObject* name : function.inputs) Py_XDECREF(name);
      for (PyObject* name : function.outputs) Py_XDECREF(name);
    }
    tw_run_options_free(main_options.options);
    Py_BEGIN_ALLOW_THREADS;
    tw_model_free(model);
    Py_END_ALLOW_THREADS;
    ReleaseSharedArrays();
  }
};
using StatePtr = std::shared_ptr<ModelState>;

// A Model or a callable of one, with the signature that a call runs; -1: there is no default one.
struct ModelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  int32_t place;
  StatePtr* state;
};

inline ModelObject* AsModel(PyObject* self) { return reinterpret_cast<ModelObject*>(self); }

// The place of a signature by its name, or None for the default one; -1 with a Python error.
int32_t FindSignature(const ModelState& state, PyObject* name);
// The texts of a list; false with a Python error. `what` they are, for its message.
bool TextsOf(PyObject* list, const char* what, std::vector<const char*>* texts);

// Methods of a Model; the table in model.cc says what each takes and gives.
PyObject* ModelConvert(PyObject* self, PyObject* args);
PyObject* ModelCosts(PyObject* self, PyObject* args);
PyObject* ModelVerify(PyObject* self, PyObject* args);
PyObject* ModelFetch(PyObject* self, PyObject* args);

}  // namespace thalweg_python
