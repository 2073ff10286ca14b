// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/lookup_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

class LookupTableTest : public testing::Test {
 protected:
  static RefPtr<LookupTable> Make(TableKind kind, DType key = DType::kString,
                                  DType value = DType::kInt64) {
    return *LookupTable::Make({.kind = kind, .key_dtype = key, .value_dtype = value});
  }
  static Result<RefPtr<LookupTable>> Dense(Tensor empty, Tensor deleted) {
    TableSpec spec{
        .kind = TableKind::kMutableDense, .key_dtype = DType::kInt64, .value_dtype = DType::kInt64};
    spec.empty_key = std::move(empty);
    spec.deleted_key = std::move(deleted);
    spec.initial_buckets = 8;
    return LookupTable::Make(std::move(spec));
  }
  Allocator& allocator() { return *step_.allocator; }
  Ints Find(const LookupTable& table, const Tensor& keys, int64_t otherwise = -1) {
    const Result<Tensor> found = table.Find(*step_.allocator, keys, Tensor::Scalar(otherwise));
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? ElementsOf<int64_t>(*found) : Ints();
  }
  static std::string Words(const Status& status, Code code = Code::kInvalidArgument) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    return std::string(status.message());
  }

  const Tensor ab_ = Tensor::Vector<std::string>({"a", "b"});
  const Tensor one_two_ = Tensor::Vector<int64_t>({1, 2});
  TestStep step_;
};

TEST_F(LookupTableTest, AKeyWithoutARowGivesTheDefault) {
  const auto table = Make(TableKind::kMutable);
  ASSERT_TRUE(table->Insert(allocator(), ab_, one_two_).ok());
  EXPECT_EQ(Find(*table, Tensor::Vector<std::string>({"b", "z", "a"})), (Ints{2, -1, 1}));
  const Tensor for_each = Tensor::Vector<int64_t>({10, 20});
  const auto found = table->Find(allocator(), Tensor::Vector<std::string>({"z", "a"}), for_each);
  EXPECT_EQ(ElementsOf<int64_t>(*found), (Ints{10, 1})) << "one default for each key";
  EXPECT_EQ(Find(*table, Tensor::Scalar("a")), Ints{1});
}

TEST_F(LookupTableTest, AStaticTableIsFilledOnceAndReadAfterwards) {
  const auto table = Make(TableKind::kStatic);
  EXPECT_FALSE(table->initialized());
  EXPECT_EQ(Words(table->Find(allocator(), ab_, Tensor::Scalar(int64_t{0})).status(),
                  Code::kFailedPrecondition),
            "Table not initialized.");
  EXPECT_EQ(table->Export(allocator()).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(table->Initialize(allocator(), ab_, one_two_).ok());
  EXPECT_TRUE(table->initialized());
  EXPECT_TRUE(table->Initialize(allocator(), ab_, one_two_).ok()) << "as many rows change nothing";
  EXPECT_THAT(Words(table->Initialize(allocator(), Tensor::Vector<std::string>({"c"}),
                                      Tensor::Vector<int64_t>({3})),
                    Code::kFailedPrecondition),
              HasSubstr("already initialized with different data"));
  EXPECT_THAT(Words(table->Insert(allocator(), ab_, one_two_), Code::kUnimplemented),
              HasSubstr("Insert not supported"));
  EXPECT_THAT(Words(table->Remove(allocator(), ab_), Code::kUnimplemented),
              HasSubstr("Remove not supported"));
  EXPECT_EQ(Find(*table, ab_), (Ints{1, 2}));
}

TEST_F(LookupTableTest, AKeyWithTwoValuesLeavesAStaticTableEmpty) {
  const auto table = Make(TableKind::kStatic);
  const Tensor twice = Tensor::Vector<std::string>({"a", "a"});
  EXPECT_THAT(Words(table->Initialize(allocator(), twice, one_two_), Code::kFailedPrecondition),
              HasSubstr("different value for same key, at place 0"));
  EXPECT_FALSE(table->initialized());
  EXPECT_EQ(table->size(), 0);
  EXPECT_EQ(step_.bytes_in_use(), 0);
  EXPECT_TRUE(table->Initialize(allocator(), twice, Tensor::Vector<int64_t>({7, 7})).ok());
  EXPECT_EQ(table->size(), 1);
}

TEST_F(LookupTableTest, TypesAndShapesOfKeysAndValuesAreChecked) {
  const auto table = Make(TableKind::kMutable);
  EXPECT_THAT(Words(table->Insert(allocator(), one_two_, one_two_)),
              HasSubstr("Key must be type string but got int64"));
  EXPECT_THAT(Words(table->Insert(allocator(), ab_, ab_)),
              HasSubstr("Value must be type int64 but got string"));
  EXPECT_THAT(Words(table->Insert(allocator(), ab_, Tensor::Vector<int64_t>({1}))),
              HasSubstr("Expected shape [2] for value, got [1]"));
  EXPECT_THAT(Words(table->Find(allocator(), ab_, Tensor::Scalar(1.0F)).status()),
              HasSubstr("the default value must be int64, got float32"));
  EXPECT_THAT(Words(table->Find(allocator(), ab_, Tensor::Vector<int64_t>({1, 2, 3})).status()),
              HasSubstr("Expected shape [] or [2] for default value, got [3]"));
  EXPECT_THAT(Words(LookupTable::Make({.key_dtype = DType::kVariant}).status()),
              HasSubstr("keys of a table must be numbers or strings"));
  EXPECT_EQ(table->size(), 0);
}

TEST_F(LookupTableTest, TheLastRowTakesThePlaceOfARemovedOne) {
  const auto table = Make(TableKind::kMutable, DType::kInt64);
  const Tensor keys = Tensor::Vector<int64_t>({10, 20, 30});
  ASSERT_TRUE(table->Insert(allocator(), keys, Tensor::Vector<int64_t>({1, 2, 3})).ok());
  ASSERT_TRUE(table->Remove(allocator(), Tensor::Vector<int64_t>({10, 99})).ok());
  const auto rows = *table->Export(allocator());
  EXPECT_EQ(ElementsOf<int64_t>(rows.first), (Ints{30, 20}));
  EXPECT_EQ(ElementsOf<int64_t>(rows.second), (Ints{3, 2}));
  EXPECT_EQ(Find(*table, keys), (Ints{-1, 2, 3}));
  const Tensor forty = Tensor::Vector<int64_t>({40});
  ASSERT_TRUE(table->Insert(allocator(), forty, Tensor::Vector<int64_t>({4})).ok());
  EXPECT_EQ(Find(*table, keys), (Ints{-1, 2, 3})) << "the row that was freed is that of 40";
  ASSERT_TRUE(table->Remove(allocator(), forty).ok());
  ASSERT_TRUE(table->Remove(allocator(), Tensor::Vector<int64_t>({20, 30, 30})).ok());
  EXPECT_EQ(table->size(), 0);
}

TEST_F(LookupTableTest, AnImportReplacesAllRows) {
  const auto table = Make(TableKind::kMutable);
  ASSERT_TRUE(table->Insert(allocator(), ab_, one_two_).ok());
  ASSERT_TRUE(
      table->Import(allocator(), Tensor::Vector<std::string>({"c"}), Tensor::Vector<int64_t>({3}))
          .ok());
  EXPECT_EQ(Find(*table, Tensor::Vector<std::string>({"a", "c"})), (Ints{-1, 3}));
  EXPECT_EQ(table->size(), 1);
}

TEST_F(LookupTableTest, ATableOfTensorsHasValuesOfItsShape) {
  TableSpec spec{.kind = TableKind::kMutableOfTensors,
                 .key_dtype = DType::kInt64,
                 .value_dtype = DType::kFloat};
  spec.value_shape = Shape{2};
  const auto table = *LookupTable::Make(std::move(spec));
  const Tensor values = Tensor::Of<float>(std::vector<float>{1, 2, 3, 4}, Shape{2, 2});
  ASSERT_TRUE(table->Insert(allocator(), one_two_, values).ok());
  const Tensor found =
      *table->Find(allocator(), Tensor::Vector<int64_t>({2, 9}), Tensor::Vector<float>({-1, -2}));
  EXPECT_EQ(found.shape(), (Shape{2, 2}));
  EXPECT_EQ(ElementsOf<float>(found), (std::vector<float>{3, 4, -1, -2}));
}

TEST_F(LookupTableTest, TheTwoKeysOfADenseTableAreItsOwn) {
  const auto table = *Dense(Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2}));
  ASSERT_TRUE(table->Insert(allocator(), one_two_, one_two_).ok());
  const Tensor empty = Tensor::Vector<int64_t>({-1}), deleted = Tensor::Vector<int64_t>({-2});
  EXPECT_THAT(Words(table->Insert(allocator(), empty, empty)), HasSubstr("empty_key"));
  EXPECT_THAT(Words(table->Remove(allocator(), deleted)), HasSubstr("deleted_key"));
  EXPECT_THAT(Words(table->Find(allocator(), empty, Tensor::Scalar(int64_t{0})).status()),
              HasSubstr("empty_key"));
  EXPECT_EQ(table->size(), 2);
  const auto rows = *table->Export(allocator());
  EXPECT_EQ(rows.first.shape(), (Shape{8, 1})) << "all buckets, scalars as a column";
  EXPECT_EQ(ElementsOf<int64_t>(rows.first), (Ints{-1, 1, 2, -1, -1, -1, -1, -1}));
  const auto other = *Dense(Tensor::Scalar(int64_t{-1}), Tensor::Scalar(int64_t{-2}));
  ASSERT_TRUE(other->Import(allocator(), rows.first, rows.second).ok());
  EXPECT_EQ(Find(*other, one_two_), (Ints{1, 2}));
}

TEST_F(LookupTableTest, DenseKeysThatCannotBeAreRefused) {
  const Tensor minus = Tensor::Scalar(int64_t{-1});
  EXPECT_THAT(Words(Dense(minus, minus).status()), HasSubstr("cannot be equal"));
  EXPECT_THAT(Words(Dense(minus, Tensor::Vector<int64_t>({-2})).status()),
              HasSubstr("must have same shape"));
  const Tensor matrix = *Tensor::AllocateHost(DType::kInt64, Shape{1, 1});
  EXPECT_THAT(Words(Dense(matrix, matrix).status()), HasSubstr("a scalar or a vector"));
  EXPECT_TRUE(Dense(minus, Tensor()).ok()) << "a table whose rows stay needs no deleted key";
}

TEST_F(LookupTableTest, KeysThatAreVectorsEndWithTheirLength) {
  const auto table = *Dense(Tensor::Vector<int64_t>({-1, -1}), Tensor::Vector<int64_t>({-2, -2}));
  const Tensor keys = Tensor::Of<int64_t>(Ints{1, 2, 2, 1}, Shape{2, 2});
  ASSERT_TRUE(table->Insert(allocator(), keys, one_two_).ok());
  EXPECT_EQ(Find(*table, keys), (Ints{1, 2}));
  EXPECT_THAT(Words(table->Insert(allocator(), one_two_, Tensor::Vector<int64_t>({1}))),
              HasSubstr("Expected shape [] for value, got [1]"))
      << "one key of two elements";
  EXPECT_THAT(Words(table->Insert(allocator(), Tensor::Vector<int64_t>({1, 2, 3}),
                                  Tensor::Vector<int64_t>({1}))),
              HasSubstr("Expected key shape to end with [2] got [3]"));
}

TEST_F(LookupTableTest, RowsCountAgainstTheLimitAndARefusalLeavesThoseThatAreThere) {
  TestStep small(int64_t{1} << 20);
  const auto table = Make(TableKind::kMutable);
  ASSERT_TRUE(table->Insert(*small.allocator, ab_, one_two_).ok());
  EXPECT_GT(small.bytes_in_use(), 0);
  const Tensor large = Tensor::Vector<std::string>({std::string(size_t{1} << 20, 'x')});
  const Tensor three = Tensor::Vector<int64_t>({3});
  EXPECT_THAT(Words(table->Insert(*small.allocator, large, three), Code::kResourceExhausted),
              HasSubstr("rows of a table"));
  EXPECT_EQ(table->Import(*small.allocator, large, three).code(), Code::kResourceExhausted);
  EXPECT_EQ(Find(*table, ab_), (Ints{1, 2}));
  ASSERT_TRUE(table->Remove(*small.allocator, ab_).ok());
  EXPECT_EQ(small.bytes_in_use(), 0) << "removed rows are given back";
}

TEST_F(LookupTableTest, FoundStringsCountAgainstTheLimitHoweverOftenTheyAreFound) {
  TestStep small(int64_t{1} << 20);
  const auto table = Make(TableKind::kMutable, DType::kInt64, DType::kString);
  const Tensor value = Tensor::Vector<std::string>({std::string(10000, 'x')});
  ASSERT_TRUE(table->Insert(*small.allocator, Tensor::Vector<int64_t>({1}), value).ok());
  const Tensor many = Tensor::Of<int64_t>(Ints(1000, 1), Shape{1000});
  const Status status = table->Find(*small.allocator, many, Tensor::Scalar("")).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
}

// Each insert writes one value for all keys: whoever reads sees one insert, never parts of two.
TEST_F(LookupTableTest, AReaderSeesTheTableBeforeOrAfterAnInsertNeverBetween) {
  const auto table = Make(TableKind::kMutable, DType::kInt64);
  const Ints numbers = [] {
    Ints all;
    for (int64_t i = 0; i < 64; ++i) all.push_back(i);
    return all;
  }();
  const Tensor keys = Tensor::Of<int64_t>(numbers, Shape{64});
  const auto insert = [&](int64_t value) {
    return table->Insert(*step_.allocator, keys, Tensor::Of<int64_t>(Ints(64, value), Shape{64}));
  };
  ASSERT_TRUE(insert(0).ok());
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    do {
      const Ints found = Find(*table, keys);
      EXPECT_EQ(found, Ints(64, found.front()));
    } while (!stop.load());
  });
  for (int64_t value = 1; value <= 300; ++value) EXPECT_TRUE(insert(value).ok());
  stop.store(true);
  reader.join();
  EXPECT_EQ(Find(*table, keys), Ints(64, 300));
}

}  // namespace
}  // namespace thalweg
