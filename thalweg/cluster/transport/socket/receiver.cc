// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/socket/receiver.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thalweg/cluster/transport/payload.h"
#include "thalweg/cluster/transport/socket/send_queue.h"

namespace thalweg {
namespace {

constexpr size_t kFirstCapacity = size_t{16} << 10;

}  // namespace

bool SocketReceiver::Poll(ChannelSink& sink, int budget, std::optional<Status>* ended) {
  bool drained = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (budget-- <= 0) return true;
    Result<bool> more = Advance(sink, &drained);
    if (!more.ok() || close_said_) {
      *ended = close_said_ ? record_.why : std::move(more).status();
      return false;
    }
    if (!*more) return false;
  }
  return false;
}

// One record, or one piece. Control first: large tensors wait for it.
Result<bool> SocketReceiver::Advance(ChannelSink& sink, bool* drained) {
  while (true) {
    ASSIGN_OR_RETURN(const Step step, HandleBuffered(sink));
    if (step == Step::kMore) return true;
    if (*drained) break;
    ASSIGN_OR_RETURN(const size_t n, FillBuffer(drained));
    if (n == 0) break;
  }
  if (!bulk_error_.ok()) return bulk_error_;
  if (incoming_.empty()) return false;
  Result<Step> step = ReceiveBulk(sink);
  *drained = false;
  if (step.ok()) return *step == Step::kMore;
  // The reason may stand on the control connection: look there once more.
  bulk_error_ = std::move(step).status();
  return true;
}

Result<size_t> SocketReceiver::FillBuffer(bool* drained) {
  if (buffer_ == nullptr) {
    buffer_ = std::make_unique<char[]>(kFirstCapacity);
    capacity_ = kFirstCapacity;
  }
  ASSIGN_OR_RETURN(const size_t length, RecordLength({buffer_.get() + begin_, end_ - begin_}));
  if (length > capacity_) {
    auto larger = std::make_unique<char[]>(kMaxRecordBytes);
    std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
    buffer_ = std::move(larger);
    capacity_ = kMaxRecordBytes;
  } else if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  }
  end_ -= begin_;
  begin_ = 0;
  const size_t room = capacity_ - end_;
  ASSIGN_OR_RETURN(const size_t n, ReceiveSome(control_fd_, buffer_.get() + end_, room));
  end_ += n;
  *drained = n < room;
  return n;
}

Result<SocketReceiver::Step> SocketReceiver::HandleBuffered(ChannelSink& sink) {
  const std::string_view bytes(buffer_.get() + begin_, end_ - begin_);
  ASSIGN_OR_RETURN(const size_t length, RecordLength(bytes));
  if (length == 0 || length > bytes.size()) return Step::kNothing;
  RETURN_IF_ERROR(ParseRecord(bytes.substr(0, length), &record_));
  begin_ += length;
  RETURN_IF_ERROR(Handle(sink, record_));
  return Step::kMore;
}

Status SocketReceiver::Handle(ChannelSink& sink, Record& record) {
  switch (record.kind) {
    case RecordKind::kControl:
      sink.OnControl(record.control);
      return OkStatus();
    case RecordKind::kTensor:
      return DeliverTensor(sink, record.head, record.payload);
    case RecordKind::kBulk:
      RETURN_IF_ERROR(CheckAnnounced(record.payload_bytes, incoming_.size()));
      incoming_.emplace_back(std::move(record.head), record.payload_bytes);
      return OkStatus();
    case RecordKind::kClose:
      close_said_ = true;
      return OkStatus();
    case RecordKind::kShared:
    case RecordKind::kRelease:
    case RecordKind::kPiece:
    case RecordKind::kLentPiece:
      break;
  }
  return DataLoss("a record of shared memory on a socket");
}

Result<SocketReceiver::Step> SocketReceiver::ReceiveBulk(ChannelSink& sink) {
  IncomingTensor& coming = incoming_.front();
  RETURN_IF_ERROR(coming.Begin(sink));
  ASSIGN_OR_RETURN(const size_t n, ReceivePiece(coming));
  if (coming.left() > 0) return n > 0 ? Step::kMore : Step::kNothing;
  IncomingTensor whole = std::move(coming);
  incoming_.pop_front();
  RETURN_IF_ERROR(whole.Finish(sink));
  return Step::kMore;
}

Result<size_t> SocketReceiver::ReceivePiece(IncomingTensor& coming) {
  const size_t piece = std::min<uint64_t>(coming.left(), kSocketPiece);
  if (char* const to = coming.place(); to != nullptr) {
    ASSIGN_OR_RETURN(const size_t n, ReceiveSome(bulk_fd_, to, piece));
    coming.Advance(n);
    return n;
  }
  // Objects come in pieces, so that a length that lies takes no memory.
  std::array<char, size_t{64} << 10> some;
  ASSIGN_OR_RETURN(const size_t n,
                   ReceiveSome(bulk_fd_, some.data(), std::min(piece, some.size())));
  coming.Take({some.data(), n});
  return n;
}

void SocketReceiver::Clear() {
  incoming_.clear();
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

}  // namespace thalweg
