// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/link.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

#include "thalweg/cluster/transport/payload.h"

namespace thalweg {
namespace {

constexpr size_t kMaxQueued = size_t{64} << 20;
// Three pieces fill the ring as far as they may.
constexpr size_t kPiece = size_t{60} << 10;
constexpr size_t kRoomForOthers = size_t{64} << 10;

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
  {
    MutexLock lock(mutex_);
    while (!queued_.empty()) {
      const Result<bool> written = out_.Write(queued_.front(), {});
      if (!written.ok() || !*written) break;
      queued_bytes_ -= queued_.front().size();
      queued_.pop_front();
    }
    WakeReader();
  }
  SendWaiting();
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

Result<Tensor> ShmLink::BytesOf(const Tensor& tensor) {
  if (IsPlain(tensor.dtype())) return tensor;
  ASSIGN_OR_RETURN(const std::string objects, EncodeObjects(tensor));
  ASSIGN_OR_RETURN(Tensor bytes, Tensor::AllocateHost(DType::kUint8,
                                                      Shape{static_cast<int64_t>(objects.size())}));
  std::memcpy(bytes.mutable_raw_data(), objects.data(), objects.size());
  return bytes;
}

// Nothing for what does not lie in the arena as a reader needs it.
std::optional<ShmArena::Place> ShmLink::PlaceOf(const Tensor& bytes) const {
  std::optional<ShmArena::Place> place = arena_->Find(bytes.raw_data(), bytes.bytes());
  if (place.has_value() && place->offset % kTensorAlignment != 0) place.reset();
  return place;
}

bool ShmLink::MustWait() {
  MutexLock lock(mutex_);
  return !waiting_.empty();
}

// Empty where there is no room for one.
Tensor ShmLink::CopyOf(const Tensor& bytes) {
  {
    MutexLock lock(mutex_);
    if (bytes.bytes() > kMaxUntaken || copied_ > kMaxUntaken - bytes.bytes()) return Tensor();
  }
  Result<Tensor> copy = Tensor::Allocate(*arena_, bytes.dtype(), bytes.shape());
  if (!copy.ok()) return Tensor();
  std::memcpy(copy->mutable_raw_data(), bytes.raw_data(), bytes.bytes());
  return *std::move(copy);
}

void ShmLink::PushLarge(const TensorHead& head, Tensor tensor, Tensor bytes) {
  std::optional<ShmArena::Place> place = PlaceOf(bytes);
  const bool copy = !place.has_value() && !MustWait();
  if (copy) {
    bytes = CopyOf(bytes);
    if (!bytes.empty()) place = PlaceOf(bytes);
  }
  Result<bool> lent = false;
  {
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    if (waiting_.empty() && place.has_value()) lent = Lend(head, bytes, *place, copy);
    if (lent.ok() && !*lent) waiting_.push_back({head, std::move(tensor)});
  }
  if (!lent.ok()) return Close(std::move(lent).status());
  if (!*lent) SendWaiting();
}

// False where the other side cannot be told of the piece now.
Result<bool> ShmLink::Lend(const TensorHead& head, Tensor bytes, const ShmArena::Place& place,
                           bool copy) {
  const ShmArena::Piece& piece = *place.piece;
  if (!told_.contains(piece.id)) {
    Status told =
        door.Send({.kind = DoorKind::kPiece, .id = piece.id, .bytes = piece.memory.bytes()},
                  piece.memory.fd());
    if (told.code() == Code::kResourceExhausted) return false;
    RETURN_IF_ERROR(told);
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
  if (copy) copied_ += bytes.bytes();
  loans_[loan] = {std::move(bytes), copy};
  Write({buffer.data(), n}, {});
  return true;
}

Status ShmLink::TakeBack(std::span<const uint64_t> loans) {
  std::vector<Tensor> dropped;  // go without the lock
  MutexLock lock(mutex_);
  for (uint64_t loan : loans) {
    const auto it = loans_.find(loan);
    if (it == loans_.end()) return DataLoss("loan ", loan, " was not made or is over");
    if (it->second.copy) copied_ -= it->second.bytes.bytes();
    dropped.push_back(std::move(it->second.bytes));
    loans_.erase(it);
  }
  return OkStatus();
}

void ShmLink::SendWaiting() {
  while (true) {
    Waiting gone;  // these go without the locks
    Tensor gone_bytes;
    const Result<bool> sent = SendFirst(&gone, &gone_bytes);
    if (!sent.ok()) return Close(sent.status());
    if (!*sent) return;
  }
}

// True when the first of those that wait has gone whole.
Result<bool> ShmLink::SendFirst(Waiting* gone, Tensor* gone_bytes) {
  Waiting first;
  MutexLock sending(sending_);
  {
    MutexLock lock(mutex_);
    if (waiting_.empty() || closed_.load(std::memory_order_relaxed)) return false;
    first = waiting_.front();
  }
  bool sent = false;
  if (going_.empty()) {
    ASSIGN_OR_RETURN(sent, Begin(first));
  }
  if (!sent) {
    ASSIGN_OR_RETURN(sent, SendPieces());
  }
  if (!sent) return false;
  *gone_bytes = std::move(going_);
  going_ = Tensor();
  *gone = std::move(first);
  MutexLock lock(mutex_);
  if (!waiting_.empty()) waiting_.pop_front();  // `gone` keeps it
  return true;
}

// True when that is all, since it can be lent.
Result<bool> ShmLink::Begin(const Waiting& first) {
  ASSIGN_OR_RETURN(going_, BytesOf(first.tensor));
  gone_bytes_ = 0;
  const std::optional<ShmArena::Place> place = PlaceOf(going_);
  MutexLock lock(mutex_);
  if (place.has_value()) {
    ASSIGN_OR_RETURN(const bool lent, Lend(first.head, going_, *place, /*copy=*/false));
    if (lent) return true;
  }
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n = EncodeHead(RecordKind::kBulk, first.head, going_.bytes(), {}, buffer.data());
  Write({buffer.data(), n}, {});
  return false;
}

// True when the last one has gone. In between anybody may write other records.
Result<bool> ShmLink::SendPieces() {
  const std::string_view bytes(static_cast<const char*>(going_.raw_data()), going_.bytes());
  while (gone_bytes_ < bytes.size()) {
    const std::string_view piece = bytes.substr(gone_bytes_, kPiece);
    std::array<char, 8> prefix;
    const size_t n = EncodePiecePrefix(piece.size(), prefix.data());
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed) || !queued_.empty()) return false;
    ASSIGN_OR_RETURN(const bool written, out_.Write({prefix.data(), n}, piece, kRoomForOthers));
    if (!written) return false;
    gone_bytes_ += piece.size();
    WakeReader();
  }
  return true;
}

void ShmLink::Close(Status why) {
  {
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    Write(EncodeClose(why), {});
    why_ = std::move(why);
    closed_.store(true);
  }
  door.Send({.kind = DoorKind::kBye}).IgnoreError();
  DropWaiting();
}

void ShmLink::DropWaiting() {
  std::deque<Waiting> dropped;  // tensors go without the locks
  Tensor going;
  MutexLock sending(sending_);
  std::swap(going, going_);
  MutexLock lock(mutex_);
  dropped.swap(waiting_);
}

std::vector<Tensor> ShmLink::TakeLoans() {
  std::vector<Tensor> taken;
  MutexLock lock(mutex_);
  for (auto& [number, loan] : loans_) taken.push_back(std::move(loan.bytes));
  loans_.clear();
  copied_ = 0;
  return taken;
}

Status ShmLink::Why() {
  MutexLock lock(mutex_);
  return why_;
}

}  // namespace thalweg
