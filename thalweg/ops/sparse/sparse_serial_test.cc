// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

const Tensor kSerialPlaces = Numbers<int64_t>({0, 1, 2, 0, 2, 3}, Shape{3, 2});
const Tensor kSerialValues = Numbers<float>({1, 2, 3});
const Tensor kSerialShape = Numbers<int64_t>({3, 4});
const AttrMap kToFloat = {{"dtype", DType::kFloat}};

Tensor Serialized(const std::vector<Tensor>& sparse, const AttrMap& attrs = {},
                  std::string_view op = "SerializeSparse") {
  Result<std::vector<Tensor>> made = RunOp(op, sparse, attrs);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? (*made)[0] : Tensor();
}

TEST(SparseSerialTest, TheMessagesOfTensorFlow) {
  using std::string_literals::operator""s;
  const Tensor made = Serialized({kSerialPlaces, kSerialValues, kSerialShape});
  ASSERT_EQ(made.shape(), Shape{3});
  EXPECT_EQ(made.data<std::string>()[1],
            "\x08\x01\x12\x04\x12\x02\x08\x03\"\x0c\x00\x00\x80?\x00\x00\x00@\x00\x00@@"s);
  EXPECT_EQ(made.data<std::string>()[2],
            "\x08\x09\x12\x04\x12\x02\x08\x02\"\x10\x03\x00\x00\x00\x00\x00\x00\x00"
            "\x04\x00\x00\x00\x00\x00\x00\x00"s);
  const Tensor rows =
      Serialized({kSerialPlaces, kSerialValues, kSerialShape}, {}, "SerializeManySparse");
  EXPECT_EQ(rows.shape(), (Shape{3, 3}));
}

// What comes back is what was written; two dimensions more when they are stacked as a matrix.
TEST(SparseSerialTest, ComesBackStacked) {
  for (const DType form : {DType::kString, DType::kVariant}) {
    const AttrMap attrs = {{"out_type", form}};
    ExpectOutputs("DeserializeSparse",
                  {Serialized({kSerialPlaces, kSerialValues, kSerialShape}, attrs)}, kToFloat,
                  {kSerialPlaces, kSerialValues, kSerialShape});
    const Tensor rows =
        Serialized({kSerialPlaces, kSerialValues, kSerialShape}, attrs, "SerializeManySparse");
    ExpectOutputs("DeserializeSparse", {rows}, kToFloat,
                  {kSerialPlaces, kSerialValues, kSerialShape});
    Result<Tensor> square = rows.Rows(0, 2).Reshaped(Shape{2, 1, 3});
    ASSERT_TRUE(square.ok());
    ExpectOutputs("DeserializeSparse", {*square}, kToFloat,
                  {Numbers<int64_t>({0, 0, 1}, Shape{1, 3}), Numbers<float>({1}),
                   Numbers<int64_t>({2, 1, 4})});
  }
  const Tensor texts = Texts({"a", "", "ccc"});
  ExpectOutputs("DeserializeManySparse",
                {Serialized({kSerialPlaces, texts, kSerialShape}, {}, "SerializeManySparse")},
                {{"dtype", DType::kString}}, {kSerialPlaces, texts, kSerialShape});
}

TEST(SparseSerialTest, TheShapeIsTheLargest) {
  const Tensor one = Serialized({kSerialPlaces, kSerialValues, kSerialShape});
  const Tensor two = Serialized(
      {Numbers<int64_t>({4, 0}, Shape{1, 2}), Numbers<float>({9}), Numbers<int64_t>({5, 2})});
  std::vector<std::string> all(one.data<std::string>(), one.data<std::string>() + 3);
  all.insert(all.end(), two.data<std::string>(), two.data<std::string>() + 3);
  ExpectOutputs("DeserializeManySparse", {Texts(all, Shape{2, 3})}, kToFloat,
                {Numbers<int64_t>({0, 0, 1, 0, 2, 0, 0, 2, 3, 1, 4, 0}, Shape{4, 3}),
                 Numbers<float>({1, 2, 3, 9}), Numbers<int64_t>({2, 5, 4})});
}

TEST(SparseSerialTest, RefusesWhatDoesNotFit) {
  const Tensor one = Serialized({kSerialPlaces, kSerialValues, kSerialShape});
  const auto* part = one.data<std::string>();
  const auto refuse = [](std::vector<std::string> texts, const AttrMap& attrs,
                         std::string_view message) {
    ExpectError("DeserializeSparse", {Texts(texts)}, attrs, Code::kInvalidArgument, message);
  };
  refuse({part[0], part[1], part[2]}, {{"dtype", DType::kInt32}}, "Requested SparseTensor of type");
  refuse({"a", "b", "c"}, kToFloat, "Could not parse serialized proto");
  refuse({"", "", ""}, kToFloat, "Could not construct tensor from proto");
  refuse({part[1], part[1], part[2]}, kToFloat, "must be int64");
  refuse({part[0], part[2], part[2]}, {{"dtype", DType::kInt64}}, "Expected row counts");
  refuse({part[2], part[1], part[2]}, kToFloat, "a matrix and two vectors");
  refuse({part[0], part[1]}, kToFloat, "");
  ExpectError("DeserializeSparse", {Texts({}, Shape{0, 3})}, kToFloat, Code::kInvalidArgument,
              "at least 1");
  ExpectError("DeserializeSparse", {Tensor::Scalar("a")}, kToFloat, Code::kInvalidArgument, "");
  const Tensor empty_variants = *Tensor::AllocateHost(DType::kVariant, Shape{3});
  ExpectError("DeserializeSparse", {empty_variants}, kToFloat, Code::kInvalidArgument,
              "does not hold a tensor");
  ExpectError("SerializeSparse", {kSerialPlaces, Numbers<float>({1}), kSerialShape}, {},
              Code::kInvalidArgument, "");
  ExpectError("SerializeManySparse",
              {Numbers<int64_t>({1, 0, 0, 1}, Shape{2, 2}), Numbers<float>({1, 2}), kSerialShape},
              {}, Code::kInvalidArgument, "out of order");
  ExpectError("SerializeManySparse",
              {Numbers<int64_t>({3, 0}, Shape{1, 2}), Numbers<float>({1}), kSerialShape}, {},
              Code::kInvalidArgument, "out of bounds");
  ExpectError("SerializeManySparse",
              {Numbers<int64_t>({3}, Shape{1, 1}), Numbers<float>({1}), Numbers<int64_t>({9})}, {},
              Code::kInvalidArgument, "Rank of input SparseTensor should be > 1");
  ExpectError("SerializeManySparse",
              {Numbers<int64_t>({0, 0}, Shape{1, 2}), Numbers<float>({1}),
               Numbers<int64_t>({int64_t{1} << 50, 1})},
              {}, Code::kResourceExhausted, "cannot be taken apart");
}

}  // namespace
}  // namespace thalweg
