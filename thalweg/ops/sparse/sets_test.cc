// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

AttrMap Operation(const char* name) { return {{"set_operation", std::string(name)}}; }

// Recorded with TensorFlow 2.21.
TEST(SetsTest, OfDenseRows) {
  const Tensor a = Numbers<int32_t>({3, 1, 3, 2, 2, 2}, Shape{2, 3});
  const Tensor b = Numbers<int32_t>({1, 9, 2, 5}, Shape{2, 2});
  const auto expect = [&](const char* name, std::vector<int64_t> places,
                          std::vector<int32_t> values, int64_t widest) {
    const auto n = static_cast<int64_t>(values.size());
    ExpectOutputs("DenseToDenseSetOperation", {a, b}, Operation(name),
                  {Numbers(places, Shape{n, 2}), Numbers(values), Numbers<int64_t>({2, widest})});
  };
  expect("a-b", {0, 0}, {3}, 1);
  expect("b-a", {0, 0, 1, 0}, {9, 5}, 1);
  expect("intersection", {0, 0, 1, 0}, {1, 2}, 1);
  expect("union", {0, 0, 0, 1, 0, 2, 1, 0, 1, 1}, {1, 3, 9, 2, 5}, 3);
  ExpectError("DenseToDenseSetOperation", {a, b}, Operation("xor"), Code::kInvalidArgument, "xor");
  ExpectError("DenseToDenseSetOperation", {a, Numbers<int32_t>({1}, Shape{1, 1})},
              Operation("union"), Code::kInvalidArgument,
              "Dimension 0 in both shapes must be equal");
  ExpectError("DenseToDenseSetOperation", {Numbers<int32_t>({1}), Numbers<int32_t>({1})},
              Operation("union"), Code::kInvalidArgument,
              "Shape must be at least rank 2 but is rank 1 for ");
}

TEST(SetsTest, OfTheEndsOfNarrowTypes) {
  ExpectOutputs("DenseToDenseSetOperation",
                {Numbers<int8_t>({127, -128, -1}, Shape{1, 3}), Numbers<int8_t>({-1}, Shape{1, 1})},
                Operation("a-b"),
                {Numbers<int64_t>({0, 0, 0, 1}, Shape{2, 2}), Numbers<int8_t>({-128, 127}),
                 Numbers<int64_t>({1, 2})});
  ExpectOutputs(
      "DenseToDenseSetOperation",
      {Numbers<uint16_t>({65535, 0}, Shape{1, 2}), Numbers<uint16_t>({32768}, Shape{1, 1})},
      Operation("union"),
      {Numbers<int64_t>({0, 0, 0, 1, 0, 2}, Shape{3, 2}), Numbers<uint16_t>({0, 32768, 65535}),
       Numbers<int64_t>({1, 3})});
}

TEST(SetsTest, OfSparseRows) {
  const Tensor places = Numbers<int64_t>({0, 0, 0, 1, 1, 4}, Shape{3, 2});
  const Tensor values = Texts({"b", "a", "c"}), shape = Numbers<int64_t>({3, 5});
  ExpectOutputs("SetSize", {places, Texts({"b", "b", "c"}), shape}, {},
                {Numbers<int32_t>({1, 1, 0})});
  ExpectOutputs("SparseToSparseSetOperation",
                {places, values, shape, Numbers<int64_t>({0, 0, 2, 0}, Shape{2, 2}),
                 Texts({"a", ""}), Numbers<int64_t>({3, 1})},
                Operation("union"),
                {Numbers<int64_t>({0, 0, 0, 1, 1, 0, 2, 0}, Shape{4, 2}),
                 Texts({"a", "b", "c", ""}), Numbers<int64_t>({3, 2})});
  ExpectOutputs("DenseToSparseSetOperation",
                {Texts({"a", "b", "c", "d", "e", "f"}, Shape{3, 2}), places, values, shape},
                Operation("a-b"),
                {Numbers<int64_t>({1, 0, 2, 0, 2, 1}, Shape{3, 2}), Texts({"d", "e", "f"}),
                 Numbers<int64_t>({3, 2})});
  ExpectError("SetSize", {Numbers<int64_t>({0, 1, 0, 0, 1, 4}, Shape{3, 2}), values, shape}, {},
              Code::kInvalidArgument, "out of order");
  ExpectError("SetSize", {Numbers<int64_t>({0, 1, 0, 2, 1, 5}, Shape{3, 2}), values, shape}, {},
              Code::kInvalidArgument, "out of bounds");
}

}  // namespace
}  // namespace thalweg
