// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/ops/lookup/test_tables.h"

namespace thalweg {
namespace {

void ExpectFound(const Tensor& table, const Tensor& keys, const Tensor& other,
                 const Tensor& expected) {
  ExpectOutputs("LookupTableFindV2", {table, keys, other}, {}, {expected});
}
void ExpectRows(const Tensor& table, const Tensor& keys, const Tensor& values) {
  ExpectOutputs("LookupTableExportV2", {table},
                {{"Tkeys", keys.dtype()}, {"Tvalues", values.dtype()}}, {keys, values});
  ExpectOutputs("LookupTableSizeV2", {table}, {}, {Tensor::Scalar(keys.dim(0))});
}

TEST(LookupTest, FilledOnce) {
  const Tensor table = MakeTable("AnonymousHashTable", {}, DType::kInt64, DType::kString);
  const Tensor keys = Numbers<int64_t>({1, 2}), other = Tensor::Scalar("x");
  ExpectError("LookupTableFindV2", {table, keys, other}, {}, Code::kFailedPrecondition,
              "Table not initialized");
  Do("InitializeTableV2", {table, keys, Texts({"a", "b"})});
  Do("InitializeTableV2", {table, Numbers<int64_t>({1, 3}), Texts({"q", "b"})});  // is ignored
  ExpectFound(table, Numbers<int64_t>({1, 3}, Shape{2, 1}), other, Texts({"a", "x"}, Shape{2, 1}));
  ExpectRows(table, keys, Texts({"a", "b"}));
  const auto refuse = [&](const char* op, std::vector<Tensor> rest, Code code, const char* why) {
    rest.insert(rest.begin(), table);
    ExpectError(op, rest, {}, code, why);
  };
  refuse("LookupTableInsertV2", {keys, Texts({"a", "b"})}, Code::kUnimplemented, "Insert");
  refuse("LookupTableRemoveV2", {keys}, Code::kUnimplemented, "Remove");
  refuse("LookupTableFindV2", {keys, Texts({"x"})}, Code::kInvalidArgument, "default value");
  refuse("LookupTableFindV2", {Tensor::Scalar(1), other}, Code::kInvalidArgument,
         "Signature mismatch, have: resource, int32, string->string expected: resource, int64, "
         "string->string");
  refuse("LookupTableFindV2", {keys, Tensor::Scalar(1)}, Code::kInvalidArgument,
         "Signature mismatch, have: resource, int64, int32->int32 expected: ");
  const Tensor second = MakeTable("AnonymousHashTable", {}, DType::kInt64, DType::kString);
  const Tensor twice = Numbers<int64_t>({7, 7});
  ExpectError("InitializeTableV2", {second, twice, Texts({"a", "b"})}, {},
              Code::kFailedPrecondition, "different value for same key");
  ExpectError("InitializeTableV2", {second, twice, Texts({"a"})}, {}, Code::kInvalidArgument,
              "Dimension 0 in both shapes must be equal, but are 2 and 1");
  ExpectError("InitializeTableV2", {second, twice, twice}, {}, Code::kInvalidArgument,
              "Signature mismatch, have: resource, int64, int64-> expected: resource, int64, ");
  Do("InitializeTableV2", {second, twice, Texts({"a", "a"})});
  ExpectRows(second, Numbers<int64_t>({7}), Texts({"a"}));
}

TEST(LookupTest, Changing) {
  const Tensor table = MakeTable("AnonymousMutableHashTable", {}, DType::kString, DType::kFloat);
  const Tensor keys = Texts({"a", "b", "c"}), other = Tensor::Scalar(-1.0f);
  Do("LookupTableInsertV2", {table, keys, Numbers<float>({1, 2, 3})});
  Do("LookupTableInsertV2", {table, Texts({"b"}), Numbers<float>({5})});
  ExpectRows(table, keys, Numbers<float>({1, 5, 3}));
  Do("LookupTableRemoveV2", {table, Texts({"a", "nobody"})});
  ExpectRows(table, Texts({"c", "b"}), Numbers<float>({3, 5}));
  ExpectFound(table, keys, other, Numbers<float>({-1, 5, 3}));
  ExpectFound(table, Texts({"a", "c"}), Numbers<float>({8, 9}), Numbers<float>({8, 3}));
  ExpectError("LookupTableInsertV2", {table, keys, Numbers<float>({1})}, {}, Code::kInvalidArgument,
              "Expected shape [3] for value");
  ExpectError("InitializeTableV2", {table, keys, Numbers<float>({1, 2, 3})}, {},
              Code::kInvalidArgument, "");
  Do("LookupTableImportV2", {table, Texts({""}), Numbers<float>({4})});
  ExpectRows(table, Texts({""}), Numbers<float>({4}));
}

TEST(LookupTest, OfTensors) {
  const Tensor table = MakeTable("AnonymousMutableHashTableOfTensors", {}, DType::kInt32,
                                 DType::kFloat, {{"value_shape", PartialShape{2}}});
  const Tensor keys = Numbers<int32_t>({4, 5});
  Do("LookupTableInsertV2", {table, keys, Numbers<float>({1, 2, 3, 4}, Shape{2, 2})});
  ExpectFound(table, Numbers<int32_t>({5, 6}), Numbers<float>({8, 9}),
              Numbers<float>({3, 4, 8, 9}, Shape{2, 2}));
  ExpectRows(table, keys, Numbers<float>({1, 2, 3, 4}, Shape{2, 2}));
  ExpectError("LookupTableFindV2", {table, keys, Tensor::Scalar(1.0f)}, {}, Code::kInvalidArgument,
              "default value");
}

TEST(LookupTest, Dense) {
  const Tensor table = MakeTable(
      "AnonymousMutableDenseHashTable", {Numbers<int64_t>({0, 0}), Numbers<int64_t>({-1, 0})},
      DType::kInt64, DType::kFloat, {{"initial_num_buckets", int64_t{8}}});
  const Tensor keys = Numbers<int64_t>({1, 2, 3, 4}, Shape{2, 2});
  Do("LookupTableInsertV2", {table, keys, Numbers<float>({1, 2})});
  ExpectFound(table, Numbers<int64_t>({3, 4, 4, 3}, Shape{2, 2}), Tensor::Scalar(9.0f),
              Numbers<float>({2, 9}));
  // The buckets of TensorFlow 1.15.
  Do("LookupTableInsertV2", {table, Numbers<int64_t>({5, 6}, Shape{1, 2}), Numbers<float>({3})});
  const Tensor buckets =
      Numbers<int64_t>({0, 0, 0, 0, 0, 0, 1, 2, 5, 6, 0, 0, 0, 0, 3, 4}, Shape{8, 2});
  const Tensor values = Numbers<float>({0, 0, 0, 1, 3, 0, 0, 2}, Shape{8, 1});
  const AttrMap types = {{"Tkeys", DType::kInt64}, {"Tvalues", DType::kFloat}};
  ExpectOutputs("LookupTableExportV2", {table}, types, {buckets, values});
  Do("LookupTableImportV2", {table, buckets, values});
  ExpectOutputs("LookupTableSizeV2", {table}, {}, {Tensor::Scalar(int64_t{3})});
  const auto refuse = [&](const Tensor& bad, const char* why) {
    ExpectError("LookupTableFindV2", {table, bad, Tensor::Scalar(9.0f)}, {}, Code::kInvalidArgument,
                why);
  };
  refuse(Numbers<int64_t>({0, 0}, Shape{1, 2}), "empty_key");
  refuse(Numbers<int64_t>({-1, 0}, Shape{1, 2}), "deleted_key");
  refuse(Numbers<int64_t>({3, 4, 5}), "Expected key shape");
}

TEST(LookupTest, ImportFillsAStaticTable) {
  const Tensor table = MakeTable("AnonymousHashTable", {}, DType::kString, DType::kInt64);
  Do("LookupTableImportV2", {table, Texts({"a", "b"}), Numbers<int64_t>({1, 2})});
  ExpectRows(table, Texts({"a", "b"}), Numbers<int64_t>({1, 2}));
  Do("LookupTableImportV2", {table, Texts({"a", "b"}), Numbers<int64_t>({1, 3})});  // is ignored
  ExpectFound(table, Texts({"b", "c"}), Tensor::Scalar(int64_t{-1}), Numbers<int64_t>({2, -1}));
  ExpectError("LookupTableImportV2", {table, Texts({"a"}), Numbers<int64_t>({1})}, {},
              Code::kFailedPrecondition, "Table was already initialized with different data.");
  ExpectError("LookupTableImportV2", {table, Texts({"a", "b"}), Numbers<int64_t>({1})}, {},
              Code::kInvalidArgument, "Expected shape [2] for value, got [1]");
}

// What TensorFlow 1.15 and 2.21 export after each step.
TEST(LookupTest, BucketsRememberWhatWasRemoved) {
  const Tensor table = MakeTable(
      "AnonymousMutableDenseHashTable", {Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2})},
      DType::kInt64, DType::kInt64, {{"initial_num_buckets", int64_t{4}}});
  const auto expect = [&](const std::vector<int64_t>& keys, const std::vector<int64_t>& values) {
    const Shape column{static_cast<int64_t>(keys.size()), 1};
    ExpectOutputs("LookupTableExportV2", {table},
                  {{"Tkeys", DType::kInt64}, {"Tvalues", DType::kInt64}},
                  {Numbers<int64_t>(keys, column), Numbers<int64_t>(values, column)});
  };
  const auto insert = [&](const std::vector<int64_t>& keys, const std::vector<int64_t>& values) {
    Do("LookupTableInsertV2", {table, Numbers<int64_t>(keys), Numbers<int64_t>(values)});
  };
  insert({1, 5}, {10, 50});
  expect({-1, 1, 5, -1}, {0, 10, 50, 0});
  Do("LookupTableRemoveV2", {table, Numbers<int64_t>({1})});
  expect({-1, -2, 5, -1}, {0, 10, 50, 0});
  insert({5}, {51});  // the first bucket on its way
  expect({-1, 5, 5, -1}, {0, 51, 50, 0});
  Do("LookupTableRemoveV2", {table, Numbers<int64_t>({5})});
  expect({-1, -2, 5, -1}, {0, 51, 50, 0});
  insert({5, 5, 5, 5}, {52, 52, 52, 52});  // four keys and one row are more than four buckets hold
  expect({-1, -1, -1, -1, -1, 5, -1, -1}, {0, 0, 0, 0, 0, 52, 0, 0});
  insert({33, 17, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6});
  expect({-1, 33, 17, 2, 1, 5, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1},
         {0, 1, 2, 4, 3, 52, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0});
  const Shape eight{8, 1};
  Do("LookupTableImportV2", {table, Numbers<int64_t>({-1, 1, -2, 3, -1, -1, -1, -1}, eight),
                             Numbers<int64_t>({0, 10, 20, 30, 0, 0, 0, 0}, eight)});
  ExpectOutputs("LookupTableSizeV2", {table}, {}, {Tensor::Scalar(int64_t{2})});
  insert({2}, {21});  // where a row was removed
  expect({-1, 1, 2, 3, -1, -1, -1, -1}, {0, 10, 21, 30, 0, 0, 0, 0});
}

TEST(LookupTest, ADenseTableOfResources) {
  const Tensor table =
      MakeTable("AnonymousMutableDenseHashTable", {Tensor::Scalar(""), Tensor::Scalar("deleted")},
                DType::kString, DType::kResource, {{"initial_num_buckets", int64_t{4}}});
  const Tensor held = MakeTable("AnonymousHashTable", {}, DType::kInt64, DType::kString);
  const Tensor other = MakeTable("AnonymousHashTable", {}, DType::kInt64, DType::kString);
  const Tensor one = *held.Reshaped(Shape{1});
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    Do("LookupTableInsertV2", {table, Texts({key}), one});
  }
  const auto found = RunOp("LookupTableFindV2", {table, Texts({"e", "x"}), other});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  const auto* const handles = (*found)[0].data<ResourceHandle>();
  EXPECT_EQ(handles[0].resource(), held.scalar<ResourceHandle>().resource());
  EXPECT_EQ(handles[1].resource(), other.scalar<ResourceHandle>().resource());
}

TEST(LookupTest, BucketsOfADenseTable) {  // of TensorFlow 1.15, whose buckets grow at 4 of 4
  const Tensor table = MakeTable(
      "AnonymousMutableDenseHashTable", {Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2})},
      DType::kInt64, DType::kInt64, {{"initial_num_buckets", int64_t{4}}});
  const AttrMap types = {{"Tkeys", DType::kInt64}, {"Tvalues", DType::kInt64}};
  const auto insert = [&](int64_t key) {
    Do("LookupTableInsertV2", {table, Numbers<int64_t>({key}), Numbers<int64_t>({key / 5})});
  };
  for (const int64_t key : {5, 10, 15}) insert(key);
  ExpectOutputs("LookupTableExportV2", {table}, types,
                {Numbers<int64_t>({-1, 5, 10, 15}, Shape{4, 1}),
                 Numbers<int64_t>({0, 1, 2, 3}, Shape{4, 1})});
  for (const int64_t key : {20, 25, 30, 35}) insert(key);
  const Tensor buckets = Numbers<int64_t>(
      {-1, -1, -1, 35, 20, 5, -1, -1, -1, 25, 10, -1, -1, -1, 30, 15}, Shape{16, 1});
  const Tensor values =
      Numbers<int64_t>({0, 0, 0, 7, 4, 1, 0, 0, 0, 5, 2, 0, 0, 0, 6, 3}, Shape{16, 1});
  ExpectOutputs("LookupTableExportV2", {table}, types, {buckets, values});
  Do("LookupTableImportV2", {table, buckets, values});
  ExpectFound(table, Numbers<int64_t>({35, 15, 1}), Tensor::Scalar(int64_t{9}),
              Numbers<int64_t>({7, 3, 9}));
}

class FromFile : public testing::Test {
 protected:
  // A table filled from `text`, or the error.
  Status Fill(const std::string& text, DType key, DType value, int64_t key_index,
              int64_t value_index, AttrMap attrs = {}) {
    const std::string path = directory_.path() + "/vocabulary";
    std::ofstream(path, std::ios::binary) << text;
    table_ = MakeTable("AnonymousHashTable", {}, key, value);
    attrs.Set("key_index", key_index);
    attrs.Set("value_index", value_index);
    return RunOp("InitializeTableFromTextFileV2", {table_, Tensor::Scalar(path)}, attrs).status();
  }
  void Refuse(const Status& status, Code code, std::string_view why) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(why), std::string_view::npos) << status.ToString();
  }

  TemporaryDirectory directory_;
  Tensor table_;
};

TEST_F(FromFile, ColumnsLinesAndNumbers) {
  ASSERT_TRUE(Fill("a\t1\r\nb\t2\n", DType::kString, DType::kInt64, 0, 1).ok());
  ExpectRows(table_, Texts({"a", "b"}), Numbers<int64_t>({1, 2}));
  ASSERT_TRUE(Fill("a b\nc", DType::kString, DType::kInt64, -2, -1).ok());
  ExpectRows(table_, Texts({"a b", "c"}), Numbers<int64_t>({0, 1}));
  ASSERT_TRUE(Fill("a 1.5\nb 2\n", DType::kInt64, DType::kFloat, -1, 1,
                   {{"delimiter", std::string(" ")}, {"vocab_size", int64_t{1}}})
                  .ok());
  ExpectRows(table_, Numbers<int64_t>({0}), Numbers<float>({1.5f}));
}

TEST_F(FromFile, Refusals) {
  const DType text = DType::kString, number = DType::kInt64;
  const Code bad = Code::kInvalidArgument;
  Refuse(Fill("a\t1\nc\tx\n", text, number, 0, 1), bad, "line 2: Field x is not a valid int64");
  Refuse(Fill("a\nb\nb\n", text, number, -2, -1), Code::kFailedPrecondition, "different value");
  Refuse(Fill("a\n\nc", text, number, -2, -1), bad, "empty line");
  Refuse(Fill("a\n", text, number, -2, -1, {{"vocab_size", int64_t{9}}}), bad, "expected 9");
  Refuse(Fill("a\n", text, number, 5, -1), bad, "expected column 5");
  Refuse(Fill("a\n", number, text, -2, -1), bad, "requires type int64, got string");
  Refuse(Fill("a\n", text, DType::kFloat, -2, -1), bad, "requires type int64");
  Refuse(Fill("a\n", text, number, -2, -1, {{"delimiter", std::string("ab")}}), bad, "1 char");
  Refuse(RunOp("InitializeTableFromTextFileV2", {table_, Tensor::Scalar("/nowhere/at/all")},
               {{"key_index", int64_t{-2}}, {"value_index", int64_t{-1}}})
             .status(),
         Code::kNotFound, "/nowhere/at/all");
}

}  // namespace
}  // namespace thalweg
