// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/shm_sender.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>

#include "thalweg/cluster/transport/payload.h"

namespace thalweg {
namespace {

constexpr size_t kMaxQueued = size_t{64} << 20;
// Pieces of a tensor: through the ring, which three of them fill as far as they may, or as a copy
// in the arena, while the other side reads those before it.
constexpr size_t kRingPiece = size_t{60} << 10;
constexpr size_t kRoomForOthers = size_t{64} << 10;
constexpr size_t kLentPiece = size_t{256} << 10;
constexpr int kMaxLentPieces = 8;

std::string_view ViewOf(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.raw_data()), bytes.bytes()};
}

}  // namespace

ShmSender::ShmSender(std::shared_ptr<ShmArena> arena, ControlSocket socket, SharedMemory rings,
                     bool initiator)
    : socket(std::move(socket)),
      in(rings.data() + (initiator ? Ring::kBytes : 0)),
      arena_(std::move(arena)),
      rings_(std::move(rings)),
      out_(rings_.data() + (initiator ? 0 : Ring::kBytes)),
      listening_(arena_->AddListener([this](uint64_t piece) { Forget(piece); })) {}

ShmSender::~ShmSender() {
  arena_->RemoveListener(listening_);
  shutdown(socket.fd(), SHUT_WR);
}

// The arena has given it up, so nothing in it is lent.
void ShmSender::Forget(uint64_t piece) {
  MutexLock lock(mutex_);
  if (told_.erase(piece) == 0) return;
  socket.Send({.kind = ControlKind::kUnmap, .id = piece})
      .IgnoreError();  // or the end of the channel
}

void ShmSender::Send(std::string_view head, std::string_view payload) {
  MutexLock lock(mutex_);
  Write(head, payload);
}

void ShmSender::Write(std::string_view head, std::string_view payload) {
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

void ShmSender::WakeReader() {
  switch (out_.TakeParked()) {
    case Ring::kReads:
      return;
    case Ring::kSleepsOnWord:
      return out_.WakeReader();
    default:
      return Wake();
  }
}

void ShmSender::Wake() {
  if (out_.MarkWake()) socket.Send({}).IgnoreError();  // who has gone needs no waking
}

void ShmSender::Fail(Status why) {
  why_ = std::move(why);
  closed_.store(true);
  socket.Send({.kind = ControlKind::kClose}).IgnoreError();
  doorbell.Notify();
}

void ShmSender::Flush() {
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

void ShmSender::WakeWriter() {
  if (!in.TakeWriterWaits()) return;
  MutexLock lock(mutex_);
  Wake();
}

void ShmSender::HandleWakes() {
  in.TakeWake();
  Flush();
  doorbell.Notify();
}

Result<Tensor> ShmSender::BytesOf(const Tensor& tensor) {
  if (IsPlain(tensor.dtype())) return tensor;
  ASSIGN_OR_RETURN(const std::string objects, EncodeObjects(tensor));
  ASSIGN_OR_RETURN(Tensor bytes, Tensor::AllocateHost(DType::kUint8,
                                                      Shape{static_cast<int64_t>(objects.size())}));
  std::memcpy(bytes.mutable_raw_data(), objects.data(), objects.size());
  return bytes;
}

// Nothing for what does not lie in the arena as a reader needs it.
std::optional<ShmArena::Place> ShmSender::PlaceOf(const Tensor& bytes) const {
  std::optional<ShmArena::Place> place = arena_->Find(bytes.raw_data(), bytes.bytes());
  if (place.has_value() && place->offset % kTensorAlignment != 0) place.reset();
  return place;
}

bool ShmSender::MustWait() {
  MutexLock lock(mutex_);
  return !waiting_.empty();
}

// Empty where there is no room for one.
Tensor ShmSender::CopyOf(std::string_view bytes) {
  {
    MutexLock lock(mutex_);
    if (bytes.size() > kMaxUntaken || copied_ > kMaxUntaken - bytes.size()) return Tensor();
  }
  Result<Tensor> copy =
      Tensor::Allocate(*arena_, DType::kUint8, Shape{static_cast<int64_t>(bytes.size())});
  if (!copy.ok()) return Tensor();
  std::memcpy(copy->mutable_raw_data(), bytes.data(), bytes.size());
  return *std::move(copy);
}

void ShmSender::PushLarge(const TensorHead& head, Tensor tensor, Tensor bytes) {
  std::optional<ShmArena::Place> place = PlaceOf(bytes);
  const bool copy = !place.has_value() && !MustWait();
  if (copy) {
    bytes = CopyOf(ViewOf(bytes));
    if (!bytes.empty()) place = PlaceOf(bytes);
  }
  Result<bool> lent = false;
  {
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    if (waiting_.empty() && place.has_value()) {
      lent = Lend(head, bytes, *place, copy ? Loan::kCopy : Loan::kAsItIs);
    }
    if (lent.ok() && !*lent) waiting_.push_back({head, std::move(tensor)});
  }
  if (!lent.ok()) return Close(std::move(lent).status());
  if (!*lent) SendWaiting();
}

Result<bool> ShmSender::Lend(const TensorHead& head, Tensor bytes, const ShmArena::Place& place,
                             Loan::Kind kind) {
  ASSIGN_OR_RETURN(const bool told, Tell(place));
  if (!told) return false;
  const size_t size = bytes.bytes();
  const SharedPlace shared = AddLoan(std::move(bytes), place, kind);
  std::array<char, kMaxHeadBytes> buffer;
  Write({buffer.data(), EncodeHead(RecordKind::kShared, head, size, shared, buffer.data())}, {});
  return true;
}

// False where the other side cannot be told of the place's piece now.
Result<bool> ShmSender::Tell(const ShmArena::Place& place) {
  const ShmArena::Piece& piece = *place.piece;
  if (told_.contains(piece.id)) return true;
  Status told =
      socket.Send({.kind = ControlKind::kPiece, .id = piece.id, .bytes = piece.memory.bytes()},
                  piece.memory.fd());
  if (told.code() == Code::kResourceExhausted) return false;
  RETURN_IF_ERROR(told);
  told_[piece.id] = place.piece;
  return true;
}

SharedPlace ShmSender::AddLoan(Tensor bytes, const ShmArena::Place& place, Loan::Kind kind) {
  // What is kept elsewhere, in a variable or by a client, must not take all there is.
  const AllocatorStats stats = arena_->Stats();
  const bool hasty = stats.bytes_in_use > stats.limit / 2;
  const uint64_t loan = next_loan_++ | (hasty ? SharedPlace::kHasty : 0);
  if (kind != Loan::kAsItIs) copied_ += bytes.bytes();
  if (kind == Loan::kPieceCopy) ++lent_pieces_;
  loans_[loan] = {std::move(bytes), kind};
  return {.piece = place.piece->id, .offset = place.offset, .loan = loan};
}

Status ShmSender::TakeBack(std::span<const uint64_t> loans) {
  std::vector<Tensor> dropped;  // go without the lock
  bool more = false;
  {
    MutexLock lock(mutex_);
    for (uint64_t number : loans) {
      const auto it = loans_.find(number);
      if (it == loans_.end()) return DataLoss("loan ", number, " was not made or is over");
      Loan& loan = it->second;
      if (loan.kind != Loan::kAsItIs) copied_ -= loan.bytes.bytes();
      if (loan.kind == Loan::kPieceCopy) --lent_pieces_;
      more |= loan.kind == Loan::kPieceCopy;
      dropped.push_back(std::move(loan.bytes));
      loans_.erase(it);
    }
  }
  dropped.clear();
  if (more) SendWaiting();
  return OkStatus();
}

void ShmSender::SendWaiting() {
  while (true) {
    Waiting gone;  // these go without the locks
    Tensor gone_bytes;
    const Result<bool> sent = SendFirst(&gone, &gone_bytes);
    if (!sent.ok()) return Close(sent.status());
    if (!*sent) return;
  }
}

// True when the first of those that wait has gone whole.
Result<bool> ShmSender::SendFirst(Waiting* gone, Tensor* gone_bytes) {
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
Result<bool> ShmSender::Begin(const Waiting& first) {
  ASSIGN_OR_RETURN(going_, BytesOf(first.tensor));
  gone_bytes_ = 0;
  const std::optional<ShmArena::Place> place = PlaceOf(going_);
  MutexLock lock(mutex_);
  if (place.has_value()) {
    ASSIGN_OR_RETURN(const bool lent, Lend(first.head, going_, *place, Loan::kAsItIs));
    if (lent) return true;
  }
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n = EncodeHead(RecordKind::kBulk, first.head, going_.bytes(), {}, buffer.data());
  Write({buffer.data(), n}, {});
  return false;
}

// True when the last one has gone. In between anybody may write other records.
Result<bool> ShmSender::SendPieces() {
  const std::string_view bytes = ViewOf(going_);
  while (gone_bytes_ < bytes.size()) {
    if (!MayLendPiece()) return false;  // TakeBack goes on
    std::string_view piece = bytes.substr(gone_bytes_, kLentPiece);
    ASSIGN_OR_RETURN(bool gone, LendPiece(piece));
    if (!gone) {
      piece = bytes.substr(gone_bytes_, kRingPiece);
      ASSIGN_OR_RETURN(gone, WritePiece(piece));
    }
    if (!gone) return false;  // Flush goes on
    gone_bytes_ += piece.size();
  }
  return true;
}

bool ShmSender::MayLendPiece() {
  MutexLock lock(mutex_);
  return lent_pieces_ < kMaxLentPieces;
}

// False where there is no room for a copy, or the other side cannot be told of it.
Result<bool> ShmSender::LendPiece(std::string_view bytes) {
  Tensor copy = CopyOf(bytes);
  if (copy.empty()) return false;
  const std::optional<ShmArena::Place> place = PlaceOf(copy);
  MutexLock lock(mutex_);
  if (closed_.load(std::memory_order_relaxed) || !place.has_value()) return false;
  ASSIGN_OR_RETURN(const bool told, Tell(*place));
  if (told) {
    Write(EncodeLentPiece(AddLoan(std::move(copy), *place, Loan::kPieceCopy), bytes.size()), {});
  }
  return told;
}

// False where the ring has no room.
Result<bool> ShmSender::WritePiece(std::string_view bytes) {
  std::array<char, 8> prefix;
  const size_t n = EncodePiecePrefix(bytes.size(), prefix.data());
  MutexLock lock(mutex_);
  if (closed_.load(std::memory_order_relaxed) || !queued_.empty()) return false;
  ASSIGN_OR_RETURN(const bool written, out_.Write({prefix.data(), n}, bytes, kRoomForOthers));
  if (written) WakeReader();
  return written;
}

void ShmSender::Close(Status why) {
  {
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    Write(EncodeClose(why), {});
    why_ = std::move(why);
    closed_.store(true);
  }
  socket.Send({.kind = ControlKind::kClose}).IgnoreError();
  DropWaiting();
}

void ShmSender::DropWaiting() {
  std::deque<Waiting> dropped;  // tensors go without the locks
  Tensor going;
  MutexLock sending(sending_);
  std::swap(going, going_);
  MutexLock lock(mutex_);
  dropped.swap(waiting_);
}

std::vector<Tensor> ShmSender::TakeLoans() {
  std::vector<Tensor> taken;
  MutexLock lock(mutex_);
  for (auto& [number, loan] : loans_) taken.push_back(std::move(loan.bytes));
  loans_.clear();
  copied_ = 0;
  lent_pieces_ = 0;
  return taken;
}

Status ShmSender::Why() {
  MutexLock lock(mutex_);
  return why_;
}

}  // namespace thalweg
