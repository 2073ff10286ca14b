// SPDX-License-Identifier: Apache-2.0
#include "first_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "npy.h"
#include "stop_signals.h"

namespace cli {
namespace {

volatile std::sig_atomic_t pipe_of_handler = -1;
void Handle(int) {
  const int before = errno;
  const char came = 1;
  [[maybe_unused]] const ssize_t written = write(pipe_of_handler, &came, 1);
  errno = before;
}

}  // namespace

FirstSignal::FirstSignal(std::function<void()> end) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw FileError("cannot make a pipe");
  read_ = ends[0];
  pipe_of_handler = ends[1];
  // The command stands over the installed library, whose threads are not for its users.
  watcher_ = std::async(std::launch::async, [this, end = std::move(end)] {
    char got = 0;
    ssize_t bytes = -1;
    do {
      bytes = read(read_, &got, 1);
    } while (bytes < 0 && errno == EINTR);
    if (bytes <= 0) return;  // nobody waits any more
    came_ = true;
    SetStopHandler(SIG_DFL);  // the second
    end();
  });
  SetStopHandler(Handle);
}

FirstSignal::~FirstSignal() {
  SetStopHandler(SIG_DFL);
  close(pipe_of_handler);
  watcher_.get();
  close(read_);
}

}  // namespace cli
