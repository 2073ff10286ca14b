// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_def_proto.h"

#include "thalweg/graph/attr_value_proto.h"

namespace thalweg {
namespace {

namespace od = pb::OpDef;

Result<ArgDef> ReadArg(const Message& proto) {
  ArgDef arg;
  arg.name = proto.GetString(od::ArgDef::kName);
  int64_t type = proto.GetInt(od::ArgDef::kType);
  arg.is_ref = proto.GetBool(od::ArgDef::kIsRef);
  if (type > kRefOffset) {
    type -= kRefOffset;
    arg.is_ref = true;
  }
  if (type != 0 && (type < 0 || type > 255 || !IsValidDType(static_cast<int>(type)))) {
    return InvalidArgument("argument '", arg.name, "': type ", type, " is no element type");
  }
  arg.type = static_cast<DType>(type);
  arg.type_attr = proto.GetString(od::ArgDef::kTypeAttr);
  arg.number_attr = proto.GetString(od::ArgDef::kNumberAttr);
  arg.type_list_attr = proto.GetString(od::ArgDef::kTypeListAttr);
  return arg;
}

Result<AttrDef> ReadAttr(const Message& proto) {
  AttrDef attr;
  attr.name = proto.GetString(od::AttrDef::kName);
  ASSIGN_OR_RETURN(attr.kind, ParseAttrKind(proto.GetString(od::AttrDef::kType)));
  attr.has_minimum = proto.GetBool(od::AttrDef::kHasMinimum);
  attr.minimum = proto.GetInt(od::AttrDef::kMinimum);
  if (const Message* value = proto.FindMessage(od::AttrDef::kDefaultValue); value != nullptr) {
    ASSIGN_OR_RETURN(attr.default_value, AttrValueFromProto(*value));
  }
  if (const Message* allowed = proto.FindMessage(od::AttrDef::kAllowedValues); allowed != nullptr) {
    ASSIGN_OR_RETURN(const AttrValue values, AttrValueFromProto(*allowed));
    if (values.kind() == AttrValue::Kind::kTypeList) {
      attr.allowed_types = *values.Get<std::vector<DType>>();
    } else {
      ASSIGN_OR_RETURN(attr.allowed_strings, values.Get<std::vector<std::string>>());
    }
  }
  return attr;
}

Result<OpDef> Read(const Message& proto) {
  OpDef def;
  def.name = proto.GetString(od::kName);
  for (const Message* arg : proto.Messages(od::kInputArg)) {
    ASSIGN_OR_RETURN(ArgDef input, ReadArg(*arg));
    def.inputs.push_back(std::move(input));
  }
  for (const Message* arg : proto.Messages(od::kOutputArg)) {
    ASSIGN_OR_RETURN(ArgDef output, ReadArg(*arg));
    def.outputs.push_back(std::move(output));
  }
  for (const Message* attr : proto.Messages(od::kAttr)) {
    Result<AttrDef> read = ReadAttr(*attr);
    if (!read.ok()) {
      return read.status().WithContext(
          StrCat("attribute '", attr->GetString(od::AttrDef::kName), "'"));
    }
    def.attrs.push_back(*std::move(read));
  }
  def.is_stateful = proto.GetBool(od::kIsStateful);
  def.is_commutative = proto.GetBool(od::kIsCommutative);
  def.is_aggregate = proto.GetBool(od::kIsAggregate);
  def.allows_uninitialized_input = proto.GetBool(od::kAllowsUninitializedInput);
  return def;
}

void WriteArg(const ArgDef& arg, Message* proto) {
  proto->SetString(od::ArgDef::kName, arg.name);
  proto->SetInt(od::ArgDef::kType, static_cast<int64_t>(arg.type));
  proto->SetString(od::ArgDef::kTypeAttr, arg.type_attr);
  proto->SetString(od::ArgDef::kNumberAttr, arg.number_attr);
  proto->SetString(od::ArgDef::kTypeListAttr, arg.type_list_attr);
  proto->SetBool(od::ArgDef::kIsRef, arg.is_ref);
}

Status WriteAttr(const AttrDef& attr, Message* proto) {
  proto->SetString(od::AttrDef::kName, attr.name);
  proto->SetString(od::AttrDef::kType, AttrKindWireName(attr.kind));
  if (attr.default_value.has_value()) {
    RETURN_IF_ERROR(
        AttrValueToProto(*attr.default_value, proto->Mutable(od::AttrDef::kDefaultValue)));
  }
  proto->SetBool(od::AttrDef::kHasMinimum, attr.has_minimum);
  proto->SetInt(od::AttrDef::kMinimum, attr.minimum);
  if (!attr.allowed_types.empty()) {
    return AttrValueToProto(attr.allowed_types, proto->Mutable(od::AttrDef::kAllowedValues));
  }
  if (!attr.allowed_strings.empty()) {
    return AttrValueToProto(attr.allowed_strings, proto->Mutable(od::AttrDef::kAllowedValues));
  }
  return OkStatus();
}

}  // namespace

Result<OpDef> OpDefFromProto(const Message& proto) {
  Result<OpDef> def = Read(proto);
  if (!def.ok()) {
    return def.status().WithContext(StrCat("OpDef '", proto.GetString(od::kName), "'"));
  }
  return def;
}

Status OpDefToProto(const OpDef& def, Message* proto) {
  proto->SetString(od::kName, def.name);
  for (const ArgDef& arg : def.inputs) WriteArg(arg, proto->Add(od::kInputArg));
  for (const ArgDef& arg : def.outputs) WriteArg(arg, proto->Add(od::kOutputArg));
  for (const AttrDef& attr : def.attrs) RETURN_IF_ERROR(WriteAttr(attr, proto->Add(od::kAttr)));
  proto->SetBool(od::kIsStateful, def.is_stateful);
  proto->SetBool(od::kIsCommutative, def.is_commutative);
  proto->SetBool(od::kIsAggregate, def.is_aggregate);
  proto->SetBool(od::kAllowsUninitializedInput, def.allows_uninitialized_input);
  return OkStatus();
}

}  // namespace thalweg
