// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_def.h"

#include <algorithm>
#include <set>
#include <span>

namespace thalweg {
namespace {

using Kind = AttrValue::Kind;

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || !(letter(name[0]) || name[0] == '_')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '>';
  });
}

Status CheckReference(const OpDef& def, const ArgDef& arg, std::string_view attr, Kind kind) {
  if (attr.empty()) return OkStatus();
  const AttrDef* found = def.FindAttr(attr);
  if (found == nullptr) {
    return InvalidArgument("argument '", arg.name, "' refers to attribute '", attr,
                           "', which the operation does not have");
  }
  if (found->kind != kind) {
    return InvalidArgument("argument '", arg.name, "' needs attribute '", attr, "' to be ",
                           AttrKindPhrase(kind), ", it is ", AttrKindPhrase(found->kind));
  }
  return OkStatus();
}

Status CheckArg(const OpDef& def, const ArgDef& arg, bool any_name) {
  if (!any_name && !IsIdentifier(arg.name))
    return InvalidArgument("bad argument name '", arg.name, "'");
  const int sources =
      (arg.type != DType::kInvalid) + !arg.type_attr.empty() + !arg.type_list_attr.empty();
  if (sources != 1) {
    return InvalidArgument("argument '", arg.name,
                           "' needs exactly one of type, type_attr and type_list_attr");
  }
  if (!arg.type_list_attr.empty() && !arg.number_attr.empty()) {
    return InvalidArgument(
        "argument '", arg.name,
        "' has both number_attr and type_list_attr; the list has its own length");
  }
  RETURN_IF_ERROR(CheckReference(def, arg, arg.type_attr, Kind::kType));
  RETURN_IF_ERROR(CheckReference(def, arg, arg.number_attr, Kind::kInt));
  return CheckReference(def, arg, arg.type_list_attr, Kind::kTypeList);
}

std::string AllowedText(const AttrDef& attr) {
  std::string text;
  for (DType type : attr.allowed_types) {
    text.append(text.empty() ? "" : ", ").append(DTypeName(type));
  }
  for (const std::string& value : attr.allowed_strings) {
    text.append(text.empty() ? "" : ", ").append(StrCat("'", value, "'"));
  }
  return text;
}

Status CheckTypes(const AttrDef& attr, std::span<const DType> types) {
  if (attr.allowed_types.empty()) return OkStatus();
  for (DType type : types) {
    if (std::find(attr.allowed_types.begin(), attr.allowed_types.end(), type) ==
        attr.allowed_types.end()) {
      return InvalidArgument("attribute '", attr.name, "' must be one of ", AllowedText(attr),
                             "; got ", type);
    }
  }
  return OkStatus();
}

Status CheckStrings(const AttrDef& attr, std::span<const std::string> values) {
  if (attr.allowed_strings.empty()) return OkStatus();
  for (const std::string& value : values) {
    if (std::find(attr.allowed_strings.begin(), attr.allowed_strings.end(), value) ==
        attr.allowed_strings.end()) {
      return InvalidArgument("attribute '", attr.name, "' must be one of ", AllowedText(attr),
                             "; got '", value, "'");
    }
  }
  return OkStatus();
}

}  // namespace

const AttrDef* OpDef::FindAttr(std::string_view attr) const {
  for (const AttrDef& a : attrs) {
    if (a.name == attr) return &a;
  }
  return nullptr;
}

Status CheckAttrValue(const AttrDef& attr, const AttrValue& value) {
  const bool empty_list = value.kind() == Kind::kEmptyList && attr.kind >= Kind::kStringList &&
                          attr.kind <= Kind::kFunctionList;
  if (value.kind() != attr.kind && !empty_list) {
    return InvalidArgument("attribute '", attr.name, "' must be ", AttrKindPhrase(attr.kind),
                           "; got the ", AttrKindName(value.kind()), " ", value.ToString());
  }
  if (attr.has_minimum && attr.kind == Kind::kInt) {
    const int64_t number = *value.Get<int64_t>();
    if (number < attr.minimum) {
      return InvalidArgument("attribute '", attr.name, "' must be at least ", attr.minimum,
                             "; got ", number);
    }
  } else if (attr.has_minimum) {
    if (static_cast<int64_t>(value.list_size()) < attr.minimum) {
      return InvalidArgument("attribute '", attr.name, "' needs at least ", attr.minimum,
                             " elements; got ", value.list_size());
    }
  }
  switch (attr.kind) {
    case Kind::kType: {
      const DType type = *value.Get<DType>();
      return CheckTypes(attr, {&type, 1});
    }
    case Kind::kTypeList:
      return empty_list ? OkStatus() : CheckTypes(attr, *value.GetIf<std::vector<DType>>());
    case Kind::kString:
      return CheckStrings(attr, {value.GetIf<std::string>(), 1});
    case Kind::kStringList:
      return empty_list ? OkStatus() : CheckStrings(attr, *value.GetIf<std::vector<std::string>>());
    default:
      return OkStatus();
  }
}

Status ValidateOpDef(const OpDef& def, bool is_function) {
  if (is_function ? def.name.empty() : !IsIdentifier(def.name)) {
    return InvalidArgument("bad operation name '", def.name,
                           "': letters, digits, '_' and '>', a letter first");
  }
  const std::string context = StrCat("schema of '", def.name, "'");
  std::set<std::string_view> names;
  for (const AttrDef& attr : def.attrs) {
    Status status;
    if (!is_function && !IsIdentifier(attr.name)) {
      status = InvalidArgument("bad attribute name '", attr.name, "'");
    } else if (!names.insert(attr.name).second) {
      status = InvalidArgument("two attributes are named '", attr.name, "'");
    } else if (attr.kind == Kind::kNone || attr.kind > Kind::kFunctionList) {
      status = InvalidArgument("attribute '", attr.name, "' has no kind");
    } else if (attr.default_value.has_value()) {
      status = CheckAttrValue(attr, *attr.default_value).WithContext("default");
    }
    if (!status.ok()) return status.WithContext(context);
  }
  for (const auto* args : {&def.inputs, &def.outputs}) {
    names.clear();
    for (const ArgDef& arg : *args) {
      Status status = CheckArg(def, arg, is_function);
      if (status.ok() && !names.insert(arg.name).second) {
        status = InvalidArgument("two arguments are named '", arg.name, "'");
      }
      if (!status.ok()) return status.WithContext(context);
    }
  }
  return OkStatus();
}

}  // namespace thalweg
