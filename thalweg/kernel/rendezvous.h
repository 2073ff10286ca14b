// SPDX-License-Identifier: Apache-2.0
// Rendezvous: hands a tensor from a producer to a consumer that may ask before or after it exists.
// One per step.
//
//   RendezvousKey key{
//       .source = "/job:a/...", .destination = "/job:b/...", .edge = "edge_3_x", .tag = 0};
//   RETURN_IF_ERROR(rendezvous.Send(key, {tensor, false}));
//   rendezvous.Recv(key, [](Result<Delivery> d) { ... });  // once; inline when it is there already
//
// Ownership: a sent tensor is held until received or aborted.
// Threads: all calls may race; nothing blocks.
// Errors: a second Send or Recv of one key is InvalidArgument; after Abort(s) every call and every
// waiter gets s. Not promised: fairness, order between keys.
// Ordering: everything before Send(k) is visible to the callback of Recv(k).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct RendezvousKey {
  std::string source;        // full device name
  uint64_t incarnation = 0;  // of the source device
  std::string destination;   // full device name
  std::string edge;          // name of the edge, unique in the step's graph
  uint64_t tag = 0;          // frame and iteration; 0 in the root frame
  // As TensorFlow writes it: "src;incarnation in hex;dst;edge;0:0".
  std::string ToString() const;
  friend bool operator==(const RendezvousKey&, const RendezvousKey&) = default;
};

// A dead delivery tells the receiver that its branch was not taken (B3.4e).
struct Delivery {
  Tensor tensor;
  bool dead = false;
};

class Rendezvous {
 public:
  using RecvDone = std::function<void(Result<Delivery>)>;
  virtual ~Rendezvous() = default;
  virtual Status Send(const RendezvousKey& key, Delivery delivery) = 0;
  virtual void Recv(const RendezvousKey& key, RecvDone done) = 0;
  // `reason` must be an error. The first one stays.
  virtual void Abort(Status reason) = 0;
};

}  // namespace thalweg
