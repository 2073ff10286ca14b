// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status CheckTree(const Shape& ids, const Shape& parents, const Shape& lengths, const Shape& end) {
  if (ids.rank() != 3) {
    return InvalidArgument("step_ids must be a 3-tensor, saw shape: ", ids);
  }
  if (lengths.rank() != 1) {
    return InvalidArgument("max_sequence_lengths must be a vector, saw shape: ", lengths);
  }
  if (end.rank() != 0) return InvalidArgument("end_token must be a scalar, saw shape: ", end);
  if (ids != parents) {
    return InvalidArgument("step_ids.shape must match parent_ids.shape.  but shapes are: ", ids,
                           " and ", parents);
  }
  if (ids.dim(1) == lengths.dim(0)) return OkStatus();
  return InvalidArgument(
      "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match.  but "
      "shapes are: ",
      ids, " and ", lengths);
}

// From the last step of each sequence backwards along the parents; the end token from where it is
// found first.
Status GatherTree(Context& ctx) {
  const Tensor &ids = ctx.input(0), &parents = ctx.input(1), &lengths = ctx.input(2);
  RETURN_IF_ERROR(CheckTree(ids.shape(), parents.shape(), lengths.shape(), ctx.input(3).shape()));
  const auto end = ctx.input(3).scalar<int32_t>();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt32, ids.shape()));
  const int64_t steps = ids.dim(0), batch = ids.dim(1), beams = ids.dim(2);
  const int32_t *id = ids.data<int32_t>(), *parent_of = parents.data<int32_t>();
  int32_t* const found = out->mutable_data<int32_t>();
  std::fill_n(found, out->num_elements(), end);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t last = std::min<int64_t>(steps, lengths.data<int32_t>()[b]) - 1;
    for (int64_t beam = 0; beam < beams && last >= 0; ++beam) {
      const auto at = [&](int64_t step, int64_t k) { return (step * batch + b) * beams + k; };
      int64_t from = beam;
      for (int64_t step = last; step >= 0; --step) {
        if (from < 0 || from >= beams) {
          return InvalidArgument("Saw invalid parent id ", from, " at (batch, time, beam) == (", b,
                                 ", ", step, ", ", beam, ")");
        }
        found[at(step, beam)] = id[at(step, from)];
        from = parent_of[at(step, from)];
      }
      bool has_ended = false;
      for (int64_t step = 0; step <= last; ++step) {
        int32_t& token = found[at(step, beam)];
        if (has_ended) token = end;
        has_ended |= token == end;
      }
    }
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(gather_tree, cpu) {
  registry.AddFunction<GatherTree>("GatherTree", kCpu, {{"T", DType::kInt32}});
}
