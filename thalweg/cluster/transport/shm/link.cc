// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/link.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace thalweg {
namespace {

constexpr size_t kMaxQueued = size_t{64} << 20;

}  // namespace

ShmLink::ShmLink(std::shared_ptr<ShmArena> arena, Door socket, SharedMemory rings, bool initiator)
    : door(std::move(socket)),
      in(rings.data() + (initiator ? Ring::kBytes : 0)),
      arena_(std::move(arena)),
      rings_(std::move(rings)),
      out_(rings_.data() + (initiator ? 0 : Ring::kBytes)),
      listening_(arena_->AddListener([this](uint64_t piece) { Forget(piece); })) {}

ShmLink::~ShmLink() {
  arena_->RemoveListener(listening_);
  shutdown(door.fd(), SHUT_WR);
}

// The arena has given it up, so nothing in it is lent.
void ShmLink::Forget(uint64_t piece) {
  MutexLock lock(mutex_);
  if (told_.erase(piece) == 0) return;
  door.Send({.kind = DoorKind::kForget, .id = piece}).IgnoreError();  // or the end of the channel
}

void ShmLink::Send(std::string_view head, std::string_view payload) {
  MutexLock lock(mutex_);
  Write(head, payload);
}

void ShmLink::Write(std::string_view head, std::string_view payload) {
  if (closed_.load(std::memory_order_relaxed)) return;
  Result<bool> written = false;
  if (queued_.empty()) written = out_.Write(head, payload);
  if (!written.ok()) return Fail(std::move(written).status());
  if (!*written) {
    queued_.push_back(std::string(head).append(payload));
    queued_bytes_ += queued_.back().size();
    if (queued_bytes_ > kMaxQueued) {
      return Fail(ResourceExhausted("the other task does not read: ", queued_bytes_,
                                    " bytes of control messages wait for it"));
    }
  }
  WakeReader();
}

void ShmLink::WakeReader() {
  switch (out_.TakeParked()) {
    case Ring::kReads:
      return;
    case Ring::kSleepsOnWord:
      return out_.WakeReader();
    default:
      return Wake();
  }
}

void ShmLink::Wake() {
  if (out_.MarkWake()) door.Send({}).IgnoreError();  // who has gone needs no waking
}

void ShmLink::Fail(Status why) {
  why_ = std::move(why);
  closed_.store(true);
  door.Send({.kind = DoorKind::kBye}).IgnoreError();
  bell.Ring();
}

void ShmLink::Flush() {
  MutexLock lock(mutex_);
  while (!queued_.empty()) {
    const Result<bool> written = out_.Write(queued_.front(), {});
    if (!written.ok() || !*written) break;
    queued_bytes_ -= queued_.front().size();
    queued_.pop_front();
  }
  WakeReader();
}

void ShmLink::WakeWriter() {
  if (!in.TakeWriterWaits()) return;
  MutexLock lock(mutex_);
  Wake();
}

void ShmLink::HandleWakes() {
  in.TakeWake();
  Flush();
  bell.Ring();
}

void ShmLink::PushShared(const TensorHead& head, Tensor bytes) {
  {
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    if (!waiting_.empty()) {  // behind the others
      waiting_.push_back({head, std::move(bytes)});
      return;
    }
  }
  const Result<bool> placed = Place(head, bytes);
  if (!placed.ok()) return Close(placed.status());
  if (*placed) return;
  const Status no_room = AllocationError(*arena_, bytes.bytes());
  {
    MutexLock lock(mutex_);
    waiting_.push_back({head, std::move(bytes)});
  }
  PlaceWaiting();  // what the other side let go of meanwhile
  {
    MutexLock lock(mutex_);
    if (waiting_.empty() || !loans_.empty()) return;
  }
  Close(no_room.WithContext("shared memory for a tensor"));
}

// False when the arena has no room.
Result<bool> ShmLink::Place(const TensorHead& head, Tensor bytes) {
  std::optional<ShmArena::Place> place = arena_->Find(bytes.raw_data(), bytes.bytes());
  if (!place.has_value() || place->offset % kTensorAlignment != 0) {
    Result<Tensor> copy = Tensor::Allocate(*arena_, bytes.dtype(), bytes.shape());
    if (!copy.ok()) return false;
    std::memcpy(copy->mutable_raw_data(), bytes.raw_data(), bytes.bytes());
    bytes = *std::move(copy);
    place = arena_->Find(bytes.raw_data(), bytes.bytes());
  }
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(Lend(head, std::move(bytes), *place));
  return true;
}

Status ShmLink::Lend(const TensorHead& head, Tensor bytes, const ShmArena::Place& place) {
  if (closed_.load(std::memory_order_relaxed)) return OkStatus();
  const ShmArena::Piece& piece = *place.piece;
  if (!told_.contains(piece.id)) {
    RETURN_IF_ERROR(
        door.Send({.kind = DoorKind::kPiece, .id = piece.id, .bytes = piece.memory.bytes()},
                  piece.memory.fd()));
    told_[piece.id] = place.piece;
  }
  // What is kept elsewhere, in a variable or by a client, must not take all there is.
  const AllocatorStats stats = arena_->Stats();
  const bool hasty = stats.bytes_in_use > stats.limit / 2;
  const uint64_t loan = next_loan_++ | (hasty ? SharedPlace::kHasty : 0);
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n =
      EncodeHead(RecordKind::kShared, head, bytes.bytes(),
                 {.piece = piece.id, .offset = place.offset, .loan = loan}, buffer.data());
  loans_[loan] = std::move(bytes);
  Write({buffer.data(), n}, {});
  return OkStatus();
}

Status ShmLink::TakeBack(std::span<const uint64_t> loans) {
  std::vector<Tensor> dropped;
  {
    MutexLock lock(mutex_);
    for (uint64_t loan : loans) {
      const auto it = loans_.find(loan);
      if (it == loans_.end()) return DataLoss("loan ", loan, " was not made or is over");
      dropped.push_back(std::move(it->second));
      loans_.erase(it);
    }
  }
  dropped.clear();
  PlaceWaiting();
  return OkStatus();
}

void ShmLink::PlaceWaiting() {
  MutexLock placing(placing_);
  while (true) {
    Waiting next;
    {
      MutexLock lock(mutex_);
      if (waiting_.empty() || closed_.load(std::memory_order_relaxed)) return;
      next = waiting_.front();
    }
    const Result<bool> placed = Place(next.head, next.bytes);
    if (!placed.ok()) return Close(placed.status());
    if (!*placed) return;
    MutexLock lock(mutex_);
    if (!waiting_.empty()) waiting_.pop_front();
  }
}

void ShmLink::Close(Status why) {
  std::deque<Waiting> dropped;
  {
    MutexLock lock(mutex_);
    dropped.swap(waiting_);
    if (closed_.load(std::memory_order_relaxed)) return;
    Write(EncodeClose(why), {});
    why_ = std::move(why);
    closed_.store(true);
  }
  door.Send({.kind = DoorKind::kBye}).IgnoreError();
}

std::vector<Tensor> ShmLink::TakeLoans() {
  std::vector<Tensor> taken;
  MutexLock lock(mutex_);
  for (auto& [loan, tensor] : loans_) taken.push_back(std::move(tensor));
  loans_.clear();
  return taken;
}

Status ShmLink::Why() {
  MutexLock lock(mutex_);
  return why_;
}

}  // namespace thalweg
