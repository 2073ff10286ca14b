// SPDX-License-Identifier: Apache-2.0
// Reader: a source of records that gets the names of its work, files as a rule, from a queue. One
// call at a time has its turn; the others wait in line, without holding a thread.
//
//   if (!reader->TryTakeTurn()) reader->Join(std::make_unique<Reader::Turn>(ctx, std::move(done)));
//   ASSIGN_OR_RETURN(auto value, reader->Next(make_room));  // nothing: it needs work
//   const std::string key = reader->Key();
//   RETURN_IF_ERROR(reader->Begin("a.txt"));
//   reader->GiveTurn();
//
// Ownership: shared by the container and who waits; owns its source and file system.
// Threads: counts from any; Begin, Next, Reset and the state are for who has the turn.
// Errors: those of the source. A record that cannot be read stays the next one.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/io/record_source.h"
#include "thalweg/kernel/contained.h"
#include "thalweg/resources/waiter_queues.h"

namespace thalweg {

class Reader : public WaiterQueues, public Contained {
 public:
  // kind: "TextLineReader". The source may use the file system that it was made with.
  Reader(std::string kind, std::string name, std::unique_ptr<FileSystem> fs,
         std::unique_ptr<RecordSource> source)
      : WaiterQueues({Order::kFirst}),
        kind_(std::move(kind)),
        name_(std::move(name)),
        fs_(std::move(fs)),
        source_(std::move(source)) {}

  struct Turn : Waiter {
    Turn(Context& c, Done d) : Waiter(0, c, std::move(d)) {}
  };
  // False: another call has it, and a record takes longer than a short spin, or calls wait.
  bool TryTakeTurn();
  // False: another call has it, or calls wait.
  bool TakeFreeTurn();
  void GiveTurn() EXCLUDES(mutex_);

  const std::string& kind() const { return kind_; }
  std::string DebugString() const override { return StrCat(kind_, " '", name_, "'"); }
  int64_t produced() const { return counts_.produced; }
  int64_t finished() const { return counts_.finished; }

  // With the turn.
  bool has_work() const { return has_work_ || back_.has_value(); }
  Status Begin(const std::string& work);
  // The value of a record; nothing when the work is done, or there is none.
  Result<std::optional<std::string>> Next(const RecordSource::RoomFn& make_room);
  // Of the record that Next gave last.
  std::string Key() const { return source_->Key(); }
  // The value that Next gave last is what it gives next. The record counts as produced meanwhile,
  // as it does while a call has it.
  void PutBack(std::string value) { back_ = std::move(value); }
  void Reset();
  // A ReaderBaseState message. Unimplemented for readers that are within a file.
  Result<std::string> State() const;
  Status Restore(std::string_view state);

 private:
  // Whose turn it is. Without waiters a turn is taken and given without the lock.
  enum class TurnState : uint8_t {
    kFree,
    kTaken,    // nobody waits
    kAwaited,  // taken, and there may be waiters
    kGiven,    // to the first waiter, by who holds the lock
  };
  // Changed by who has the turn alone.
  struct Counts {
    std::atomic<int64_t> started{0};
    std::atomic<int64_t> finished{0};
    std::atomic<int64_t> produced{0};
  };
  Progress Advance(Waiter& waiter) override REQUIRES(mutex_);
  void EndWork();
  void SetCounts(int64_t started, int64_t finished, int64_t produced);

  const std::string kind_;
  const std::string name_;
  const std::unique_ptr<FileSystem> fs_;
  const std::unique_ptr<RecordSource> source_;
  bool has_work_ = false;
  std::string work_;
  std::optional<std::string> back_;
  // From kAwaited on it changes under the lock only.
  std::atomic<TurnState> turn_{TurnState::kFree};
  Counts counts_;
};

}  // namespace thalweg
