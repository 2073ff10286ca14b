// SPDX-License-Identifier: Apache-2.0
// MapTexts: output 0 = f(each string of input 0), as type Out, in the same shape.
//   return MapTexts<int64_t>(ctx, [](const std::string& text) { return text.size(); });
// f is called by several threads at once; with a long text it looks for an Interruption.
// Ownership: output 0 is the context's; `f` is used during the call.
// Threads: `f` runs on several of the step's at once.
// Errors: ResourceExhausted for strings without room, Cancelled.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/work.h"
#include "thalweg/kernel/made_texts.h"

namespace thalweg {

inline constexpr int64_t kTextsPerShard = 512;

// For one more string; anything else has its place.
template <class Out>
bool HasRoom(TextMeter& meter, const Out& made) {
  if constexpr (std::is_same_v<Out, std::string>) return meter.Take(made.size());
  return true;
}

template <class Out, class F>
Status MapTexts(Context& ctx, const F& f) {
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, kDTypeOf<Out>, input.shape()));
  const auto* from = input.data<std::string>();
  auto* to = output->template mutable_data<Out>();
  TextMeter meter(ctx.allocator(), *output);
  RETURN_IF_ERROR(compute::ForLookingBlocks(ctx.work(), input.num_elements(), kTextsPerShard,
                                            [&](int64_t begin, int64_t end) {
                                              for (int64_t i = begin; i < end; ++i) {
                                                Out made = f(from[i]);
                                                if (!HasRoom(meter, made)) return;
                                                to[i] = std::move(made);
                                              }
                                            }));
  return meter.status();
}

}  // namespace thalweg
