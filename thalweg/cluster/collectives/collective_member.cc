// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/collectives/collective_member.h"

#include <array>
#include <cstring>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/proto/wire_fields.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {
namespace {

constexpr std::string_view kMemberType = "thalweg/CollectiveMember";
constexpr std::string_view kResultType = "thalweg/CollectiveResult";
constexpr size_t kMostText = 4096;

enum Field : uint32_t {
  kStep = 1,
  kTag,
  kTimeout,  // the bits of a double
  kKind,
  kGroupSize,
  kGroupKey,
  kInstanceKey,
  kDtype,
  kMerge,
  kIsMean,
  kDevice,
  kShape,
  kValue
};

constexpr std::array<std::pair<std::string_view, compute::BinaryOp>, 4> kMerges = {{
    {"Add", compute::BinaryOp::kAdd},
    {"Max", compute::BinaryOp::kMaximum},
    {"Min", compute::BinaryOp::kMinimum},
    {"Mul", compute::BinaryOp::kMul},
}};

std::string_view NameOfMerge(compute::BinaryOp merge) {
  for (const auto& [name, op] : kMerges) {
    if (op == merge) return name;
  }
  return "";
}

Result<std::string> BytesOf(const Tensor& tensor) {
  OwnedMessage proto(pb::TensorProto::Descriptor());
  RETURN_IF_ERROR(TensorToProto(tensor, proto.get(), {.borrow = true}));
  return Serialize(*proto);
}

Result<Tensor> TensorOf(std::string_view bytes, Allocator* allocator) {
  ASSIGN_OR_RETURN(const OwnedMessage proto,
                   ParseMessage(pb::TensorProto::Descriptor(), bytes, {.borrow = true}));
  return TensorFromProto(*proto, {.allocator = allocator});
}

// The kernels of collective operations are of these types.
bool IsKnown(DType dtype, CollectiveKind kind) {
  switch (dtype) {
    case DType::kBool:
      return kind == CollectiveKind::kBroadcast;
    case DType::kBfloat16:
    case DType::kHalf:
    case DType::kFloat:
    case DType::kDouble:
    case DType::kInt32:
    case DType::kInt64:
      return true;
    default:
      return false;
  }
}

Status Check(const CollectiveMember& member) {
  const CollectiveCall& call = member.call;
  if (member.step.empty()) return InvalidArgument("the member of a collective has no step");
  if (call.keys.group_size < 1) {
    return InvalidArgument("group_size must be positive integer but got ", call.keys.group_size);
  }
  if (!IsKnown(call.dtype, call.kind)) {
    return InvalidArgument("a ", CollectiveKindName(call.kind), " has no elements of type ",
                           call.dtype);
  }
  if (!call.device.IsFull()) {
    return InvalidArgument("the member of a collective is not on a device: '",
                           call.device.ToString(), "'");
  }
  if (call.is_receiver()) {
    if (call.kind == CollectiveKind::kBroadcast) return OkStatus();
    return InvalidArgument("the member ", call.device.ToString(), " of a ",
                           CollectiveKindName(call.kind), " brings no value");
  }
  if (call.value.dtype() != call.dtype) {
    return InvalidArgument("the member ", call.device.ToString(), " says ", call.dtype,
                           " and brings ", call.value.dtype());
  }
  return CheckCollectiveValue(call);
}

// What comes as numbers and short texts.
class MemberReader {
 public:
  void Visit(uint32_t field, uint64_t number, std::string_view text) {
    CollectiveCall& call = member.call;
    switch (field) {
      case kStep:
        member.step = text.substr(0, kMostText);
        break;
      case kTag:
        member.tag = number;
        break;
      case kTimeout:
        std::memcpy(&member.timeout_seconds, &number, sizeof(number));
        break;
      case kKind:
        kind = number;
        break;
      case kGroupSize:
        call.keys.group_size = static_cast<int64_t>(number);
        break;
      case kGroupKey:
        call.keys.group_key = static_cast<int64_t>(number);
        break;
      case kInstanceKey:
        call.keys.instance_key = static_cast<int64_t>(number);
        break;
      case kDtype:
        dtype = number;
        break;
      case kMerge:
        merge = text;
        break;
      case kIsMean:
        call.is_mean = number != 0;
        break;
      case kDevice:
        device = text.substr(0, kMostText);
        break;
      case kShape:
        shape = text;
        break;
      case kValue:
        value = text;
        break;
      default:
        break;
    }
  }

  Result<CollectiveMember> Finish(Allocator* allocator) {
    CollectiveCall& call = member.call;
    if (kind > static_cast<uint64_t>(CollectiveKind::kAllToAll)) {
      return InvalidArgument("there is no kind ", kind, " of collective operations");
    }
    call.kind = static_cast<CollectiveKind>(kind);
    if (dtype > UINT8_MAX) return InvalidArgument("there is no type ", dtype);
    call.dtype = static_cast<DType>(dtype);
    ASSIGN_OR_RETURN(call.device, DeviceName::Parse(device));
    bool known = false;
    for (const auto& [name, op] : kMerges) {
      if (name != merge) continue;
      call.merge = op;
      known = true;
    }
    if (!known) return InvalidArgument("there is no merge '", merge.substr(0, kMostText), "'");
    ASSIGN_OR_RETURN(const OwnedMessage proto,
                     ParseMessage(pb::TensorShapeProto::Descriptor(), shape, {.borrow = true}));
    ASSIGN_OR_RETURN(call.shape, PartialShapeFromProto(*proto));
    if (!value.empty()) {
      ASSIGN_OR_RETURN(call.value, TensorOf(value, allocator));
      call.shape = call.value.shape();
    }
    RETURN_IF_ERROR(Check(member));
    return std::move(member);
  }

 private:
  CollectiveMember member;
  uint64_t kind = 0;
  uint64_t dtype = 0;
  std::string_view merge;
  std::string_view device;
  std::string_view shape;
  std::string_view value;
};

}  // namespace

Result<OwnedMessage> EncodeCollectiveMember(const CollectiveMember& member) {
  const CollectiveCall& call = member.call;
  std::string bytes;
  AddWireText(kStep, member.step, &bytes);
  AddWireNumber(kTag, member.tag, &bytes);
  uint64_t timeout = 0;
  std::memcpy(&timeout, &member.timeout_seconds, sizeof(timeout));
  AddWireNumber(kTimeout, timeout, &bytes);
  AddWireNumber(kKind, static_cast<uint64_t>(call.kind), &bytes);
  AddWireNumber(kGroupSize, static_cast<uint64_t>(call.keys.group_size), &bytes);
  AddWireNumber(kGroupKey, static_cast<uint64_t>(call.keys.group_key), &bytes);
  AddWireNumber(kInstanceKey, static_cast<uint64_t>(call.keys.instance_key), &bytes);
  AddWireNumber(kDtype, static_cast<uint64_t>(call.dtype), &bytes);
  AddWireText(kMerge, NameOfMerge(call.merge), &bytes);
  AddWireNumber(kIsMean, call.is_mean ? 1 : 0, &bytes);
  AddWireText(kDevice, call.device.ToString(), &bytes);
  OwnedMessage shape(pb::TensorShapeProto::Descriptor());
  ShapeToProto(call.shape, shape.get());
  ASSIGN_OR_RETURN(const std::string shape_bytes, Serialize(*shape));
  AddWireText(kShape, shape_bytes, &bytes);
  if (!call.is_receiver()) {
    ASSIGN_OR_RETURN(const std::string value, BytesOf(call.value));
    AddWireText(kValue, value, &bytes);
  }
  namespace Request = pb::RecvBufRequest;
  OwnedMessage request(Request::Descriptor());
  request->SetString(Request::kBufRendezvousKey,
                     StrCat(call.keys.instance_key, ":", member.tag, ":", call.keys.group_key));
  request->SetString(Request::kDstDevice, call.device.ToString());
  request->SetInt(Request::kRequestId, static_cast<int64_t>(RandomSeed() | 1));
  Message* const options = request->Mutable(Request::kTransportOptions);
  options->SetString(pb::Any::kTypeUrl, kMemberType);
  options->SetString(pb::Any::kValue, bytes);
  return request;
}

bool IsCollectiveMember(const Message& request) {
  return request.GetMessage(pb::RecvBufRequest::kTransportOptions).GetString(pb::Any::kTypeUrl) ==
         kMemberType;
}

Result<CollectiveMember> DecodeCollectiveMember(const Message& request, Allocator* allocator) {
  const std::string_view bytes =
      request.GetMessage(pb::RecvBufRequest::kTransportOptions).GetString(pb::Any::kValue);
  MemberReader reader;
  const bool whole =
      VisitWireFields(bytes, [&](uint32_t field, uint64_t number, std::string_view text) {
        reader.Visit(field, number, text);
      });
  if (!whole) return InvalidArgument("the member of a collective cannot be read");
  return reader.Finish(allocator);
}

Result<OwnedMessage> EncodeCollectiveResult(const Tensor& result) {
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(result));
  OwnedMessage response(pb::RecvBufResponse::Descriptor());
  Message* const options = response->Mutable(pb::RecvBufResponse::kTransportOptions);
  options->SetString(pb::Any::kTypeUrl, kResultType);
  options->SetString(pb::Any::kValue, bytes);
  return response;
}

Result<Tensor> DecodeCollectiveResult(const Message& response, const CollectiveCall& call,
                                      Allocator* allocator) {
  const Message& options = response.GetMessage(pb::RecvBufResponse::kTransportOptions);
  if (options.GetString(pb::Any::kTypeUrl) != kResultType) {
    return Internal("the answer is no result of a collective operation; are all tasks Thalweg's?");
  }
  ASSIGN_OR_RETURN(Tensor result, TensorOf(options.GetString(pb::Any::kValue), allocator));
  const bool keeps_shape =
      call.kind != CollectiveKind::kGather && call.kind != CollectiveKind::kReduceScatter;
  if (result.dtype() != call.dtype ||
      (keeps_shape && !call.shape.IsCompatibleWith(result.shape()))) {
    return Internal("the result of a collective operation is ", result.dtype(), result.shape(),
                    ", expected ", call.dtype, call.shape);
  }
  return result;
}

}  // namespace thalweg
