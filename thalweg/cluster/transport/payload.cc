// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/payload.h"

#include <cstring>

#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/clean_elements.h"
#include "thalweg/tensor/tensor_proto.h"

namespace thalweg {

Status CheckHeadFits(const TensorHead& head, const Tensor& tensor) {
  if (head.dead) {
    if (tensor.empty()) return OkStatus();
    return InvalidArgument("a dead tensor has no bytes, got ", tensor.ToString());
  }
  if (tensor.empty() || tensor.is_reference()) {
    return InvalidArgument("edge ", head.edge, " of step ", head.step, ": expected a tensor, got ",
                           tensor.empty() ? "none" : "a reference");
  }
  if (head.dtype != tensor.dtype() || head.shape != tensor.shape()) {
    return InvalidArgument("edge ", head.edge, " of step ", head.step, ": the head says ",
                           head.dtype, head.shape, ", the tensor is ", tensor.dtype(),
                           tensor.shape());
  }
  return OkStatus();
}

Status ControlTooLong(size_t bytes) {
  return InvalidArgument("a control message has at most ", kMaxControlBytes, " bytes, got ", bytes);
}

namespace {

// The lengths of all strings, 8 bytes each, then their bytes.
std::string EncodeStrings(const Tensor& tensor) {
  const auto strings = tensor.flat<std::string>();
  size_t bytes = strings.size() * sizeof(uint64_t);
  for (const std::string& s : strings) bytes += s.size();
  std::string out;
  out.reserve(bytes);
  for (const std::string& s : strings) {
    const uint64_t size = s.size();
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  for (const std::string& s : strings) out += s;
  return out;
}

Status DecodeStrings(std::string_view bytes, Tensor* target) {
  const auto n = static_cast<size_t>(target->num_elements());
  if (n > bytes.size() / sizeof(uint64_t)) {
    return DataLoss("the bytes of ", n, " strings are only ", bytes.size());
  }
  std::string_view rest = bytes.substr(n * sizeof(uint64_t));
  auto* strings = target->mutable_data<std::string>();
  for (size_t i = 0; i < n; ++i) {
    uint64_t size;
    std::memcpy(&size, bytes.data() + i * sizeof size, sizeof size);
    if (size > rest.size()) {
      return DataLoss("string ", i, " has ", size, " bytes, but ", rest.size(), " are left");
    }
    strings[i] = rest.substr(0, size);
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return DataLoss(rest.size(), " bytes follow the last string");
  return OkStatus();
}

}  // namespace

Result<std::string> EncodeObjects(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return EncodeStrings(tensor);
  OwnedMessage message(pb::TensorProto::Descriptor());
  RETURN_IF_ERROR(TensorToProto(tensor, &*message, {.borrow = true}));
  return Serialize(*message);
}

Status DecodeObjects(std::string_view bytes, const TensorHead& head, Tensor* target) {
  if (head.dtype == DType::kString) return DecodeStrings(bytes, target);
  ASSIGN_OR_RETURN(const OwnedMessage message, ParseMessage(pb::TensorProto::Descriptor(), bytes));
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(*message));
  if (tensor.dtype() != head.dtype || tensor.shape() != head.shape) {
    return DataLoss("the head says ", head.dtype, head.shape, ", the bytes ", tensor.dtype(),
                    tensor.shape());
  }
  *target = std::move(tensor);
  return OkStatus();
}

Status CheckLanding(const TensorHead& head, const Tensor& landing) {
  if (!landing.empty() && !landing.is_reference() && landing.dtype() == head.dtype &&
      landing.shape() == head.shape) {
    return OkStatus();
  }
  return Internal("the place for edge ", head.edge, " of step ", head.step, " is not ", head.dtype,
                  head.shape, " but ", landing.ToString());
}

Status DeliverTensor(ChannelSink& sink, const TensorHead& head, std::string_view bytes) {
  if (head.dead) {
    sink.OnTensor(head, Tensor());
    return OkStatus();
  }
  Result<Tensor> target = sink.OnHead(head);
  if (!target.ok()) return OkStatus();  // refused: dropped
  RETURN_IF_ERROR(CheckLanding(head, *target));
  if (IsPlain(head.dtype)) {
    if (!bytes.empty()) std::memcpy(target->mutable_raw_data(), bytes.data(), bytes.size());
    CleanElements(&*target);
  } else {
    RETURN_IF_ERROR(DecodeObjects(bytes, head, &*target));
  }
  sink.OnTensor(head, *std::move(target));
  return OkStatus();
}

}  // namespace thalweg
