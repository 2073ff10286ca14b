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
  began_ = recorder.Begin(session, names);
  if (began_.empty()) return;
  recorder_ = &recorder;
  asked_ = *options;
  options->trace = TraceLevel::kFull;
  options->partition_graphs = true;
  options->is_watched = true;
  options->teaches_placement = asked_.trace != TraceLevel::kNone;
  step_.session = session;
  step_.start_wall_micros = recorder.clock_.WallMicros();
  begin_ = recorder.clock_.Now();
}

RecordedRun::~RecordedRun() {
  if (recorder_ != nullptr) recorder_->End(began_, {}, nullptr);
}

bool RecordedRun::IsKeptBy(const RecordRequest& request, const KeptStep& step) const {
  if (!IsTriggered(request)) return true;
  // The end of the data is no failure.
  const bool fails = !step.status.ok() && step.status.code() != Code::kOutOfRange;
  return (request.failing && fails) ||
         (request.slower_than.has_value() && step.nanos > request.slower_than->count());
}

// Less than there is, where the client did not wish all.
void RecordedRun::GiveAsked() {
  if (metadata_ == nullptr) return;
  if (asked_.trace != TraceLevel::kNone) metadata_->step_stats = own_.step_stats;
  if (asked_.partition_graphs) metadata_->partition_graphs = own_.partition_graphs;
  metadata_->memory = own_.memory;
}

// Without graphs where one cannot be written.
std::shared_ptr<const std::string> RecordedRun::Metadata() {
  RunMetadata graphs;
  graphs.partition_graphs.swap(own_.partition_graphs);
  std::string bytes;
  for (RunMetadata* const part : {&own_, &graphs}) {
    const Result<std::string> written = RunMetadataMessage(std::move(*part));
    if (written.ok()) bytes += *written;
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

Status RecordedRun::End(Status status) {
  if (recorder_ == nullptr) return status;
  StepRecorder& recorder = *std::exchange(recorder_, nullptr);
  step_.nanos = (recorder.clock_.Now() - begin_).count();
  step_.status = status;
  step_.id = own_.step_stats.step_id;
  if (status.ok()) GiveAsked();
  StepRecorder::Listeners keep;
  for (const std::shared_ptr<StepRecorder::Listener>& listener : began_) {
    if (IsKeptBy(listener->request, step_)) keep.push_back(listener);
  }
  if (!keep.empty()) {
    step_.silent = own_.step_stats.silent;
    std::ranges::sort(step_.silent);  // a task may have several parts
    step_.silent.erase(std::unique(step_.silent.begin(), step_.silent.end()), step_.silent.end());
    step_.metadata = Metadata();
  }
  recorder.End(began_, keep, &step_);
  return status;
}

}  // namespace thalweg
