// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_endpoint.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/entropy.h"
#include "thalweg/base/first_error.h"
#include "thalweg/cluster/transport/ucx/ucx_context.h"

namespace thalweg {
namespace {

constexpr size_t kMostPieces = 1 << 16;              // that have come and are not taken
constexpr std::chrono::milliseconds kPatience{200};  // for what was sent last, and for a close

uint32_t ReleaseOfUcx() {
  unsigned major = 0, minor = 0, patch = 0;
  ucx.ucp_get_version(&major, &minor, &patch);
  return major << 16 | minor;
}

struct Seal {
  uint32_t crc = 0;
  uint32_t release = 0;  // others spell addresses otherwise
};

}  // namespace

Result<std::unique_ptr<UcxEndpoint>> UcxEndpoint::Make(bool loopback) {
  ASSIGN_OR_RETURN(const ucp_context_h context, UcxContext(loopback));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.events = UCP_WAKEUP_RX | UCP_WAKEUP_TX;
  ucp_worker_h worker = nullptr;
  const ucs_status_t status = ucx.ucp_worker_create(context, &params, &worker);
  if (status != UCS_OK) return UcxError("a worker", status);
  std::unique_ptr<UcxEndpoint> end(new UcxEndpoint(worker));
  RETURN_IF_ERROR(end->Prepare());
  return end;
}

UcxEndpoint::UcxEndpoint(ucp_worker_h worker)
    : worker_(worker), secret_{RandomSeed(), RandomSeed()} {}

Status UcxEndpoint::Prepare() {
  ucs_status_t status = ucx.ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return UcxError("a descriptor of events", status);
  for (const Id id : {kRecord, kPiece}) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = id == kRecord ? OnRecord : OnPiece;
    handler.arg = this;
    status = ucx.ucp_worker_set_am_recv_handler(worker_, &handler);
    if (status != UCS_OK) return UcxError("a handler of messages", status);
  }
  return OkStatus();
}

UcxEndpoint::~UcxEndpoint() {
  DropPieces();
  if (endpoint_ != nullptr) {
    // Records have to leave. Pieces do not: nobody takes them any more.
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (error_.ok() && unsent_bytes_ > 0 && std::chrono::steady_clock::now() < until) {
      if (!Progress()) std::this_thread::yield();
    }
    Disconnect();
  }
  Await(closing_);
  ucx.ucp_worker_destroy(worker_);
}

void UcxEndpoint::Disconnect() {
  if (endpoint_ == nullptr) return;
  DropPieces();
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  closing_ = ucx.ucp_ep_close_nbx(std::exchange(endpoint_, nullptr), &param);
  Fail(Unavailable("the channel is closed"));
}

void UcxEndpoint::Await(ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (ucx.ucp_request_check_status(request) == UCS_INPROGRESS &&
         std::chrono::steady_clock::now() < until) {
    if (!Progress()) std::this_thread::yield();
  }
  ucx.ucp_request_free(request);
}

Result<std::string> UcxEndpoint::Address() const {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  const ucs_status_t status = ucx.ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return UcxError("the address of a worker", status);
  const std::string_view said(reinterpret_cast<const char*>(address), bytes);
  const Seal seal{.crc = Crc32c(said), .release = ReleaseOfUcx()};
  std::string sealed(reinterpret_cast<const char*>(&seal), sizeof seal);
  sealed += said;
  ucx.ucp_worker_release_address(worker_, address);
  return sealed;
}

Status UcxEndpoint::Connect(std::string_view address, const UcxSecret& theirs) {
  Seal seal;
  if (address.size() <= sizeof seal) {
    return InvalidArgument("UCX: an address of ", address.size(), " bytes");
  }
  std::memcpy(&seal, address.data(), sizeof seal);
  address.remove_prefix(sizeof seal);
  if (seal.release != ReleaseOfUcx()) {
    return InvalidArgument("UCX: the other task has release ", seal.release >> 16, ".",
                           seal.release & 0xffff, ", this one ", ucx.ucp_get_version_string());
  }
  if (seal.crc != Crc32c(address)) return DataLoss("UCX: an address with a wrong checksum");
  const std::string aligned(address);
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(aligned.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = OnFailure;
  params.err_handler.arg = this;
  theirs_ = theirs;
  const ucs_status_t status = ucx.ucp_ep_create(worker_, &params, &endpoint_);
  if (status == UCS_OK) return OkStatus();
  endpoint_ = nullptr;
  return UcxError("an endpoint", status);
}

bool UcxEndpoint::Arm() {
  const ucs_status_t status = ucx.ucp_worker_arm(worker_);
  if (status == UCS_ERR_BUSY) return false;
  if (status != UCS_OK) Fail(UcxError("waiting for events", status));
  return true;
}

void UcxEndpoint::Fail(Status why) { KeepFirstError(std::move(why), &error_); }

std::list<UcxEndpoint::Sending>::iterator UcxEndpoint::NewSending(uint64_t number, size_t more) {
  const auto sending = sending_.emplace(sending_.end());
  sending->end = this;
  sending->self = sending;
  const Prefix prefix{.secret = theirs_, .number = number};
  sending->bytes.reserve(sizeof prefix + more);
  sending->bytes.append(reinterpret_cast<const char*>(&prefix), sizeof prefix);
  return sending;
}

void UcxEndpoint::SendRecord(std::string_view head, std::string_view payload) {
  if (endpoint_ == nullptr || !error_.ok()) return;
  const auto sending = NewSending(next_record_++, head.size() + payload.size());
  sending->bytes += head;
  sending->bytes += payload;
  unsent_bytes_ += sending->bytes.size();
  Post(sending, kRecord, 0, sending->bytes, UCP_AM_SEND_FLAG_EAGER);
}

void UcxEndpoint::SendPieces(const std::shared_ptr<const UcxPayload>& payload) {
  for (std::string_view rest = payload->bytes(); !rest.empty();) {
    if (endpoint_ == nullptr || !error_.ok()) return;
    const std::string_view piece = rest.substr(0, kUcxPiece);
    rest.remove_prefix(piece.size());
    const auto sending = NewSending(next_piece_++, 0);
    sending->payload = payload;
    Post(sending, kPiece, sizeof(Prefix), piece, UCP_AM_SEND_FLAG_RNDV);
  }
}

void UcxEndpoint::Post(std::list<Sending>::iterator sending, Id id, size_t header,
                       std::string_view buffer, uint32_t flags) {
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  param.cb.send = OnSent;
  param.user_data = &*sending;
  const ucs_status_ptr_t request = ucx.ucp_am_send_nbx(endpoint_, id, sending->bytes.data(), header,
                                                       buffer.data(), buffer.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;
  if (UCS_PTR_IS_ERR(request)) Fail(UcxError("sending", UCS_PTR_STATUS(request)));
  Done(sending);
}

void UcxEndpoint::Done(std::list<Sending>::iterator sending) {
  if (sending->payload == nullptr) unsent_bytes_ -= sending->bytes.size();
  sent_.splice(sent_.end(), sending_, sending);
}

void UcxEndpoint::OnSent(void* request, ucs_status_t status, void* sending) {
  const auto self = static_cast<Sending*>(sending)->self;
  if (status != UCS_OK) self->end->Fail(UcxError("sending", status));
  self->end->Done(self);
  ucx.ucp_request_free(request);
}

void UcxEndpoint::OnFailure(void* end, ucp_ep_h, ucs_status_t status) {
  static_cast<UcxEndpoint*>(end)->Fail(
      Unavailable("the other side of the channel has gone: ", ucx.ucs_status_string(status)));
}

// False: a stranger's. As long whatever is wrong.
bool UcxEndpoint::ReadPrefix(std::string_view bytes, Prefix* prefix) const {
  if (bytes.size() < sizeof *prefix) return false;
  std::memcpy(prefix, bytes.data(), sizeof *prefix);
  return ((prefix->secret[0] ^ secret_[0]) | (prefix->secret[1] ^ secret_[1])) == 0;
}

ucs_status_t UcxEndpoint::OnRecord(void* end, const void*, size_t, void* data, size_t bytes,
                                   const ucp_am_recv_param_t* param) {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    static_cast<UcxEndpoint*>(end)->TakeIn({static_cast<const char*>(data), bytes});
  }
  return UCS_OK;
}

void UcxEndpoint::TakeIn(std::string_view record) {
  Prefix prefix;
  if (!ReadPrefix(record, &prefix)) return;
  record.remove_prefix(sizeof prefix);
  if (Status status = records_.Put(prefix.number, record); !status.ok()) Fail(std::move(status));
}

ucs_status_t UcxEndpoint::OnPiece(void* arg, const void* header, size_t header_bytes, void* data,
                                  size_t bytes, const ucp_am_recv_param_t* param) {
  auto& end = *static_cast<UcxEndpoint*>(arg);
  Prefix prefix;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0 ||
      !end.ReadPrefix({static_cast<const char*>(header), header_bytes}, &prefix)) {
    return UCS_OK;  // dropped
  }
  if (end.pieces_.size() >= kMostPieces) {
    end.Fail(ResourceExhausted("this task does not read: ", kMostPieces,
                               " pieces of tensors wait for it"));
    return UCS_OK;
  }
  if (!end.pieces_.emplace(prefix.number, Piece{data, bytes}).second) {
    end.Fail(DataLoss("piece ", prefix.number, " of a channel has come twice"));
    return UCS_OK;
  }
  end.news_ = true;
  return UCS_INPROGRESS;  // kept
}

size_t UcxEndpoint::PieceBytes(uint64_t number) const {
  const auto found = pieces_.find(number);
  return found == pieces_.end() ? 0 : found->second.bytes;
}

void UcxEndpoint::ReceivePiece(uint64_t number, char* to, Landing* landing) {
  const auto found = pieces_.find(number);
  const Piece piece = found->second;
  pieces_.erase(found);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = OnReceived;
  param.user_data = landing;
  landing->end = this;
  const ucs_status_ptr_t request =
      ucx.ucp_am_recv_data_nbx(worker_, piece.descriptor, to, piece.bytes, &param);
  if (UCS_PTR_IS_PTR(request)) {
    ++landing->pieces;
  } else if (UCS_PTR_IS_ERR(request)) {
    landing->failed = true;
    Fail(UcxError("receiving", UCS_PTR_STATUS(request)));
  } else {
    news_ = true;
  }
}

void UcxEndpoint::OnReceived(void* request, ucs_status_t status, size_t, void* landing) {
  auto& self = *static_cast<Landing*>(landing);
  if (status != UCS_OK) {
    self.failed = true;
    self.end->Fail(UcxError("receiving", status));
  }
  --self.pieces;
  self.end->news_ = true;
  ucx.ucp_request_free(request);
}

void UcxEndpoint::DropPieces() {
  for (const auto& [number, piece] : pieces_) ucx.ucp_am_data_release(worker_, piece.descriptor);
  pieces_.clear();
}

void UcxEndpoint::DropPiece(uint64_t number) {
  const auto found = pieces_.find(number);
  ucx.ucp_am_data_release(worker_, found->second.descriptor);
  pieces_.erase(found);
}

}  // namespace thalweg
