// SPDX-License-Identifier: Apache-2.0
// The Philox stream of a stateless operation, from its tensor of two seeds.
//   ASSIGN_OR_RETURN(const Philox stream, StreamOfSeed(ctx.input(1)));
// Ownership: a value.
// Threads: any; no state.
// Errors: InvalidArgument for another shape than [2].
#pragma once

#include "thalweg/base/philox.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// A tensor of two seeds, scrambled so that it does not matter which of them carries the randomness.
inline Result<Philox> StreamOfSeed(const Tensor& seed) {
  if (seed.rank() != 1 || seed.num_elements() != 2) {
    return InvalidArgument("seed must have shape [2], not ", seed.shape());
  }
  const auto at = [&](int64_t i) {
    return seed.dtype() == DType::kUint64 ? seed.data<uint64_t>()[i]
                                          : static_cast<uint64_t>(IntAt(seed, i));
  };
  const uint64_t low = at(0), high = at(1);
  const Philox::Block counter = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
  const Philox::Block mixed = Philox::Generate(counter, {0x3ec8f720u, 0x02461e29u});
  return Philox({0, 0, mixed[2], mixed[3]}, {mixed[0], mixed[1]});
}

}  // namespace thalweg
