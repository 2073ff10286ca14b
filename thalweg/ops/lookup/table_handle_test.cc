// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/lookup/test_tables.h"

namespace thalweg {
namespace {

TEST(TableHandleTest, EveryKind) {
  for (const char* op :
       {"AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors",
        "HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2"}) {
    const Tensor handle = MakeTable(op, {}, DType::kString, DType::kInt64);
    ASSERT_EQ(handle.dtype(), DType::kResource) << op;
  }
}

TEST(TableHandleTest, Refusals) {
  const Tensor zero = Tensor::Scalar(int64_t{0}), one = Tensor::Scalar(int64_t{1});
  const auto refuse = [](const Tensor& empty, const Tensor& deleted, const char* name,
                         AttrValue value, std::string_view why) {
    AttrMap attrs = {{"value_dtype", DType::kFloat}};
    attrs.Set(name, std::move(value));
    ExpectError("MutableDenseHashTableV2", {empty, deleted}, attrs, Code::kInvalidArgument, why);
  };
  refuse(zero, zero, "container", std::string(), "cannot be equal");
  refuse(zero, one, "initial_num_buckets", int64_t{3}, "power of 2");
  refuse(zero, one, "max_load_factor", 1.5f, "max_load_factor");
  refuse(zero, Numbers<int64_t>({1}), "container", std::string(), "same shape");
  refuse(zero, one, "value_shape", PartialShape{-1}, "fully known");
}

}  // namespace
}  // namespace thalweg
