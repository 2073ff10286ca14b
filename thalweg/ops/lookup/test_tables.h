// SPDX-License-Identifier: Apache-2.0
// Short words for tests of tables.
//   const Tensor table = MakeTable("AnonymousHashTable", {}, DType::kString, DType::kInt64);
//   Do("InitializeTableV2", {table, Texts({"a"}), Numbers<int64_t>({1})});
#pragma once

#include "thalweg/testing/test_values.h"

namespace thalweg {

inline Tensor MakeTable(const char* op, const std::vector<Tensor>& inputs, DType key, DType value,
                        AttrMap attrs = {}) {
  attrs.Set("key_dtype", key);
  attrs.Set("value_dtype", value);
  auto made = RunOp(op, inputs, attrs);
  EXPECT_TRUE(made.ok()) << op << ": " << made.status().ToString();
  return made.ok() ? (*made)[0] : Tensor();
}

inline void Do(const char* op, const std::vector<Tensor>& inputs, const AttrMap& attrs = {}) {
  ExpectOutputs(op, inputs, attrs, {});
}

}  // namespace thalweg
