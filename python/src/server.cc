// SPDX-License-Identifier: Apache-2.0
// Server: one task of a cluster in this process; what servers elsewhere run, recorded.
#include "run_options.h"

namespace thalweg_python {
namespace {

struct ServerObject {
  PyObject_HEAD TwServer* server;
};
TwServer* ServerOf(PyObject* self) { return reinterpret_cast<ServerObject*>(self)->server; }

PyObject* ServerNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const char* def = nullptr;
  Py_ssize_t size = 0;
  TwServerOptions options;
  tw_server_options_init(&options);
  const char* const names[] = {
      "server_def",        "insecure",        "tls_cert",        "tls_key",      "tls_ca",
      "max_message_bytes", "max_graph_bytes", "max_graph_nodes", "max_sessions", "max_calls",
      "memory_limit",      "channels",        "metrics",         nullptr};
  long long message = 0, graph = 0, nodes = 0, memory = 0;  // NOLINT: of the format below
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#|psssLLLiiLss", const_cast<char**>(names), &def,
                                   &size, &options.insecure, &options.tls_cert, &options.tls_key,
                                   &options.tls_ca, &message, &graph, &nodes,
                                   &options.session_limit, &options.call_limit, &memory,
                                   &options.channels, &options.metrics)) {
    return nullptr;
  }
  options.message_limit = message;
  options.graph_limit = graph;
  options.node_limit = nodes;
  options.memory_limit = memory;
  const StatusPtr status = NewStatus();
  TwServer* server = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  server = tw_server_new(def, static_cast<size_t>(size), &options, status.get());
  Py_END_ALLOW_THREADS;
  if (server == nullptr) return Raise(status.get(), nullptr);
  auto* self = reinterpret_cast<ServerObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) {
    tw_server_free(server);
  } else {
    self->server = server;
  }
  return reinterpret_cast<PyObject*>(self);
}

void ServerDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  TwServer* server = ServerOf(self);
  Py_BEGIN_ALLOW_THREADS;
  tw_server_free(server);
  Py_END_ALLOW_THREADS;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* ServerTarget(PyObject* self, void*) {
  return PyUnicode_FromString(tw_server_target(ServerOf(self)));
}

PyObject* ServerStop(PyObject* self, PyObject*) {
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_server_stop(ServerOf(self), status.get());
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(status.get(), nullptr);
  Py_RETURN_NONE;
}

// Looks for Ctrl-C ten times a second.
PyObject* ServerJoin(PyObject* self, PyObject*) {
  constexpr int64_t kLookMillis = 100;
  for (;;) {
    int32_t stopped = 0;
    Py_BEGIN_ALLOW_THREADS;
    stopped = tw_server_join(ServerOf(self), kLookMillis);
    Py_END_ALLOW_THREADS;
    if (stopped != 0) Py_RETURN_NONE;
    if (PyErr_CheckSignals() != 0) return nullptr;
  }
}

PyMethodDef server_methods[] = {
    {"stop", ServerStop, METH_NOARGS, "Ends all sessions and calls and frees the port."},
    {"join", ServerJoin, METH_NOARGS, "Waits until the server is stopped."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getters[] = {
    {"target", ServerTarget, nullptr, "grpc://HOST:PORT, grpcs:// with TLS", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// Lets other threads of Python work, and ends with Ctrl-C.
TwRecording* Await(const char* target, const TwRecordOptions& options) {
  const OptionsPtr cancel(tw_run_options_new());
  TwRecording* recording = nullptr;
  bool interrupted = false;
  const auto wait = [&] {
    Py_BEGIN_ALLOW_THREADS;
    recording = tw_trace_record(target, &options, cancel.get(), ThreadStatus());
    Py_END_ALLOW_THREADS;
  };
  if (OnMainThread()) {
    const InterruptScope scope(cancel.get());
    wait();
    interrupted = scope.interrupted();
  } else {
    wait();
  }
  if (interrupted && PyErr_CheckSignals() != 0) {
    tw_recording_free(recording);
    return nullptr;
  }
  if (recording == nullptr) Raise(ThreadStatus(), nullptr);
  return recording;
}

}  // namespace

PyObject* RecordSteps(PyObject*, PyObject* args) {
  const char* target = nullptr;
  TwRecordOptions options;
  tw_record_options_init(&options);
  long long steps = 0, slower = 0, timeout = 0, bytes = 0;  // NOLINT: of the format below
  if (!PyArg_ParseTuple(args, "sLLpLLss", &target, &steps, &slower, &options.failing, &timeout,
                        &bytes, &options.session, &options.node)) {
    return nullptr;
  }
  options.steps = steps;
  options.slower_than_us = slower;
  options.timeout_ms = timeout;
  options.max_bytes = bytes;
  struct Free {
    void operator()(TwRecording* recording) const { tw_recording_free(recording); }
  };
  const std::unique_ptr<TwRecording, Free> recording(Await(target, options));
  if (recording == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  const Ref report(
      BytesOrRaise(tw_recording_report(recording.get(), status.get()), status.get(), nullptr));
  const Ref traces(PyList_New(0));
  if (report == nullptr || traces == nullptr) return nullptr;
  size_t size = 0;
  for (int64_t i = 0;; ++i) {
    const void* const trace = tw_recording_metadata(recording.get(), i, &size);
    if (trace == nullptr) break;
    const Ref copy(
        PyBytes_FromStringAndSize(static_cast<const char*>(trace), static_cast<Py_ssize_t>(size)));
    if (copy == nullptr || PyList_Append(traces.get(), copy.get()) != 0) return nullptr;
  }
  return Py_BuildValue("(OO)", report.get(), traces.get());
}

PyObject* PackTrace(PyObject*, PyObject* recording) { return Remade(recording, tw_trace_pack); }
PyObject* UnpackTrace(PyObject*, PyObject* recording) { return Remade(recording, tw_trace_unpack); }

bool AddServerType(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(ServerNew)},
      {Py_tp_dealloc, reinterpret_cast<void*>(ServerDealloc)},
      {Py_tp_methods, server_methods},
      {Py_tp_getset, getters},
      {Py_tp_doc,
       const_cast<char*>("Server(server_def, insecure=False, ...): serves a task at once. "
                         "server_def: a ServerDef message.")},
      {0, nullptr}};
  static PyType_Spec spec = {"thalweg._core.Server", sizeof(ServerObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  return AddType(module, &spec) != nullptr;
}

}  // namespace thalweg_python
