// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/step.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "thalweg/base/first_error.h"
#include "thalweg/executor/frames.h"
#include "thalweg/executor/node_error.h"

namespace thalweg {
namespace {

void Sweep(Tensor* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!values[i].empty()) Clear(values[i]);
  }
}

}  // namespace

StepState::StepState(const Plan& plan) : plan_(plan) {
  root_.code = &plan.frames[0];
  MakeBlock(&root_);
  free_frames_.resize(plan.frames.size());
  scratch_.registers = std::make_unique<Tensor[]>(plan.max_registers);
}

StepState::~StepState() = default;

void StepState::MakeBlock(Iteration* iteration) {
  const FrameCode& code = *iteration->code;
  size_t bytes = 0;
  const auto place = [&](size_t size, size_t count) {
    const size_t at = bytes;
    bytes += (size * count + 15) / 16 * 16;
    return at;
  };
  const size_t slots = place(sizeof(Tensor), code.num_slots);
  const size_t async = place(sizeof(AsyncState), code.num_async);
  const size_t pending = place(sizeof(uint32_t), code.units.size());
  const size_t readers = place(sizeof(uint32_t), code.num_slots);
  const size_t merges = place(sizeof(uint32_t), code.merges.size());
  const size_t sent = place(1, code.nexts.size());
  // Value-initialized: a Tensor of zeros is empty.
  iteration->block = std::make_unique<std::byte[]>(bytes);
  std::byte* base = iteration->block.get();
  static_assert(alignof(AsyncState) <= 16 && alignof(Tensor) <= 16);
  iteration->bases[kSlots] = reinterpret_cast<Tensor*>(base + slots);
  std::uninitialized_default_construct_n(iteration->slots(), code.num_slots);
  // Kernels get constants and feeds as inputs only, never to write.
  iteration->bases[kConstants] = const_cast<Tensor*>(plan_.constants.data());
  iteration->async = reinterpret_cast<AsyncState*>(base + async);
  std::uninitialized_default_construct_n(iteration->async, code.num_async);
  iteration->pending = reinterpret_cast<uint32_t*>(base + pending);
  iteration->readers = reinterpret_cast<uint32_t*>(base + readers);
  iteration->merges = reinterpret_cast<uint32_t*>(base + merges);
  iteration->next_sent = reinterpret_cast<uint8_t*>(base + sent);
}

void StepState::ResetCounters(Iteration* iteration, bool first) {
  const FrameCode& code = *iteration->code;
  const auto copy = [](uint32_t* to, const std::vector<uint32_t>& from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(uint32_t));
  };
  copy(iteration->pending, code.pending);
  copy(iteration->readers, code.readers);
  copy(iteration->merges, first ? code.first_arrivals : code.later_arrivals);
  std::fill_n(iteration->next_sent, code.nexts.size(), uint8_t{0});
  iteration->next.store(nullptr, std::memory_order_relaxed);
  iteration->outstanding.store(1, std::memory_order_relaxed);
}

void StepState::Begin(const Executor::Step* args) {
  args_ = args;
  cancellation_ = args->contexts[0]->cancellation;
  root_.tag = args->tag;
  root_.bases[kInvariants] = const_cast<Tensor*>(args->feeds.data());
  ResetCounters(&root_, true);
  help_ = nullptr;
  next_thread_.store(1, std::memory_order_relaxed);
  references_.store(1, std::memory_order_relaxed);
  if (args->tasks != nullptr) args->tasks->Bind(&tasks_);
}

void StepState::BeginAsync(const Executor::Step& args, std::function<void(Status)> done) {
  own_args_ = args;
  done_ = std::move(done);
  Begin(&own_args_);
  has_caller_.store(false, std::memory_order_relaxed);
  queue_.OnPush([](void* step) { static_cast<StepState*>(step)->AskForHelp(); }, this);
}

std::function<void(Status)> StepState::TakeDone() {
  if (has_caller_.load(std::memory_order_relaxed) || !queue_.finished() ||
      has_caller_.exchange(true, std::memory_order_acq_rel)) {
    return nullptr;
  }
  return std::move(done_);
}

void StepState::Fail(Status status) {
  // A kernel that gave up because the step was cancelled ends it for the same reason.
  if (status.code() == Code::kCancelled && cancellation_->IsCancelled()) {
    status = cancellation_->Reason();
  }
  {
    MutexLock lock(mutex_);
    if (!KeepFirstError(status, &error_)) return;
    failed_.store(true, std::memory_order_release);
  }
  args_->contexts[0]->cancellation->Cancel(std::move(status));
}

Status StepState::End() {
  Status status;
  if (help_ != nullptr) queue_.AwaitFinisher();
  // Parts of loops that others have ended meanwhile.
  Activation no_unit;
  Ended no_kernel;
  for (Task task; queue_.Pop(&no_unit, &no_kernel, &task) == ReadyQueue::Found::kTask;)
    task.run(task.object, task.argument);
  queue_.Reset();
  queue_.OnPush(nullptr, nullptr);
  if (failed_.load(std::memory_order_acquire)) {
    MutexLock lock(mutex_);
    status = std::exchange(error_, OkStatus());
    failed_.store(false, std::memory_order_relaxed);
  }
  if (skipped_.load(std::memory_order_relaxed)) {
    skipped_.store(false, std::memory_order_relaxed);
    KeepFirstError(cancellation_->Reason(), &status);
  }
  if (held_.wanted()) [[unlikely]] {
    held_.AddSlots(plan_, 0, root_.slots());
    status = held_.Explain(status, plan_.program, args_->contexts[0]->resources);
  }
  for (size_t f = 0; f < plan_.fetches.size() && status.ok(); ++f) {
    const FetchCode& fetch = plan_.fetches[f];
    const Operand operand{fetch.operand};
    Tensor value;
    if (fetch.from_slot) {
      Tensor& slot = root_.slots()[operand.index()];
      value = fetch.last ? std::move(slot) : slot;
    } else {
      value = operand.base() == kConstants ? plan_.constants[operand.index()]
                                           : args_->feeds[operand.index()];
    }
    if (value.empty()) {
      status = DeadFetchError(plan_.program, plan_.program.fetches[f]);
    } else if (plan_.program.fetches[f].read_reference) {
      Result<Tensor> read = ReadReference(value);
      status = read.status();
      if (read.ok()) value = *std::move(read);
    }
    args_->fetches[f] = std::move(value);
  }
  Sweep(root_);
  args_ = nullptr;
  return status;
}

Iteration* StepState::NewIteration(FrameRun& frame) {
  std::unique_ptr<Iteration> iteration;
  if (!frame.free.empty()) {
    iteration = std::move(frame.free.back());
    frame.free.pop_back();
  } else {
    iteration = std::make_unique<Iteration>();
    iteration->code = frame.code;
    iteration->frame_number = frame.number;
    MakeBlock(iteration.get());
  }
  ResetCounters(iteration.get(), frame.started == 0);
  iteration->frame = &frame;
  iteration->bases[kInvariants] = frame.invariants.data();
  iteration->tag = frame.tag + (frame.started++ & 0xffffffffu);
  if (frame.has_dead_invariant) {
    // Before anybody can signal: the mark must be there when the last signal comes.
    for (size_t i = 0; i < frame.invariants.size(); ++i) {
      if (!frame.invariants[i].empty()) continue;
      for (const uint32_t unit : frame.code->invariant_units[i]) {
        iteration->pending[unit] |= kDeadMark;
      }
    }
  }
  ++frame.live;
  frame.newest = iteration.get();
  return iteration.release();
}

void StepState::Sweep(Iteration& iteration) {
  thalweg::Sweep(iteration.slots(), iteration.code->num_slots);
}

FrameRun* StepState::NewFrame(uint32_t number, Iteration* parent) {
  std::unique_ptr<FrameRun> frame;
  {
    MutexLock lock(mutex_);
    auto& free = free_frames_[number];
    if (!free.empty()) {
      frame = std::move(free.back());
      free.pop_back();
    }
  }
  if (frame == nullptr) {
    frame = std::make_unique<FrameRun>();
    frame->code = &plan_.frames[number];
    frame->number = number;
    frame->invariants.resize(frame->code->num_invariants);
    frame->exit_sent = std::vector<std::atomic<uint8_t>>(frame->code->exits.size());
  }
  frame->parent = parent;
  frame->tag = FrameTag(parent->tag, frame->code->name);
  if (args_->frames != nullptr) args_->frames->OnFrame(frame->tag, parent->tag, frame->code->name);
  frame->has_dead_invariant = false;
  for (auto& sent : frame->exit_sent) sent.store(0, std::memory_order_relaxed);
  MutexLock lock(frame->mutex);
  frame->started = 0;
  frame->live = 0;
  frame->newest = nullptr;
  return frame.release();
}

void StepState::Recycle(FrameRun* frame) {
  thalweg::Sweep(frame->invariants.data(), frame->code->num_invariants);
  MutexLock lock(mutex_);
  free_frames_[frame->number].emplace_back(frame);
}

std::unique_ptr<Scratch> StepState::TakeScratch() {
  {
    MutexLock lock(mutex_);
    if (!free_scratch_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(free_scratch_.back());
      free_scratch_.pop_back();
      return scratch;
    }
  }
  auto scratch = std::make_unique<Scratch>();
  scratch->registers = std::make_unique<Tensor[]>(plan_.max_registers);
  return scratch;
}

void StepState::GiveScratch(std::unique_ptr<Scratch> scratch) {
  MutexLock lock(mutex_);
  free_scratch_.push_back(std::move(scratch));
}

void StepState::Open(HelpFunction help, int most, std::shared_ptr<void> keep_alive) {
  help_ = help;
  most_helpers_ = most;
  keep_alive_ = std::move(keep_alive);
}

bool StepState::TryAddHelper() {
  // A read-modify-write, so that either a leaving helper sees what was pushed or this sees that it
  // has left.
  int helpers = helpers_.fetch_add(0, std::memory_order_acq_rel);
  while (helpers < most_helpers_) {
    if (helpers_.compare_exchange_weak(helpers, helpers + 1, std::memory_order_acq_rel))
      return true;
  }
  return false;
}

void StepState::AskForHelp(bool first) {
  if (help_ == nullptr || !TryAddHelper()) return;
  references_.fetch_add(1, std::memory_order_relaxed);
  args_->queue->Schedule(Task{help_, this, first ? uint64_t{1} : uint64_t{0}});
}

bool StepState::LeaveHelp() {
  helpers_.fetch_sub(1, std::memory_order_acq_rel);
  return queue_.MayHaveWork() && TryAddHelper();
}

void StepState::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The plan may end with this function, and the step with its home.
  const std::shared_ptr<void> keep_alive = std::move(keep_alive_);
  const std::unique_ptr<StepState> replaced(home_->exchange(this, std::memory_order_acq_rel));
}

void StepState::Schedule(Task task) {
  // One task for an idle caller. Should it find other work first, the task is taken later.
  if (caller_idle_.load(std::memory_order_relaxed) &&
      caller_idle_.exchange(false, std::memory_order_relaxed)) {
    queue_.PushTask(task);
  } else {
    args_->queue->Schedule(task);
  }
}

void StepState::Tasks::Schedule(Task task) {
  // Before the push, as in OnDone().
  if (!step_.caller_idle_.load(std::memory_order_relaxed)) step_.AskForHelp();
  step_.queue_.PushTask(task);
}

void StepState::OnDone(uint64_t token, Status status) {
  // Before the push: behind it the step may be over. Where there is no caller the push itself asks.
  if (!caller_idle_.load(std::memory_order_relaxed)) AskForHelp();
  queue_.PushEnded(reinterpret_cast<AsyncState*>(token), std::move(status));
}

}  // namespace thalweg
