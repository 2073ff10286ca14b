// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/boosted_trees/test_trees.h"

namespace thalweg {
namespace {

TEST(TreeEnsembleOpsTest, SerializesWhatItDeserialized) {
  const Tensor trees = EnsembleHandle(kGrownTree, 4);
  ExpectOutputs("BoostedTreesSerializeEnsemble", {trees}, {},
                {Tensor::Scalar(int64_t{4}), Tensor::Scalar(kGrownTree)});
  ExpectOutputs("BoostedTreesGetEnsembleStates", {trees}, {},
                {Tensor::Scalar(int64_t{4}), Tensor::Scalar(int32_t{1}), Tensor::Scalar(int32_t{0}),
                 Tensor::Scalar(int32_t{1}), Numbers<int32_t>({1, 3})});
  DoTrees("BoostedTreesDeserializeEnsemble",
          {trees, Tensor::Scalar(int64_t{7}), Tensor::Scalar(std::string())});
  ExpectOutputs("BoostedTreesSerializeEnsemble", {trees}, {},
                {Tensor::Scalar(int64_t{7}), Tensor::Scalar(std::string())});
  // An ensemble without trees begins with node 0.
  ExpectOutputs("BoostedTreesGetEnsembleStates", {trees}, {},
                {Tensor::Scalar(int64_t{7}), Tensor::Scalar(int32_t{0}), Tensor::Scalar(int32_t{0}),
                 Tensor::Scalar(int32_t{0}), Numbers<int32_t>({0, 1})});
  ExpectOutputs("IsBoostedTreesEnsembleInitialized", {trees}, {}, {Tensor::Scalar(true)});
}

TEST(TreeEnsembleOpsTest, ADamagedMessageChangesNothing) {
  const Tensor trees = EnsembleHandle(kGrownTree, 4);
  ExpectError("BoostedTreesDeserializeEnsemble",
              {trees, Tensor::Scalar(int64_t{7}), Tensor::Scalar("abc")}, {},
              Code::kInvalidArgument, "Unable to parse tree ensemble proto.");
  ExpectOutputs("BoostedTreesSerializeEnsemble", {trees}, {},
                {Tensor::Scalar(int64_t{4}), Tensor::Scalar(kGrownTree)});
}

TEST(TreeEnsembleOpsTest, WhatWasNeverMadeIsNotFound) {
  const auto handle = RunOp("BoostedTreesEnsembleResourceHandleOp", {}, {{"shared_name", "e"}});
  ASSERT_TRUE(handle.ok()) << handle.status().ToString();
  const Tensor trees = (*handle)[0];
  ExpectOutputs("IsBoostedTreesEnsembleInitialized", {trees}, {}, {Tensor::Scalar(false)});
  ExpectError("BoostedTreesSerializeEnsemble", {trees}, {}, Code::kNotFound, "'e'");
}

}  // namespace
}  // namespace thalweg
