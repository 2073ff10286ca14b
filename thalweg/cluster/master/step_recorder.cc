// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/master/step_recorder.h"

#include <algorithm>
#include <utility>

#include "thalweg/session/run_metadata_message.h"

namespace thalweg {
namespace {

constexpr size_t kMostListeners = 16;
// Traced at once beside those that are still wanted: steps that hang are no reason to miss others.
constexpr int64_t kMostOpen = 16;

// "x" of "x:0" and "^x".
std::string_view NodeOf(std::string_view name) {
  if (name.starts_with('^')) name.remove_prefix(1);
  return name.substr(0, name.rfind(':'));
}

bool Names(std::span<const std::string> names, std::string_view node) {
  return std::ranges::any_of(names, [&](const std::string& name) { return NodeOf(name) == node; });
}

bool Concerns(const RecordRequest& request, std::string_view session, const StepNames& names) {
  if (!request.session.empty() && request.session != session) return false;
  if (request.node.empty()) return true;
  const std::string_view node = NodeOf(request.node);
  return Names(names.fetches, node) || Names(names.targets, node);
}

bool IsTriggered(const RecordRequest& request) {
  return request.slower_than.has_value() || request.failing;
}

bool IsKeptBy(const RecordRequest& request, const KeptStep& step) {
  if (!IsTriggered(request)) return true;
  // The end of the data is no failure.
  const bool fails = !step.status.ok() && step.status.code() != Code::kOutOfRange;
  return (request.failing && fails) ||
         (request.slower_than.has_value() && step.nanos > request.slower_than->count());
}

// Without graphs where one cannot be written.
std::shared_ptr<const std::string> BytesOf(RunMetadata metadata) {
  RunMetadata graphs;
  graphs.partition_graphs.swap(metadata.partition_graphs);
  std::string bytes;
  for (RunMetadata* const part : {&metadata, &graphs}) {
    const Result<std::string> written = RunMetadataMessage(std::move(*part));
    if (written.ok()) bytes += *written;
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

Result<Recording> StepRecorder::Record(const RecordRequest& request, CancellationManager* caller) {
  RETURN_IF_ERROR(request.Validate());
  const auto listener = std::make_shared<Listener>(Listener{.request = request});
  const Clock::TimePoint end = clock_.Now() + request.timeout;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(stopped_);
    if (listeners_.size() >= kMostListeners) {
      return ResourceExhausted(kMostListeners,
                               " others record steps of this server already, which is the most");
    }
    listeners_.push_back(listener);
    armed_.store(true, std::memory_order_relaxed);
  }
  const ScopedCancellation gone(caller, [this](const Status&) {
    MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  MutexLock lock(mutex_);
  const auto has_left = [caller] { return caller != nullptr && caller->IsCancelled(); };
  while (!listener->is_over() && stopped_.ok() && !has_left() && clock_.Now() < end) {
    clock_.WaitUntil(mutex_, changed_, end);
  }
  std::erase(listeners_, listener);
  armed_.store(!listeners_.empty(), std::memory_order_relaxed);
  if (has_left()) return caller->Reason();
  if (listener->recording.steps.empty()) RETURN_IF_ERROR(stopped_);
  if (!listener->is_over() && !stopped_.ok()) listener->recording.ended_by = stopped_.message();
  return std::move(listener->recording);
}

bool StepRecorder::End(uint64_t id, std::string_view why) {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(
      listeners_, [id](const auto& listener) { return id != 0 && listener->request.id == id; });
  if (found == listeners_.end()) return false;
  if (!(*found)->is_over()) (*found)->recording.ended_by = why;
  changed_.NotifyAll();
  return true;
}

void StepRecorder::Stop(const Status& why) {
  MutexLock lock(mutex_);
  if (stopped_.ok()) stopped_ = why;
  changed_.NotifyAll();
}

StepRecorder::Listeners StepRecorder::Begin(std::string_view session, const StepNames& names) {
  Listeners began;
  MutexLock lock(mutex_);
  for (const std::shared_ptr<Listener>& listener : listeners_) {
    const RecordRequest& request = listener->request;
    if (listener->is_over() || !Concerns(request, session, names)) continue;
    const int64_t left = request.steps - static_cast<int64_t>(listener->recording.steps.size());
    if (!IsTriggered(request) && listener->recording.open >= std::max(left, kMostOpen)) continue;
    ++listener->recording.seen;
    ++listener->recording.open;
    began.push_back(listener);
  }
  return began;
}

void StepRecorder::End(const Listeners& began, const Listeners& keep, const KeptStep* step) {
  MutexLock lock(mutex_);
  for (const std::shared_ptr<Listener>& listener : began) --listener->recording.open;
  for (const std::shared_ptr<Listener>& listener : keep) {
    if (listener->is_over()) continue;
    const auto bytes = static_cast<int64_t>(step->metadata->size());
    if (listener->bytes + bytes > listener->request.max_bytes) {
      listener->recording.too_large_bytes = bytes;
      listener->is_full = true;
    } else {
      listener->bytes += bytes;
      listener->recording.steps.push_back(*step);
    }
  }
  changed_.NotifyAll();
}

void RecordedRun::Begin(StepRecorder& recorder, std::string_view session, const StepNames& names,
                        RunOptions* options) {
  StepRecorder::Listeners listeners = recorder.Begin(session, names);
  if (listeners.empty()) return;
  traced_ = std::make_unique<Traced>(Traced{
      .recorder = recorder,
      .listeners = std::move(listeners),
      .options = *options,
      .step = {.session = std::string(session), .start_wall_micros = recorder.clock_.WallMicros()},
      .begin = recorder.clock_.Now()});
  options->teaches_placement = options->trace != TraceLevel::kNone;
  options->trace = TraceLevel::kFull;
  options->partition_graphs = true;
  options->is_watched = true;
}

RecordedRun::~RecordedRun() {
  if (traced_ != nullptr) traced_->recorder.End(traced_->listeners, {}, nullptr);
}

// Less than there is, where the client did not wish all.
void RecordedRun::GiveAsked() {
  if (asked_ == nullptr) return;
  const RunMetadata& all = traced_->metadata;
  if (traced_->options.trace != TraceLevel::kNone) asked_->step_stats = all.step_stats;
  if (traced_->options.partition_graphs) asked_->partition_graphs = all.partition_graphs;
  asked_->memory = all.memory;
}

Status RecordedRun::End(Status status) {
  if (traced_ == nullptr) return status;
  traced_->step.nanos = (traced_->recorder.clock_.Now() - traced_->begin).count();
  if (status.ok()) GiveAsked();
  const std::unique_ptr<Traced> traced = std::move(traced_);
  KeptStep& step = traced->step;
  step.status = status;
  step.id = traced->metadata.step_stats.step_id;
  StepRecorder::Listeners keep;
  for (const std::shared_ptr<StepRecorder::Listener>& listener : traced->listeners) {
    if (IsKeptBy(listener->request, step)) keep.push_back(listener);
  }
  if (!keep.empty()) {
    step.silent = traced->metadata.step_stats.silent;
    std::ranges::sort(step.silent);  // a task may have several parts
    step.silent.erase(std::unique(step.silent.begin(), step.silent.end()), step.silent.end());
    step.metadata = BytesOf(std::move(traced->metadata));
  }
  traced->recorder.End(traced->listeners, keep, &step);
  return status;
}

}  // namespace thalweg
