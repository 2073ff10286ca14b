// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/io/fixed_int.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

class RecordInputTest : public testing::Test {
 protected:
  RecordInputTest()
      : graph_(AllRegistries().ops),
        b_(&graph_),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {}

  void Write(const std::string& file, const std::vector<std::string>& records) {
    std::string bytes;
    for (const std::string& record : records) {
      std::string length;
      AppendFixed64(length, record.size());
      bytes += length;
      AppendFixed32(bytes, MaskCrc32c(Crc32c(length)));
      bytes += record;
      AppendFixed32(bytes, MaskCrc32c(Crc32c(record)));
    }
    ASSERT_TRUE(WriteFileAtomically(fs_, directory_.Path(file), bytes).ok());
  }
  Output Input(const std::string& pattern, AttrMap more = {}) {
    AttrMap attrs = {{"file_pattern", directory_.Path(pattern)}, {"batch_size", int64_t{3}}};
    for (const auto& [name, value] : more) attrs.Set(name, value);
    return b_.Op("RecordInput", {}, std::move(attrs));
  }
  // What `steps` steps give.
  std::vector<std::string> Run(Output input, int steps) {
    std::vector<std::string> all;
    for (int i = 0; i < steps; ++i) {
      const Result<std::vector<Tensor>> batch = runner_.Run({}, {input});
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok()) break;
      const auto records = (*batch)[0].flat<std::string>();
      all.insert(all.end(), records.begin(), records.end());
    }
    return all;
  }
  std::string Error(Output input, Code code) {
    const Status status = runner_.Run({}, {input}).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    return std::string(status.message());
  }

  PosixFileSystem fs_;
  TemporaryDirectory directory_;
  Graph graph_;
  GraphBuilder b_;
  TestMachine machine_;
  GraphRunner runner_;
};

TEST_F(RecordInputTest, EachRecordComesOnceAnEpoch) {
  Write("f-0", {"a", "b", "c", "d"});
  Write("f-1", {});
  Write("f-2", {"e", "f"});
  for (const int64_t buffer : {1, 2, 100}) {
    const Output input =
        Input("f-?", {{"file_buffer_size", buffer}, {"file_shuffle_shift_ratio", 0.5f}});
    for (int epoch = 0; epoch < 3; ++epoch) {
      EXPECT_THAT(Run(input, 2), UnorderedElementsAreArray({"a", "b", "c", "d", "e", "f"}));
    }
  }
}

TEST_F(RecordInputTest, TheSeedGivesTheOrder) {
  std::vector<std::string> records;
  for (int i = 0; i < 60; ++i) records.push_back(StrCat("r", i));
  Write("f", records);
  const std::vector<std::string> first = Run(Input("f", {{"file_random_seed", int64_t{1}}}), 20);
  EXPECT_EQ(Run(Input("f", {{"file_random_seed", int64_t{1}}}), 20), first);
  EXPECT_NE(Run(Input("f", {{"file_random_seed", int64_t{2}}}), 20), first);
  EXPECT_NE(first, records);
  EXPECT_THAT(first, UnorderedElementsAreArray(records));
}

TEST_F(RecordInputTest, Errors) {
  EXPECT_THAT(Error(Input("absent"), Code::kNotFound), HasSubstr("Found no files"));
  Write("empty", {});
  EXPECT_THAT(Error(Input("empty"), Code::kOutOfRange), HasSubstr("hold no records"));
  ASSERT_TRUE(WriteFileAtomically(fs_, directory_.Path("junk"), "twelve bytes and more").ok());
  EXPECT_THAT(Error(Input("junk"), Code::kDataLoss), HasSubstr("corrupted record at 0"));
  Write("f", {"a"});
  for (const char* attr : {"batch_size", "file_buffer_size", "file_parallelism"}) {
    EXPECT_THAT(Error(Input("f", {{attr, int64_t{0}}}), Code::kInvalidArgument), HasSubstr(attr));
  }
  Error(Input("f", {{"file_shuffle_shift_ratio", 1.5f}}), Code::kInvalidArgument);
  EXPECT_THAT(Error(Input("f", {{"compression_type", "GZIP"}}), Code::kDataLoss),
              HasSubstr("not what gzip has compressed"));
  EXPECT_THAT(Error(Input("f", {{"compression_type", "LZ"}}), Code::kInvalidArgument),
              HasSubstr("Only ZLIB, GZIP or NONE"));
}

}  // namespace
}  // namespace thalweg
