// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/executor.h"

#include "thalweg/executor/plain_executor.h"

namespace thalweg {

Result<std::unique_ptr<Executor>> MakeExecutor(Program program, const ExecutorOptions&) {
  return MakePlainExecutor(std::move(program));
}

}  // namespace thalweg
