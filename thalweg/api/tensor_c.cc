// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

extern "C" {

TwTensor* tw_tensor_new(TwDataType dtype, const int64_t* dims, int32_t rank, TwStatus* status) {
  return GuardPointer<TwTensor>(status, [&]() -> Result<TwTensor*> {
    ASSIGN_OR_RETURN(const DType type, CheckedDType(dtype));
    ASSIGN_OR_RETURN(const Shape shape, CheckedShape(dims, rank));
    if (type == DType::kResource || type == DType::kVariant) {
      return InvalidArgument("tensors of type ", type, " are made by operations only");
    }
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::AllocateHost(type, shape));
    return NewTensor(std::move(tensor));
  });
}

TwTensor* tw_tensor_from_memory(TwDataType dtype, const int64_t* dims, int32_t rank, void* data,
                                size_t bytes, void (*release)(void* arg), void* arg,
                                TwStatus* status) {
  bool owned = false;  // by a buffer, which releases it
  TwTensor* made = GuardPointer<TwTensor>(status, [&]() -> Result<TwTensor*> {
    ASSIGN_OR_RETURN(const DType type, CheckedDType(dtype));
    ASSIGN_OR_RETURN(const Shape shape, CheckedShape(dims, rank));
    const size_t size = DTypeSize(type);
    if (size == 0) return InvalidArgument("elements of type ", type, " are not plain memory");
    size_t needed = 0;
    if (__builtin_mul_overflow(size, static_cast<size_t>(shape.num_elements()), &needed)) {
      return InvalidArgument("a tensor of type ", type, " and shape ", shape, " is too large");
    }
    if (bytes != needed) {
      return InvalidArgument("a tensor of type ", type, " and shape ", shape, " has ", needed,
                             " bytes, got ", bytes);
    }
    if (data == nullptr && bytes > 0) return InvalidArgument("the memory of the tensor is NULL");
    const size_t alignment = size < 8 ? size : 8;
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      return InvalidArgument("the memory of a tensor of type ", type, " must be aligned to ",
                             alignment, " bytes");
    }
    Tensor tensor = Tensor::FromBuffer(type, shape, data, [release, arg] {
      if (release != nullptr) release(arg);
    });
    owned = true;
    return NewTensor(std::move(tensor));
  });
  if (!owned && release != nullptr) release(arg);
  return made;
}

TwTensor* tw_tensor_share(const TwTensor* tensor) {
  if (tensor == nullptr) return nullptr;
  return Quietly<TwTensor*>(nullptr, [&] { return NewTensor(tensor->tensor); });
}
void tw_tensor_free(TwTensor* tensor) { delete tensor; }
TwDataType tw_tensor_dtype(const TwTensor* tensor) {
  return tensor == nullptr ? 0 : static_cast<TwDataType>(tensor->tensor.dtype());
}
int32_t tw_tensor_rank(const TwTensor* tensor) {
  return tensor == nullptr ? -1 : tensor->tensor.rank();
}
int64_t tw_tensor_dim(const TwTensor* tensor, int32_t i) {
  return i >= 0 && i < tw_tensor_rank(tensor) ? tensor->tensor.dim(i) : -1;
}
int64_t tw_tensor_num_elements(const TwTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.num_elements();
}
size_t tw_tensor_bytes(const TwTensor* tensor) {
  return tensor != nullptr && IsPlain(tensor->tensor.dtype()) ? tensor->tensor.bytes() : 0;
}
void* tw_tensor_data(const TwTensor* tensor) {
  if (tensor == nullptr || !IsPlain(tensor->tensor.dtype())) return nullptr;
  return const_cast<void*>(tensor->tensor.raw_data());
}

int32_t tw_tensor_is_shared(const TwTensor* tensor) {
  return tensor != nullptr && !tensor->tensor.IsSoleOwner() ? 1 : 0;
}

const char* tw_tensor_string(const TwTensor* tensor, int64_t i, size_t* size) {
  if (tensor == nullptr) return nullptr;
  const Tensor& t = tensor->tensor;
  if (t.dtype() != DType::kString || i < 0 || i >= t.num_elements()) return nullptr;
  const std::string& text = t.data<std::string>()[i];
  if (size != nullptr) *size = text.size();
  return text.data();
}

TwCode tw_tensor_set_string(TwTensor* tensor, int64_t i, const char* text, size_t size) {
  constexpr auto kInvalid = static_cast<TwCode>(Code::kInvalidArgument);
  if (tensor == nullptr || (text == nullptr && size > 0)) return kInvalid;
  Tensor& t = tensor->tensor;
  if (t.dtype() != DType::kString || i < 0 || i >= t.num_elements()) {
    return kInvalid;
  }
  return Guard(nullptr, [&] {
    t.mutable_data<std::string>()[i].assign(text == nullptr ? "" : text, size);
    return OkStatus();
  });
}

}  // extern "C"
