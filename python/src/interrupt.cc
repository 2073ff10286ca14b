// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during a step. Python's own handler runs only between byte codes, and a step runs inside
// one. So Python's signal handler is given a pipe to write to (signal.set_wakeup_fd, which passes
// on to whoever had set one before), and a thread that sleeps at the other end cancels the main
// thread's step. No handler is installed; steps of other threads are left alone, as Python gives
// interrupts to the main thread only.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "core.h"

namespace thalweg_python {
namespace {

unsigned long main_thread = 0;
int pipe_read = -1;
int pipe_write = -1;
bool watching = false;
PyObject* set_wakeup_fd = nullptr;
// Others may set their own descriptor, so ours is set again in the first step after this time.
constexpr std::chrono::milliseconds kSetAgain{100};
std::chrono::steady_clock::time_point last_set;

std::mutex mutex;
TwRunOptions* current = nullptr;  // of the main thread's run
int forward_to = -1;              // the descriptor that the host had set
std::atomic<bool> was_interrupted{false};

// The signals that the host's threads take.
sigset_t signals_of_host;

void Watch() {
  unsigned char signal_number = 0;
  for (;;) {
    const ssize_t got = read(pipe_read, &signal_number, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return;
    const std::lock_guard<std::mutex> lock(mutex);
    if (forward_to >= 0 && write(forward_to, &signal_number, 1) < 0) forward_to = -1;
    if (signal_number == SIGINT && current != nullptr) {
      was_interrupted.store(true);
      tw_run_options_cancel(current);
    }
  }
}

// A child process has the pipe but not the thread.
void AfterFork() {
  watching = false;
  new (&mutex) std::mutex();
  current = nullptr;
  close(pipe_read);
  close(pipe_write);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_read = ends[0];
  pipe_write = ends[1];
  main_thread = PyThread_get_thread_ident();
  last_set = {};
}

void LendPipe() {
  PyObject* given = Py_BuildValue("(i)", pipe_write);
  PyObject* quiet = Py_BuildValue("{s:i}", "warn_on_full_buffer", 0);
  PyObject* old =
      given == nullptr || quiet == nullptr ? nullptr : PyObject_Call(set_wakeup_fd, given, quiet);
  Py_XDECREF(given);
  Py_XDECREF(quiet);
  const long old_fd = old == nullptr ? -1 : PyLong_AsLong(old);
  Py_XDECREF(old);
  PyErr_Clear();  // an interpreter that gets no signals: then nothing can interrupt it either
  const std::lock_guard<std::mutex> lock(mutex);
  if (old_fd != pipe_write) forward_to = static_cast<int>(old_fd);
}

}  // namespace

bool InitInterrupts() {
  main_thread = PyThread_get_thread_ident();
  pthread_sigmask(SIG_BLOCK, nullptr, &signals_of_host);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
  }
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_read = ends[0];
  pipe_write = ends[1];
  pthread_atfork(nullptr, nullptr, AfterFork);
  PyObject* signals = PyImport_ImportModule("_signal");
  if (signals == nullptr) return false;
  set_wakeup_fd = PyObject_GetAttrString(signals, "set_wakeup_fd");
  Py_DECREF(signals);
  return set_wakeup_fd != nullptr;
}

bool OnMainThread() { return PyThread_get_thread_ident() == main_thread; }

OpenToSignals::OpenToSignals() : is_ours_(PyGILState_GetThisThreadState() == nullptr) {
  if (is_ours_) pthread_sigmask(SIG_SETMASK, &signals_of_host, &before_);
}

OpenToSignals::~OpenToSignals() {
  if (is_ours_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

InterruptScope::InterruptScope(TwRunOptions* options) {
  if (!watching && pipe_write >= 0) {
    // From its first instruction on: see OpenToSignals.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(Watch).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    watching = true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_set > kSetAgain) {
    LendPipe();
    last_set = now;
  }
  was_interrupted.store(false, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(mutex);
  current = options;
}

InterruptScope::~InterruptScope() {
  const std::lock_guard<std::mutex> lock(mutex);
  current = nullptr;
}

bool InterruptScope::interrupted() const { return was_interrupted.load(); }

}  // namespace thalweg_python
