// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/move.h"

#include "thalweg/devices/gpu/gpu_kernel.h"

namespace thalweg {
namespace {

constexpr size_t kMostMoveDims = 8;

// As in the source below.
struct MoveWalk {
  uint32_t rank = 0;
  uint32_t size[kMostMoveDims] = {};
  int32_t in[kMostMoveDims] = {};
  int32_t out[kMostMoveDims] = {};
};

constexpr const char* kMoveSource = R"(
typedef struct { uint rank; uint size[8]; int in[8]; int out[8]; } Walk;

__kernel void move(__global const T* xb, ulong x0, __global T* yb, ulong y0, uint n, long in_start,
                   long out_start, Walk w) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  uint rest = i;
  long in = in_start, out = out_start;
  for (int d = (int)w.rank - 1; d >= 0; --d) {
    const int at = rest % w.size[d];
    rest /= w.size[d];
    in += at * w.in[d];
    out += at * w.out[d];
  }
  yb[y0 + out] = xb[x0 + in];
}

__kernel void clear(__global T* yb, ulong y0, uint n) {
  const uint i = get_global_id(0);
  if (i < n) yb[y0 + i] = 0;
}
)";

// Dimensions of one element are left out, and neighbors that both sides walk as one are merged.
std::vector<MoveDim> Merged(const std::vector<MoveDim>& dims) {
  std::vector<MoveDim> merged;
  for (const MoveDim& dim : dims) {
    if (dim.size == 1) continue;
    MoveDim* const before = merged.empty() ? nullptr : &merged.back();
    if (before != nullptr && before->in == dim.in * dim.size && before->out == dim.out * dim.size) {
      *before = {before->size * dim.size, dim.in, dim.out};
    } else {
      merged.push_back(dim);
    }
  }
  return merged;
}

}  // namespace

Dims DenseStrides(const Dims& dims) {
  Dims strides;
  strides.resize(dims.size(), 1);
  for (int d = dims.size() - 2; d >= 0; --d) strides[d] = strides[d + 1] * dims[d + 1];
  return strides;
}

Result<GpuMove> GpuMove::Make(GpuDevice& device, DType dtype) {
  const size_t size = DTypeSize(dtype);
  const char* const type = size == 1   ? "uchar"
                           : size == 2 ? "ushort"
                           : size == 4 ? "uint"
                           : size == 8 ? "ulong"
                                       : nullptr;
  if (type == nullptr) {
    return Unimplemented("elements of type ", dtype, " are not moved on devices of type GPU");
  }
  const std::string source = StrCat("#define T ", type, "\n", kMoveSource);
  GpuMove made;
  ASSIGN_OR_RETURN(made.move_, device.programs().Find(source, "move"));
  ASSIGN_OR_RETURN(made.clear_, device.programs().Find(source, "clear"));
  return made;
}

Status GpuMove::Run(GpuQueue& queue, const MovePlan& plan, const Tensor& in,
                    const Tensor& out) const {
  const std::vector<MoveDim> dims = Merged(plan.dims);
  if (dims.size() > kMostMoveDims) {
    return Unimplemented("a move over ", dims.size(),
                         " dimensions has no kernel on devices of type GPU; ", kMostMoveDims,
                         " have");
  }
  RETURN_IF_ERROR(IndexOf(in.num_elements()).status());
  RETURN_IF_ERROR(IndexOf(out.num_elements()).status());
  MoveWalk walk;
  walk.rank = static_cast<uint32_t>(dims.size());
  int64_t elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    walk.size[d] = static_cast<uint32_t>(dims[d].size);
    walk.in[d] = static_cast<int32_t>(dims[d].in);
    walk.out[d] = static_cast<int32_t>(dims[d].out);
    elements *= dims[d].size;
  }
  ASSIGN_OR_RETURN(const uint32_t n, IndexOf(elements));
  GpuLaunch launch(move_);
  launch.Add(in).Add(out).Value(n).Value(plan.in_start).Value(plan.out_start).Value(walk);
  return RunLine(queue, launch, n);
}

Status GpuMove::Clear(GpuQueue& queue, const Tensor& out) const {
  ASSIGN_OR_RETURN(const uint32_t n, IndexOf(out.num_elements()));
  GpuLaunch launch(clear_);
  launch.Add(out).Value(n);
  return RunLine(queue, launch, n);
}

}  // namespace thalweg
