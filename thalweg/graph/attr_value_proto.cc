// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/attr_value_proto.h"

#include <iterator>

namespace thalweg {
namespace {

namespace av = pb::AttrValue;
namespace lv = pb::AttrValue::ListValue;
using Kind = AttrValue::Kind;

// Functions as attributes of functions.
constexpr int kMaxFunctionDepth = 64;

constexpr std::string_view kWireNames[] = {
    "",           "string",     "int",         "float",        "bool",      "type",
    "shape",      "tensor",     "func",        "list(string)", "list(int)", "list(float)",
    "list(bool)", "list(type)", "list(shape)", "list(tensor)", "list(func)"};

Result<AttrValue> Read(const Message& proto, const TensorReadOptions& options, int depth);

Result<DType> ReadType(int64_t number) {
  // DT_INVALID is the default of some attributes.
  if (number == 0) return DType::kInvalid;
  if (number < 0 || number > 255 || !IsValidDType(static_cast<int>(number))) {
    return InvalidArgument("type ", number, " is no element type");
  }
  return static_cast<DType>(number);
}

Result<FunctionRef> ReadFunction(const Message& proto, const TensorReadOptions& options,
                                 int depth) {
  if (depth > kMaxFunctionDepth) {
    return InvalidArgument("functions are nested more than ", kMaxFunctionDepth, " deep");
  }
  FunctionRef function;
  function.name = proto.GetString(pb::NameAttrList::kName);
  for (const Message* entry : proto.Messages(pb::NameAttrList::kAttr)) {
    ASSIGN_OR_RETURN(AttrValue value, Read(entry->GetMessage(pb::kMapValue), options, depth + 1));
    function.attrs.Set(entry->GetString(pb::kMapKey), std::move(value));
  }
  return function;
}

template <class To, class From, class Convert>
Result<AttrValue> ReadElements(std::span<const From> from, const Convert& convert) {
  std::vector<To> values;
  values.reserve(from.size());
  for (const From& element : from) {
    Result<To> value = convert(element);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return AttrValue(std::move(values));
}

Result<AttrValue> ReadList(const Message& list, const TensorReadOptions& options, int depth) {
  const FieldDescriptor* given = nullptr;
  for (const FieldDescriptor& field : list.type().fields) {
    if (!list.Has(field)) continue;
    if (given != nullptr) {
      return InvalidArgument("a list has both ", given->name, " and ", field.name);
    }
    given = &field;
  }
  if (given == nullptr) return AttrValue::EmptyList();
  switch (given->number) {
    case lv::kS:
      return ReadElements<std::string>(
          list.Repeated<std::string_view>(lv::kS),
          [](std::string_view v) -> Result<std::string> { return std::string(v); });
    case lv::kI: {
      const auto values = list.Repeated<int64_t>(lv::kI);
      return AttrValue(std::vector<int64_t>(values.begin(), values.end()));
    }
    case lv::kF: {
      const auto values = list.Repeated<float>(lv::kF);
      return AttrValue(std::vector<float>(values.begin(), values.end()));
    }
    case lv::kB: {
      const auto values = list.Repeated<bool>(lv::kB);
      return AttrValue(std::vector<bool>(values.begin(), values.end()));
    }
    case lv::kType:
      return ReadElements<DType>(list.Repeated<int32_t>(lv::kType),
                                 [](int32_t v) { return ReadType(v); });
    case lv::kShape:
      return ReadElements<PartialShape>(list.Messages(lv::kShape),
                                        [](const Message* v) { return PartialShapeFromProto(*v); });
    case lv::kTensor:
      return ReadElements<Tensor>(list.Messages(lv::kTensor),
                                  [&](const Message* v) { return TensorFromProto(*v, options); });
    default:
      return ReadElements<FunctionRef>(list.Messages(lv::kFunc), [&](const Message* v) {
        return ReadFunction(*v, options, depth + 1);
      });
  }
}

template <class T>
Result<AttrValue> AsAttr(Result<T> value) {
  if (!value.ok()) return value.status();
  return AttrValue(*std::move(value));
}

Result<AttrValue> Read(const Message& proto, const TensorReadOptions& options, int depth) {
  const FieldDescriptor* given = proto.WhichOneof(av::kI);
  if (given == nullptr) return InvalidArgument("the attribute has no value");
  switch (given->number) {
    case av::kS:
      return AttrValue(proto.GetString(av::kS));
    case av::kI:
      return AttrValue(proto.GetInt(av::kI));
    case av::kF:
      return AttrValue(proto.GetFloat(av::kF));
    case av::kB:
      return AttrValue(proto.GetBool(av::kB));
    case av::kType:
      return AsAttr(ReadType(proto.GetInt(av::kType)));
    case av::kShape:
      return AsAttr(PartialShapeFromProto(proto.GetMessage(av::kShape)));
    case av::kTensor:
      return AsAttr(TensorFromProto(proto.GetMessage(av::kTensor), options));
    case av::kFunc:
      return AsAttr(ReadFunction(proto.GetMessage(av::kFunc), options, depth + 1));
    case av::kPlaceholder:
      return AttrValue::Placeholder(std::string(proto.GetString(av::kPlaceholder)));
    default:
      return ReadList(proto.GetMessage(av::kList), options, depth);
  }
}

Status WriteFunction(const FunctionRef& function, Message* proto,
                     const TensorWriteOptions& options) {
  proto->SetString(pb::NameAttrList::kName, function.name);
  for (const auto& [name, value] : function.attrs) {
    RETURN_IF_ERROR(
        AttrValueToProto(value, proto->MapMutable(pb::NameAttrList::kAttr, name), options));
  }
  return OkStatus();
}

// A tensor attribute of a node that was never given a value is an empty message.
Status WriteTensor(const Tensor& tensor, Message* proto, const TensorWriteOptions& options) {
  return tensor.empty() ? OkStatus() : TensorToProto(tensor, proto, options);
}

Status WriteList(const AttrValue& value, Message* list, const TensorWriteOptions& options) {
  switch (value.kind()) {
    case Kind::kStringList:
      for (const std::string& v : *value.GetIf<std::vector<std::string>>())
        list->AddString(lv::kS, v);
      break;
    case Kind::kIntList:
      list->Append<int64_t>(lv::kI, *value.GetIf<std::vector<int64_t>>());
      break;
    case Kind::kFloatList:
      list->Append<float>(lv::kF, *value.GetIf<std::vector<float>>());
      break;
    case Kind::kBoolList:
      for (bool v : *value.GetIf<std::vector<bool>>()) list->AddBool(lv::kB, v);
      break;
    case Kind::kTypeList:
      for (DType v : *value.GetIf<std::vector<DType>>()) {
        list->AddInt(lv::kType, static_cast<int64_t>(v));
      }
      break;
    case Kind::kShapeList:
      for (const PartialShape& v : *value.GetIf<std::vector<PartialShape>>()) {
        ShapeToProto(v, list->Add(lv::kShape));
      }
      break;
    case Kind::kTensorList:
      for (const Tensor& v : *value.GetIf<std::vector<Tensor>>()) {
        RETURN_IF_ERROR(WriteTensor(v, list->Add(lv::kTensor), options));
      }
      break;
    case Kind::kFunctionList:
      for (const FunctionRef& v : *value.GetIf<std::vector<FunctionRef>>()) {
        RETURN_IF_ERROR(WriteFunction(v, list->Add(lv::kFunc), options));
      }
      break;
    default:
      break;
  }
  return OkStatus();
}

}  // namespace

Result<AttrValue> AttrValueFromProto(const Message& proto, const TensorReadOptions& options) {
  return Read(proto, options, 0);
}

Status AttrValueToProto(const AttrValue& value, Message* proto, const TensorWriteOptions& options) {
  switch (value.kind()) {
    case Kind::kNone:
      return OkStatus();
    case Kind::kString:
      proto->SetString(av::kS, *value.GetIf<std::string>());
      return OkStatus();
    case Kind::kInt:
      proto->SetInt(av::kI, *value.Get<int64_t>());
      return OkStatus();
    case Kind::kFloat:
      proto->SetFloat(av::kF, *value.Get<float>());
      return OkStatus();
    case Kind::kBool:
      proto->SetBool(av::kB, *value.Get<bool>());
      return OkStatus();
    case Kind::kType:
      proto->SetInt(av::kType, static_cast<int64_t>(*value.Get<DType>()));
      return OkStatus();
    case Kind::kShape:
      ShapeToProto(*value.GetIf<PartialShape>(), proto->Mutable(av::kShape));
      return OkStatus();
    case Kind::kTensor:
      return WriteTensor(*value.GetIf<Tensor>(), proto->Mutable(av::kTensor), options);
    case Kind::kFunction:
      return WriteFunction(*value.GetIf<FunctionRef>(), proto->Mutable(av::kFunc), options);
    case Kind::kPlaceholder:
      proto->SetString(av::kPlaceholder, value.placeholder());
      return OkStatus();
    default:
      return WriteList(value, proto->Mutable(av::kList), options);
  }
}

std::string_view AttrKindWireName(AttrValue::Kind kind) {
  const auto i = static_cast<size_t>(kind);
  return i < std::size(kWireNames) ? kWireNames[i] : "";
}

Result<AttrValue::Kind> ParseAttrKind(std::string_view wire_name) {
  for (size_t i = 1; i < std::size(kWireNames); ++i) {
    if (kWireNames[i] == wire_name) return static_cast<Kind>(i);
  }
  return InvalidArgument("'", wire_name, "' is no kind of attribute");
}

}  // namespace thalweg
