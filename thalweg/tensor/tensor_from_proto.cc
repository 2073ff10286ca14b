// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <complex>
#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/tensor/tensor_proto.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/value_field_proto.h"

namespace thalweg {
namespace {

namespace tp = pb::TensorProto;

constexpr std::array kValueFields = {
    tp::kFloatVal,   tp::kDoubleVal, tp::kIntVal,      tp::kStringVal, tp::kScomplexVal,
    tp::kInt64Val,   tp::kBoolVal,   tp::kDcomplexVal, tp::kHalfVal,   tp::kResourceHandleVal,
    tp::kVariantVal, tp::kUint32Val, tp::kUint64Val,   tp::kFloat8Val};

// The numbers of a repeated field, converted and followed by the last one as often as it takes.
template <class From, class To>
void FillNumbers(const Message& proto, int field, Tensor& tensor) {
  const auto values = proto.Repeated<From>(field);
  To* out = tensor.mutable_data<To>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<To>(values[i]);
  const To last = values.empty() ? To{} : out[values.size() - 1];
  std::fill(out + values.size(), out + n, last);
}

template <class T>
void FillComplex(const Message& proto, int field, Tensor& tensor) {
  const auto values = proto.Repeated<T>(field);
  auto* out = tensor.mutable_data<std::complex<T>>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  const size_t given = values.size() / 2;
  for (size_t i = 0; i < given; ++i) out[i] = {values[2 * i], values[2 * i + 1]};
  std::fill(out + given, out + n, given == 0 ? std::complex<T>() : out[given - 1]);
}

void FillBytes(std::string_view values, Tensor& tensor) {
  auto* out = static_cast<char*>(tensor.mutable_raw_data());
  const auto n = static_cast<size_t>(tensor.num_elements());
  std::copy(values.begin(), values.end(), out);
  std::fill(out + values.size(), out + n, values.empty() ? '\0' : values.back());
}

void FillStrings(const Message& proto, Tensor& tensor) {
  const auto values = proto.Repeated<std::string_view>(tp::kStringVal);
  auto* out = tensor.mutable_data<std::string>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < n && !values.empty(); ++i) {
    out[i] = values[std::min(i, values.size() - 1)];
  }
}

void FillResources(const Message& proto, Tensor& tensor) {
  namespace rh = pb::ResourceHandleProto;
  std::vector<ResourceHandle> handles;
  for (const Message* value : proto.Messages(tp::kResourceHandleVal)) {
    ResourceHandle::Place place;
    place.device = value->GetString(rh::kDevice);
    place.container = value->GetString(rh::kContainer);
    place.name = value->GetString(rh::kName);
    place.type_name = value->GetString(rh::kMaybeTypeName);
    place.hash_code = value->GetUint(rh::kHashCode);
    handles.emplace_back(std::move(place), RefPtr<Resource>());
  }
  auto* out = tensor.mutable_data<ResourceHandle>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < n && !handles.empty(); ++i) {
    out[i] = handles[std::min(i, handles.size() - 1)];
  }
}

Status FillVariants(const Message& proto, Tensor& tensor) {
  std::vector<Variant> variants;
  for (const Message* value : proto.Messages(tp::kVariantVal)) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*value));
    if (bytes.empty()) {
      variants.emplace_back();
      continue;
    }
    variants.emplace_back(std::make_shared<const OpaqueVariant>(
        std::string(value->GetString(pb::VariantTensorDataProto::kTypeName)), std::move(bytes)));
  }
  auto* out = tensor.mutable_data<Variant>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < n && !variants.empty(); ++i) {
    out[i] = variants[std::min(i, variants.size() - 1)];
  }
  return OkStatus();
}

// int_val and half_val: elements of one, two or four bytes.
void FillSmallIntegers(const Message& proto, int field, Tensor& tensor) {
  switch (DTypeSize(tensor.dtype())) {
    case 1:
      return FillNumbers<int32_t, uint8_t>(proto, field, tensor);
    case 2:
      return FillNumbers<int32_t, uint16_t>(proto, field, tensor);
    default:
      return FillNumbers<int32_t, int32_t>(proto, field, tensor);
  }
}

Status FillFromList(const Message& proto, Tensor& tensor) {
  const int field = FieldOf(tensor.dtype()).number;
  switch (field) {
    case tp::kFloatVal:
      FillNumbers<float, float>(proto, field, tensor);
      break;
    case tp::kDoubleVal:
      FillNumbers<double, double>(proto, field, tensor);
      break;
    case tp::kIntVal:
    case tp::kHalfVal:
      FillSmallIntegers(proto, field, tensor);
      break;
    case tp::kInt64Val:
      FillNumbers<int64_t, int64_t>(proto, field, tensor);
      break;
    case tp::kUint32Val:
      FillNumbers<uint32_t, uint32_t>(proto, field, tensor);
      break;
    case tp::kUint64Val:
      FillNumbers<uint64_t, uint64_t>(proto, field, tensor);
      break;
    case tp::kBoolVal:
      FillNumbers<bool, bool>(proto, field, tensor);
      break;
    case tp::kScomplexVal:
      FillComplex<float>(proto, field, tensor);
      break;
    case tp::kDcomplexVal:
      FillComplex<double>(proto, field, tensor);
      break;
    case tp::kStringVal:
      FillStrings(proto, tensor);
      break;
    case tp::kResourceHandleVal:
      FillResources(proto, tensor);
      break;
    case tp::kVariantVal:
      return FillVariants(proto, tensor);
    default:
      FillBytes(proto.GetString(field), tensor);
  }
  return OkStatus();
}

// The bytes of strings: all their lengths as varints, then all their bytes.
Status FillStringsFromContent(std::string_view content, Tensor& tensor) {
  std::vector<uint64_t> lengths;
  size_t next = 0;
  uint64_t total = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      if (next == content.size() || shift > 28) {
        return InvalidArgument("tensor_content ends or is damaged in the length of string ", i);
      }
      const auto byte = static_cast<unsigned char>(content[next++]);
      length |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    lengths.push_back(length);
    total += length;
  }
  if (total != content.size() - next) {
    return InvalidArgument("tensor_content has ", content.size() - next, " bytes of strings, ",
                           "their lengths add up to ", total);
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    tensor.mutable_data<std::string>()[i] = content.substr(next, lengths[i]);
    next += lengths[i];
  }
  return OkStatus();
}

Status FillFromContent(std::string_view content, Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return FillStringsFromContent(content, tensor);
  if (tensor.dtype() == DType::kBool) {
    for (size_t i = 0; i < content.size(); ++i) tensor.mutable_data<bool>()[i] = content[i] != 0;
    return OkStatus();
  }
  std::memcpy(tensor.mutable_raw_data(), content.data(), content.size());
  return OkStatus();
}

// Values per element are counted, so that a message of odd length is refused.
Result<int64_t> CountListed(const Message& proto, DType dtype) {
  const ValueField field = FieldOf(dtype);
  const size_t size = field.number == tp::kFloat8Val ? proto.GetString(field.number).size()
                                                     : proto.Size(field.number);
  if (size == 0) {
    for (int other : kValueFields) {
      if (other != field.number && proto.Has(other)) {
        return InvalidArgument("values of type ", dtype, " belong into field ",
                               tp::Descriptor().FindByNumber(field.number)->name, ", found ",
                               tp::Descriptor().FindByNumber(other)->name);
      }
    }
  }
  if (size % field.per_element != 0) {
    return InvalidArgument(tp::Descriptor().FindByNumber(field.number)->name, " has ", size,
                           " numbers, no multiple of 2");
  }
  return static_cast<int64_t>(size / field.per_element);
}

Status CheckContentSize(const Shape& shape, DType dtype, size_t size) {
  const size_t element = DTypeSize(dtype);
  if (dtype == DType::kString) {  // at least one byte of length each
    if (static_cast<uint64_t>(shape.num_elements()) <= size) return OkStatus();
    return InvalidArgument("tensor_content of ", size, " bytes cannot hold ", shape.num_elements(),
                           " strings");
  }
  if (element == 0) {
    return InvalidArgument("a tensor of type ", dtype, " has no tensor_content");
  }
  if (size % element != 0 || size / element != static_cast<uint64_t>(shape.num_elements())) {
    return InvalidArgument("tensor_content has ", size, " bytes, a tensor of type ", dtype,
                           " and shape ", shape, " has ", shape.num_elements(), " elements of ",
                           element, " bytes");
  }
  return OkStatus();
}

// The bytes of an element that the message does not give: one like the last that it does give.
size_t ClaimedBytes(const Message& proto, DType dtype) {
  const size_t stride = DTypeStride(dtype);
  if (dtype != DType::kString) return stride;  // handles and variants share what they hold
  const auto texts = proto.Repeated<std::string_view>(tp::kStringVal);
  return stride + (texts.empty() ? 0 : TextHeapBytes(texts.back().size()));
}

Status TakeClaim(const Message& proto, int64_t elements, DType dtype, size_t* budget) {
  size_t own_budget = kMaxClaimedBytes;
  if (budget == nullptr) budget = &own_budget;
  const size_t each = ClaimedBytes(proto, dtype);
  if (static_cast<uint64_t>(elements) > *budget / each) {
    return ResourceExhausted("the message claims ", elements, " elements of type ", dtype,
                             " without giving them, ", each, " bytes each; at most ", *budget,
                             " bytes may be so");
  }
  *budget -= static_cast<size_t>(elements) * each;
  return OkStatus();
}

// Where the values lie that messages claim and nobody's allocator counts: all of them in the
// process are bounded, whatever the number of messages that each keep to their budget. It is never
// closed, as tensors live as long as they like.
Allocator& ClaimedMemory() {
  static const AllocatorPtr* const memory = [] {
    constexpr int64_t kMost = 4 * static_cast<int64_t>(kMaxClaimedBytes);
    const int64_t machine = MakeCpuAllocator()->Stats().limit;
    return new AllocatorPtr(MakeCpuAllocator(std::min(kMost, machine / 2)));
  }();
  return **memory;
}

// Room for the strings of a tensor that is read.
Status ClaimTexts(const Message& proto, std::string_view content, Allocator& allocator,
                  Tensor& tensor) {
  if (tensor.dtype() != DType::kString || tensor.num_elements() == 0) return OkStatus();
  if (!content.empty()) return ClaimTextHeap(allocator, tensor, content.size());
  size_t bytes = 0;
  const auto texts = proto.Repeated<std::string_view>(tp::kStringVal);
  for (const std::string_view text : texts) bytes += TextHeapBytes(text.size());
  if (!texts.empty()) {  // in the budget of claims, so far from the end of the numbers
    bytes += (static_cast<size_t>(tensor.num_elements()) - texts.size()) *
             TextHeapBytes(texts.back().size());
  }
  return ClaimTextHeap(allocator, tensor, bytes);
}

Result<Tensor> ReadTensor(const Message& proto, DType dtype, const TensorReadOptions& options) {
  ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.GetMessage(tp::kTensorShape)));
  const std::string_view content = proto.GetString(tp::kTensorContent);
  Allocator* allocator = options.allocator;
  if (!content.empty()) {
    RETURN_IF_ERROR(CheckContentSize(shape, dtype, content.size()));
  } else {
    ASSIGN_OR_RETURN(const int64_t listed, CountListed(proto, dtype));
    if (listed > shape.num_elements()) {
      return InvalidArgument("there are ", listed, " values, more than shape ", shape, " has");
    }
    RETURN_IF_ERROR(TakeClaim(proto, shape.num_elements() - listed, dtype, options.claim_budget));
    if (allocator == nullptr && listed < shape.num_elements()) allocator = &ClaimedMemory();
  }
  Result<Tensor> tensor = allocator == nullptr ? Tensor::AllocateHost(dtype, shape)
                                               : Tensor::Allocate(*allocator, dtype, shape);
  if (!tensor.ok()) return tensor.status();
  if (allocator != nullptr) RETURN_IF_ERROR(ClaimTexts(proto, content, *allocator, *tensor));
  if (shape.num_elements() == 0) return tensor;
  RETURN_IF_ERROR(content.empty() ? FillFromList(proto, *tensor)
                                  : FillFromContent(content, *tensor));
  return tensor;
}

}  // namespace

Result<Tensor> TensorFromProto(const Message& proto, const TensorReadOptions& options) {
  const int64_t number = proto.GetInt(tp::kDtype);
  if (number <= 0 || !IsValidDType(static_cast<int>(number))) {
    return InvalidArgument("TensorProto: dtype ", number, " is no element type");
  }
  const auto dtype = static_cast<DType>(number);
  Result<Tensor> tensor = ReadTensor(proto, dtype, options);
  if (!tensor.ok()) return tensor.status().WithContext("TensorProto");
  return tensor;
}

}  // namespace thalweg
