// SPDX-License-Identifier: Apache-2.0
// ChannelRendezvous: the rendezvous of one step in one task where values of other tasks are pushed
// through channels. An edge between tasks has a number, fixed when its graph was registered: what
// arrives finds its place in an array.
//
//   step.SetPlan(edges);                          // what arrived before waits in its place
//   step.Arrive(connection, head, tensor);        // from a channel
//   step.Recv(key, received);                     // of a node; likewise Send(key, {tensor, false})
//
// Edges that the plan does not name stay in the task.
// Ownership: the collectives outlive it; waiting callbacks are answered by Abort.
// Threads: every member from any.
// Errors: as Rendezvous; a tensor of another type than its edge's or from another task than its
// sender is InvalidArgument to whoever receives it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/collectives/collective_rendezvous.h"
#include "thalweg/cluster/peers/transfer_log.h"
#include "thalweg/cluster/steps/step_snapshot.h"
#include "thalweg/cluster/transport/channel_hub.h"
#include "thalweg/cluster/transport/message.h"
#include "thalweg/kernel/local_rendezvous.h"

namespace thalweg {

inline constexpr uint32_t kMostEdges = 1 << 20;

// An edge between this task and another.
struct ChannelEdge {
  uint32_t number = 0;
  DType dtype = DType::kInvalid;           // kInvalid: any
  std::shared_ptr<Connection> connection;  // to the task at the other end
};

// The edges of a part by the names that its Send and Recv nodes know.
class ChannelEdges {
 public:
  void Add(std::string name, ChannelEdge edge) { edges_.emplace(std::move(name), std::move(edge)); }
  // Null: an edge within the task.
  const ChannelEdge* Find(const std::string& name) const {
    const auto found = edges_.find(name);
    return found == edges_.end() ? nullptr : &found->second;
  }
  bool Uses(const Connection& connection) const;
  // "edge NUMBER" for one that is not among them, such as a client's.
  std::string NameOf(uint32_t number) const;

 private:
  std::unordered_map<std::string, ChannelEdge> edges_;
};

class ChannelRendezvous : public Rendezvous, public StepCollectives {
 public:
  explicit ChannelRendezvous(uint64_t id, CollectiveRendezvous* collectives = nullptr)
      : StepCollectives(collectives, StrCat("channels:", id)), id_(id) {}

  uint64_t id() const { return id_; }
  CancellationManager& cancellation() { return cancellation_; }
  void SetPlan(std::shared_ptr<const ChannelEdges> edges) EXCLUDES(mutex_);
  bool Uses(const Connection& connection) EXCLUDES(mutex_);
  // Notes what its nodes receive from other tasks; before the part runs.
  void NoteTransfers(TransferLog* transfers) { transfers_ = transfers; }
  // Without its session and age.
  StepSnapshot Describe() EXCLUDES(mutex_);

  // False: no such place can be. The peer has broken the protocol.
  bool Arrive(Connection& connection, const TensorHead& head, Tensor tensor) EXCLUDES(mutex_);
  // A value of a known edge, outside loops.
  void RecvEdge(const ChannelEdge& edge, RecvDone done) { RecvAt(edge, 0, std::move(done)); }
  static Status PushEdge(uint64_t step, const ChannelEdge& edge, uint64_t tag, Delivery delivery);

  Status Send(const RendezvousKey& key, Delivery delivery) override;
  void Recv(const RendezvousKey& key, RecvDone done) override;
  void Abort(Status reason) override;

 private:
  struct Place {
    Delivery delivery;
    RecvDone waiter;
    const Connection* from = nullptr;  // null: nothing has arrived
    const Connection* owes = nullptr;  // while somebody waits: who is to send it
    bool used = false;
  };
  uint32_t master() override { return MasterOfStep(id_); }
  Place& PlaceOf(uint32_t edge, uint64_t tag) REQUIRES(mutex_);
  void RecvAt(const ChannelEdge& edge, uint64_t tag, RecvDone done) EXCLUDES(mutex_);
  static Result<Delivery> Checked(const ChannelEdge& edge, const Connection* from,
                                  Delivery delivery);
  std::shared_ptr<const ChannelEdges> edges() EXCLUDES(mutex_);

  const uint64_t id_;
  TransferLog* transfers_ = nullptr;  // null: the step is not traced
  CancellationManager cancellation_;
  LocalRendezvous here_;
  Mutex mutex_;
  std::shared_ptr<const ChannelEdges> edges_ GUARDED_BY(mutex_);
  std::vector<Place> places_ GUARDED_BY(mutex_);                              // outside loops
  std::map<std::pair<uint32_t, uint64_t>, Place> looped_ GUARDED_BY(mutex_);  // edge, tag
  uint64_t events_ GUARDED_BY(mutex_) = 0;
  Status aborted_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
