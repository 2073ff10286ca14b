// SPDX-License-Identifier: Apache-2.0
// Session, prepared callables and partial runs.
#include <cstring>
#include <utility>

#include "run.h"

namespace thalweg_python {
namespace {

struct PartialRunObject {
  PyObject_HEAD PyObject* session;
  TwPartialRun* run;
};

// feed_dict with tensors and names only as keys; null with an error. A new reference.
PyObject* PlainFeeds(PyObject* feed_dict) {
  if (PyDict_Check(feed_dict) && !HasOtherKeys(feed_dict)) return Py_NewRef(feed_dict);
  return PyObject_CallOneArg(hooks.expand_feeds, feed_dict);
}

// The four arguments of Session.run, by place or name.
bool RunArguments(PyObject* const* args, Py_ssize_t nargs, PyObject* names, PyObject** given) {
  static const char* const kNames[] = {"fetches", "feed_dict", "options", "run_metadata"};
  if (nargs > 4) {
    PyErr_Format(PyExc_TypeError, "run takes at most 4 arguments, got %zd", nargs);
    return false;
  }
  for (Py_ssize_t i = 0; i < nargs; ++i) given[i] = args[i];
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    int place = 0;
    while (place < 4 && std::strcmp(kNames[place], name) != 0) ++place;
    if (place == 4 || given[place] != nullptr) {
      PyErr_Format(PyExc_TypeError, "run got an unexpected argument '%s'", name);
      return false;
    }
    given[place] = args[nargs + i];
  }
  if (given[0] != nullptr) return true;
  PyErr_SetString(PyExc_TypeError, "run needs the argument 'fetches'");
  return false;
}

PyObject* SessionRun(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  PyObject* given[4] = {};
  ReleaseSharedArrays();
  if (!RunArguments(args, nargs, names, given) || !CheckOpen(self)) return nullptr;
  PyObject* feeds = nullptr;
  if (given[1] != nullptr && given[1] != Py_None) {
    feeds = PlainFeeds(given[1]);
    if (feeds == nullptr) return nullptr;
  }
  PyObject* made = Run(self, given[0], feeds, given[2], given[3]);
  Py_XDECREF(feeds);
  ReleaseSharedArrays();
  return made;
}

// ---- Session ----

PyObject* SessionNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* environment = nullptr;
  PyObject* graph = nullptr;
  TwSessionOptions options;
  tw_session_options_init(&options);
  const char* config = nullptr;  // null: None
  Py_ssize_t config_size = 0;
  const char* const names[] = {"environment", "graph", "target", "config", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|zz#", const_cast<char**>(names),
                                   environment_type, &environment, graph_type, &graph,
                                   &options.target, &config, &config_size)) {
    return nullptr;
  }
  options.config = config;
  options.config_size = static_cast<size_t>(config_size);
  const StatusPtr status = NewStatus();
  TwSession* session =
      tw_session_new(reinterpret_cast<EnvironmentObject*>(environment)->environment, GraphOf(graph),
                     &options, status.get());
  if (session == nullptr) return Raise(status.get(), graph);
  auto* self = reinterpret_cast<SessionObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) {
    tw_session_free(session);
    return nullptr;
  }
  self->graph = Py_NewRef(graph);
  self->state = new SessionState;
  self->state->session.reset(session, tw_session_free);
  return reinterpret_cast<PyObject*>(self);
}

int SessionTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(AsSession(self)->graph);
  return 0;
}

// Ends what runs, drops what is prepared. The handle itself goes with the last run.
void CloseState(SessionState* state) {
  std::shared_ptr<TwSession> session = std::exchange(state->session, nullptr);
  if (session == nullptr) return;
  Py_BEGIN_ALLOW_THREADS;
  tw_session_close(session.get(), nullptr);
  Py_END_ALLOW_THREADS;
  state->prepared.clear();
  Py_BEGIN_ALLOW_THREADS;
  session.reset();
  Py_END_ALLOW_THREADS;
  ReleaseSharedArrays();
}

void SessionDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  SessionState* state = AsSession(self)->state;
  if (state != nullptr) {
    CloseState(state);
    tw_run_options_free(state->main_options.options);
    delete state;
  }
  Py_CLEAR(AsSession(self)->graph);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* SessionClose(PyObject* self, PyObject*) {
  CloseState(AsSession(self)->state);
  Py_RETURN_NONE;
}

PyObject* SessionEnd(PyObject* self, PyObject*) {
  const std::shared_ptr<TwSession> session = AsSession(self)->state->session;
  Py_BEGIN_ALLOW_THREADS;
  if (session != nullptr) tw_session_close(session.get(), nullptr);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* SessionDevices(PyObject* self, PyObject*) {
  const std::shared_ptr<TwSession> session = OpenSession(self);
  if (session == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* devices = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  devices = tw_session_list_devices(session.get(), status.get());
  Py_END_ALLOW_THREADS;
  return BytesOrRaise(devices, status.get(), AsSession(self)->graph);
}

PyObject* SessionClosed(PyObject* self, void*) {
  return PyBool_FromLong(AsSession(self)->state->session == nullptr);
}

PyObject* SessionGraph(PyObject* self, void*) { return Py_NewRef(AsSession(self)->graph); }

PyObject* SessionNumPrepared(PyObject* self, void*) {
  return PyLong_FromSize_t(AsSession(self)->state->prepared.size());
}

PyObject* SessionReset(PyObject* self, PyObject* args) {
  if (!PyArg_ParseTuple(args, "")) return nullptr;
  const std::shared_ptr<TwSession> session = OpenSession(self);
  if (session == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_session_reset(session.get(), nullptr, 0, status.get());
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(status.get(), AsSession(self)->graph);
  Py_RETURN_NONE;
}

PyObject* SessionExplain(PyObject* self, PyObject* node) {
  const char* name = PyUnicode_AsUTF8(node);
  if (name == nullptr) return nullptr;
  const std::shared_ptr<TwSession> session = OpenSession(self);
  if (session == nullptr) return nullptr;
  const StatusPtr status = NewStatus();
  TwBuffer* why = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  why = tw_session_explain_placement(session.get(), name, status.get());
  Py_END_ALLOW_THREADS;
  PyObject* bytes = BytesOrRaise(why, status.get(), AsSession(self)->graph);
  if (bytes == nullptr) return nullptr;
  PyObject* text = PyUnicode_FromEncodedObject(bytes, "utf-8", nullptr);
  Py_DECREF(bytes);
  return text;
}

// ---- Callable ----

PyObject* SessionPrepare(PyObject* self, PyObject* args) {
  PyObject* fetches = nullptr;
  PyObject* feed_list = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &fetches, &PyList_Type, &feed_list) || !CheckOpen(self)) {
    return nullptr;
  }
  auto prepared = std::make_shared<Prepared>();
  PyObject* graph = AsSession(self)->graph;
  if (!prepared->request.AddFetches(graph, fetches)) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(feed_list); ++i) {
    if (!prepared->request.AddFeed(graph, PyList_GET_ITEM(feed_list, i))) return nullptr;
  }
  int64_t millis = 0;
  if (!Compile(self, prepared.get(), nullptr, &millis)) return nullptr;
  auto* callable = reinterpret_cast<CallableObject*>(callable_type->tp_alloc(callable_type, 0));
  if (callable == nullptr) return nullptr;
  callable->session = Py_NewRef(self);
  callable->prepared = new PreparedPtr(std::move(prepared));
  return reinterpret_cast<PyObject*>(callable);
}

PyObject* CallableCall(PyObject* self, PyObject* args, PyObject* kwargs) {
  auto* callable = reinterpret_cast<CallableObject*>(self);
  const PreparedPtr prepared = *callable->prepared;
  const Request& request = prepared->request;
  PyObject* options = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "options");
  PyObject* metadata = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "run_metadata");
  ReleaseSharedArrays();
  if (!CheckOpen(callable->session)) return nullptr;
  if (static_cast<size_t>(PyTuple_GET_SIZE(args)) != request.feeds.size()) {
    PyErr_Format(PyExc_ValueError, "Expected %zd feed values, got %zd", request.feeds.size(),
                 PyTuple_GET_SIZE(args));
    return nullptr;
  }
  TensorHandles values(request.feeds.size());
  for (size_t i = 0; i < request.feeds.size(); ++i) {
    PyObject* value = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
    values.data()[i] = request.FeedValue(i, value).release();
    if (values.data()[i] == nullptr) return nullptr;
  }
  return RunPrepared(callable->session, prepared, &values, options, metadata);
}

PyObject* CallableRepeat(PyObject* self, PyObject* seconds) {
  auto* callable = reinterpret_cast<CallableObject*>(self);
  const PreparedPtr prepared = *callable->prepared;
  const double limit = PyFloat_AsDouble(seconds);
  if (PyErr_Occurred() != nullptr || !CheckOpen(callable->session)) return nullptr;
  if (!prepared->request.feeds.empty() || !prepared->request.fetches.empty()) {
    PyErr_SetString(PyExc_ValueError, "Only what has no feeds and fetches nothing can be repeated");
    return nullptr;
  }
  if (!RepeatPrepared(callable->session, prepared, limit)) return nullptr;
  Py_RETURN_NONE;
}

int OwnerTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<CallableObject*>(self)->session);
  return 0;
}

void CallableDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* callable = reinterpret_cast<CallableObject*>(self);
  delete callable->prepared;
  Py_CLEAR(callable->session);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- Partial runs ----

PyObject* SessionPartialRun(PyObject* self, PyObject* args) {
  PyObject* fetches = nullptr;
  PyObject* feed_list = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &fetches, &PyList_Type, &feed_list) || !CheckOpen(self)) {
    return nullptr;
  }
  Request request;
  if (!request.AddFetches(AsSession(self)->graph, fetches)) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(feed_list); ++i) {
    if (!request.AddFeed(AsSession(self)->graph, PyList_GET_ITEM(feed_list, i))) return nullptr;
  }
  if (!request.CheckAllowed(AsSession(self)->graph)) return nullptr;
  const StatusPtr status = NewStatus();
  TwPartialRun* run = tw_session_partial_run_new(
      AsSession(self)->state->session.get(), request.feeds.data(),
      static_cast<int32_t>(request.feeds.size()), request.fetches.data(),
      static_cast<int32_t>(request.fetches.size()), request.targets.data(),
      static_cast<int32_t>(request.targets.size()), status.get());
  if (run == nullptr) return Raise(status.get(), AsSession(self)->graph);
  auto* made = reinterpret_cast<PartialRunObject*>(partial_run_type->tp_alloc(partial_run_type, 0));
  if (made == nullptr) {
    tw_partial_run_free(run);
    return nullptr;
  }
  made->session = Py_NewRef(self);
  made->run = run;
  return reinterpret_cast<PyObject*>(made);
}

PyObject* PartialRunRun(PyObject* self, PyObject* args) {
  auto* partial = reinterpret_cast<PartialRunObject*>(self);
  PyObject* fetches = nullptr;
  PyObject* feed_dict = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &fetches, &PyDict_Type, &feed_dict) ||
      !CheckOpen(partial->session)) {
    return nullptr;
  }
  Request request;
  PyObject* graph = AsSession(partial->session)->graph;
  if (!request.AddFetches(graph, fetches) || !request.AddFeeds(graph, feed_dict)) return nullptr;
  TensorHandles values(request.feeds.size());
  TensorHandles results(request.fetches.size());
  if (!FillValues(request, feed_dict, values.data())) return nullptr;
  TwStatus* status = ThreadStatus();
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_partial_run(partial->run, request.feeds.data(), values.data(),
                        static_cast<int32_t>(request.feeds.size()), request.fetches.data(),
                        static_cast<int32_t>(request.fetches.size()), results.data(), status);
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(status, graph);
  PyObject* made = request.Build(results.data());
  results.Forget();
  return made;
}

void PartialRunDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* partial = reinterpret_cast<PartialRunObject*>(self);
  if (partial->run != nullptr) tw_partial_run_free(partial->run);
  Py_CLEAR(partial->session);
  type->tp_free(self);
  Py_DECREF(type);
}

constexpr char kRunDocumentation[] =
    R"(run($self, fetches, feed_dict=None, options=None, run_metadata=None)
--

Runs, in one step, what the fetches need, and gives their values.

Parameters
----------
fetches : Tensor, Operation, variable, name, or lists, tuples and dictionaries of them
feed_dict : dict, optional
    Tensors, or their names, and the values they have in the step.
options : RunOptions, optional
    A time limit, a trace.
run_metadata : RunMetadata, optional
    What gets the trace.

Returns
-------
The structure of `fetches`: numpy arrays and scalars in the place of tensors, None in that of operations.

Raises
------
errors.OpError
    An operation failed: its class says how.
ValueError, TypeError, RuntimeError
    A fetch or feed is not of this graph, a value does not fit, or the session is closed.

Examples
--------
>>> x = tw.placeholder(tw.float32, [None])
>>> total, twice = tw.reduce_sum(x), x * 2.0
>>> with tw.Session() as sess:
...     total_value, named = sess.run([total, {"twice": twice}], feed_dict={x: [1, 2]})
...     print(total_value, named["twice"])
3.0 [2. 4.]
)";

PyMethodDef session_methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(SessionRun)),
     METH_FASTCALL | METH_KEYWORDS, kRunDocumentation},
    {"_devices", SessionDevices, METH_NOARGS, "A ListDevicesResponse message."},
    {"close", SessionClose, METH_NOARGS, "Cancels what runs, frees what the session holds."},
    {"_end", SessionEnd, METH_NOARGS,
     "Cancels what runs; whoever runs it from now on is told that it has been closed."},
    {"_prepare", SessionPrepare, METH_VARARGS, "_prepare(fetches, feed_list): a callable."},
    {"_partial_run", SessionPartialRun, METH_VARARGS, "_partial_run(fetches, feed_list)"},
    {"_reset", SessionReset, METH_VARARGS, "Drops all variables and queues."},
    {"explain_placement", SessionExplain, METH_O, "Where a node would run and why, as text."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef session_members[] = {
    {"graph", SessionGraph, nullptr, "The graph that is run.", nullptr},
    {"_closed", SessionClosed, nullptr, nullptr, nullptr},
    {"_num_prepared", SessionNumPrepared, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef partial_run_methods[] = {
    {"run", PartialRunRun, METH_VARARGS, "run(fetches, feed_dict)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::shared_ptr<TwSession> OpenSession(PyObject* session) {
  return CheckOpen(session) ? AsSession(session)->state->session : nullptr;
}

PyMethodDef callable_methods[] = {
    {"_at_once", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(CallableAtOnce)),
     METH_FASTCALL, "_at_once(*tensors): EagerTensors of what is fetched."},
    {"_repeat", CallableRepeat, METH_O, "_repeat(seconds): runs until they have passed."},
    {nullptr, nullptr, 0, nullptr},
};

bool AddSessionTypes(PyObject* module) {
  static PyType_Slot session_slots[] = {{Py_tp_new, reinterpret_cast<void*>(SessionNew)},
                                        {Py_tp_dealloc, reinterpret_cast<void*>(SessionDealloc)},
                                        {Py_tp_traverse, reinterpret_cast<void*>(SessionTraverse)},
                                        {Py_tp_methods, session_methods},
                                        {Py_tp_getset, session_members},
                                        {0, nullptr}};
  static PyType_Slot callable_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(CallableDealloc)},
                                         {Py_tp_traverse, reinterpret_cast<void*>(OwnerTraverse)},
                                         {Py_tp_call, reinterpret_cast<void*>(CallableCall)},
                                         {Py_tp_methods, callable_methods},
                                         {0, nullptr}};
  static PyType_Slot partial_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(PartialRunDealloc)},
                                        {Py_tp_traverse, reinterpret_cast<void*>(OwnerTraverse)},
                                        {Py_tp_methods, partial_run_methods},
                                        {0, nullptr}};
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  static PyType_Spec session_spec = {"thalweg._core.Session", sizeof(SessionObject), 0,
                                     kFlags | Py_TPFLAGS_BASETYPE, session_slots};
  static PyType_Spec callable_spec = {"thalweg._core.Callable", sizeof(CallableObject), 0,
                                      kFlags | Py_TPFLAGS_DISALLOW_INSTANTIATION, callable_slots};
  static PyType_Spec partial_spec = {"thalweg._core.PartialRun", sizeof(PartialRunObject), 0,
                                     kFlags | Py_TPFLAGS_DISALLOW_INSTANTIATION, partial_slots};
  session_type = AddType(module, &session_spec);
  callable_type = AddType(module, &callable_spec);
  partial_run_type = AddType(module, &partial_spec);
  return session_type != nullptr && callable_type != nullptr && partial_run_type != nullptr;
}

}  // namespace thalweg_python
