// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/host_call.h"

#include <atomic>

namespace thalweg {
namespace {

thread_local int t_host_calls = 0;
std::atomic<int> all_host_calls{0};

}  // namespace

HostCall::HostCall() {
  ++t_host_calls;
  all_host_calls.fetch_add(1, std::memory_order_seq_cst);
}
HostCall::~HostCall() {
  --t_host_calls;
  all_host_calls.fetch_sub(1, std::memory_order_seq_cst);
}
bool HostCall::IsInside() { return t_host_calls > 0; }
bool HostCall::IsAnywhere() { return all_host_calls.load(std::memory_order_seq_cst) > 0; }

}  // namespace thalweg
