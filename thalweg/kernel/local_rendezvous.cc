// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/local_rendezvous.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "thalweg/base/first_error.h"

namespace thalweg {

std::string RendezvousKey::ToString() const {
  char hex[17];
  for (int i = 0; i < 16; ++i) hex[i] = "0123456789abcdef"[(incarnation >> (60 - 4 * i)) & 15];
  hex[16] = 0;
  return StrCat(source, ";", hex, ";", destination, ";", edge, ";", tag >> 32, ":",
                tag & 0xffffffffu);
}

size_t LocalRendezvous::KeyHash::operator()(const RendezvousKey& key) const {
  const size_t h = std::hash<std::string>()(key.edge) * 31 + key.tag;
  return h * 31 + std::hash<std::string>()(key.destination);
}

Status LocalRendezvous::Send(const RendezvousKey& key, Delivery delivery) {
  RecvDone waiter;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    ++events_;
    Entry& entry = entries_[key];
    if (entry.used || entry.has_delivery)
      return InvalidArgument("rendezvous key ", key, " was sent twice");
    if (!entry.waiter) {
      entry.delivery = std::move(delivery);
      entry.has_delivery = true;
      return OkStatus();
    }
    waiter = std::move(entry.waiter);
    entry.waiter = nullptr;
    entry.used = true;
  }
  waiter(std::move(delivery));
  return OkStatus();
}

void LocalRendezvous::Recv(const RendezvousKey& key, RecvDone done) {
  Result<Delivery> result = Internal("unset");
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) {
      result = aborted_;
    } else {
      ++events_;
      Entry& entry = entries_[key];
      if (entry.used || entry.waiter) {
        result = InvalidArgument("rendezvous key ", key, " was received twice");
      } else if (!entry.has_delivery) {
        entry.waiter = std::move(done);
        return;
      } else {
        result = std::move(entry.delivery);
        entry.delivery = Delivery();
        entry.has_delivery = false;
        entry.used = true;
      }
    }
  }
  done(std::move(result));
}

std::vector<std::string> LocalRendezvous::Describe(size_t most, uint64_t* events) {
  std::vector<std::string> lines;
  {
    MutexLock lock(mutex_);
    *events = events_;
    for (const auto& [key, entry] : entries_) {
      if (entry.used) continue;
      lines.push_back(StrCat(key.edge, " of ", key.source, " for ", key.destination,
                             entry.has_delivery ? " lies here" : " is awaited"));
    }
  }
  std::sort(lines.begin(), lines.end());
  if (lines.size() > most) {
    const size_t more = lines.size() - most;
    lines.resize(most);
    lines.push_back(StrCat("and ", more, " more"));
  }
  return lines;
}

void LocalRendezvous::Abort(Status reason) {
  std::vector<RecvDone> waiters;
  {
    MutexLock lock(mutex_);
    if (!KeepFirstError(reason, &aborted_)) return;
    for (auto& [key, entry] : entries_) {
      if (entry.waiter) waiters.push_back(std::move(entry.waiter));
    }
    entries_.clear();
  }
  for (RecvDone& waiter : waiters) waiter(reason);
}

}  // namespace thalweg
