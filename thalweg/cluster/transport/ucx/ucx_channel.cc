// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_channel.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/doorbell.h"
#include "thalweg/cluster/transport/incoming_tensor.h"
#include "thalweg/cluster/transport/payload.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/socket/socket_channel.h"

namespace thalweg {
namespace {

constexpr int kMaxLanding = 8;  // pieces that are received at once
constexpr int kTurn = 64;       // how often one thread moves things before others may

// A large tensor on its way.
struct Coming {
  Coming(TensorHead head, uint64_t bytes, uint64_t first_piece)
      : plain(IsPlain(head.dtype)), next_piece(first_piece), tensor(std::move(head), bytes) {}
  const bool plain;
  uint64_t next_piece;
  IncomingTensor tensor;
  UcxEndpoint::Landing landing;
  std::string objects;  // a piece of one whose elements are no plain ones
};

class UcxChannel final : public Channel {
 public:
  explicit UcxChannel(std::unique_ptr<UcxEndpoint> end) : end_(std::move(end)) {}
  ~UcxChannel() override;
  Status Watch(std::shared_ptr<IoThread> io);

  void Send(std::string_view control) override;
  void Push(const TensorHead& head, Tensor tensor) override;
  bool Poll(ChannelSink& sink, int budget) override;
  void OnArrival(std::function<void()> ring) override { doorbell_.Set(std::move(ring)); }
  bool Arm() override EXCLUDES(mutex_);
  void Close(Status why) override { End(std::move(why), true); }

 private:
  // Holds the end. Afterwards what was sent is let go of, and who waits for news is rung.
  class SCOPED_CAPABILITY Turn {
   public:
    explicit Turn(UcxChannel& channel) ACQUIRE(channel.mutex_) : channel_(channel) {
      channel_.mutex_.Lock();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() RELEASE() {
      const auto sent = channel_.end_->TakeSent();  // goes without the lock
      const bool news = channel_.doorbell_.armed() && channel_.HasNews();
      channel_.mutex_.Unlock();
      if (news) channel_.doorbell_.Notify();
    }

   private:
    UcxChannel& channel_;
  };

  // For who polls.
  bool HasNews() REQUIRES(mutex_) { return !said_.load() && (closed_.load() || end_->news()); }
  void End(Status why, bool tell) EXCLUDES(mutex_);
  void SendRecord(std::string_view head, std::string_view payload) EXCLUDES(mutex_);
  void AfterSending() REQUIRES(mutex_);
  void Attend() REQUIRES(mutex_);
  bool PollLocked(ChannelSink& sink, int budget) REQUIRES(polling_);
  Result<bool> Receive(ChannelSink& sink, int budget) REQUIRES(polling_);
  Status Handle(ChannelSink& sink, Record& record) REQUIRES(polling_);
  Result<bool> ReceiveTensors(ChannelSink& sink) REQUIRES(polling_);
  Result<bool> Land(ChannelSink& sink, Coming& coming, int* landing) REQUIRES(polling_);

  Doorbell doorbell_;
  std::atomic<bool> closed_{false};     // nothing more is delivered or sent
  std::atomic<bool> said_{false};       // OnClosed has come
  std::atomic<bool> left_over_{false};  // there was more than one poll handles

  Mutex polling_;  // before mutex_
  Record record_ GUARDED_BY(polling_);
  std::vector<std::string> batch_ GUARDED_BY(polling_);
  std::optional<Status> their_close_ GUARDED_BY(polling_);
  uint64_t next_piece_ GUARDED_BY(polling_) = 0;
  std::deque<Coming> incoming_ GUARDED_BY(polling_);

  Mutex mutex_;
  std::unique_ptr<UcxEndpoint> end_
      PT_GUARDED_BY(mutex_);  // goes first: it writes into what is coming
  Status why_ GUARDED_BY(mutex_);
  std::unique_ptr<IoWatch> watch_;
};

UcxChannel::~UcxChannel() {
  Close(Unavailable("the other side of the channel has gone"));
  if (watch_ != nullptr) watch_->Stop();
  watch_.reset();
  doorbell_.Set(nullptr);
}

Status UcxChannel::Watch(std::shared_ptr<IoThread> io) {
  int event_fd = -1;
  {
    MutexLock lock(mutex_);
    event_fd = end_->event_fd();
  }
  ASSIGN_OR_RETURN(watch_, IoWatch::Make(std::move(io), event_fd, [this](uint32_t) {
                     Turn turn(*this);
                     if (doorbell_.armed() || end_->sending()) Attend();
                   }));
  return OkStatus();
}

// Moves what can be moved, and has the I/O thread go on.
void UcxChannel::Attend() {
  if (watch_ == nullptr) return;  // was never watched
  for (int i = 0; i < kTurn; ++i) {
    if (end_->Progress() || !end_->Arm()) continue;
    watch_->Want(EPOLLIN);
    return;
  }
  end_->Signal();
  watch_->Want(EPOLLIN);
}

void UcxChannel::AfterSending() {
  if (end_->unsent_bytes() > kMaxQueuedControl) {
    why_ = ResourceExhausted("the other task does not read: ", end_->unsent_bytes(),
                             " bytes of control messages wait for it");
    closed_.store(true);
    return;
  }
  if (end_->sending()) Attend();
}

void UcxChannel::Send(std::string_view control) {
  if (control.size() > kMaxControlBytes) return Close(ControlTooLong(control.size()));
  std::array<char, 8> prefix;
  const size_t n = EncodeControlPrefix(control.size(), prefix.data());
  SendRecord({prefix.data(), n}, control);
}

void UcxChannel::SendRecord(std::string_view head, std::string_view payload) {
  Turn turn(*this);
  if (closed_.load(std::memory_order_relaxed)) return;
  end_->SendRecord(head, payload);
  AfterSending();
}

void UcxChannel::Push(const TensorHead& head, Tensor tensor) {
  if (Status fits = CheckHeadFits(head, tensor); !fits.ok()) return Close(std::move(fits));
  auto payload = std::make_shared<UcxPayload>();
  if (head.dead || IsPlain(head.dtype)) {
    payload->tensor = std::move(tensor);
  } else {
    Result<std::string> encoded = EncodeObjects(tensor);
    if (!encoded.ok()) return Close(std::move(encoded).status());
    payload->objects = *std::move(encoded);
  }
  const std::string_view bytes = payload->bytes();
  const bool large = bytes.size() > kMaxRecordPayload;
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n = EncodeHead(large ? RecordKind::kBulk : RecordKind::kTensor, head, bytes.size(),
                              {}, buffer.data());
  if (!large) return SendRecord({buffer.data(), n}, bytes);
  Turn turn(*this);
  if (closed_.load(std::memory_order_relaxed)) return;
  end_->SendRecord({buffer.data(), n}, {});
  end_->SendPieces(std::move(payload));
  AfterSending();
}

// `tell`: the other side has not said so itself.
void UcxChannel::End(Status why, bool tell) {
  Turn turn(*this);
  if (closed_.load(std::memory_order_relaxed)) return;
  if (tell) end_->SendRecord(EncodeClose(why), {});
  why_ = std::move(why);
  closed_.store(true);
  if (end_->sending()) Attend();
}

bool UcxChannel::Arm() {
  doorbell_.Arm();
  if (said_.load()) return true;
  if (left_over_.load()) return !doorbell_.Disarm();
  Turn turn(*this);
  Attend();
  return !HasNews() || !doorbell_.Disarm();
}

bool UcxChannel::Poll(ChannelSink& sink, int budget) {
  if (!polling_.TryLock()) return false;
  const bool more = PollLocked(sink, budget);
  polling_.Unlock();
  return more;
}

bool UcxChannel::PollLocked(ChannelSink& sink, int budget) {
  if (said_.load(std::memory_order_relaxed)) {
    Turn turn(*this);
    end_->Progress();  // what was sent is let go of
    return false;
  }
  Result<bool> received = Receive(sink, budget);
  const bool more = received.ok() && *received;
  if (their_close_.has_value()) {
    End(*std::move(their_close_), false);
  } else if (!received.ok()) {
    End(std::move(received).status(), true);
  }
  if (closed_.load()) {
    said_.store(true);
    left_over_.store(false);
    Status why;
    {
      Turn turn(*this);
      why = why_;
      if (their_close_.has_value()) end_->Disconnect();
    }
    sink.OnClosed(why);
    return false;
  }
  if (more != left_over_.load(std::memory_order_relaxed)) left_over_.store(more);
  // Another thread may have armed meanwhile, and has not seen what this one leaves.
  if (more && doorbell_.armed()) doorbell_.Notify();
  return more;
}

// Records first: large tensors wait for them. An error: the channel has ended.
Result<bool> UcxChannel::Receive(ChannelSink& sink, int budget) {
  bool news = false, full = false;
  Status error;
  {
    Turn turn(*this);
    const auto most = static_cast<size_t>(std::max(budget, 1));
    for (int i = 0; i < kTurn && end_->records() < most && end_->Progress(); ++i) {
    }
    news = end_->TakeNews();
    for (std::string bytes; batch_.size() < most && end_->TakeRecord(&bytes);) {
      batch_.push_back(std::move(bytes));
    }
    full = batch_.size() == most;
    error = end_->error();
  }
  std::vector<std::string> batch = std::exchange(batch_, {});
  for (const std::string& bytes : batch) {
    if (closed_.load(std::memory_order_relaxed)) return false;
    RETURN_IF_ERROR(ParseRecord(bytes, &record_));
    RETURN_IF_ERROR(Handle(sink, record_));
    if (their_close_.has_value()) return false;
  }
  batch.clear();
  batch_ = std::move(batch);
  if (closed_.load(std::memory_order_relaxed)) return false;
  if (news || !incoming_.empty()) {
    ASSIGN_OR_RETURN(const bool more, ReceiveTensors(sink));
    full = full || more;
  }
  if (!full && !error.ok()) return error;
  return full;
}

Status UcxChannel::Handle(ChannelSink& sink, Record& record) {
  switch (record.kind) {
    case RecordKind::kControl:
      sink.OnControl(record.control);
      return OkStatus();
    case RecordKind::kTensor:
      return DeliverTensor(sink, record.head, record.payload);
    case RecordKind::kBulk:
      RETURN_IF_ERROR(CheckAnnounced(record.payload_bytes, incoming_.size()));
      incoming_.emplace_back(std::move(record.head), record.payload_bytes, next_piece_);
      next_piece_ += (record.payload_bytes - 1) / kUcxPiece + 1;
      return OkStatus();
    case RecordKind::kClose:
      their_close_ = std::move(record.why);
      return OkStatus();
    case RecordKind::kShared:
    case RecordKind::kRelease:
    case RecordKind::kPiece:
    case RecordKind::kLentPiece:
      break;
  }
  return DataLoss("a record of shared memory on a channel over UCX");
}

// Takes pieces that have come into their places, and hands over the tensors that are whole, in
// their order. True: something has been handed over.
Result<bool> UcxChannel::ReceiveTensors(ChannelSink& sink) {
  int landing = 0;
  for (Coming& coming : incoming_) {
    ASSIGN_OR_RETURN(const bool whole, Land(sink, coming, &landing));
    if (!whole) break;
  }
  bool handed_over = false;
  while (!incoming_.empty() && !closed_.load(std::memory_order_relaxed)) {
    {
      Turn turn(*this);
      const Coming& first = incoming_.front();
      if (first.tensor.left() > 0 || first.landing.pieces > 0 || first.landing.failed) break;
    }
    IncomingTensor tensor = std::move(incoming_.front().tensor);
    incoming_.pop_front();
    handed_over = true;
    RETURN_IF_ERROR(tensor.Finish(sink));
  }
  return handed_over;
}

// False: pieces are missing, or must wait for others.
Result<bool> UcxChannel::Land(ChannelSink& sink, Coming& coming, int* landing) {
  while (true) {
    size_t bytes = 0;
    {
      Turn turn(*this);
      if (coming.landing.failed) return false;
      if (!coming.plain && !coming.objects.empty() && coming.landing.pieces == 0) {
        coming.tensor.Take(coming.objects);
        coming.objects.clear();
      }
      *landing += coming.landing.pieces;
      if (coming.tensor.left() == 0) return true;
      if (*landing >= kMaxLanding) return false;
      if (!coming.plain && coming.landing.pieces > 0) return false;
      bytes = end_->PieceBytes(coming.next_piece);
      *landing -= coming.landing.pieces;
    }
    if (bytes == 0) return false;
    const uint64_t want = std::min<uint64_t>(coming.tensor.left(), kUcxPiece);
    if (bytes != want) return DataLoss("a piece of a tensor has ", bytes, " bytes, not ", want);
    RETURN_IF_ERROR(coming.tensor.Begin(sink));
    Turn turn(*this);
    const uint64_t piece = coming.next_piece++;
    char* to = coming.tensor.place();
    if (to == nullptr && coming.plain) {  // refused
      end_->DropPiece(piece);
      coming.tensor.Advance(bytes);
      continue;
    }
    if (to == nullptr) {
      coming.objects.resize(bytes);
      to = coming.objects.data();
    }
    end_->ReceivePiece(piece, to, &coming.landing);
    if (coming.plain) coming.tensor.Advance(bytes);
  }
}

}  // namespace

Result<std::unique_ptr<Channel>> MakeUcxChannel(std::shared_ptr<IoThread> io,
                                                std::unique_ptr<UcxEndpoint> end) {
  auto channel = std::make_unique<UcxChannel>(std::move(end));
  RETURN_IF_ERROR(channel->Watch(std::move(io)));
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace thalweg
