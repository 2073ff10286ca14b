// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/tensor_proto.h"

#include <vector>

#include "thalweg/proto/wire.h"
#include "thalweg/tensor/value_field_proto.h"
#include "thalweg/tensor/values_proto.h"

namespace thalweg {
namespace {

namespace tp = pb::TensorProto;

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

bool IsSignedElement(DType dtype) {
  return IsSigned(dtype) || dtype == DType::kQint8 || dtype == DType::kQint16;
}

// int_val and half_val: elements of one, two or four bytes.
void WriteSmallIntegers(const Tensor& tensor, int field, Message* proto) {
  const bool is_signed = IsSignedElement(tensor.dtype()) && field == tp::kIntVal;
  switch (DTypeSize(tensor.dtype())) {
    case 1:
      return is_signed ? AppendNumbers<int8_t, int32_t>(tensor, field, proto)
                       : AppendNumbers<uint8_t, int32_t>(tensor, field, proto);
    case 2:
      return is_signed ? AppendNumbers<int16_t, int32_t>(tensor, field, proto)
                       : AppendNumbers<uint16_t, int32_t>(tensor, field, proto);
    default:
      return AppendNumbers<int32_t, int32_t>(tensor, field, proto);
  }
}

Status WriteList(const Tensor& tensor, Message* proto, bool borrow) {
  const int field = FieldOf(tensor.dtype()).number;
  switch (field) {
    case tp::kFloatVal:
      AppendNumbers<float, float>(tensor, field, proto);
      break;
    case tp::kDoubleVal:
      AppendNumbers<double, double>(tensor, field, proto);
      break;
    case tp::kIntVal:
    case tp::kHalfVal:
      WriteSmallIntegers(tensor, field, proto);
      break;
    case tp::kInt64Val:
      AppendNumbers<int64_t, int64_t>(tensor, field, proto);
      break;
    case tp::kUint32Val:
      AppendNumbers<uint32_t, uint32_t>(tensor, field, proto);
      break;
    case tp::kUint64Val:
      AppendNumbers<uint64_t, uint64_t>(tensor, field, proto);
      break;
    case tp::kBoolVal:
      AppendNumbers<bool, bool>(tensor, field, proto);
      break;
    case tp::kScomplexVal:
      AppendComplex<float>(tensor, field, proto);
      break;
    case tp::kDcomplexVal:
      AppendComplex<double>(tensor, field, proto);
      break;
    case tp::kStringVal:
      WriteStrings(tensor, proto, borrow);
      break;
    case tp::kResourceHandleVal:
      WriteResources(tensor, proto);
      break;
    case tp::kVariantVal:
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

Status ValuesToProto(const Tensor& tensor, Message* proto) {
  if (tensor.empty() || tensor.is_reference()) {
    return InvalidArgument("no values of ", tensor.empty() ? "an empty tensor" : "a reference");
  }
  return tensor.num_elements() == 0 ? OkStatus() : WriteList(tensor, proto, false);
}

bool HasValues(const Message& proto, DType dtype, int64_t elements) {
  const ValueField field = FieldOf(dtype);
  const size_t size = field.number == 0 ? 0 : proto.Size(field.number);
  const auto each = static_cast<size_t>(field.per_element);
  return size % each == 0 && size / each == static_cast<size_t>(elements);
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
