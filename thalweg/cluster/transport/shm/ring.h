// SPDX-License-Identifier: Apache-2.0
// A ring of records in shared memory, one way: one process writes, the other reads.
//
//   ASSIGN_OR_RETURN(const bool written, ring.Write(head, payload));
//   if (written && ring.TakeParked() != Ring::kReads) Wake();              // the other process
//   ASSIGN_OR_RETURN(const bool read, ring.Read(&record));
//   if (read && ring.TakeWriterWaits()) Wake();                            // likewise
//
// A record is published by one store, so a writer that is killed half-way leaves nothing visible.
// The reader copies it out before it looks at it: the writer might change it meanwhile.
// Ownership: the memory outlives it.
// Threads: one of each side at a time; ParkReader and Empty from any.
// Errors: DataLoss where the other side wrote a position or a length that cannot be.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/futex.h"

namespace thalweg {

struct alignas(64) RingHeader {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_parked;
  std::atomic<uint32_t> writer_waits;
  // A wake-up is on its way to the reader of this ring's records, which takes the mark before it
  // looks: one is enough however often it is woken, and they never fill the socket.
  std::atomic<uint32_t> wake_on_way;
};

class Ring {
 public:
  static constexpr size_t kDataBytes = size_t{256} << 10;
  static constexpr size_t kBytes = sizeof(RingHeader) + kDataBytes;

  // `memory`: kBytes, zero at first.
  explicit Ring(char* memory)
      : header_(reinterpret_cast<RingHeader*>(memory)), data_(memory + sizeof(RingHeader)) {}

  // False where it is full: then WriterWaits is set, and the reader will say when to try again.
  // `room_left`: bytes that must stay free for other records.
  Result<bool> Write(std::string_view head, std::string_view payload, size_t room_left = 0);
  // How the reader sleeps; kReads once it was told so.
  enum Reader : uint32_t { kReads = 0, kWaitsForSocket = 1, kSleepsOnWord = 2 };
  uint32_t TakeParked() {
    return header_->reader_parked.load() == kReads ? kReads : header_->reader_parked.exchange(0);
  }
  void WakeReader() { WakeSharedWord(header_->reader_parked); }

  // One record into `record` (its capacity stays); false where none is there.
  Result<bool> Read(std::string* record);
  bool TakeWriterWaits() {
    return header_->writer_waits.load() != 0 && header_->writer_waits.exchange(0) != 0;
  }
  // For the side that writes, of wake-ups to the one that reads: true where none is on its way yet.
  bool MarkWake() { return header_->wake_on_way.exchange(1) == 0; }
  // For the side that reads: before it looks at anything it may have been woken for.
  void TakeWake() { header_->wake_on_way.exchange(0); }
  void ParkReader(Reader how) { header_->reader_parked.store(how); }
  FutexWord parked_word() const { return {&header_->reader_parked, kSleepsOnWord}; }
  void UnparkReader() { header_->reader_parked.store(0); }
  bool Empty() const { return header_->written.load() == position_.load(); }

 private:
  void CopyIn(uint64_t position, std::string_view bytes);
  void CopyOut(uint64_t position, char* to, size_t bytes) const;

  RingHeader* const header_;
  char* const data_;
  // This side's own position, which the other side cannot change.
  std::atomic<uint64_t> position_{0};
};

}  // namespace thalweg
