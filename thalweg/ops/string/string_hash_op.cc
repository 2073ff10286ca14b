// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status FprintShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape texts, c.InputWithRank(0, 1));
  c.set_output(0, PartialShape{texts.dim(0), 2});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(string_hash) {
  constexpr std::string_view kWhy = "its output is an integer";
  registry.Op("SdcaFprint")
      .Shape(FprintShape)
      .NotDifferentiable(kWhy)
      .Doc("FarmHash's fingerprint of 128 bits of every string, as two numbers.");
  registry.Op("StringToHashBucket")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("A number below num_buckets for every string, by MurmurHash.");
  registry.Op("StringToHashBucketFast")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("A number below num_buckets for every string, by FarmHash's fingerprint.");
  registry.Op("StringToHashBucketStrong")
      .Shape(UnchangedShape)
      .NotDifferentiable(kWhy)
      .Doc("A number below num_buckets for every string, by SipHash under a key.");
}
