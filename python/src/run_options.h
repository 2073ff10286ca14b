// SPDX-License-Identifier: Apache-2.0
// The options of one run, and runs without Python's lock that Ctrl-C ends.
// Ownership: the main thread's options are the session's or model's; others are this object's.
// Threads: one object by the thread that made it; `run` goes without the GIL.
// Errors: false with a Python error set; Ctrl-C cancels the run and becomes KeyboardInterrupt.
#pragma once

#include <memory>

#include "core.h"

namespace thalweg_python {

struct OptionsDeleter {
  void operator()(TwRunOptions* o) const { tw_run_options_free(o); }
};
using OptionsPtr = std::unique_ptr<TwRunOptions, OptionsDeleter>;

// The options of plain runs of the main thread, which are made once.
struct MainOptions {
  TwRunOptions* options = nullptr;
  bool used = false;
};

// A run's options: the caller's, the main thread's own so that Ctrl-C can cancel, or none.
class OptionsOfRun {
 public:
  explicit OptionsOfRun(MainOptions* main) : main_(main) {}
  ~OptionsOfRun() {
    if (shared_) main_->used = false;
  }
  OptionsOfRun(const OptionsOfRun&) = delete;
  OptionsOfRun& operator=(const OptionsOfRun&) = delete;

  // `given`: a RunOptions message, null or None for none; false with a Python error.
  bool Choose(PyObject* given, int64_t spent_millis);
  TwRunOptions* get() const { return shared_ ? main_->options : own_.get(); }
  // Options that were cancelled stay so.
  void Cancelled() {
    if (!shared_) return;
    tw_run_options_free(main_->options);
    main_->options = nullptr;
  }

 private:
  MainOptions* main_;
  OptionsPtr own_;
  bool shared_ = false;
};

// The status that calls of this thread share.
TwStatus* ThreadStatus();

// Calls run(), which sets ThreadStatus(), without the GIL; on the main thread Ctrl-C cancels it.
// False with a Python error; `graph` (may be null) is where its node is found.
template <class F>
bool RunUnlocked(PyObject* graph, OptionsOfRun* options, F&& run) {
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
  Raise(ThreadStatus(), graph);
  return false;
}

}  // namespace thalweg_python
