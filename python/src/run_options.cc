// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <string>
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
  // The same for a field that is a message: one whose lists alone were filled has another key.
  PyObject* FindMessage(const std::string& name) const {
    PyObject* const field = Find(name.c_str());
    if (field != nullptr || values_ == nullptr || PyErr_Occurred() != nullptr) return field;
    return Find(("?" + name).c_str());
  }

 private:
  PyObject* const message_;
  PyObject* values_ = nullptr;
};

bool CollectiveKeyOf(const FieldsOf& options, long long* key) {
  PyObject* const experimental = options.FindMessage("experimental");
  if (experimental == nullptr) return PyErr_Occurred() == nullptr;
  const bool read =
      FieldsOf(experimental, Py_TYPE(experimental)->tp_name).Long("collective_graph_key", key);
  Py_DECREF(experimental);
  return read;
}

// Whether `list`, of strings, has `word`; false, and an error is raised, where it is no list.
bool Lists(PyObject* list, const char* word) {
  PyObject* const wanted = PyUnicode_FromString(word);
  const int found = wanted == nullptr ? -1 : PySequence_Contains(list, wanted);
  Py_XDECREF(wanted);
  return found == 1;
}

// A DebugTensorWatch of node "*" with CheckNumerics; false, and an error is raised, where it is no
// such message.
bool IsNumericsCheck(PyObject* watch) {
  PyObject* const node = PyObject_GetAttrString(watch, "node_name");
  PyObject* const ops = node == nullptr ? nullptr : PyObject_GetAttrString(watch, "debug_ops");
  const bool is_check = ops != nullptr && PyUnicode_Check(node) &&
                        PyUnicode_CompareWithASCIIString(node, "*") == 0 &&
                        Lists(ops, "CheckNumerics");
  Py_XDECREF(ops);
  Py_XDECREF(node);
  return is_check;
}

// As the core's session/debug_watches.h reads a message of its own.
bool NumericsCheckOf(const FieldsOf& options, bool* checks) {
  PyObject* const debug = options.FindMessage("debug_options");
  if (debug == nullptr) return PyErr_Occurred() == nullptr;
  PyObject* const watches = PyObject_GetAttrString(debug, "debug_tensor_watch_opts");
  Py_DECREF(debug);
  const Py_ssize_t n = watches == nullptr ? 0 : PySequence_Size(watches);
  for (Py_ssize_t i = 0; i < n && !*checks && PyErr_Occurred() == nullptr; ++i) {
    PyObject* const watch = PySequence_GetItem(watches, i);
    *checks = watch != nullptr && IsNumericsCheck(watch);
    Py_XDECREF(watch);
  }
  Py_XDECREF(watches);
  return PyErr_Occurred() == nullptr;
}

// Fills the core's options from a RunOptions message.
bool FillOptions(PyObject* given, long long spent_millis, TwRunOptions* options) {
  const FieldsOf fields(given, "RunOptions");
  long long timeout = 0;
  long long trace = 0;
  long long partitions = 0;
  long long key = 0;
  long long pool = 0;
  bool checks = false;
  if (!fields.Long("timeout_in_ms", &timeout) || !fields.Long("trace_level", &trace) ||
      !fields.Long("output_partition_graphs", &partitions) ||
      !fields.Long("inter_op_thread_pool", &pool) || !CollectiveKeyOf(fields, &key) ||
      !NumericsCheckOf(fields, &checks)) {
    return false;
  }
  tw_run_options_timeout_ms(options, timeout);
  tw_run_options_timeout_spent_ms(options, spent_millis);
  tw_run_options_trace_level(options, static_cast<int32_t>(trace));
  tw_run_options_output_partition_graphs(options, partitions != 0);
  tw_run_options_collective_graph_key(options, key);
  tw_run_options_check_numerics(options, checks);
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
