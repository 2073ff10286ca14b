// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(string_hash) {
  constexpr std::string_view kWhy = "its output is an integer";
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
