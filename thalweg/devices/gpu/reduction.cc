// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/reduction.h"

#include <algorithm>

#include "thalweg/devices/gpu/gpu_kernel.h"

namespace thalweg {
namespace {

constexpr int kMostRuns = 8;
constexpr uint32_t kGroupItems = 128;
// What one work item reduces alone, and what one group does.
constexpr uint32_t kMostAlone = 256;
constexpr uint32_t kMostOfGroup = 1 << 15;

// As in the source below: where the elements of an output, and those that become it, are.
struct ReduceWalk {
  uint32_t kept_rank = 0, rank = 0;
  uint32_t kept_size[kMostRuns] = {}, kept_stride[kMostRuns] = {};
  uint32_t size[kMostRuns] = {}, stride[kMostRuns] = {};
};

constexpr const char* kReduceSource = R"(
typedef struct {
  uint kept_rank, rank;
  uint kept_size[8], kept_stride[8], size[8], stride[8];
} Walk;

uint kept_place(const Walk* w, uint i) {
  uint place = 0;
  for (int d = (int)w->kept_rank - 1; d >= 0; --d) {
    place += i % w->kept_size[d] * w->kept_stride[d];
    i /= w->kept_size[d];
  }
  return place;
}

uint place(const Walk* w, uint i) {
  if (w->rank == 1) return i * w->stride[0];
  uint at = 0;
  for (int d = (int)w->rank - 1; d >= 0; --d) {
    at += i % w->size[d] * w->stride[d];
    i /= w->size[d];
  }
  return at;
}

__kernel void each(__global const T* xb, ulong x0, __global T* yb, ulong y0, uint outputs,
                   uint count, float scale, Walk w) {
  const uint o = get_global_id(0);
  if (o >= outputs) return;
  __global const T* x = xb + x0 + kept_place(&w, o);
  T all = FIRST;
  for (uint i = 0; i < count; ++i) all = JOIN(all, x[place(&w, i)]);
  yb[y0 + o] = SCALED(all);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void group(__global const T* xb, ulong x0, __global T* yb, ulong y0, uint count, uint parts,
           uint part_size, float scale, Walk w) {
  __local T partial[128];
  const uint item = get_local_id(0), o = get_group_id(0) / parts, part = get_group_id(0) % parts;
  __global const T* x = xb + x0 + kept_place(&w, o);
  const uint begin = part * part_size, end = min(begin + part_size, count);
  T all = FIRST;
  for (uint i = begin + item; i < end; i += 128) all = JOIN(all, x[place(&w, i)]);
  partial[item] = all;
  for (uint half_size = 64; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) partial[item] = JOIN(partial[item], partial[item + half_size]);
  }
  if (item == 0) yb[y0 + (ulong)o * parts + part] = SCALED(partial[0]);
}
)";

struct Joining {
  const char* type;
  const char* first;
  const char* join;
};

Joining JoiningOf(ReduceTo what) {
  switch (what) {
    case ReduceTo::kSum:
    case ReduceTo::kMean:
      return {"float", "0.0f", "(a) + (b)"};
    case ReduceTo::kProd:
      return {"float", "1.0f", "(a) * (b)"};
    case ReduceTo::kMax:
      return {"float", "-INFINITY", "((a) > (b) || (a) != (a) ? (a) : (b))"};
    case ReduceTo::kMin:
      return {"float", "INFINITY", "((a) < (b) || (a) != (a) ? (a) : (b))"};
    case ReduceTo::kAll:
      return {"uchar", "1", "(uchar)((a) && (b))"};
    case ReduceTo::kAny:
      break;
  }
  return {"uchar", "0", "(uchar)((a) || (b))"};
}

// Neighboring dimensions that are both kept, or both reduced, are walked as one.
Result<ReduceWalk> WalkOf(const Shape& shape, const Dims& axes) {
  ReduceWalk walk;
  struct Stretch {
    bool reduced;
    int64_t size, stride;
  };
  std::vector<Stretch> stretches;  // from the back
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!stretches.empty() && stretches.back().reduced == reduced) {
      stretches.back().size *= shape.dim(d);
    } else {
      stretches.push_back({reduced, shape.dim(d), stride});
    }
    stride *= shape.dim(d);
  }
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    uint32_t& rank = stretch->reduced ? walk.rank : walk.kept_rank;
    if (rank == kMostRuns) {
      return Unimplemented("a reduction of ", shape,
                           " over every other dimension has no kernel on "
                           "devices of type GPU");
    }
    (stretch->reduced ? walk.size : walk.kept_size)[rank] = static_cast<uint32_t>(stretch->size);
    (stretch->reduced ? walk.stride : walk.kept_stride)[rank] =
        static_cast<uint32_t>(stretch->stride);
    ++rank;
  }
  return walk;
}

}  // namespace

Result<GpuReduction> GpuReduction::Make(GpuDevice& device, ReduceTo what) {
  const Joining joining = JoiningOf(what);
  const bool of_bool = what == ReduceTo::kAll || what == ReduceTo::kAny;
  const std::string source = StrCat("#define T ", joining.type, "\n#define FIRST ", joining.first,
                                    "\n#define JOIN(a, b) (", joining.join, ")\n#define SCALED(a) ",
                                    of_bool ? "(a)" : "((a) * scale)", "\n", kReduceSource);
  GpuReduction made;
  made.mean_ = what == ReduceTo::kMean;
  ASSIGN_OR_RETURN(made.each_, device.programs().Find(source, "each"));
  ASSIGN_OR_RETURN(made.group_, device.programs().Find(source, "group"));
  return made;
}

Status GpuReduction::Run(GpuDevice& device, const Tensor& x, const Dims& axes,
                         const Tensor& out) const {
  const Shape shape = x.shape();
  RETURN_IF_ERROR(IndexOf(x.num_elements()).status());
  ASSIGN_OR_RETURN(const ReduceWalk walk, WalkOf(shape, axes));
  ASSIGN_OR_RETURN(const uint32_t outputs, IndexOf(out.num_elements()));
  uint32_t count = 1;
  for (uint32_t d = 0; d < walk.rank; ++d) count *= walk.size[d];
  const float scale = mean_ ? 1.0f / static_cast<float>(count) : 1.0f;
  GpuQueue& queue = device.queue();
  if (count <= kMostAlone) {
    GpuLaunch launch(each_);
    // A mean of nothing is 0 times infinity: NaN.
    launch.Add(x).Add(out).Value(outputs).Value(count).Value(scale).Value(walk);
    return RunLine(queue, launch, outputs);
  }
  const uint32_t parts = outputs > 256 ? 1 : (count + kMostOfGroup - 1) / kMostOfGroup;
  const uint32_t part_size = (count + parts - 1) / parts;
  Tensor sums = out;
  if (parts > 1) {
    ASSIGN_OR_RETURN(sums, device.Allocate(x.dtype(), Shape{outputs, parts}));
  }
  GpuLaunch launch(group_);
  launch.Add(x).Add(sums).Value(count).Value(parts).Value(part_size);
  launch.Value(parts > 1 ? 1.0f : scale).Value(walk);
  RETURN_IF_ERROR(
      queue.Run(launch, {size_t{parts} * outputs * kGroupItems, 1, 1}, {kGroupItems, 1, 1}));
  if (parts == 1) return OkStatus();
  ReduceWalk rest;
  rest.rank = rest.kept_rank = 1;
  rest.kept_size[0] = outputs;
  rest.kept_stride[0] = parts;
  rest.size[0] = parts;
  rest.stride[0] = 1;
  GpuLaunch last(each_);
  last.Add(sums).Add(out).Value(outputs).Value(parts).Value(scale).Value(rest);
  return RunLine(queue, last, outputs);
}

}  // namespace thalweg
