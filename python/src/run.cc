// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace thalweg_python {
namespace {

// Requests that a session remembers; beyond it the older half goes.
constexpr size_t kMaxPrepared = 256;

struct OptionsDeleter {
  void operator()(TwRunOptions* o) const { tw_run_options_free(o); }
};
using OptionsPtr = std::unique_ptr<TwRunOptions, OptionsDeleter>;

// ---- Running ----

// The fields of a RunOptions message. One of this package keeps those that are set in a dictionary:
// asking it by attributes costs a microsecond each, and makes messages of those that are not there.
class FieldsOf {
 public:
  // `type`: what messages of the kind that is meant are called; others are asked by attributes.
  FieldsOf(PyObject* message, std::string_view type) : message_(message) {
    if (Py_TYPE(message)->tp_name != type) return;
    values_ = PyObject_GetAttrString(message, "_values");
    if (values_ != nullptr && PyDict_Check(values_)) return;
    PyErr_Clear();
    Py_CLEAR(values_);  // a message of another library
  }
  FieldsOf(const FieldsOf&) = delete;
  FieldsOf& operator=(const FieldsOf&) = delete;
  ~FieldsOf() { Py_XDECREF(values_); }

  // 0 where it is not set; false: an error is raised.
  bool Long(const char* name, long long* value) const {
    PyObject* const field = Find(name);
    if (field == nullptr) return PyErr_Occurred() == nullptr;
    *value = PyLong_AsLongLong(field);
    Py_DECREF(field);
    return *value != -1 || PyErr_Occurred() == nullptr;
  }
  // A new reference; null where it is not set, or an error is raised.
  PyObject* Find(const char* name) const {
    if (values_ == nullptr) return PyObject_GetAttrString(message_, name);
    return Py_XNewRef(PyDict_GetItemString(values_, name));
  }

 private:
  PyObject* const message_;
  PyObject* values_ = nullptr;
};

bool CollectiveKeyOf(const FieldsOf& options, long long* key) {
  PyObject* const experimental = options.Find("experimental");
  if (experimental == nullptr) return PyErr_Occurred() == nullptr;
  const bool read =
      FieldsOf(experimental, Py_TYPE(experimental)->tp_name).Long("collective_graph_key", key);
  Py_DECREF(experimental);
  return read;
}

// Fills the core's options from a RunOptions message.
bool FillOptions(PyObject* given, long long spent_millis, TwRunOptions* options) {
  const FieldsOf fields(given, "RunOptions");
  long long timeout = 0;
  long long trace = 0;
  long long partitions = 0;
  long long key = 0;
  if (!fields.Long("timeout_in_ms", &timeout) || !fields.Long("trace_level", &trace) ||
      !fields.Long("output_partition_graphs", &partitions) || !CollectiveKeyOf(fields, &key)) {
    return false;
  }
  if (timeout != 0) {
    tw_run_options_timeout_ms(options, std::max(timeout - spent_millis, std::min(timeout, 1LL)));
  }
  tw_run_options_trace_level(options, static_cast<int32_t>(trace));
  tw_run_options_output_partition_graphs(options, partitions != 0);
  tw_run_options_collective_graph_key(options, key);
  constexpr long long kFullTrace = 3;
  tw_run_options_memory_plan(options, partitions != 0 && trace == kFullTrace);
  return true;
}

// A run's options: the caller's, the main thread's own so that Ctrl-C can cancel, or none.
class OptionsOfRun {
 public:
  explicit OptionsOfRun(SessionState* state) : state_(state) {}
  ~OptionsOfRun() {
    if (shared_) state_->main_options_used = false;
  }
  OptionsOfRun(const OptionsOfRun&) = delete;
  OptionsOfRun& operator=(const OptionsOfRun&) = delete;

  bool Choose(PyObject* given, int64_t spent_millis) {
    if (given != nullptr && given != Py_None) {
      own_.reset(tw_run_options_new());
      return FillOptions(given, spent_millis, own_.get());
    }
    if (!OnMainThread()) return true;
    if (state_->main_options_used) {  // a signal handler runs a step inside a step
      own_.reset(tw_run_options_new());
      return true;
    }
    if (state_->main_options == nullptr) state_->main_options = tw_run_options_new();
    shared_ = state_->main_options_used = true;
    return true;
  }
  TwRunOptions* get() const { return shared_ ? state_->main_options : own_.get(); }
  // Options that were cancelled stay so.
  void Cancelled() {
    if (!shared_) return;
    tw_run_options_free(state_->main_options);
    state_->main_options = nullptr;
  }

 private:
  SessionState* state_;
  OptionsPtr own_;
  bool shared_ = false;
};

// Calls run() without the GIL; on the main thread Ctrl-C cancels it.
template <class F>
bool RunUnlocked(PyObject* self, OptionsOfRun* options, F&& run) {
  TwCode code = TW_OK;
  bool interrupted = false;
  if (OnMainThread() && options->get() != nullptr) {
    const InterruptScope scope(options->get());
    Py_BEGIN_ALLOW_THREADS;
    code = run();
    Py_END_ALLOW_THREADS;
    interrupted = scope.interrupted();
  } else {
    Py_BEGIN_ALLOW_THREADS;
    code = run();
    Py_END_ALLOW_THREADS;
  }
  if (interrupted) {
    options->Cancelled();
    if (PyErr_CheckSignals() != 0) return false;
  }
  if (code == TW_OK) return true;
  Raise(ThreadStatus(), AsSession(self)->graph);
  return false;
}

bool GiveMetadata(TwBuffer* buffer, PyObject* metadata) {
  if (buffer == nullptr) return true;
  PyObject* bytes = BytesOrRaise(buffer, nullptr, nullptr);
  if (bytes == nullptr) return false;
  PyObject* done = PyObject_CallMethod(metadata, "ParseFromString", "O", bytes);
  Py_DECREF(bytes);
  Py_XDECREF(done);
  return done != nullptr;
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

TwStatus* ThreadStatus() {
  thread_local StatusPtr status = NewStatus();
  return status.get();
}

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
  OptionsOfRun chosen(state);
  if (!chosen.Choose(options, spent_millis)) return nullptr;
  const bool wants_metadata = metadata != nullptr && metadata != Py_None;
  TwBuffer* buffer = nullptr;
  const bool ran = RunUnlocked(self, &chosen, [&] {
    return tw_callable_run(prepared->callable, chosen.get(), values->data(), results.data(),
                           wants_metadata ? &buffer : nullptr, ThreadStatus());
  });
  if (!ran) {
    tw_buffer_free(buffer);
    return nullptr;
  }
  if (!GiveMetadata(buffer, metadata)) return nullptr;
  PyObject* made = request.Build(results.data());
  results.Forget();
  return made;
}

bool Compile(PyObject* self, Prepared* prepared, PyObject* options, int64_t* millis) {
  if (!prepared->request.CheckAllowed(AsSession(self)->graph)) return false;
  const Request& r = prepared->request;
  if (!CheckOpen(self)) return false;
  std::shared_ptr<TwSession> session = AsSession(self)->state->session;
  OptionsOfRun chosen(AsSession(self)->state);
  if (!chosen.Choose(options, 0)) return false;
  const auto begin = std::chrono::steady_clock::now();
  const bool made = RunUnlocked(self, &chosen, [&] {
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
