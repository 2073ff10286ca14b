// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/supervisor.h"

#include <algorithm>
#include <utility>

#include "thalweg/base/mutex.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kFirstPause = 20ms;
constexpr std::chrono::nanoseconds kLongestPause = 1s;

// A task has gone away or come back without its state, or is not there yet.
bool IsLost(const Status& status) {
  return status.code() == Code::kAborted || status.code() == Code::kUnavailable;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void Wait(Clock& clock, Deadline end) {
  Mutex mutex;
  CondVar nobody_tells;
  MutexLock lock(mutex);
  while (!end.HasPassed(clock)) clock.WaitUntil(mutex, nobody_tells, end.time());
}

}  // namespace

TrainingSupervisor::TrainingSupervisor(MakeSession make_session, Saver* saver,
                                       TrainingSupervisorOptions options)
    : make_session_(std::move(make_session)), saver_(saver), options_(std::move(options)) {}

Status TrainingSupervisor::RunTargets(Session& session,
                                      const std::vector<std::string>& targets) const {
  if (targets.empty()) return OkStatus();
  return session.Run(RunOptions(), {}, {}, targets, nullptr);
}

Result<bool> TrainingSupervisor::IsReady(Session& session) const {
  if (options_.ready.empty()) return true;
  std::vector<Tensor> values;
  RETURN_IF_ERROR(session.Run(RunOptions(), {}, options_.ready, {}, &values));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].dtype() != DType::kBool || values[i].num_elements() != 1) {
      return InvalidArgument("'", options_.ready[i], "' of a TrainingSupervisor must be a bool ",
                             "scalar, got ", values[i].dtype(), " of shape ", values[i].shape());
    }
    if (!*values[i].data<bool>()) return false;
  }
  return true;
}

Result<int64_t> TrainingSupervisor::GlobalStep(Session& session) const {
  std::vector<Tensor> value;
  const std::string fetch[] = {options_.global_step};
  RETURN_IF_ERROR(session.Run(RunOptions(), {}, fetch, {}, &value));
  if (value[0].dtype() != DType::kInt64 || value[0].num_elements() != 1) {
    return InvalidArgument("the global step '", options_.global_step, "' must be an int64 scalar, ",
                           "got ", value[0].dtype(), " of shape ", value[0].shape());
  }
  return *value[0].data<int64_t>();
}

Status TrainingSupervisor::Begin(Session& session) {
  if (options_.is_chief) {
    Result<std::string> newest = NotFound("no checkpoints are kept");
    if (saver_ != nullptr && !options_.path.empty()) {
      newest = LatestCheckpoint(fs_, DirectoryOf(options_.path));
    }
    if (newest.ok()) {
      RETURN_IF_ERROR(saver_->Restore(session, *newest));
    } else if (newest.status().code() == Code::kNotFound) {
      RETURN_IF_ERROR(RunTargets(session, options_.initializers));
    } else {
      return newest.status();
    }
  }
  ASSIGN_OR_RETURN(const bool ready, IsReady(session));
  if (!ready && options_.is_chief) {
    return FailedPrecondition("variables have no value after a chief's restore or initializers");
  }
  if (!ready) return Unavailable("the chief has not initialized the variables yet");
  return RunTargets(session, options_.local);
}

Status TrainingSupervisor::PrepareOnce() {
  ASSIGN_OR_RETURN(std::shared_ptr<Session> session, make_session_());
  if (Status begun = Begin(*session); !begun.ok()) {
    session->Close();
    return begun;
  }
  session_ = std::move(session);
  saved_step_.reset();
  Status saved = SaveWhenDue();  // what training begins with
  if (!saved.ok()) session_ = nullptr;
  return saved;
}

Status TrainingSupervisor::Prepare() {
  const Deadline end = Deadline::After(clock_, options_.patience);
  for (std::chrono::nanoseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    Status prepared = PrepareOnce();
    if (prepared.ok() || !IsLost(prepared)) return prepared;
    if (end.HasPassed(clock_)) {
      return prepared.WithContext("no session was ready in the time that was given");
    }
    Wait(clock_, Deadline::After(clock_, pause).Earlier(end));
  }
}

Status TrainingSupervisor::SaveWhenDue() {
  if (!options_.is_chief || saver_ == nullptr || options_.path.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const int64_t step, GlobalStep(*session_));
  if (saved_step_.has_value() && step - *saved_step_ < options_.save_every_steps) {
    return OkStatus();
  }
  RETURN_IF_ERROR(saver_->Save(*session_, options_.path, step).status());
  saved_step_ = step;
  return OkStatus();
}

Status TrainingSupervisor::Save() {
  if (session_ == nullptr) return FailedPrecondition("nothing has run yet");
  saved_step_.reset();
  return SaveWhenDue();
}

Status TrainingSupervisor::Run(std::span<const Session::NamedTensor> feeds,
                               std::span<const std::string> fetches,
                               std::span<const std::string> targets, std::vector<Tensor>* outputs) {
  const Deadline end = Deadline::After(clock_, options_.patience);
  while (true) {
    if (session_ == nullptr) RETURN_IF_ERROR(Prepare());
    Status ran = session_->Run(RunOptions(), feeds, fetches, targets, outputs);
    if (ran.ok()) ran = SaveWhenDue();
    if (ran.ok() || !IsLost(ran) || end.HasPassed(clock_)) return ran;
    session_->Close();
    session_ = nullptr;
    ++renewals_;
  }
}

}  // namespace thalweg
