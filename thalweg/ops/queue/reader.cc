// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/reader.h"

#include <utility>

#include "thalweg/base/spin.h"
#include "thalweg/proto/wire_fields.h"

namespace thalweg {
namespace {

// The fields of a ReaderBaseState message.
constexpr uint32_t kStartedField = 1, kFinishedField = 2, kProducedField = 3, kWorkField = 4;

}  // namespace

bool Reader::TryTakeTurn() {
  // Mostly the other call reads a record of the buffer: to wait in line costs far more than that.
  Spinner spinner(std::chrono::nanoseconds(0));
  for (bool again = true;; again = spinner.Spin()) {
    TurnState found = TurnState::kFree;
    if (turn_.compare_exchange_strong(found, TurnState::kTaken, std::memory_order_acquire)) {
      return true;
    }
    // Tried once more behind the spin, which ends by giving the other call the processor.
    if (found != TurnState::kTaken || !again) return false;
  }
}

bool Reader::TakeFreeTurn() {
  TurnState found = TurnState::kFree;
  return turn_.compare_exchange_strong(found, TurnState::kTaken, std::memory_order_acquire);
}

void Reader::GiveTurn() {
  TurnState found = TurnState::kTaken;
  if (turn_.compare_exchange_strong(found, TurnState::kFree, std::memory_order_release)) return;
  Ended ended;
  {
    MutexLock lock(mutex_);
    // Not free in between: a call that comes now does not pass those that wait.
    turn_.store(IsEmpty(0) ? TurnState::kFree : TurnState::kGiven, std::memory_order_release);
    AdvanceAll(&ended);
  }
  End(std::move(ended));
}

WaiterQueues::Progress Reader::Advance(Waiter&) {
  const TurnState before = turn_.exchange(TurnState::kAwaited, std::memory_order_acq_rel);
  const bool has_turn = before == TurnState::kFree || before == TurnState::kGiven;
  return has_turn ? Progress::kEnded : Progress::kNone;
}

Status Reader::Begin(const std::string& work) {
  ++counts_.started;
  work_ = work;
  RETURN_IF_ERROR(source_->Begin(work));
  has_work_ = true;
  return OkStatus();
}

void Reader::EndWork() {
  has_work_ = false;
  counts_.finished = counts_.started.load();
}

Result<std::optional<std::string>> Reader::Next(const RecordSource::RoomFn& make_room) {
  if (back_) {
    RETURN_IF_ERROR(make_room(back_->size()));
    return std::exchange(back_, std::nullopt);
  }
  if (!has_work_) {
    work_.clear();  // a state names the last work until the next is asked for
    return std::optional<std::string>();
  }
  Result<std::optional<std::string>> record = source_->Next(make_room);
  if (!record.ok()) return record;
  if (*record) ++counts_.produced;
  if (!*record || source_->is_one_record()) EndWork();
  return record;
}

void Reader::SetCounts(int64_t started, int64_t finished, int64_t produced) {
  counts_.started = started;
  counts_.finished = finished;
  counts_.produced = produced;
}

void Reader::Reset() {
  has_work_ = false;
  work_.clear();
  back_.reset();
  SetCounts(0, 0, 0);
}

Result<std::string> Reader::State() const {
  if (!source_->is_one_record()) {
    return Unimplemented("Reader SerializeState: ", DebugString(),
                         " may be within a file, which no state can say");
  }
  std::string state;
  for (const auto& [field, count] : {std::pair(kStartedField, counts_.started.load()),
                                     std::pair(kFinishedField, counts_.finished.load()),
                                     std::pair(kProducedField, counts_.produced.load())}) {
    AddWireNumber(field, static_cast<uint64_t>(count), &state);
  }
  if (!work_.empty()) AddWireText(kWorkField, work_, &state);
  return state;
}

Status Reader::Restore(std::string_view state) {
  if (!source_->is_one_record()) {
    return Unimplemented("Reader RestoreState: ", DebugString(),
                         " may have been within a file, which no state can say");
  }
  uint64_t numbers[4] = {};
  std::string_view work;
  WireReader reader(state);
  uint32_t tag;
  bool read = true;  // bytes that end with a tag are at their end as well
  while (read && reader.ReadTag(&tag)) {
    const uint32_t field = WireFieldNumber(tag);
    if (field <= kProducedField && WireTypeOf(tag) == WireType::kVarint) {
      read = reader.ReadVarint(&numbers[field]);
    } else if (field == kWorkField && WireTypeOf(tag) == WireType::kLengthDelimited) {
      read = reader.ReadBytes(&work);
    } else {
      read = reader.Skip(tag);
    }
  }
  const uint64_t started = numbers[kStartedField], finished = numbers[kFinishedField];
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (!read || !reader.AtEnd() || started > kMost || numbers[kProducedField] > kMost) {
    return InvalidArgument("Could not parse state for ", DebugString(), ": ", state.size(),
                           " bytes that are no state of a reader");
  }
  if (started != finished) {
    return InvalidArgument("Inconsistent work started vs. finished when restoring in ",
                           DebugString(), ": ", started, " and ", finished);
  }
  Reset();
  work_ = work;
  SetCounts(static_cast<int64_t>(started), static_cast<int64_t>(finished),
            static_cast<int64_t>(numbers[kProducedField]));
  return OkStatus();
}

}  // namespace thalweg
