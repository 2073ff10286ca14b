// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/transfer_log.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/session/left_out.h"
#include "thalweg/session/run_metadata_message.h"

namespace thalweg {
namespace {

constexpr size_t kMostSteps = 64;
constexpr size_t kMostTransfers = 100'000;  // of a step

// "[8B] [0.08Mb/s] edge_9_c from DEVICE to DEVICE", as TensorFlow writes it.
std::string LabelOf(const Transfer& transfer) {
  const double micros =
      static_cast<double>(std::max<int64_t>(1, transfer.end_micros - transfer.start_micros));
  const double rate = static_cast<double>(transfer.bytes) * 8 / micros;
  return StrCat("[", transfer.bytes, "B] [", rate, "Mb/s] ", transfer.edge, " from ",
                transfer.source, " to ", transfer.destination);
}

DeviceTrace& DeviceOf(const std::string& name, StepStats* stats) {
  const auto found = std::ranges::find(stats->traces, name, &DeviceTrace::device);
  if (found != stats->traces.end()) return *found;
  return stats->traces.emplace_back(DeviceTrace{.device = name, .nodes = {}});
}

}  // namespace

void TransferLog::Enable(int64_t step) {
  MutexLock lock(mutex_);
  wanted_.push_back(step);
  if (wanted_.size() > kMostSteps) wanted_.pop_front();
  NoteWanted();
}

void TransferLog::Disable(int64_t step) {
  if (!enabled_.load(std::memory_order_relaxed)) return;  // most steps are not traced
  MutexLock lock(mutex_);
  std::erase(wanted_, step);
  NoteWanted();
}

void TransferLog::EnableAll(bool on) {
  MutexLock lock(mutex_);
  wants_all_ = on;
  NoteWanted();
}

bool TransferLog::IsWanted(int64_t step) {
  MutexLock lock(mutex_);
  return wants_all_ || std::ranges::find(wanted_, step) != wanted_.end();
}

void TransferLog::Add(int64_t step, Transfer transfer) {
  MutexLock lock(mutex_);
  const auto [found, is_new] = steps_.try_emplace(step);
  if (is_new) {
    order_.push_back(step);
    if (order_.size() > kMostSteps) {
      steps_.erase(order_.front());
      order_.pop_front();
    }
  }
  OfStep& of_step = found->second;
  of_step.transfers.push_back(std::move(transfer));
  if (of_step.transfers.size() <= kMostTransfers) return;
  Transfer& oldest = of_step.transfers.front();
  of_step.until_micros = std::max(of_step.until_micros, oldest.end_micros);
  ++of_step.left_out[std::move(oldest.destination)];
  of_step.transfers.pop_front();
}

Rendezvous::RecvDone TransferLog::Noted(int64_t step, const RendezvousKey& key,
                                        Rendezvous::RecvDone done) {
  return [this, step, key = key, start = SystemClock().WallMicros(),
          done = std::move(done)](Result<Delivery> got) mutable {  // called once
    const int64_t bytes = got.ok() && !got->dead ? static_cast<int64_t>(got->tensor.bytes()) : 0;
    Add(step, {.source = std::move(key.source),
               .destination = std::move(key.destination),
               .edge = std::move(key.edge),
               .bytes = bytes,
               .start_micros = start,
               .end_micros = SystemClock().WallMicros()});
    done(std::move(got));
  };
}

void TransferLog::MoveTo(int64_t step, StepStats* stats) {
  OfStep told;
  {
    MutexLock lock(mutex_);
    const auto found = steps_.find(step);
    if (found == steps_.end()) return;
    told = std::move(found->second);
    steps_.erase(found);
    order_.erase(std::find(order_.begin(), order_.end(), step));
  }
  for (const auto& [destination, transfers] : told.left_out) {
    AppendLeftOutTransfers(transfers, told.until_micros * 1000, &DeviceOf(destination, stats));
  }
  for (const Transfer& transfer : told.transfers) {
    const std::string label = LabelOf(transfer);
    AppendNode({.node = "RecvTensor",
                .op = {},
                .label = label,
                .thread = 0,
                .start_nanos = (transfer.start_micros - stats->start_wall_micros) * 1000,
                .end_nanos = (transfer.end_micros - stats->start_wall_micros) * 1000},
               stats->start_wall_micros, DeviceOf(transfer.destination, stats).nodes.Tail());
  }
}

void TransferLog::Clear() {
  MutexLock lock(mutex_);
  steps_.clear();
  order_.clear();
}

}  // namespace thalweg
