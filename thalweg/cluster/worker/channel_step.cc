// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/worker/channel_step.h"

namespace thalweg {

bool ChannelEdges::Uses(const Link& link) const {
  for (const auto& [name, edge] : edges_) {
    if (edge.link.get() == &link) return true;
  }
  return false;
}

void ChannelStep::SetPlan(std::shared_ptr<const ChannelEdges> edges) {
  MutexLock lock(mutex_);
  edges_ = std::move(edges);
}

std::shared_ptr<const ChannelEdges> ChannelStep::edges() {
  MutexLock lock(mutex_);
  return edges_;
}

bool ChannelStep::Uses(const Link& link) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  return all != nullptr && all->Uses(link);
}

ChannelStep::Place& ChannelStep::PlaceOf(uint32_t edge, uint64_t tag) {
  if (tag != 0) return looped_[{edge, tag}];
  if (edge >= places_.size()) places_.resize(edge + 1);
  return places_[edge];
}

bool ChannelStep::Arrive(Link& link, const TensorHead& head, Tensor tensor) {
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
    place.from = &link;
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

Result<Delivery> ChannelStep::Checked(const ChannelEdge& edge, const Link* from,
                                      Delivery delivery) {
  if (from != edge.link.get()) {
    return InvalidArgument("edge ", edge.number, " comes from ", edge.link->peer(), ", and ",
                           from == nullptr ? "nobody" : from->peer(), " has sent it");
  }
  const bool any_type = edge.dtype == DType::kInvalid;
  if (!delivery.dead && !any_type && delivery.tensor.dtype() != edge.dtype) {
    return InvalidArgument("edge ", edge.number, " from ", edge.link->peer(), ": expected ",
                           edge.dtype, ", got ", delivery.tensor.dtype());
  }
  return delivery;
}

void ChannelStep::RecvAt(const ChannelEdge& edge, uint64_t tag, RecvDone done) {
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
      place->owes = edge.link.get();
      // Whoever sends what does not fit the edge is known when it arrives.
      place->waiter = [this, edge, tag, done = std::move(done)](Result<Delivery> got) {
        if (!got.ok()) return done(std::move(got));
        const Link* from = nullptr;
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

Status ChannelStep::PushEdge(uint64_t step, const ChannelEdge& edge, uint64_t tag,
                             Delivery delivery) {
  if (edge.link->closed()) {
    return Unavailable("the channel to ", edge.link->peer(), " is closed: the task is lost");
  }
  TensorHead head{.step = step,
                  .edge = edge.number,
                  .frame = tag >> 32,
                  .iteration = tag & UINT32_MAX,
                  .dead = delivery.dead};
  if (delivery.dead) {
    edge.link->channel().Push(head, Tensor());
    return OkStatus();
  }
  Tensor& tensor = delivery.tensor;
  head.dtype = tensor.dtype();
  head.shape = tensor.shape();
  edge.link->channel().Push(head, std::move(tensor));
  return OkStatus();
}

Status ChannelStep::Send(const RendezvousKey& key, Delivery delivery) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  const ChannelEdge* const edge = all == nullptr ? nullptr : all->Find(key.edge);
  if (edge == nullptr) return here_.Send(key, std::move(delivery));
  return PushEdge(id_, *edge, key.tag, std::move(delivery));
}

void ChannelStep::Recv(const RendezvousKey& key, RecvDone done) {
  const std::shared_ptr<const ChannelEdges> all = edges();
  const ChannelEdge* const edge = all == nullptr ? nullptr : all->Find(key.edge);
  if (edge == nullptr) return here_.Recv(key, std::move(done));
  RecvAt(*edge, key.tag, std::move(done));
}

void ChannelStep::Abort(Status reason) {
  std::vector<RecvDone> waiters;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = reason;
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
