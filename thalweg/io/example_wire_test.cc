// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/example_wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "thalweg/base/str_cat.h"
#include "thalweg/io/test_example_bytes.h"

namespace thalweg {
namespace {

template <class T>
std::vector<T> ValuesOf(std::string_view feature) {
  EncodedList list;
  EXPECT_TRUE(ReadFeature(feature, &list));
  const int64_t n = CountValues(list);
  EXPECT_GE(n, 0);
  std::vector<T> values(static_cast<size_t>(std::max<int64_t>(n, 0)));
  EXPECT_TRUE(ReadValues(list, values.data()));
  return values;
}

// -1: no feature, -2: no count, -3: no values.
int64_t CountOf(std::string_view feature) {
  EncodedList list;
  if (!ReadFeature(feature, &list)) return -1;
  const int64_t n = CountValues(list);
  if (n < 0) return -2;
  std::vector<int64_t> values(static_cast<size_t>(n));
  if (list.kind == FeatureKind::kInt64 && !ReadValues(list, values.data())) return -3;
  return n;
}

TEST(FeatureKeysTest, EveryKeyIsFoundAndNoOther) {
  std::vector<std::string> keys = {"", "a", "image/encoded", "image/height"};
  for (int i = 0; i < 300; ++i) keys.push_back(StrCat("feature/with/a/long/name/", i, "/value"));
  const FeatureKeys table(keys);
  for (int i = 0; i < table.size(); ++i) EXPECT_EQ(table.Find(keys[static_cast<size_t>(i)]), i);
  EXPECT_EQ(table.Find("b"), -1);
  EXPECT_EQ(table.Find("feature/with/a/long/name/300/value"), -1);
  EXPECT_FALSE(table.has_repeated());
  EXPECT_EQ(FeatureKeys({}).Find("a"), -1);
}

TEST(FeatureKeysTest, AKeyThatStandsTwiceIsGivenTwice) {
  const FeatureKeys keys({"a", "b", "a"});
  EXPECT_EQ(keys.first(2), 0);
  std::string_view found[3];
  const std::string example = ExampleBytes({{"a", Ints({7})}});
  ASSERT_TRUE(FindFeatures(example, keys, found));
  EXPECT_EQ(ValuesOf<int64_t>(found[2]), (std::vector<int64_t>{7}));
  EXPECT_EQ(found[1].data(), nullptr);
}

TEST(ExampleWireTest, ValuesOfEachKind) {
  EXPECT_EQ(ValuesOf<float>(Floats({1, -2.5f})), (std::vector<float>{1, -2.5f}));
  std::vector<int64_t> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(i);
  for (int bit = 0; bit < 64; ++bit) numbers.push_back(static_cast<int64_t>(uint64_t{1} << bit));
  numbers.push_back(-1);
  for (int i = 0; i < 9; ++i) numbers.push_back(i);
  EXPECT_EQ(ValuesOf<int64_t>(Ints(numbers)), numbers);
  EncodedList list;
  const std::string feature = BytesList({"x", "", "yz"});
  ASSERT_TRUE(ReadFeature(feature, &list));
  EXPECT_EQ(CountValues(list), 3);
  BytesReader reader(list);
  std::string_view text;
  std::string all;
  while (reader.Next(&text)) all += StrCat("<", text, ">");
  EXPECT_EQ(all, "<x><><yz>");
}

TEST(ExampleWireTest, NumbersOneByOneAndInSeveralPacks) {
  std::string one(5, '\0');
  one[0] = '\x0d';
  const float two = 2;
  std::memcpy(&one[1], &two, 4);
  const std::string packed = Floats({1}).substr(2);
  EXPECT_EQ(ValuesOf<float>(Field(2, packed + one + packed)), (std::vector<float>{1, 2, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(Field(3, std::string("\x08\x96\x01\x0a\x01\x07", 6))),
            (std::vector<int64_t>{150, 7}));
}

TEST(ExampleWireTest, OfTwoTheLastCounts) {
  const FeatureKeys keys({"a"});
  std::string_view found[1];
  const std::string twice = ExampleBytes({{"a", Ints({1})}, {"a", Ints({2})}});
  ASSERT_TRUE(FindFeatures(twice, keys, found));
  EXPECT_EQ(ValuesOf<int64_t>(found[0]), (std::vector<int64_t>{2}));
  const std::string apart = ExampleBytes({{"b", Ints({1})}}) + ExampleBytes({{"a", Ints({3})}});
  const std::string unknown_behind = apart + std::string("\x28\x01", 2);
  ASSERT_TRUE(FindFeatures(unknown_behind, keys, found));
  EXPECT_EQ(ValuesOf<int64_t>(found[0]), (std::vector<int64_t>{3}));
}

TEST(ExampleWireTest, WhatIsNotAsWritten) {
  const FeatureKeys keys({"a"});
  std::string_view found[1];
  const std::string good = ExampleBytes({{"a", Floats({1, 2})}});
  for (size_t length = 1; length < good.size(); ++length) {
    EXPECT_FALSE(FindFeatures(good.substr(0, length), keys, found)) << length;
  }
  EXPECT_FALSE(FindFeatures(Field(1, Field(1, Field(1, "a"))), keys, found));  // no value
  EXPECT_FALSE(FindFeatures(Field(1, Field(1, Field(2, ""))), keys, found));   // no key
  EXPECT_FALSE(FindFeatures(Field(1, "\x08\x01"), keys, found));
  EXPECT_EQ(CountOf(""), 0);
  EXPECT_EQ(CountOf("\x10\x01"), -1);                 // a number where a list should be
  EXPECT_EQ(CountOf(Field(4, "")), -1);               // of no known kind
  EXPECT_EQ(CountOf(Field(2, Field(1, "abc"))), -2);  // no whole number
  EXPECT_EQ(CountOf(Field(3, Field(1, "\x80"))), -2);
  EXPECT_EQ(CountOf(Field(3, Field(2, "\x01"))), -2);
  EXPECT_EQ(CountOf(Field(3, Field(1, std::string(10, '\xff') + "\x01"))), -3);
  EXPECT_EQ(CountOf(Field(3, Field(1, std::string(9, '\xff') + "\x01"))), 1);
}

}  // namespace
}  // namespace thalweg
