// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/transport_context.h"

#include <utility>

#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/cluster/transport/shm/memory.h"
#include "thalweg/cluster/transport/tcp_sockets.h"

namespace thalweg {
namespace {

constexpr size_t kTrialBytes = 4096;

// Both are numeric addresses, of which one may be written as IPv6 for IPv4.
bool IsSameHost(std::string_view a, std::string_view b) {
  constexpr std::string_view kMapped = "::ffff:";
  for (std::string_view* host : {&a, &b}) {
    if (host->starts_with(kMapped)) host->remove_prefix(kMapped.size());
  }
  return a == b && !a.empty();
}

}  // namespace

Result<TransportContext::Started> TransportContext::Start() {
  MutexLock lock(mutex_);
  if (started_.io != nullptr) return started_;
  ASSIGN_OR_RETURN(started_.io, IoThread::Start());
  started_.memory = SharedMemory::Make(kTrialBytes, SharedUse::kOwnerWrites).status();
  if (!started_.memory.ok() && options_.logger != nullptr) {
    options_.logger->Warning("tasks of this host are spoken to through sockets: ",
                             started_.memory.message());
  }
  const AllocatorPtr& host = options_.allocator;
  started_.arena = ShmArena::Make(host->Stats().limit / 2);
  started_.allocator = SharedAllocator::Make(host, started_.arena);
  options_.when_idle([arena = started_.arena] { arena->TrimSpare(); });
  return started_;
}

void TransportContext::TrimMemory() {
  std::shared_ptr<ShmArena> arena;
  {
    MutexLock lock(mutex_);
    arena = started_.arena;
  }
  if (arena != nullptr) arena->TrimToSpare();
}

bool TransportContext::IsOfCluster(const std::string& task) const {
  return ParseHostPort(options_.address_of(task)).ok();
}

Status TransportContext::MayConnect(const std::string& task, std::string_view host,
                                    std::string_view from) const {
  if (IsSameHost(host, from)) return OkStatus();
  const Result<HostPort> known = ParseHostPort(options_.address_of(task));
  if (known.ok()) {
    const Result<std::string> numeric = NumericHost(known->host);
    if (numeric.ok() && IsSameHost(host, *numeric)) return OkStatus();
  }
  return PermissionDenied(
      "a caller at ", from, " that calls itself ", task, " offers a channel at ", host,
      ", which is neither where it calls from nor where the cluster has ", "that task");
}

}  // namespace thalweg
