// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <chrono>

#include "message.h"

namespace thalweg_python {
namespace {

// Requests that a session remembers; beyond it the older half goes.
constexpr size_t kMaxPrepared = 256;

// A message of this package takes the bytes as they are: most steps are traced for one of many that
// somebody looks at.
bool GiveMetadata(TwBuffer* buffer, PyObject* metadata) {
  if (buffer == nullptr) return true;
  static PyObject* const take_name = PyUnicode_InternFromString("_take");
  PyObject* take = PyObject_GetAttr(metadata, take_name);
  const bool is_own = take != nullptr;
  if (!is_own) {
    PyErr_Clear();
    take = PyObject_GetAttrString(metadata, "ParseFromString");
    if (take == nullptr) {
      tw_buffer_free(buffer);
      return false;
    }
  }
  PyObject* given = is_own ? UnreadRoot(buffer, "tensorflow.RunMetadata")
                           : BytesOrRaise(buffer, nullptr, nullptr);
  PyObject* done = given == nullptr ? nullptr : PyObject_CallOneArg(take, given);
  Py_DECREF(take);
  Py_XDECREF(given);
  Py_XDECREF(done);
  return done != nullptr;
}

// Of a message that a hook has marked (training/trace_hook.py).
bool WantsFailures(PyObject* metadata) {
  static PyObject* const name = PyUnicode_InternFromString("_of_failures");
  const Ref mark(PyObject_GetAttr(metadata, name));
  if (mark == nullptr) PyErr_Clear();
  return mark.get() == Py_True;
}

PreparedPtr FindPrepared(SessionState* state, const Key& key, uint64_t hash) {
  std::vector<PreparedPtr>& all = state->prepared;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->hash != hash || !(all[i]->key == key)) continue;
    if (i > 0) std::swap(all[i], all[i / 2]);
    return all[i / 2];
  }
  return nullptr;
}

PreparedPtr Prepare(PyObject* self, PyObject* fetches, PyObject* feed_dict, Key key, uint64_t hash,
                    PyObject* options, int64_t* millis) {
  SessionState* state = AsSession(self)->state;
  auto prepared = std::make_shared<Prepared>();
  PyObject* graph = AsSession(self)->graph;
  if (tw_graph_num_nodes(GraphOf(graph)) == 0) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "The Session graph is empty. Add operations to the graph before calling run().");
    return nullptr;
  }
  if (!prepared->request.AddFetches(graph, fetches) ||
      !prepared->request.AddFeeds(graph, feed_dict) ||
      !Compile(self, prepared.get(), options, millis)) {
    return nullptr;
  }
  prepared->key = std::move(key);
  prepared->hash = hash;
  if (state->prepared.size() >= kMaxPrepared) state->prepared.resize(kMaxPrepared / 2);
  state->prepared.insert(state->prepared.begin(), prepared);
  return prepared;
}

}  // namespace

bool CheckOpen(PyObject* self) {
  if (AsSession(self)->state->session != nullptr) return true;
  PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
  return false;
}

PyObject* RunPrepared(PyObject* self, const PreparedPtr& prepared, TensorHandles* values,
                      PyObject* options, PyObject* metadata, int64_t spent_millis) {
  SessionState* state = AsSession(self)->state;
  const Request& request = prepared->request;
  TensorHandles results(request.fetches.size());
  OptionsOfRun chosen(&state->main_options);
  if (!chosen.Choose(options, spent_millis)) return nullptr;
  const bool wants_metadata = metadata != nullptr && metadata != Py_None;
  if (wants_metadata && WantsFailures(metadata)) {
    tw_run_options_metadata_of_failures(chosen.get(), 1);
  }
  TwBuffer* buffer = nullptr;
  const bool ran = RunUnlocked(AsSession(self)->graph, &chosen, [&] {
    return tw_callable_run(prepared->callable, chosen.get(), values->data(), results.data(),
                           wants_metadata ? &buffer : nullptr, ThreadStatus());
  });
  if (!ran) {
    PyObject *type = nullptr, *error = nullptr, *lines = nullptr;
    PyErr_Fetch(&type, &error, &lines);
    if (!GiveMetadata(buffer, metadata)) PyErr_Clear();  // the step's own error counts
    PyErr_Restore(type, error, lines);
    return nullptr;
  }
  if (!GiveMetadata(buffer, metadata)) return nullptr;
  PyObject* made = request.Build(results.data());
  results.Forget();
  return made;
}

bool RepeatPrepared(PyObject* self, const PreparedPtr& prepared, double seconds) {
  OptionsOfRun chosen(&AsSession(self)->state->main_options);
  if (!chosen.Choose(nullptr, 0)) return false;
  const auto micros = static_cast<int64_t>(seconds * 1e6);
  return RunUnlocked(AsSession(self)->graph, &chosen, [&] {
    return tw_callable_repeat(prepared->callable, chosen.get(), micros, ThreadStatus());
  });
}

bool Compile(PyObject* self, Prepared* prepared, PyObject* options, int64_t* millis) {
  if (!prepared->request.CheckAllowed(AsSession(self)->graph)) return false;
  const Request& r = prepared->request;
  if (!CheckOpen(self)) return false;
  std::shared_ptr<TwSession> session = AsSession(self)->state->session;
  OptionsOfRun chosen(&AsSession(self)->state->main_options);
  if (!chosen.Choose(options, 0)) return false;
  const auto begin = std::chrono::steady_clock::now();
  const bool made = RunUnlocked(AsSession(self)->graph, &chosen, [&] {
    prepared->callable = tw_session_make_callable_within(
        session.get(), chosen.get(), r.feeds.data(), static_cast<int32_t>(r.feeds.size()),
        r.fetches.data(), static_cast<int32_t>(r.fetches.size()), r.targets.data(),
        static_cast<int32_t>(r.targets.size()), ThreadStatus());
    session.reset();
    return prepared->callable == nullptr ? tw_status_code(ThreadStatus()) : TW_OK;
  });
  *millis = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                  begin)
                .count();
  return made;
}

bool FillValues(const Request& request, PyObject* feed_dict, TwTensor** values) {
  Py_ssize_t position = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  for (size_t i = 0; PyDict_Next(feed_dict, &position, &name, &value); ++i) {
    // A conversion may run Python code that changes the dict.
    if (i >= request.feeds.size()) {
      PyErr_SetString(PyExc_RuntimeError, "feed_dict changed while it was read");
      return false;
    }
    Py_INCREF(value);
    values[i] = request.FeedValue(i, value).release();
    Py_DECREF(value);
    if (values[i] == nullptr) return false;
  }
  return true;
}

PyObject* Run(PyObject* self, PyObject* fetches, PyObject* feed_dict, PyObject* options,
              PyObject* metadata) {
  Key key;
  if (!key.AddFetches(fetches) || !key.AddFeeds(feed_dict)) return nullptr;
  const uint64_t hash = key.hash();
  PreparedPtr prepared = FindPrepared(AsSession(self)->state, key, hash);
  int64_t spent_millis = 0;
  if (!prepared) {
    prepared = Prepare(self, fetches, feed_dict, std::move(key), hash, options, &spent_millis);
  }
  if (!prepared) return nullptr;
  TensorHandles values(prepared->request.feeds.size());
  if (feed_dict != nullptr && !FillValues(prepared->request, feed_dict, values.data())) {
    return nullptr;
  }
  return RunPrepared(self, prepared, &values, options, metadata, spent_millis);
}

}  // namespace thalweg_python
