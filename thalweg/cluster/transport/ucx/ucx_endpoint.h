// SPDX-License-Identifier: Apache-2.0
// UcxEndpoint: one end of a channel over UCX: a worker, the endpoint to the other side, what has
// been sent and what has arrived.
//
//   ASSIGN_OR_RETURN(auto end, UcxEndpoint::Make(/*loopback=*/true));
//   RETURN_IF_ERROR(end->Connect(their_address, their_secret));   // who has Address() and secret()
//   end->SendRecord(head, payload);          // arrives in order; SendPieces waits till it is taken
//   while (end->Progress()) {}               // nothing moves but here
//   while (end->TakeRecord(&bytes)) Handle(bytes);
//
// Records (1) are eager active messages, pieces of large tensors (2) active messages by rendezvous.
// Both begin with the receiver's secret and a number; one with another secret is a stranger's and
// is dropped. Destruction waits a moment till what was sent has gone.
// Ownership: keeps what is being sent until TakeSent.
// Threads: one at a time: its owner is locked.
// Errors: the first failure stays, as error(); nothing is sent later.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/ucx/record_order.h"
#include "thalweg/cluster/transport/ucx/ucx_context.h"
#include "thalweg/cluster/transport/ucx/ucx_listener.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

inline constexpr size_t kUcxPiece = size_t{4} << 20;

// The bytes of a large tensor.
struct UcxPayload {
  Tensor tensor;
  std::string objects;  // of one whose elements are no plain ones
  std::string_view bytes() const {
    if (tensor.empty()) return objects;
    return {static_cast<const char*>(tensor.raw_data()), tensor.bytes()};
  }
};

class UcxEndpoint {
 public:
  // What is being sent, with what UCX reads meanwhile.
  struct Sending {
    UcxEndpoint* end = nullptr;
    std::string bytes;  // a record, or the prefix of a piece
    std::shared_ptr<const UcxPayload> payload;
    std::list<Sending>::iterator self;
  };
  // Pieces of a tensor that are being received; stays where it is meanwhile.
  struct Landing {
    UcxEndpoint* end = nullptr;
    int pieces = 0;
    bool failed = false;
  };

  static Result<std::unique_ptr<UcxEndpoint>> Make(bool loopback);
  UcxEndpoint(const UcxEndpoint&) = delete;
  UcxEndpoint& operator=(const UcxEndpoint&) = delete;
  ~UcxEndpoint();

  // With a checksum: UCX believes whatever an address says.
  Result<std::string> Address() const;
  const UcxSecret& secret() const { return secret_; }
  Status Connect(std::string_view address, const UcxSecret& theirs);
  bool connected() const { return endpoint_ != nullptr; }
  // What can be read when Progress has something to do, if Arm said so.
  int event_fd() const { return event_fd_; }
  // False: there is something to do already.
  bool Arm();
  void Signal() { ucx.ucp_worker_signal(worker_); }
  bool Progress() { return ucx.ucp_worker_progress(worker_) != 0; }

  void SendRecord(std::string_view head, std::string_view payload);
  void SendPieces(const std::shared_ptr<const UcxPayload>& payload);
  // Something sent has not gone, or not been taken.
  bool sending() const { return !sending_.empty(); }
  size_t unsent_bytes() const { return unsent_bytes_; }  // of records
  // What has been sent: to be let go of without a lock.
  std::list<Sending> TakeSent() { return std::exchange(sent_, {}); }

  size_t records() const { return records_.ready(); }
  bool TakeRecord(std::string* bytes) { return records_.Take(bytes); }
  // The length of a piece; 0: it has not come.
  size_t PieceBytes(uint64_t number) const;
  // One that has come, all of it; `landing` counts it till it is there.
  void ReceivePiece(uint64_t number, char* to, Landing* landing);
  void DropPiece(uint64_t number);
  // Pieces or parts of them have come since the last call.
  bool TakeNews() { return std::exchange(news_, false); }
  bool news() const { return news_ || records() > 0 || !error_.ok(); }
  const Status& error() const { return error_; }
  // The other side has said all: what waits for it to be taken ends.
  void Disconnect();

 private:
  struct Prefix {
    UcxSecret secret{};
    uint64_t number = 0;
  };
  struct Piece {
    void* descriptor = nullptr;
    size_t bytes = 0;
  };
  enum Id : unsigned { kRecord = 1, kPiece = 2 };

  explicit UcxEndpoint(ucp_worker_h worker);
  Status Prepare();
  std::list<Sending>::iterator NewSending(uint64_t number, size_t more);
  void Post(std::list<Sending>::iterator sending, Id id, size_t header, std::string_view buffer,
            uint32_t flags);
  void Done(std::list<Sending>::iterator sending);
  void Fail(Status why);
  void TakeIn(std::string_view record);
  bool ReadPrefix(std::string_view bytes, Prefix* prefix) const;
  void Await(ucs_status_ptr_t request);
  void DropPieces();

  static void OnSent(void* request, ucs_status_t status, void* sending);
  static void OnReceived(void* request, ucs_status_t status, size_t bytes, void* landing);
  static void OnFailure(void* end, ucp_ep_h endpoint, ucs_status_t status);
  static ucs_status_t OnRecord(void* end, const void* header, size_t header_bytes, void* data,
                               size_t bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t OnPiece(void* end, const void* header, size_t header_bytes, void* data,
                              size_t bytes, const ucp_am_recv_param_t* param);

  const ucp_worker_h worker_;
  const UcxSecret secret_;
  UcxSecret theirs_{};
  int event_fd_ = -1;
  ucp_ep_h endpoint_ = nullptr;
  ucs_status_ptr_t closing_ = nullptr;
  Status error_;
  bool news_ = false;

  uint64_t next_record_ = 0;
  uint64_t next_piece_ = 0;
  size_t unsent_bytes_ = 0;
  std::list<Sending> sending_;
  std::list<Sending> sent_;

  RecordOrder records_;
  std::map<uint64_t, Piece> pieces_;
};

}  // namespace thalweg
