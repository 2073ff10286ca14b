// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <string_view>

namespace thalweg_python {
namespace {

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
  long long pool = 0;
  if (!fields.Long("timeout_in_ms", &timeout) || !fields.Long("trace_level", &trace) ||
      !fields.Long("output_partition_graphs", &partitions) ||
      !fields.Long("inter_op_thread_pool", &pool) || !CollectiveKeyOf(fields, &key)) {
    return false;
  }
  tw_run_options_timeout_ms(options, timeout);
  tw_run_options_timeout_spent_ms(options, spent_millis);
  tw_run_options_trace_level(options, static_cast<int32_t>(trace));
  tw_run_options_output_partition_graphs(options, partitions != 0);
  tw_run_options_collective_graph_key(options, key);
  tw_run_options_inter_op_thread_pool(options, static_cast<int32_t>(pool));
  constexpr long long kFullTrace = 3;
  tw_run_options_memory_plan(options, partitions != 0 && trace == kFullTrace);
  return true;
}

}  // namespace

bool OptionsOfRun::Choose(PyObject* given, int64_t spent_millis) {
  if (given != nullptr && given != Py_None) {
    own_.reset(tw_run_options_new());
    return FillOptions(given, spent_millis, own_.get());
  }
  if (!OnMainThread()) return true;
  if (main_->used) {  // a signal handler runs a step inside a step
    own_.reset(tw_run_options_new());
    return true;
  }
  if (main_->options == nullptr) main_->options = tw_run_options_new();
  shared_ = main_->used = true;
  return true;
}

TwStatus* ThreadStatus() {
  thread_local StatusPtr status = NewStatus();
  return status.get();
}

}  // namespace thalweg_python
