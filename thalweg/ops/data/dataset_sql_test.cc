// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

std::vector<Tensor> Asked(const char* driver) {
  return {Tensor::Scalar(driver), Tensor::Scalar("/nowhere/a.db"), Tensor::Scalar("SELECT 1")};
}

TEST(DatasetSqlTest, RefusesWhatNoDatabaseHas) {
  EXPECT_EQ(Refused("SqlDataset", Asked("mysql"), IntAttrs()),
            "The database type, mysql, is not supported by SqlDataset. The set of supported "
            "databases is: {'sqlite'}.");
  const AttrMap floats = {{"output_types", std::vector<DType>{DType::kFloat}},
                          {"output_shapes", std::vector<PartialShape>{PartialShape()}}};
  EXPECT_EQ(Refused("SqlDataset", Asked("sqlite"), floats),
            "output_types: no column of a database is of type float32");
}

TEST(DatasetSqlTest, ADatabaseThatIsNotThereIsNamed) {
  const Tensor iterator = Made("AnonymousIteratorV3", {}, IntAttrs());
  const Tensor rows = Made("SqlDataset", Asked("sqlite"), IntAttrs());
  ASSERT_TRUE(KernelCall("MakeIterator", {rows, iterator}).Run().ok());
  KernelCall next("IteratorGetNext", {iterator}, IntAttrs());
  const Status status = next.Run();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.code() == Code::kUnimplemented ||
              status.message().find("/nowhere/a.db") != std::string_view::npos)
      << status.ToString();
}

}  // namespace
}  // namespace thalweg
