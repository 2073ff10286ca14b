// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/steps/channel_rendezvous.h"

#include "thalweg/base/first_error.h"

namespace thalweg {

bool ChannelEdges::Uses(const Connection& connection) const {
  for (const auto& [name, edge] : edges_) {
    if (edge.connection.get() == &connection) return true;
  }
  return false;
}

std::string ChannelEdges::NameOf(uint32_t number) const {
  for (const auto& [name, edge] : edges_) {
    if (edge.number == number) return name;
  }
  return StrCat("edge ", number);
}

void ChannelRendezvous::SetPlan(std::shared_ptr<const ChannelEdges> edges) {
  MutexLock lock(mutex_);
  edges_ = std::move(edges);
}

std::shared_ptr<const ChannelEdges> ChannelRendezvous::edges() {
  MutexLock lock(mutex_);
  return edges_;
}

bool ChannelRendezvous::Uses(const Connection& connection) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  return all != nullptr && all->Uses(connection);
}

ChannelRendezvous::Place& ChannelRendezvous::PlaceOf(uint32_t edge, uint64_t tag) {
  if (tag != 0) return looped_[{edge, tag}];
  if (edge >= places_.size()) places_.resize(edge + 1);
  return places_[edge];
}

bool ChannelRendezvous::Arrive(Connection& connection, const TensorHead& head, Tensor tensor) {
  if (head.edge >= kMostEdges || head.frame > UINT32_MAX || head.iteration > UINT32_MAX) {
    return false;
  }
  Delivery delivery{.tensor = std::move(tensor), .dead = head.dead};
  RecvDone waiter;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return true;
    ++events_;
    Place& place = PlaceOf(head.edge, head.frame << 32 | head.iteration);
    if (place.from != nullptr) return false;  // an edge is sent once
    place.from = &connection;
    if (!place.waiter) {
      place.delivery = std::move(delivery);
      return true;
    }
    waiter = std::exchange(place.waiter, nullptr);
    place.used = true;
  }
  // The waiter knows its edge, and checks.
  waiter(std::move(delivery));
  return true;
}

Result<Delivery> ChannelRendezvous::Checked(const ChannelEdge& edge, const Connection* from,
                                            Delivery delivery) {
  if (from == nullptr || !from->HasPeerOf(*edge.connection)) {
    return InvalidArgument("edge ", edge.number, " comes from ", edge.connection->peer(), ", and ",
                           from == nullptr ? "nobody" : from->peer(), " has sent it");
  }
  const bool any_type = edge.dtype == DType::kInvalid;
  if (!delivery.dead && !any_type && delivery.tensor.dtype() != edge.dtype) {
    return InvalidArgument("edge ", edge.number, " from ", edge.connection->peer(), ": expected ",
                           edge.dtype, ", got ", delivery.tensor.dtype());
  }
  return delivery;
}

void ChannelRendezvous::RecvAt(const ChannelEdge& edge, uint64_t tag, RecvDone done) {
  Result<Delivery> result = Internal("unset");
  {
    MutexLock lock(mutex_);
    ++events_;
    Place* const place = aborted_.ok() ? &PlaceOf(edge.number, tag) : nullptr;
    if (place == nullptr) {
      result = aborted_;
    } else if (place->used || place->waiter) {
      result = InvalidArgument("edge ", edge.number, " of step ", id_, " is received twice");
    } else if (place->from == nullptr) {
      place->owes = edge.connection.get();
      // Whoever sends what does not fit the edge is known when it arrives.
      place->waiter = [this, edge, tag, done = std::move(done)](Result<Delivery> got) {
        if (!got.ok()) return done(std::move(got));
        const Connection* from = nullptr;
        {
          MutexLock lock(mutex_);
          from = PlaceOf(edge.number, tag).from;
        }
        done(Checked(edge, from, *std::move(got)));
      };
      return;
    } else {
      place->used = true;
      result = Checked(edge, place->from, std::move(place->delivery));
    }
  }
  done(std::move(result));
}

Status ChannelRendezvous::PushEdge(uint64_t step, const ChannelEdge& edge, uint64_t tag,
                                   Delivery delivery) {
  if (edge.connection->closed()) {
    return Unavailable("the channel to ", edge.connection->peer(), " is closed: the task is lost");
  }
  TensorHead head{.step = step,
                  .edge = edge.number,
                  .frame = tag >> 32,
                  .iteration = tag & UINT32_MAX,
                  .dead = delivery.dead};
  if (delivery.dead) {
    edge.connection->Push(head, Tensor());
    return OkStatus();
  }
  Tensor& tensor = delivery.tensor;
  head.dtype = tensor.dtype();
  head.shape = tensor.shape();
  edge.connection->Push(head, std::move(tensor));
  return OkStatus();
}

Status ChannelRendezvous::Send(const RendezvousKey& key, Delivery delivery) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  const ChannelEdge* const edge = all == nullptr ? nullptr : all->Find(key.edge);
  if (edge == nullptr) return here_.Send(key, std::move(delivery));
  return PushEdge(id_, *edge, key.tag, std::move(delivery));
}

void ChannelRendezvous::Recv(const RendezvousKey& key, RecvDone done) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  const ChannelEdge* const edge = all == nullptr ? nullptr : all->Find(key.edge);
  if (edge == nullptr) return here_.Recv(key, std::move(done));
  const bool from_client = key.source == key.destination;
  if (transfers_ != nullptr && !from_client) {
    done = transfers_->Noted(static_cast<int64_t>(id_), key, std::move(done));
  }
  RecvAt(*edge, key.tag, std::move(done));
}

void ChannelRendezvous::Abort(Status reason) {
  std::vector<RecvDone> waiters;
  {
    MutexLock lock(mutex_);
    if (!KeepFirstError(reason, &aborted_)) return;
    for (Place& place : places_) {
      if (place.waiter) waiters.push_back(std::move(place.waiter));
    }
    for (auto& [where, place] : looped_) {
      if (place.waiter) waiters.push_back(std::move(place.waiter));
    }
    places_.clear();
    looped_.clear();
  }
  here_.Abort(reason);
  cancellation_.Cancel(reason);
  for (RecvDone& waiter : waiters) waiter(reason);
}

}  // namespace thalweg
