// SPDX-License-Identifier: Apache-2.0
// SetStopHandler: who hears of Ctrl-C and SIGTERM.
//
//   SetStopHandler([](int) { std::_Exit(1); });
//
// Ownership: none.
// Threads: any; the handlers are the process's.
// Errors: none.
#pragma once

#include <csignal>

namespace cli {

// What is ignored stays so, as nohup and shells have it for jobs in the background.
inline void SetStopHandler(void (*handler)(int)) {
  for (const int number : {SIGINT, SIGTERM}) {
    if (std::signal(number, handler) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

}  // namespace cli
