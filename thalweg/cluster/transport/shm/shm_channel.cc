// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/shm_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "thalweg/cluster/transport/incoming_tensor.h"
#include "thalweg/cluster/transport/payload.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/shm/shm_sender.h"

namespace thalweg {
namespace {

constexpr const char* kGone = "the other side of the channel has gone";
constexpr size_t kMaxPieces = 1 << 14;  // of one peer
constexpr int kHelloMs = 1000;

// Memory of the other side's arena, mapped for reading.
class TheirPieces {
 public:
  Status Add(const ControlSocketMessage& message, UniqueFd fd) {
    if (pieces_.size() >= kMaxPieces || pieces_.contains(message.id)) {
      return DataLoss("piece ", message.id, " of shared memory is one too many");
    }
    ASSIGN_OR_RETURN(SharedMemory memory,
                     SharedMemory::Map(std::move(fd), message.bytes, SharedUse::kOwnerWrites));
    pieces_[message.id] = std::make_shared<const SharedMemory>(std::move(memory));
    return OkStatus();
  }
  // What is read in place there stays until it has been let go.
  void Remove(uint64_t id) { pieces_.erase(id); }
  std::shared_ptr<const SharedMemory> Find(uint64_t id) const {
    const auto it = pieces_.find(id);
    return it == pieces_.end() ? nullptr : it->second;
  }

 private:
  std::map<uint64_t, std::shared_ptr<const SharedMemory>> pieces_;
};

class ShmChannel final : public Channel {
 public:
  ShmChannel(std::shared_ptr<IoThread> io, std::shared_ptr<ShmArena> arena,
             std::shared_ptr<ShmSender> sender)
      : io_(std::move(io)), arena_(std::move(arena)), sender_(std::move(sender)) {}
  ~ShmChannel() override;
  Status Watch();

  void Send(std::string_view control) override;
  void Push(const TensorHead& head, Tensor tensor) override;
  bool Poll(ChannelSink& sink, int budget) override;
  void OnArrival(std::function<void()> ring) override { sender_->doorbell.Set(std::move(ring)); }
  bool Arm() override { return ArmReader(Ring::kWaitsForSocket); }
  bool ArmWord(FutexWord* word) override;
  void Disarm() override;
  void Close(Status why) override;

 private:
  bool ArmReader(Ring::Reader how);
  void OnSocketEvent();
  // From the I/O thread, and from one that polls and misses a piece.
  void ReadControlSocket() EXCLUDES(control_mutex_);
  void TakeFromControlSocket() EXCLUDES(control_mutex_);
  Status HandleControlSocket(const ControlSocketMessage& message, UniqueFd fd)
      REQUIRES(control_mutex_);
  std::shared_ptr<const SharedMemory> FindPiece(uint64_t id) EXCLUDES(control_mutex_);
  bool PollLocked(ChannelSink& sink, int budget) REQUIRES(polling_);
  Result<bool> HandleNext(ChannelSink& sink) REQUIRES(polling_);
  Result<std::shared_ptr<const SharedMemory>> FindShared(const SharedPlace& place, uint64_t bytes)
      EXCLUDES(control_mutex_);
  Status HandleShared(ChannelSink& sink) REQUIRES(polling_);
  Status HandlePieces(ChannelSink& sink) REQUIRES(polling_);
  Status EndOfControlSocket() EXCLUDES(control_mutex_);

  const std::shared_ptr<IoThread> io_;
  const std::shared_ptr<ShmArena> arena_;
  const std::shared_ptr<ShmSender> sender_;
  std::atomic<bool> said_{false};     // OnClosed has come
  std::atomic<bool> no_more_{false};  // the other side sends nothing more
  std::atomic<bool> dead_{false};     // and reads nothing more of ours

  Mutex polling_;
  std::string buffer_ GUARDED_BY(polling_);
  Record record_ GUARDED_BY(polling_);
  std::optional<IncomingTensor> incoming_ GUARDED_BY(polling_);  // in pieces
  bool close_read_ GUARDED_BY(polling_) = false;

  Mutex control_mutex_;
  TheirPieces pieces_ GUARDED_BY(control_mutex_);
  Status control_error_ GUARDED_BY(control_mutex_);
  std::unique_ptr<IoWatch> watch_;
};

ShmChannel::~ShmChannel() {
  Close(Unavailable(kGone));
  if (watch_ != nullptr) watch_->Stop();
  sender_->doorbell.Set(nullptr);
  std::vector<Tensor> loans = sender_->TakeLoans();
  if (loans.empty() || dead_.load()) return;
  UniqueFd socket(fcntl(sender_->socket.fd(), F_DUPFD_CLOEXEC, 0));
  arena_->KeepUntilClosed(io_, std::move(socket), std::move(loans));
}

Status ShmChannel::Watch() {
  ASSIGN_OR_RETURN(watch_,
                   IoWatch::Make(io_, sender_->socket.fd(), [this](uint32_t) { OnSocketEvent(); }));
  watch_->Want(EPOLLIN);
  return OkStatus();
}

void ShmChannel::OnSocketEvent() {
  ReadControlSocket();
  if (!dead_.load()) {
    watch_->Want(EPOLLIN);
  } else {
    sender_->TakeLoans();
  }
}

void ShmChannel::ReadControlSocket() {
  TakeFromControlSocket();
  sender_->HandleWakes();
}

void ShmChannel::TakeFromControlSocket() {
  MutexLock lock(control_mutex_);
  while (!dead_.load(std::memory_order_relaxed)) {
    ControlSocketMessage message;
    UniqueFd fd;
    Result<bool> some = sender_->socket.Receive(&message, &fd);
    if (some.ok() && !*some) return;
    Status status =
        some.ok() ? HandleControlSocket(message, std::move(fd)) : std::move(some).status();
    if (status.ok()) continue;
    control_error_ = status.code() == Code::kOutOfRange ? Unavailable(kGone) : std::move(status);
    no_more_.store(true);
    dead_.store(true);
  }
}

Status ShmChannel::HandleControlSocket(const ControlSocketMessage& message, UniqueFd fd) {
  switch (message.kind) {
    case ControlKind::kWake:
      return OkStatus();
    case ControlKind::kClose:
      control_error_ = Unavailable(kGone);
      no_more_.store(true);
      return OkStatus();
    case ControlKind::kPiece:
      return pieces_.Add(message, std::move(fd));
    case ControlKind::kUnmap:
      pieces_.Remove(message.id);
      return OkStatus();
    case ControlKind::kRings:
      break;
  }
  return DataLoss("message ", static_cast<uint64_t>(message.kind), " of a channel is none");
}

Status ShmChannel::EndOfControlSocket() {
  MutexLock lock(control_mutex_);
  return control_error_;
}

std::shared_ptr<const SharedMemory> ShmChannel::FindPiece(uint64_t id) {
  {
    MutexLock lock(control_mutex_);
    if (auto piece = pieces_.Find(id)) return piece;
  }
  ReadControlSocket();  // the I/O thread may not have come to it yet
  MutexLock lock(control_mutex_);
  return pieces_.Find(id);
}

void ShmChannel::Send(std::string_view control) {
  if (control.size() > kMaxControlBytes) return Close(ControlTooLong(control.size()));
  std::array<char, 8> prefix;
  const size_t n = EncodeControlPrefix(control.size(), prefix.data());
  sender_->Send({prefix.data(), n}, control);
}

void ShmChannel::Push(const TensorHead& head, Tensor tensor) {
  if (Status fits = CheckHeadFits(head, tensor); !fits.ok()) return Close(std::move(fits));
  Tensor bytes;
  if (!head.dead) {
    Result<Tensor> encoded = ShmSender::BytesOf(tensor);
    if (!encoded.ok()) return Close(std::move(encoded).status());
    bytes = *std::move(encoded);
  }
  const size_t size = head.dead ? 0 : bytes.bytes();
  if (size > kMaxRecordPayload)
    return sender_->PushLarge(head, std::move(tensor), std::move(bytes));
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n = EncodeHead(RecordKind::kTensor, head, size, {}, buffer.data());
  const auto* data = size > 0 ? static_cast<const char*>(bytes.raw_data()) : nullptr;
  sender_->Send({buffer.data(), n}, {data, size});
}

bool ShmChannel::Poll(ChannelSink& sink, int budget) {
  if (!polling_.TryLock()) return false;
  const bool more = PollLocked(sink, budget);
  polling_.Unlock();
  return more;
}

bool ShmChannel::PollLocked(ChannelSink& sink, int budget) {
  if (said_.load(std::memory_order_relaxed)) return false;
  bool more = true;
  while (!sender_->closed() && !close_read_ && budget-- > 0) {
    const bool last = no_more_.load();
    Result<bool> handled = HandleNext(sink);
    if (!handled.ok()) {
      sender_->Close(std::move(handled).status());
    } else if (!*handled) {
      if (last) sender_->Close(EndOfControlSocket());
      more = false;
      break;
    }
  }
  sender_->WakeWriter();
  if (close_read_) sender_->Close(record_.why);
  if (sender_->closed()) {
    said_.store(true);
    incoming_.reset();
    sender_->DropWaiting();
    sink.OnClosed(sender_->Why());
    return false;
  }
  return more;
}

// False when nothing is there.
Result<bool> ShmChannel::HandleNext(ChannelSink& sink) {
  ASSIGN_OR_RETURN(const bool read, sender_->in.Read(&buffer_));
  if (!read) return false;
  RETURN_IF_ERROR(ParseRecord(buffer_, &record_));
  switch (record_.kind) {
    case RecordKind::kControl:
      sink.OnControl(record_.control);
      return true;
    case RecordKind::kTensor:
      RETURN_IF_ERROR(DeliverTensor(sink, record_.head, record_.payload));
      return true;
    case RecordKind::kShared:
      RETURN_IF_ERROR(HandleShared(sink));
      return true;
    case RecordKind::kRelease:
      RETURN_IF_ERROR(sender_->TakeBack(record_.releases));
      return true;
    case RecordKind::kClose:
      close_read_ = true;
      return true;
    case RecordKind::kBulk:
    case RecordKind::kPiece:
    case RecordKind::kLentPiece:
      RETURN_IF_ERROR(HandlePieces(sink));
      return true;
  }
  return DataLoss("a record of an unknown kind");
}

// A head, or what comes after it.
Status ShmChannel::HandlePieces(ChannelSink& sink) {
  if (record_.kind == RecordKind::kBulk) {
    if (incoming_.has_value() || record_.payload_bytes <= kMaxRecordPayload) {
      return DataLoss("a large tensor of ", record_.payload_bytes, " bytes begins ",
                      incoming_.has_value() ? "within another one" : "though it is small");
    }
    return incoming_.emplace(record_.head, record_.payload_bytes).Begin(sink);
  }
  const uint64_t bytes = record_.payload_bytes;
  if (!incoming_.has_value() || bytes > incoming_->left()) {
    return DataLoss(bytes, " bytes of a large tensor, expected at most ",
                    incoming_.has_value() ? incoming_->left() : 0);
  }
  if (record_.kind == RecordKind::kPiece) {
    incoming_->Take(record_.payload);
  } else {
    ASSIGN_OR_RETURN(const std::shared_ptr<const SharedMemory> memory,
                     FindShared(record_.place, bytes));
    incoming_->Take({memory->data() + record_.place.offset, bytes});
    sender_->Send(EncodeReleases({&record_.place.loan, 1}), {});
  }
  if (incoming_->left() > 0) return OkStatus();
  IncomingTensor whole = *std::move(incoming_);
  incoming_.reset();
  return whole.Finish(sink);
}

// Where the other side says that so many bytes lie.
Result<std::shared_ptr<const SharedMemory>> ShmChannel::FindShared(const SharedPlace& place,
                                                                   uint64_t bytes) {
  std::shared_ptr<const SharedMemory> piece = FindPiece(place.piece);
  if (piece == nullptr) return DataLoss("piece ", place.piece, " of shared memory is unknown");
  if (place.offset > piece->bytes() || bytes > piece->bytes() - place.offset ||
      place.offset % kTensorAlignment != 0) {
    return DataLoss("a tensor at ", place.offset, " of ", bytes, " bytes in a piece of ",
                    piece->bytes());
  }
  return piece;
}

Status ShmChannel::HandleShared(ChannelSink& sink) {
  const TensorHead& head = record_.head;
  const SharedPlace& place = record_.place;
  const uint64_t bytes = record_.payload_bytes;
  ASSIGN_OR_RETURN(const std::shared_ptr<const SharedMemory> piece, FindShared(place, bytes));
  char* data = piece->data() + place.offset;
  auto give_back = [sender = sender_, piece, loan = place.loan] {
    sender->Send(EncodeReleases({&loan, 1}), {});
  };
  if (IsPlain(head.dtype) && (IsFloating(head.dtype) || IsComplex(head.dtype)) &&
      bytes > kMaxRecordPayload && (place.loan & SharedPlace::kHasty) == 0) {
    sink.OnTensor(head, Tensor::FromBuffer(head.dtype, head.shape, data, std::move(give_back)));
    return OkStatus();
  }
  // A copy first: what is checked must not change afterwards.
  Status status = IsPlain(head.dtype) ? DeliverTensor(sink, head, {data, bytes})
                                      : DeliverTensor(sink, head, std::string(data, bytes));
  give_back();
  return status;
}

bool ShmChannel::ArmWord(FutexWord* word) {
  *word = sender_->in.parked_word();
  return ArmReader(Ring::kSleepsOnWord);
}

bool ShmChannel::ArmReader(Ring::Reader how) {
  sender_->doorbell.Arm();
  if (said_.load()) return true;
  sender_->in.ParkReader(how);
  if (sender_->in.Empty() && !sender_->closed() && !no_more_.load()) return true;
  sender_->in.UnparkReader();
  return !sender_->doorbell.Disarm();
}

void ShmChannel::Disarm() {
  sender_->in.UnparkReader();
  sender_->doorbell.Disarm();
}

void ShmChannel::Close(Status why) {
  sender_->Close(std::move(why));
  sender_->doorbell.Notify();
}

Result<std::unique_ptr<Channel>> MakeChannel(std::shared_ptr<IoThread> io,
                                             std::shared_ptr<ShmArena> arena,
                                             std::shared_ptr<ShmSender> sender) {
  auto channel = std::make_unique<ShmChannel>(std::move(io), std::move(arena), std::move(sender));
  RETURN_IF_ERROR(channel->Watch());
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace

Result<std::unique_ptr<Channel>> OpenShmChannel(std::shared_ptr<IoThread> io,
                                                std::shared_ptr<ShmArena> arena, UniqueFd socket) {
  ASSIGN_OR_RETURN(SharedMemory rings, SharedMemory::Make(2 * Ring::kBytes, SharedUse::kBothWrite));
  const int fd = rings.fd();
  ControlSocket control(std::move(socket));
  RETURN_IF_ERROR(control.Send({.kind = ControlKind::kRings, .bytes = rings.bytes()}, fd));
  auto sender = std::make_shared<ShmSender>(arena, std::move(control), std::move(rings), true);
  return MakeChannel(std::move(io), std::move(arena), std::move(sender));
}

Result<std::unique_ptr<Channel>> AcceptShmChannel(std::shared_ptr<IoThread> io,
                                                  std::shared_ptr<ShmArena> arena,
                                                  UniqueFd socket) {
  ControlSocket control(std::move(socket));
  pollfd wait{.fd = control.fd(), .events = POLLIN, .revents = 0};
  ControlSocketMessage message;
  UniqueFd memory;
  if (poll(&wait, 1, kHelloMs) != 1) return DeadlineExceeded("no shared memory was offered");
  ASSIGN_OR_RETURN(const bool some, control.Receive(&message, &memory));
  if (!some || message.kind != ControlKind::kRings || message.bytes != 2 * Ring::kBytes) {
    return DataLoss("expected the rings of a channel of ", 2 * Ring::kBytes, " bytes, got ",
                    message.bytes);
  }
  ASSIGN_OR_RETURN(SharedMemory rings,
                   SharedMemory::Map(std::move(memory), message.bytes, SharedUse::kBothWrite));
  auto sender = std::make_shared<ShmSender>(arena, std::move(control), std::move(rings), false);
  return MakeChannel(std::move(io), std::move(arena), std::move(sender));
}

}  // namespace thalweg
