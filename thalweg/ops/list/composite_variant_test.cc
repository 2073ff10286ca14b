// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/list/test_lists.h"

namespace thalweg {
namespace {

TEST(CompositeVariantTest, ThereAndBack) {
  const std::string ragged("\010\003", 2);  // a TypeSpecProto of class 3
  const auto pack = [&](std::vector<Tensor> parts, const std::string& metadata) {
    return RunList("CompositeTensorVariantFromComponents", parts, {{"metadata", metadata}});
  };
  const auto unpack = [&](const Tensor& value, std::vector<DType> types,
                          const std::string& metadata) {
    return RunOp("CompositeTensorVariantToComponents", {value},
                 {{"metadata", metadata}, {"Tcomponents", std::move(types)}});
  };
  const Tensor value = Need(pack({Ints({1, 2, 3}), Floats({1})}, ragged));
  const auto parts = unpack(value, {DType::kInt32, DType::kFloat}, ragged);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  ExpectTensor((*parts)[0], Ints({1, 2, 3}));
  ExpectTensor((*parts)[1], Floats({1}));
  const auto refused = [](const Result<std::vector<Tensor>>& got, std::string_view part) {
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument);
    EXPECT_NE(got.status().message().find(part), std::string_view::npos) << got.status().ToString();
  };
  refused(unpack(value, {DType::kFloat, DType::kFloat}, ragged), "component 0 had dtype int32");
  refused(unpack(value, {DType::kInt32}, ragged), "has 2 tensor components; expected 1");
  refused(unpack(value, {DType::kInt32, DType::kFloat}, ""), "class 0");
  refused(unpack(EmptyList(), {DType::kInt32}, ragged), "not a valid CompositeTensorVariant");
  ExpectRefused(pack({Ints({1})}, "junk"), "Error parsing metadata");
}

}  // namespace
}  // namespace thalweg
