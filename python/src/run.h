// SPDX-License-Identifier: Apache-2.0
// One run of a session: find or make the prepared callable, convert the feeds, run, build the
// results. `self` is a Session everywhere.
// Ownership: a session shares its prepared requests with its callables; TensorHandles frees what
// nobody took.
// Threads: with the GIL held, which a run lets go: whoever runs holds the session meanwhile.
// Errors: null or false with a Python error set.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core.h"
#include "run_options.h"
#include "signature.h"

namespace thalweg_python {

// A request with its plan in the core.
struct Prepared {
  Key key;
  uint64_t hash = 0;
  Request request;
  TwCallable* callable = nullptr;
  ~Prepared() { tw_callable_free(callable); }
};
using PreparedPtr = std::shared_ptr<Prepared>;

struct SessionState {
  // Null once closed. Whoever works with it without Python's lock holds it: close() may come then.
  std::shared_ptr<TwSession> session;
  std::vector<PreparedPtr> prepared;  // the most recent first
  MainOptions main_options;
};

struct CallableObject {
  PyObject_HEAD PyObject* session;
  PreparedPtr* prepared;
};
struct SessionObject {
  PyObject_HEAD PyObject* graph;
  SessionState* state;
};
inline SessionObject* AsSession(PyObject* self) { return reinterpret_cast<SessionObject*>(self); }

// The tensors of a call, in memory of its frame where they are few; frees those that nobody took.
class TensorHandles {
 public:
  explicit TensorHandles(size_t size) : size_(size) {
    if (size > few_.size()) many_.resize(size);
  }
  ~TensorHandles() {
    for (size_t i = 0; i < size_; ++i) tw_tensor_free(data()[i]);
  }
  TensorHandles(const TensorHandles&) = delete;
  TensorHandles& operator=(const TensorHandles&) = delete;
  TwTensor** data() { return size_ > few_.size() ? many_.data() : few_.data(); }
  // The caller has taken all.
  void Forget() { size_ = 0; }

 private:
  size_t size_;
  std::array<TwTensor*, 8> few_{};
  std::vector<TwTensor*> many_;
};

// False with a Python error when the session is closed.
bool CheckOpen(PyObject* self);
// Makes the plan of a request, within the RunOptions `options`, null or None for none; false with a
// Python error. `*millis` is what it took.
bool Compile(PyObject* self, Prepared* prepared, PyObject* options, int64_t* millis);
// Converts the values of a dict whose keys are the request's feeds in order; false with an error.
bool FillValues(const Request& request, PyObject* feed_dict, TwTensor** values);
// Runs with the feeds' values in order; the results in the structure of the fetches, or null. Of
// the options' timeout `spent_millis` are gone.
PyObject* RunPrepared(PyObject* self, const PreparedPtr& prepared, TensorHandles* values,
                      PyObject* options, PyObject* metadata, int64_t spent_millis = 0);
// A method of callables: _at_once(*tensors), EagerTensors for the feeds in order; a list of
// EagerTensors.
PyObject* CallableAtOnce(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
// Runs what has no feeds and fetches nothing again and again until `seconds` have passed, once at
// least, without Python's lock; false with a Python error.
bool RepeatPrepared(PyObject* self, const PreparedPtr& prepared, double seconds);
// RunPrepared from what Session.run was given; feed_dict is null or has tensors and names as keys.
PyObject* Run(PyObject* self, PyObject* fetches, PyObject* feed_dict, PyObject* options,
              PyObject* metadata);

}  // namespace thalweg_python
