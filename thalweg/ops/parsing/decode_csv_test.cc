// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

Result<std::vector<Tensor>> Csv(const Tensor& records, const std::vector<Tensor>& defaults,
                                AttrMap attrs = {}) {
  std::vector<Tensor> inputs = {records};
  std::vector<DType> types;
  for (const Tensor& value : defaults) {
    inputs.push_back(value);
    types.push_back(value.dtype());
  }
  attrs.Set("OUT_TYPE", types);
  return RunOp("DecodeCSV", inputs, std::move(attrs));
}
std::string CsvError(const Tensor& records, const std::vector<Tensor>& defaults,
                     AttrMap attrs = {}) {
  const Status status = Csv(records, defaults, std::move(attrs)).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  return std::string(status.message());
}
Tensor Lines(std::initializer_list<std::string> lines) {
  return Tensor::Vector<std::string>(lines);
}
Tensor Zero() { return Tensor::Vector<float>({0}); }

TEST(DecodeCsvTest, EveryType) {
  const auto out = Csv(Lines({"1,2,3,4,\"a,\"\"b\"", " -1.5 ,1e3,-7,+8,"}),
                       {Zero(), Tensor::Vector<double>({0}), Tensor::Vector<int32_t>({0}),
                        Tensor::Vector<int64_t>({0}), Tensor::Vector<std::string>({"none"})});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, -1.5f));
  EXPECT_THAT((*out)[1].flat<double>(), ElementsAre(2, 1000));
  EXPECT_THAT((*out)[2].flat<int32_t>(), ElementsAre(3, -7));
  EXPECT_THAT((*out)[3].flat<int64_t>(), ElementsAre(4, 8));
  EXPECT_THAT((*out)[4].flat<std::string>(), ElementsAre("a,\"b", "none"));
}

TEST(DecodeCsvTest, ManyRecordsKeepTheirPlaces) {
  std::vector<std::string> lines;
  for (int i = 0; i < 1000; ++i) lines.push_back(StrCat(i, ",", 2 * i));
  const auto out = Csv(Tensor::Of<std::string>(lines, Shape{10, 100}), {Zero(), Zero()});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[1].shape(), (Shape{10, 100}));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ((*out)[1].data<float>()[i], 2.0f * static_cast<float>(i));
}

TEST(DecodeCsvTest, AbsentFields) {
  const auto out =
      Csv(Lines({"NA,NA", ",x"}), {Tensor::Scalar(7.0f), Tensor::Vector<std::string>({"d"})},
          {{"na_value", "NA"}});
  ASSERT_TRUE(out.ok());
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(7, 7));
  EXPECT_THAT((*out)[1].flat<std::string>(), ElementsAre("d", "x"));
  EXPECT_THAT(CsvError(Lines({"1,1", "1,"}), {Zero(), Tensor::Vector<float>({})}),
              EndsWith("Field 1 is required but missing in record 1!"));
}

TEST(DecodeCsvTest, SelectedColumns) {
  const auto select = [](std::vector<int64_t> columns) {
    return AttrMap{{"select_cols", columns}};
  };
  const auto out = Csv(Lines({"1,x,3,x\"", "4,y,6"}), {Zero(), Zero()}, select({0, 2}));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT((*out)[0].flat<float>(), ElementsAre(1, 4));
  EXPECT_THAT((*out)[1].flat<float>(), ElementsAre(3, 6));
  EXPECT_THAT(CsvError(Lines({"1,2"}), {Zero(), Zero()}, select({2, 0})),
              HasSubstr("strictly increasing"));
  EXPECT_THAT(CsvError(Lines({"1,2"}), {Zero(), Zero()}, select({-1, 0})),
              HasSubstr("non-negative"));
  EXPECT_THAT(CsvError(Lines({"1,2"}), {Zero(), Zero()}, select({0})), HasSubstr("match output"));
  EXPECT_THAT(CsvError(Lines({"1,2"}), {Zero(), Zero()}, select({0, 5})),
              EndsWith("Expect 2 fields but have 1 in record 0"));
}

TEST(DecodeCsvTest, Errors) {
  EXPECT_THAT(CsvError(Lines({"1,2", "1"}), {Zero(), Zero()}),
              EndsWith("Expect 2 fields but have 1 in record 1"));
  EXPECT_THAT(CsvError(Lines({"1,2,3"}), {Zero(), Zero()}),
              EndsWith("Expect 2 fields but have 3 in record 0"));
  EXPECT_THAT(CsvError(Lines({""}), {Zero()}), EndsWith("Expect 1 fields but have 0 in record 0"));
  EXPECT_THAT(CsvError(Lines({"1", "x"}), {Zero()}),
              EndsWith("Field 0 in record 1 is not a valid float: x"));
  EXPECT_THAT(CsvError(Lines({"99999999999"}), {Tensor::Vector<int32_t>({0})}),
              EndsWith("Field 0 in record 0 is not a valid int32: 99999999999"));
  EXPECT_THAT(CsvError(Lines({"\"a"}), {Tensor::Vector<std::string>({""})}),
              HasSubstr("Quoted field has to end with quote"));
  EXPECT_THAT(CsvError(Lines({"1"}), {Zero()}, {{"field_delim", "||"}}), HasSubstr("only 1 char"));
  EXPECT_THAT(CsvError(Lines({"1"}), {Tensor::Vector<float>({1, 2})}),
              HasSubstr("length-1 vector"));
}

}  // namespace
}  // namespace thalweg
