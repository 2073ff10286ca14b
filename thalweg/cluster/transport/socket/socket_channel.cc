// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/socket/socket_channel.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/doorbell.h"
#include "thalweg/cluster/transport/payload.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/socket/receiver.h"
#include "thalweg/cluster/transport/socket/send_queue.h"

namespace thalweg {
namespace {

constexpr const char* kPeerGone = "the other side of the channel has gone";
constexpr size_t kFlushLimit = size_t{8} << 20;  // of one turn of the I/O thread

class SocketChannel final : public Channel {
 public:
  SocketChannel(UniqueFd control, UniqueFd bulk)
      : control_(std::move(control)),
        bulk_(std::move(bulk)),
        receiver_(control_.get(), bulk_.get(), closed_) {}
  ~SocketChannel() override;
  Status Watch(const std::shared_ptr<IoThread>& io);

  void Send(std::string_view control) override;
  void Push(const TensorHead& head, Tensor tensor) override;
  bool Poll(ChannelSink& sink, int budget) override;
  void OnArrival(std::function<void()> ring) override { doorbell_.Set(std::move(ring)); }
  bool Arm() override;
  void Close(Status why) override EXCLUDES(bulk_mutex_, mutex_);

 private:
  void PushLarge(const TensorHead& head, Tensor tensor, std::string objects)
      EXCLUDES(bulk_mutex_, mutex_);
  void SendRecord(std::string_view head, std::string_view payload) EXCLUDES(mutex_);
  void ControlEvents(uint32_t events);
  void BulkEvents(uint32_t events);
  void FlushBulk(size_t limit) REQUIRES(bulk_mutex_);
  void FlushControl() REQUIRES(mutex_);
  bool PollLocked(ChannelSink& sink, int budget) REQUIRES(polling_);
  void DropBulk() EXCLUDES(bulk_mutex_);
  Status Why() EXCLUDES(mutex_);

  const UniqueFd control_;
  const UniqueFd bulk_;
  Doorbell doorbell_;
  std::atomic<bool> closed_{false};        // nothing more is delivered or sent
  std::atomic<bool> said_{false};          // OnClosed has come
  std::atomic<bool> left_over_{false};     // records were read and not yet handled
  std::atomic<bool> expects_bulk_{false};  // of the receiver
  std::atomic<bool> broken_{false};        // sending failed: the reason is at the receiving side

  Mutex polling_;
  SocketReceiver receiver_ GUARDED_BY(polling_);
  Mutex bulk_mutex_;  // before mutex_
  SendQueue bulk_queue_ GUARDED_BY(bulk_mutex_);
  Mutex mutex_;
  SendQueue control_queue_ GUARDED_BY(mutex_);
  Status why_ GUARDED_BY(mutex_);

  std::unique_ptr<IoWatch> control_watch_;
  std::unique_ptr<IoWatch> bulk_watch_;
};

SocketChannel::~SocketChannel() {
  Close(Unavailable(kPeerGone));
  if (control_watch_ != nullptr) control_watch_->Stop();
  if (bulk_watch_ != nullptr) bulk_watch_->Stop();
  doorbell_.Set(nullptr);
}

Status SocketChannel::Watch(const std::shared_ptr<IoThread>& io) {
  ASSIGN_OR_RETURN(control_watch_, IoWatch::Make(io, control_.get(), [this](uint32_t events) {
                     ControlEvents(events);
                   }));
  ASSIGN_OR_RETURN(bulk_watch_,
                   IoWatch::Make(io, bulk_.get(), [this](uint32_t events) { BulkEvents(events); }));
  return OkStatus();
}

void SocketChannel::ControlEvents(uint32_t events) {
  if ((events & ~uint32_t{EPOLLIN}) != 0) {
    MutexLock lock(mutex_);
    FlushControl();
  }
  if ((events & ~uint32_t{EPOLLOUT}) != 0) doorbell_.Notify();
}

void SocketChannel::BulkEvents(uint32_t events) {
  if ((events & ~uint32_t{EPOLLIN}) != 0) {
    MutexLock lock(bulk_mutex_);
    FlushBulk(kFlushLimit);
  }
  if ((events & ~uint32_t{EPOLLOUT}) != 0) doorbell_.Notify();
}

void SocketChannel::Send(std::string_view control) {
  if (control.size() > kMaxControlBytes) return Close(ControlTooLong(control.size()));
  std::array<char, 8> prefix;
  const size_t n = EncodeControlPrefix(control.size(), prefix.data());
  SendRecord({prefix.data(), n}, control);
}

void SocketChannel::Push(const TensorHead& head, Tensor tensor) {
  if (Status fits = CheckHeadFits(head, tensor); !fits.ok()) return Close(std::move(fits));
  std::string objects;
  const bool plain = head.dead || IsPlain(head.dtype);
  if (!plain) {
    Result<std::string> encoded = EncodeObjects(tensor);
    if (!encoded.ok()) return Close(std::move(encoded).status());
    objects = *std::move(encoded);
  }
  const size_t bytes = !plain ? objects.size() : head.dead ? 0 : tensor.bytes();
  if (bytes > kMaxRecordPayload) return PushLarge(head, std::move(tensor), std::move(objects));
  std::array<char, kMaxHeadBytes> buffer;
  const size_t n = EncodeHead(RecordKind::kTensor, head, bytes, {}, buffer.data());
  const auto* data = plain && bytes > 0 ? static_cast<const char*>(tensor.raw_data()) : nullptr;
  SendRecord({buffer.data(), n}, plain ? std::string_view(data, bytes) : objects);
}

void SocketChannel::PushLarge(const TensorHead& head, Tensor tensor, std::string objects) {
  std::array<char, kMaxHeadBytes> buffer;
  const bool plain = IsPlain(head.dtype);
  const size_t bytes = plain ? tensor.bytes() : objects.size();
  const size_t n = EncodeHead(RecordKind::kBulk, head, bytes, {}, buffer.data());
  MutexLock lock(bulk_mutex_);  // heads and bytes keep the same order
  SendRecord({buffer.data(), n}, {});
  if (closed_.load(std::memory_order_relaxed) || broken_.load(std::memory_order_relaxed)) return;
  const bool first = bulk_queue_.empty();
  if (plain) {
    bulk_queue_.AddTensor(std::move(tensor));
  } else {
    bulk_queue_.AddBytes(std::move(objects));
  }
  if (first) FlushBulk(kSocketPiece);
}

void SocketChannel::SendRecord(std::string_view head, std::string_view payload) {
  MutexLock lock(mutex_);
  if (closed_.load(std::memory_order_relaxed) || broken_.load(std::memory_order_relaxed)) return;
  size_t sent = 0;
  if (control_queue_.empty()) {
    Result<size_t> n = SendParts(control_.get(), head, payload);
    if (!n.ok()) {
      broken_.store(true);
      doorbell_.Notify();
      return;
    }
    sent = *n;
    if (sent == head.size() + payload.size()) return;
  }
  std::string rest(head.substr(std::min(sent, head.size())));
  rest += payload.substr(sent - std::min(sent, head.size()));
  control_queue_.AddBytes(std::move(rest));
  if (control_queue_.bytes() > kMaxQueuedControl) {
    why_ = ResourceExhausted("the other task does not read: ", control_queue_.bytes(),
                             " bytes of control messages wait for it");
    closed_.store(true);
    shutdown(control_.get(), SHUT_WR);
    doorbell_.Notify();
    return;
  }
  control_watch_->Want(EPOLLOUT);
}

void SocketChannel::FlushControl() {
  if (broken_.load(std::memory_order_relaxed)) return;
  const Result<bool> empty = control_queue_.Flush(control_.get(), kFlushLimit);
  if (!empty.ok()) {
    broken_.store(true);
    control_queue_ = SendQueue();
    doorbell_.Notify();
  } else if (!*empty) {
    control_watch_->Want(EPOLLOUT);
  } else if (closed_.load(std::memory_order_relaxed)) {
    shutdown(control_.get(), SHUT_WR);
    shutdown(bulk_.get(), SHUT_WR);
  }
}

void SocketChannel::FlushBulk(size_t limit) {
  if (closed_.load(std::memory_order_relaxed) || broken_.load(std::memory_order_relaxed)) return;
  const Result<bool> empty = bulk_queue_.Flush(bulk_.get(), limit);
  if (!empty.ok()) {
    broken_.store(true);
    doorbell_.Notify();
  } else if (!*empty) {
    bulk_watch_->Want(EPOLLOUT);
  }
}

void SocketChannel::Close(Status why) {
  SendQueue dropped;  // tensors go without the locks
  {
    MutexLock bulk_lock(bulk_mutex_);
    std::swap(dropped, bulk_queue_);
    MutexLock lock(mutex_);
    if (closed_.load(std::memory_order_relaxed)) return;
    control_queue_.AddBytes(EncodeClose(why));
    why_ = std::move(why);
    closed_.store(true);
    FlushControl();
  }
  doorbell_.Notify();
}

void SocketChannel::DropBulk() {
  SendQueue dropped;  // tensors go without the lock
  {
    MutexLock lock(bulk_mutex_);
    std::swap(dropped, bulk_queue_);
  }
}

Status SocketChannel::Why() {
  MutexLock lock(mutex_);
  return why_;
}

bool SocketChannel::Poll(ChannelSink& sink, int budget) {
  if (!polling_.TryLock()) return false;
  const bool more = PollLocked(sink, budget);
  polling_.Unlock();
  return more;
}

bool SocketChannel::PollLocked(ChannelSink& sink, int budget) {
  if (said_.load(std::memory_order_relaxed)) return false;
  std::optional<Status> ended;
  const bool more = receiver_.Poll(sink, budget, &ended);
  // All that could come has been read; who cannot be sent to has gone.
  if (!more && !ended.has_value() && broken_.load()) ended = Unavailable(kPeerGone);
  if (ended.has_value()) Close(*std::move(ended));
  if (closed_.load()) {
    said_.store(true);
    left_over_.store(false);
    expects_bulk_.store(false);
    receiver_.Clear();
    DropBulk();
    sink.OnClosed(Why());
    return false;
  }
  if (more != left_over_.load(std::memory_order_relaxed)) left_over_.store(more);
  const bool bulk = receiver_.expects_bulk();
  if (bulk != expects_bulk_.load(std::memory_order_relaxed)) expects_bulk_.store(bulk);
  // Another thread may have armed meanwhile, and has not seen what this one leaves.
  if (doorbell_.armed()) {
    if (more) doorbell_.Notify();
    if (bulk) bulk_watch_->Want(EPOLLIN);
  }
  return more;
}

bool SocketChannel::Arm() {
  doorbell_.Arm();
  if (said_.load()) return true;
  if (left_over_.load() || closed_.load() || broken_.load()) return !doorbell_.Disarm();
  control_watch_->Want(EPOLLIN);
  if (expects_bulk_.load()) bulk_watch_->Want(EPOLLIN);
  return true;
}

}  // namespace

Result<std::unique_ptr<Channel>> MakeSocketChannel(std::shared_ptr<IoThread> io, UniqueFd control,
                                                   UniqueFd bulk) {
  auto channel = std::make_unique<SocketChannel>(std::move(control), std::move(bulk));
  RETURN_IF_ERROR(channel->Watch(io));
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace thalweg
