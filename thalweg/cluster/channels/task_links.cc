// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/task_links.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "thalweg/base/notification.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

constexpr std::chrono::minutes kFresh{10};
constexpr std::chrono::minutes kGivenUp{1};  // after nothing could be measured
// Of GetStatus: bytes that nobody reads; beyond all numbers that TensorFlow's messages have.
constexpr uint32_t kPaddingField = 20264;

class ChannelLine : public EchoLine {
 public:
  ChannelLine(ChannelManager& channels, std::shared_ptr<Connection> to)
      : channels_(channels), to_(std::move(to)) {}

  // As steps make what they send: floats, in shared memory where there is some.
  Status Prepare(int64_t bytes) override {
    Allocator* const shared = channels_.step_allocator();
    Allocator& allocator = shared != nullptr ? *shared : *channels_.steps().allocator();
    const Shape shape{bytes / static_cast<int64_t>(sizeof(float))};
    ASSIGN_OR_RETURN(payload_, Tensor::Allocate(allocator, DType::kFloat, shape));
    std::memset(payload_.mutable_raw_data(), 0, payload_.bytes());
    return OkStatus();
  }
  Status Echo(int64_t bytes, Clock::TimePoint until) override {
    return channels_.steps().echoes().Send(to_, bytes == 0 ? nullptr : &payload_, until);
  }

 private:
  ChannelManager& channels_;
  const std::shared_ptr<Connection> to_;
  Tensor payload_;
};

class CallLine : public EchoLine {
 public:
  CallLine(WorkerClients& peers, const Clock& clock, std::string task)
      : peers_(peers), clock_(clock), task_(std::move(task)) {}

  Status Prepare(int64_t bytes) override {
    request_.clear();
    AddWireText(kPaddingField, std::string(static_cast<size_t>(bytes), 0), &request_);
    return OkStatus();
  }
  Status Echo(int64_t bytes, Clock::TimePoint until) override {
    const std::chrono::nanoseconds left = Deadline(until).Remaining(clock_);
    if (left.count() == 0) return DeadlineExceeded(task_, " has not answered in time");
    Notification answered;
    Status status;
    peers_.CallBytes(task_, "GetStatus", bytes == 0 ? std::string() : request_, {.timeout = left},
                     [&](const Result<std::string>& answer) {
                       status = answer.status();
                       answered.Notify();
                     });
    answered.Wait();
    return status;
  }

 private:
  WorkerClients& peers_;
  const Clock& clock_;
  const std::string task_;
  std::string request_;
};

}  // namespace

Result<LinkModel> TaskLinks::Measure(const std::string& task, Deadline end) {
  LinkLimits limits = limits_;
  const auto left = [&] { return end.Remaining(clock_); };
  Result<std::shared_ptr<Connection>> channel = channels_.Get(task, {.timeout = left()});
  limits.patience = std::min(limits.patience, left());
  if (channel.ok()) {
    ChannelLine line(channels_, *std::move(channel));
    return MeasureLink(line, clock_, limits);
  }
  if (channel.status().code() != Code::kUnimplemented) return channel.status();
  CallLine line(peers_, clock_, task);
  return MeasureLink(line, clock_, limits);
}

std::optional<LinkModel> TaskLinks::To(const std::string& task, Deadline end) {
  {
    MutexLock lock(mutex_);
    const auto found = kept_.find(task);
    if (found != kept_.end() && clock_.Now() < found->second.until) return found->second.link;
  }
  const std::vector<std::string> known = peers_.Others();
  if (std::ranges::count(known, task) == 0) return std::nullopt;
  // Of many tasks the last may have to wait for the next session that asks.
  if (end.Remaining(clock_).count() == 0) return std::nullopt;
  const Result<LinkModel> measured = Measure(task, end);
  const std::optional<LinkModel> link =
      measured.ok() ? std::optional<LinkModel>(*measured) : std::nullopt;
  MutexLock lock(mutex_);
  kept_[task] = {link, clock_.Now() + (link.has_value() ? kFresh : kGivenUp)};
  return link;
}

}  // namespace thalweg
