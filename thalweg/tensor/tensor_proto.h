// SPDX-License-Identifier: Apache-2.0
// Tensors as TensorProto messages, and shapes as TensorShapeProto.
//
//   ASSIGN_OR_RETURN(Tensor t, TensorFromProto(node.GetMessage(pb::AttrValue::kTensor)));
//   RETURN_IF_ERROR(TensorToProto(t, message.Mutable(pb::AttrValue::kTensor)));
//
// Reading: values come as tensor_content or as a typed list; a list that is too short repeats its
// last value (an empty one: zeros). Such a message can claim far more memory than it has bytes, so
// what it may claim is limited. Resource handles name a resource and hold none; variants of types
// that this library does not know are kept as bytes (OpaqueVariant).
// Writing: the form of the releases' own Python layer.
// Ownership: a Tensor owns its elements; with `borrow` the message points at the tensor's, which
// outlives it.
// Threads: any, on distinct messages.
// Errors: InvalidArgument for a malformed message, ResourceExhausted for one that claims too much.
#pragma once

#include <string>

#include "thalweg/base/status.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

struct TensorReadOptions {
  Allocator* allocator = nullptr;  // null: the host's malloc
  // Bytes of a tensor that do not stand in its message. Reading takes from it what it uses, so one
  // budget can serve many tensors.
  size_t* claim_budget = nullptr;  // null: kMaxClaimedBytes a tensor
};
inline constexpr size_t kMaxClaimedBytes = size_t{1} << 30;

struct TensorWriteOptions {
  // Release 1.15 writes several halfs as a list, 2.21 as bytes. Both read both.
  bool as_1_15 = false;
  // The tensor outlives the message: its bytes are not copied.
  bool borrow = false;
};

Result<Tensor> TensorFromProto(const Message& proto, const TensorReadOptions& options = {});
// `proto` must be empty. Unimplemented for a variant whose type has no wire form; InvalidArgument
// for an empty tensor or a reference.
Status TensorToProto(const Tensor& tensor, Message* proto, const TensorWriteOptions& options = {});
// What the values take at the wire, about.
size_t TensorWireBytes(const Tensor& tensor);

Result<PartialShape> PartialShapeFromProto(const Message& proto);
// InvalidArgument when it is not fully known.
Result<Shape> ShapeFromProto(const Message& proto);
void ShapeToProto(const PartialShape& shape, Message* proto);

// An element of a variant tensor that came from the wire: a serialized VariantTensorDataProto.
class OpaqueVariant : public VariantValue {
 public:
  OpaqueVariant(std::string type_name, std::string bytes)
      : type_name_(std::move(type_name)), bytes_(std::move(bytes)) {}
  std::string TypeName() const override { return type_name_; }
  std::string DebugString() const override;
  const std::string& bytes() const { return bytes_; }

 private:
  std::string type_name_;
  std::string bytes_;
};

}  // namespace thalweg
