// SPDX-License-Identifier: Apache-2.0
// OpDef: the schema of an operation: its inputs, outputs and attributes. A fact about the
// instruction set, not code.
// Ownership: values; FindAttr points into the definition.
// Threads: const members from any; changes by one at a time.
// Errors: InvalidArgument that names the operation and the part.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/graph/attr_value.h"

namespace thalweg {

// One input or output. Its type is fixed (`type`), or an attribute's (`type_attr`), or a list's
// (`type_list_attr`). With `number_attr` it stands for that many edges of the one type.
struct ArgDef {
  std::string name;
  DType type = DType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
  bool is_list() const { return !number_attr.empty() || !type_list_attr.empty(); }
};

struct AttrDef {
  std::string name;
  AttrValue::Kind kind = AttrValue::Kind::kNone;
  std::optional<AttrValue>
      default_value;  // absent: the attribute is required (or inferred from the inputs)
  std::vector<DType> allowed_types;  // empty: any
  std::vector<std::string> allowed_strings;
  bool has_minimum = false;  // of an int, or of a list's length
  int64_t minimum = 0;
  // Release 1.15 has the operation but not this attribute, and refuses graphs that carry it.
  bool newer_than_1_15 = false;
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  bool is_stateful = false;
  bool is_commutative = false;
  bool is_aggregate = false;
  bool allows_uninitialized_input = false;
  // Null when there is none.
  const AttrDef* FindAttr(std::string_view attr) const;
};

// What Define asks of a schema: a name such as "MyOp", arguments and attributes with distinct
// names, arguments that refer to attributes of the right kinds, defaults that satisfy their own
// definition. Functions have any names.
Status ValidateOpDef(const OpDef& def, bool is_function = false);
// Kind, minimum and allowed values. An empty list fits every list. The message names no node.
Status CheckAttrValue(const AttrDef& attr, const AttrValue& value);

}  // namespace thalweg
