// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/tensor_proto.h"

#include <array>
#include <complex>
#include <vector>

#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

namespace tp = pb::TensorProto;

// How the values of a type stand in a message: the field, and values per element.
struct ValueField {
  int number = 0;  // 0: no such type
  int per_element = 1;
  // As the Python layer of a release writes more than one element.
  bool content_in_1_15 = false;
  bool content_in_2_21 = false;
};

ValueField FieldOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return {tp::kFloatVal, 1, true, true};
    case DType::kDouble:
      return {tp::kDoubleVal, 1, true, true};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kUint8:
      return {tp::kIntVal, 1, true, true};
    case DType::kUint16:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kQint16:
    case DType::kQuint16:
    case DType::kQint32:
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      return {tp::kIntVal};
    case DType::kInt64:
      return {tp::kInt64Val, 1, true, true};
    case DType::kUint32:
      return {tp::kUint32Val, 1, true, true};
    case DType::kUint64:
      return {tp::kUint64Val, 1, true, true};
    case DType::kHalf:
    case DType::kBfloat16:
      return {tp::kHalfVal, 1, false, true};
    case DType::kBool:
      return {tp::kBoolVal};
    case DType::kComplex64:
      return {tp::kScomplexVal, 2};
    case DType::kComplex128:
      return {tp::kDcomplexVal, 2};
    case DType::kString:
      return {tp::kStringVal};
    case DType::kResource:
      return {tp::kResourceHandleVal};
    case DType::kVariant:
      return {tp::kVariantVal};
    case DType::kFloat8E5m2:
    case DType::kFloat8E4m3fn:
    case DType::kFloat8E4m3fnuz:
    case DType::kFloat8E4m3b11fnuz:
    case DType::kFloat8E5m2fnuz:
      return {tp::kFloat8Val};
    case DType::kInvalid:
      break;
  }
  return {};
}

constexpr std::array kValueFields = {
    tp::kFloatVal,   tp::kDoubleVal, tp::kIntVal,      tp::kStringVal, tp::kScomplexVal,
    tp::kInt64Val,   tp::kBoolVal,   tp::kDcomplexVal, tp::kHalfVal,   tp::kResourceHandleVal,
    tp::kVariantVal, tp::kUint32Val, tp::kUint64Val,   tp::kFloat8Val};

// The numbers of a repeated field, converted and followed by the last one as often as it takes.
template <class From, class To, class Convert>
void FillNumbers(const Message& proto, int field, Tensor& tensor, const Convert& convert) {
  const auto values = proto.Repeated<From>(field);
  To* out = tensor.mutable_data<To>();
  const auto n = static_cast<size_t>(tensor.num_elements());
  for (size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
  const To last = values.empty() ? To{} : out[values.size() - 1];
  std::fill(out + values.size(), out + n, last);
}

template <class From, class To>
void FillNumbers(const Message& proto, int field, Tensor& tensor) {
  FillNumbers<From, To>(proto, field, tensor, [](From v) { return static_cast<To>(v); });
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

Status FillFromList(const Message& proto, Tensor& tensor) {
  const int field = FieldOf(tensor.dtype()).number;
  switch (tensor.dtype()) {
    case DType::kFloat:
      FillNumbers<float, float>(proto, field, tensor);
      break;
    case DType::kDouble:
      FillNumbers<double, double>(proto, field, tensor);
      break;
    case DType::kInt32:
    case DType::kQint32:
      FillNumbers<int32_t, int32_t>(proto, field, tensor);
      break;
    case DType::kInt16:
    case DType::kQint16:
    case DType::kUint16:
    case DType::kQuint16:
    case DType::kHalf:
    case DType::kBfloat16:
      FillNumbers<int32_t, uint16_t>(proto, field, tensor);
      break;
    case DType::kInt8:
    case DType::kQint8:
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      FillNumbers<int32_t, uint8_t>(proto, field, tensor);
      break;
    case DType::kInt64:
      FillNumbers<int64_t, int64_t>(proto, field, tensor);
      break;
    case DType::kUint32:
      FillNumbers<uint32_t, uint32_t>(proto, field, tensor);
      break;
    case DType::kUint64:
      FillNumbers<uint64_t, uint64_t>(proto, field, tensor);
      break;
    case DType::kBool:
      FillNumbers<bool, bool>(proto, field, tensor);
      break;
    case DType::kComplex64:
      FillComplex<float>(proto, field, tensor);
      break;
    case DType::kComplex128:
      FillComplex<double>(proto, field, tensor);
      break;
    case DType::kString:
      FillStrings(proto, tensor);
      break;
    case DType::kResource:
      FillResources(proto, tensor);
      break;
    case DType::kVariant:
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

Status TakeClaim(int64_t elements, DType dtype, size_t* budget) {
  size_t own_budget = kMaxClaimedBytes;
  if (budget == nullptr) budget = &own_budget;
  if (static_cast<uint64_t>(elements) > *budget / DTypeStride(dtype)) {
    return ResourceExhausted("the message claims ", elements, " elements of type ", dtype,
                             " without giving them; at most ", *budget, " bytes may be so");
  }
  *budget -= static_cast<size_t>(elements) * DTypeStride(dtype);
  return OkStatus();
}

Result<Tensor> ReadTensor(const Message& proto, DType dtype, const TensorReadOptions& options) {
  ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.GetMessage(tp::kTensorShape)));
  const std::string_view content = proto.GetString(tp::kTensorContent);
  if (!content.empty()) {
    RETURN_IF_ERROR(CheckContentSize(shape, dtype, content.size()));
  } else {
    ASSIGN_OR_RETURN(const int64_t listed, CountListed(proto, dtype));
    if (listed > shape.num_elements()) {
      return InvalidArgument("there are ", listed, " values, more than shape ", shape, " has");
    }
    RETURN_IF_ERROR(TakeClaim(shape.num_elements() - listed, dtype, options.claim_budget));
  }
  Result<Tensor> tensor = options.allocator == nullptr
                              ? Tensor::AllocateHost(dtype, shape)
                              : Tensor::Allocate(*options.allocator, dtype, shape);
  if (!tensor.ok()) return tensor.status();
  if (shape.num_elements() == 0) return tensor;
  RETURN_IF_ERROR(content.empty() ? FillFromList(proto, *tensor)
                                  : FillFromContent(content, *tensor));
  return tensor;
}

template <class From, class To>
void AppendNumbers(const Tensor& tensor, int field, Message* proto) {
  if constexpr (std::is_same_v<From, To>) {
    proto->Append<To>(field, tensor.flat<From>());
  } else {
    std::vector<To> values(tensor.flat<From>().begin(), tensor.flat<From>().end());
    proto->Append<To>(field, values);
  }
}

template <class T>
void AppendComplex(const Tensor& tensor, int field, Message* proto) {
  // A complex number is laid out as its two parts.
  proto->Append<T>(field, {static_cast<const T*>(tensor.raw_data()),
                           2 * static_cast<size_t>(tensor.num_elements())});
}

void WriteResources(const Tensor& tensor, Message* proto) {
  namespace rh = pb::ResourceHandleProto;
  for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) {
    Message* value = proto->Add(tp::kResourceHandleVal);
    if (handle.place() == nullptr) continue;
    value->SetString(rh::kDevice, handle.place()->device);
    value->SetString(rh::kContainer, handle.place()->container);
    value->SetString(rh::kName, handle.place()->name);
    value->SetUint(rh::kHashCode, handle.place()->hash_code);
    value->SetString(rh::kMaybeTypeName, handle.place()->type_name);
  }
}

Status WriteVariants(const Tensor& tensor, Message* proto) {
  for (const Variant& variant : tensor.flat<Variant>()) {
    Message* value = proto->Add(tp::kVariantVal);
    if (variant.get() == nullptr) continue;
    const auto* opaque = variant.As<OpaqueVariant>();
    if (opaque == nullptr) {
      return Unimplemented("a variant of type ", variant.get()->TypeName(), " has no wire form");
    }
    RETURN_IF_ERROR(MergeFromBytes(*value, opaque->bytes()));
  }
  return OkStatus();
}

void WriteStrings(const Tensor& tensor, Message* proto, bool borrow) {
  for (const std::string& value : tensor.flat<std::string>()) {
    if (borrow) {
      proto->AddBorrowed(tp::kStringVal, value);
    } else {
      proto->AddString(tp::kStringVal, value);
    }
  }
}

Status WriteList(const Tensor& tensor, Message* proto, bool borrow) {
  const int field = FieldOf(tensor.dtype()).number;
  switch (tensor.dtype()) {
    case DType::kFloat:
      AppendNumbers<float, float>(tensor, field, proto);
      break;
    case DType::kDouble:
      AppendNumbers<double, double>(tensor, field, proto);
      break;
    case DType::kInt32:
    case DType::kQint32:
      AppendNumbers<int32_t, int32_t>(tensor, field, proto);
      break;
    case DType::kInt16:
    case DType::kQint16:
      AppendNumbers<int16_t, int32_t>(tensor, field, proto);
      break;
    case DType::kUint16:
    case DType::kQuint16:
    case DType::kHalf:
    case DType::kBfloat16:
      AppendNumbers<uint16_t, int32_t>(tensor, field, proto);
      break;
    case DType::kInt8:
    case DType::kQint8:
    case DType::kInt4:
    case DType::kInt2:
      AppendNumbers<int8_t, int32_t>(tensor, field, proto);
      break;
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kUint4:
    case DType::kUint2:
      AppendNumbers<uint8_t, int32_t>(tensor, field, proto);
      break;
    case DType::kInt64:
      AppendNumbers<int64_t, int64_t>(tensor, field, proto);
      break;
    case DType::kUint32:
      AppendNumbers<uint32_t, uint32_t>(tensor, field, proto);
      break;
    case DType::kUint64:
      AppendNumbers<uint64_t, uint64_t>(tensor, field, proto);
      break;
    case DType::kBool:
      AppendNumbers<bool, bool>(tensor, field, proto);
      break;
    case DType::kComplex64:
      AppendComplex<float>(tensor, field, proto);
      break;
    case DType::kComplex128:
      AppendComplex<double>(tensor, field, proto);
      break;
    case DType::kString:
      WriteStrings(tensor, proto, borrow);
      break;
    case DType::kResource:
      WriteResources(tensor, proto);
      break;
    case DType::kVariant:
      return WriteVariants(tensor, proto);
    default:
      proto->SetString(field, {static_cast<const char*>(tensor.raw_data()), tensor.bytes()});
  }
  return OkStatus();
}

}  // namespace

std::string OpaqueVariant::DebugString() const {
  return StrCat("Variant<", type_name_, ", ", bytes_.size(), " bytes>");
}

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

Status TensorToProto(const Tensor& tensor, Message* proto, const TensorWriteOptions& options) {
  if (tensor.empty() || tensor.is_reference()) {
    return InvalidArgument("no message for ", tensor.empty() ? "an empty tensor" : "a reference");
  }
  proto->SetInt(tp::kDtype, static_cast<int64_t>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->Mutable(tp::kTensorShape));
  if (tensor.num_elements() == 0) return OkStatus();
  const ValueField field = FieldOf(tensor.dtype());
  const bool as_content = options.as_1_15 ? field.content_in_1_15 : field.content_in_2_21;
  if (as_content && tensor.num_elements() > 1) {
    const std::string_view bytes(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
    if (options.borrow) {
      proto->SetBorrowed(tp::kTensorContent, bytes);
    } else {
      proto->SetString(tp::kTensorContent, bytes);
    }
    return OkStatus();
  }
  return WriteList(tensor, proto, options.borrow);
}

size_t TensorWireBytes(const Tensor& tensor) {
  if (tensor.empty() || tensor.is_reference()) return 0;
  if (tensor.dtype() != DType::kString) return tensor.bytes();
  size_t bytes = 0;
  for (const std::string& value : tensor.flat<std::string>()) bytes += value.size() + 2;
  return bytes;
}

Result<PartialShape> PartialShapeFromProto(const Message& proto) {
  if (proto.GetBool(pb::TensorShapeProto::kUnknownRank)) {
    if (proto.Has(pb::TensorShapeProto::kDim)) {
      return InvalidArgument("TensorShapeProto: a shape of unknown rank has dimensions");
    }
    return PartialShape::Unknown();
  }
  std::vector<int64_t> dims;
  for (const Message* dim : proto.Messages(pb::TensorShapeProto::kDim)) {
    dims.push_back(dim->GetInt(pb::TensorShapeProto::Dim::kSize));
  }
  return PartialShape::Make(dims);
}

Result<Shape> ShapeFromProto(const Message& proto) {
  ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(proto));
  if (!shape.IsFullyDefined()) {
    return InvalidArgument("the shape of a tensor must be fully known, got ", shape);
  }
  return Shape::Make(shape.dims());
}

void ShapeToProto(const PartialShape& shape, Message* proto) {
  if (!shape.known_rank()) {
    proto->SetBool(pb::TensorShapeProto::kUnknownRank, true);
    return;
  }
  for (int64_t size : shape.dims()) {
    proto->Add(pb::TensorShapeProto::kDim)->SetInt(pb::TensorShapeProto::Dim::kSize, size);
  }
}

}  // namespace thalweg
