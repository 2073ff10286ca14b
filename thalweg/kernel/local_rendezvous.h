// SPDX-License-Identifier: Apache-2.0
// LocalRendezvous: a Rendezvous within one process.
// Ownership: the step holds it; deliveries that nobody took go with it.
// Threads: every member from any; a callback runs in the thread of Send, Recv or Abort that ends
// its wait, without the lock.
// Errors: InvalidArgument for a key that is sent or received twice; after Abort its reason.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/kernel/rendezvous.h"

namespace thalweg {

class LocalRendezvous : public Rendezvous {
 public:
  Status Send(const RendezvousKey& key, Delivery delivery) override;
  void Recv(const RendezvousKey& key, RecvDone done) override;
  void Abort(Status reason) override;
  // What lies here and who waits, for people: "EDGE from DEVICE is awaited", at most `most` lines,
  // sorted, and one that says how many more there are. `events`: calls of Send and Recv so far.
  std::vector<std::string> Describe(size_t most, uint64_t* events) EXCLUDES(mutex_);

 private:
  struct KeyHash {
    size_t operator()(const RendezvousKey& key) const;
  };
  // What one side left for the other. `used`: both have met; the key is spent for this step.
  struct Entry {
    Delivery delivery;
    RecvDone waiter;
    bool has_delivery = false;
    bool used = false;
  };
  Mutex mutex_;
  std::unordered_map<RendezvousKey, Entry, KeyHash> entries_ GUARDED_BY(mutex_);
  Status aborted_ GUARDED_BY(mutex_);
  uint64_t events_ GUARDED_BY(mutex_) = 0;
};

}  // namespace thalweg
