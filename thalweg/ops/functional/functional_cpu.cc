// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// Bodies take the place of calls before a step is compiled: nobody runs these.
Status NotExpanded(Context&) {
  return FailedPrecondition("a call of a function runs only as part of a session's step");
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(functional, cpu) {
  for (const char* op :
       {"Case", "For", "If", "MapDefun", "PartitionedCall", "RemoteCall", "StatefulPartitionedCall",
        "StatelessCase", "StatelessIf", "StatelessWhile", "SymbolicGradient", "While"}) {
    registry.AddFunction<NotExpanded>(op, kCpu);
  }
}
