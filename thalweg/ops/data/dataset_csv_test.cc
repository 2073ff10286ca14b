// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

std::vector<Tensor> Arguments(const std::string& file, const std::string& delimiter,
                              int64_t buffer = 1024) {
  return {Tensor::Scalar(file), Tensor::Scalar(""),           Int(buffer),
          Tensor::Scalar(true), Tensor::Scalar(delimiter),    Tensor::Scalar(true),
          Tensor::Scalar("?"),  Tensor::Vector<int64_t>({1}), Tensor::Vector<int64_t>({9})};
}

TEST(DatasetCsvTest, ReadsTheColumnsOfFiles) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.csv";
  std::ofstream(path) << "one;two\n1;2\n3;?\n";
  EXPECT_EQ(Elements(Made("CSVDataset", Arguments(path, ";"), IntAttrs())),
            (std::vector<int64_t>{2, 9}));
  std::vector<Tensor> arguments = Arguments(path, ";");
  arguments.push_back(*Tensor::AllocateHost(DType::kInt64, Shape{0}));
  EXPECT_EQ(Elements(Made("CSVDatasetV2", arguments, IntAttrs())), (std::vector<int64_t>{2, 9}));
}

TEST(DatasetCsvTest, RefusesArgumentsThatMakeNoSense) {
  EXPECT_EQ(Refused("CSVDataset", Arguments("/nowhere", ";;"), IntAttrs()),
            "field_delim should be only 1 char");
  EXPECT_EQ(Refused("CSVDataset", Arguments("/nowhere", ",", 0), IntAttrs()),
            "buffer_size should be positive");
  std::vector<Tensor> arguments = Arguments("/nowhere", ",");
  arguments.push_back(Tensor::Vector<int64_t>({0}));
  EXPECT_EQ(Refused("CSVDatasetV2", arguments, IntAttrs()),
            "Either select_cols or exclude_cols should be empty");
}

}  // namespace
}  // namespace thalweg
