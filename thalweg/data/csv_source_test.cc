// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/csv_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

class CsvTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = StrCat(directory_.path(), "/", name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static ElementSpec Texts(size_t n) {
    return {std::vector<DType>(n, DType::kString),
            std::vector<PartialShape>(n, PartialShape(Shape()))};
  }
  static std::vector<Tensor> Defaults(size_t n) {
    return std::vector<Tensor>(n, Tensor::Scalar("-"));
  }
  // The records of a file as lines with '|' between fields; errors are lines too.
  Lines Records(const std::string& text, CsvOptions options, int64_t block_bytes = 1 << 18) {
    const size_t n = options.defaults.size();
    FilesOptions files = {{Write("file.csv", text)}, block_bytes};
    return All(Puller(*CsvDataset(std::move(files), std::move(options), Texts(n)), 0));
  }
  // What the message of a record's error ends with.
  std::string At(uint64_t offset) const {
    return StrCat(" (the record at byte ", offset, " of ", directory_.path(), "/file.csv)");
  }
  static Lines All(Puller&& puller) {
    Lines lines;
    while (lines.size() < 100) {
      const Result<std::optional<Element>> next = puller.Next();
      if (!next.ok()) {
        lines.emplace_back(next.status().message());
        continue;
      }
      if (!next->has_value()) break;
      std::string line;
      for (const Tensor& field : **next) line += field.scalar<std::string>() + "|";
      lines.push_back(line);
    }
    return lines;
  }

  TemporaryDirectory directory_;
};

TEST_F(CsvTest, ReadsFieldsAsRfc4180HasThem) {
  const CsvOptions two = {.defaults = Defaults(2)};
  EXPECT_EQ(Records("a,b\r\nc,d\re,", two), (Lines{"a|b|", "c|d|", "e|-|"}));
  EXPECT_EQ(Records("\"a,b\",\"c\"\"d\"\n\"x\ny\",\"\"\n", two), (Lines{"a,b|c\"d|", "x\ny|-|"}));
  EXPECT_EQ(Records("\"a\",b\"c\n", {.quotes = false, .defaults = Defaults(2)}),
            (Lines{"\"a\"|b\"c|"}));
  EXPECT_EQ(Records("a;NA", {.delimiter = ';', .missing = "NA", .defaults = Defaults(2)}),
            (Lines{"a|-|"}));
  EXPECT_EQ(Records("a,b,\"c\n\",d\n", {.columns = {1, 3}, .defaults = Defaults(2)}),
            (Lines{"b|d|"}));
  EXPECT_EQ(Records("a,b,c,d\n", {.columns = {1, 2}, .excludes = true, .defaults = Defaults(2)}),
            (Lines{"a|d|"}));
  EXPECT_EQ(Records("", two), Lines{});
}

TEST_F(CsvTest, AnErrorIsThatOfItsRecord) {
  const CsvOptions two = {.defaults = Defaults(2)};
  EXPECT_EQ(Records("a\"b,c\nd,e\n", two),
            (Lines{"Unquoted fields cannot have quotes inside" + At(0), "d|e|"}));
  EXPECT_EQ(Records("\"a\"b\",c\nd,e\n", two),
            (Lines{"Quote inside a string has to be escaped by another quote" + At(0), "d|e|"}));
  EXPECT_EQ(Records("\"a,c\nd,e\n", two),
            (Lines{"Reached end of file without closing quoted field in record" + At(0)}));
  EXPECT_EQ(Records("a\nb,c,d\ne,f", two),
            (Lines{"Expect 2 fields but have 1 in record" + At(0),
                   "Expect 2 fields but have more in record" + At(2), "e|f|"}));
  const Tensor none = *Tensor::AllocateHost(DType::kString, Shape{0});
  EXPECT_EQ(Records("a\n\nb\n", {.defaults = {none}}),
            (Lines{"a|", "Field 0 is required but missing in record!" + At(2), "b|"}));
  const std::string header = StrCat("Can't read header of file ", directory_.path(), "/file.csv");
  EXPECT_EQ(Records("h\"h\na\n", {.header = true, .defaults = Defaults(1)}), (Lines{header, "a|"}));
  EXPECT_EQ(Records("", {.header = true, .defaults = Defaults(1)}), (Lines{header}));
}

TEST_F(CsvTest, NumbersAreNumbers) {
  const std::string path = Write("n.csv", " 1 ,1e400\nx,2\n3,y\n,\n");
  const ElementSpec spec = {{DType::kInt64, DType::kDouble}, {Shape(), Shape()}};
  Puller puller(*CsvDataset({{path}, 0},
                            {.defaults = {Tensor::Scalar(int64_t{7}), Tensor::Scalar(0.5)}}, spec),
                0);
  const Element first = **puller.Next();
  EXPECT_EQ(first[0].scalar<int64_t>(), 1);
  EXPECT_TRUE(std::isinf(first[1].scalar<double>()));
  EXPECT_EQ(
      puller.Next().status().message(),
      StrCat("Field 0 in record is not a valid int64: x (the record at byte 10 of ", path, ")"));
  EXPECT_EQ(
      puller.Next().status().message(),
      StrCat("Field 1 in record is not a valid double: y (the record at byte 14 of ", path, ")"));
  const Element last = **puller.Next();
  EXPECT_EQ(last[0].scalar<int64_t>(), 7);
  EXPECT_EQ(last[1].scalar<double>(), 0.5);
}

// Where blocks end changes nothing, nor does going on where a pass was saved.
TEST_F(CsvTest, APassGoesOnAnywhere) {
  std::string text = "head,\"er\n\"\r\n";
  Lines wanted;
  for (int i = 0; i < 3000; ++i) {
    text += StrCat("\"", i, "\"\"\",", i, "\r\n");
    wanted.push_back(StrCat(i, "\"|", i, "|"));
  }
  FilesOptions files = {{Write("long.csv", text), Write("empty.csv", "h"), "/nowhere/at/all"}, 1};
  const CsvOptions options = {.header = true, .defaults = Defaults(2)};
  const DatasetPtr dataset = *CsvDataset(files, options, Texts(2));
  for (const size_t at : {size_t{0}, size_t{1}, size_t{1500}, size_t{3000}}) {
    Puller first(dataset, 0);
    EXPECT_EQ(first.Rest(at).size(), at);
    const Result<std::vector<Tensor>> state = first.Save();
    ASSERT_TRUE(state.ok());
    Puller second(dataset, 0);
    ASSERT_TRUE(second.Restore(*state).ok());
    for (size_t i = at; i < wanted.size(); ++i) {
      const Result<std::optional<Element>> next = second.Next();
      ASSERT_TRUE(next.ok() && next->has_value());
      EXPECT_EQ((**next)[0].scalar<std::string>() + "|" + (**next)[1].scalar<std::string>() + "|",
                wanted[i]);
    }
    EXPECT_EQ(second.Next().status().code(), Code::kNotFound);
    EXPECT_FALSE(second.Next()->has_value());
  }
}

TEST_F(CsvTest, RefusesOptionsThatMakeNoSense) {
  const auto refused = [](CsvOptions options, ElementSpec spec) {
    return std::string(CsvDataset({}, std::move(options), std::move(spec)).status().message());
  };
  EXPECT_EQ(refused({.columns = {1}, .defaults = Defaults(2)}, Texts(2)),
            "select_cols should match output size");
  EXPECT_EQ(refused({.columns = {3, 1}, .defaults = Defaults(2)}, Texts(2)),
            "select_cols should be strictly increasing indices");
  EXPECT_EQ(refused({.columns = {-3, 1}, .defaults = Defaults(2)}, Texts(2)),
            "select_cols should be non-negative indices");
  EXPECT_EQ(refused({.defaults = Defaults(1)}, Texts(2)), "there are 2 fields and 1 defaults");
  EXPECT_EQ(refused({.defaults = {Tensor::Scalar(true)}}, {{DType::kBool}, {Shape()}}),
            "field 0 cannot be of type bool");
  EXPECT_EQ(refused({.defaults = {Tensor::Scalar(int64_t{1})}}, Texts(1)),
            "the default of field 0 is int64, the field is string");
}

}  // namespace
}  // namespace thalweg
