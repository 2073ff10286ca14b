// SPDX-License-Identifier: Apache-2.0
// CollectiveCall: what one member says of a collective operation, and what it brings.
// CollectiveResults: what the members get.
//
//   ASSIGN_OR_RETURN(std::vector<Tensor> results, CollectiveResults(ctx, calls));   // by rank
//
// Values are merged in the order of the ranks, element by element, each time rounded to the element
// type: bits depend on ranks alone.
// Ownership: values are shared; results are the members', who may share one buffer.
// Threads: any; the sums use the step's threads.
// Errors: InvalidArgument for a value that cannot be cut or merged, ResourceExhausted for no room.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

enum class CollectiveKind : uint8_t {
  kReduce,         // everybody gets the values merged
  kReduceScatter,  // of the values merged, rank r of n gets the r-th of n equal parts
  kGather,         // everybody gets the values joined along dimension 0
  kBroadcast,      // everybody gets the value of the one sender
  kAllToAll        // row s of what rank r gets is row r of what rank s brought
};
const char* CollectiveKindName(CollectiveKind kind);

struct CollectiveKeys {
  int64_t group_size = 0;
  int64_t group_key = 0;
  int64_t instance_key = 0;
};

struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kReduce;
  CollectiveKeys keys;
  DType dtype = DType::kInvalid;
  // The shape of what it brings, or, in a broadcast, of what it expects.
  PartialShape shape;
  compute::BinaryOp merge = compute::BinaryOp::kAdd;
  bool is_mean = false;  // the merged value is divided by the number of members
  // How many rings a reduction among tasks goes round, as the node asks; 0: it does not, -1: by an
  // order of devices that is not theirs.
  int num_rings = 0;
  Tensor value;  // empty: it only receives
  DeviceName device;
  // In whose memory the value is and the result may be; null: in the host's.
  Device* memory = nullptr;

  bool is_receiver() const { return value.empty(); }
};

// InvalidArgument when this value could not be cut for a group of its size.
Status CheckCollectiveValue(const CollectiveCall& call);

// *sum /= n, of which nobody else has a share.
Status DivideByMembers(Context& ctx, int64_t n, Tensor* sum);

// `calls` by rank, of one kind, type and merge, with shapes that fit, values in host memory.
Result<std::vector<Tensor>> CollectiveResults(Context& ctx, std::span<const CollectiveCall> calls);

}  // namespace thalweg
