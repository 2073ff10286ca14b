// SPDX-License-Identifier: Apache-2.0
// MapTexts: output 0 = f(each string of input 0), as type Out, in the same shape.
//   return MapTexts<int64_t>(ctx, [](const std::string& text) { return text.size(); });
// f is called by several threads at once.
#pragma once

#include <string>

#include "thalweg/compute/work.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

inline constexpr int64_t kTextsPerShard = 512;

template <class Out, class F>
Status MapTexts(Context& ctx, const F& f) {
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, kDTypeOf<Out>, input.shape()));
  const auto* from = input.data<std::string>();
  auto* to = output->template mutable_data<Out>();
  return compute::ForBlocks(ctx.work(), input.num_elements(), kTextsPerShard,
                            [&](int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i) to[i] = f(from[i]);
                            });
}

}  // namespace thalweg
