// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/element_wise.h"

#include "thalweg/devices/gpu/gpu_kernel.h"

namespace thalweg {
namespace {

constexpr int kMostDims = 8;

// As in the source below.
struct ElementWalk {
  uint32_t rank = 0;
  uint32_t size[kMostDims] = {};
  uint32_t stride[3][kMostDims] = {};
};

constexpr const char* kWalkSource = R"(
typedef struct { uint rank; uint size[8]; uint stride[3][8]; } Walk;
)";

// "__global const float* b0, ulong a0, ... __global float* bz, ulong az"
std::string Parameters(const std::vector<std::string>& operands, const std::string& result) {
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i) {
    text += StrCat("__global const ", operands[i], "* b", i, ", ulong a", i, ", ");
  }
  return StrCat(text, "__global ", result, "* bz, ulong az, uint n");
}

std::string SourceOf(const std::vector<std::string>& operands, const std::string& result,
                     const std::string& expression) {
  std::string flat = StrCat("__kernel void flat(", Parameters(operands, result),
                            ", uint s0, uint s1, uint s2) {\n"
                            "  uint i = get_global_id(0);\n  if (i >= n) return;\n");
  std::string walk = StrCat("__kernel void walk(", Parameters(operands, result),
                            ", Walk w) {\n"
                            "  uint i = get_global_id(0);\n  if (i >= n) return;\n"
                            "  uint rest = i, p0 = 0, p1 = 0, p2 = 0;\n"
                            "  for (int d = (int)w.rank - 1; d >= 0; --d) {\n"
                            "    uint at = rest % w.size[d];\n    rest /= w.size[d];\n");
  for (size_t k = 0; k < operands.size(); ++k) {
    walk += StrCat("    p", k, " += at * w.stride[", k, "][d];\n");
  }
  walk += "  }\n";
  for (size_t k = 0; k < operands.size(); ++k) {
    flat += StrCat("  ", operands[k], " x", k, " = b", k, "[a", k, " + i * s", k, "];\n");
    walk += StrCat("  ", operands[k], " x", k, " = b", k, "[a", k, " + p", k, "];\n");
  }
  const std::string end = StrCat("  bz[az + i] = (", result, ")(", expression, ");\n}\n");
  return StrCat(kWalkSource, flat, end, operands.empty() ? "" : walk, operands.empty() ? "" : end);
}

}  // namespace

Result<ElementWise> ElementWise::Make(GpuDevice& device, const std::vector<std::string>& operands,
                                      const std::string& result, const std::string& expression) {
  const std::string source = SourceOf(operands, result, expression);
  ElementWise made;
  ASSIGN_OR_RETURN(made.flat_, device.programs().Find(source, "flat"));
  if (operands.empty()) return made;
  ASSIGN_OR_RETURN(made.walk_, device.programs().Find(source, "walk"));
  return made;
}

Status ElementWise::RunFlat(GpuQueue& queue, std::initializer_list<const Tensor*> operands,
                            const Tensor& out) const {
  ASSIGN_OR_RETURN(const uint32_t n, IndexOf(out.num_elements()));
  uint32_t strides[3] = {};
  GpuLaunch launch(flat_);
  size_t k = 0;
  for (const Tensor* operand : operands) {
    launch.Add(*operand);
    strides[k++] = operand->num_elements() == 1 ? 0 : 1;
  }
  launch.Add(out).Value(n);
  for (const uint32_t stride : strides) launch.Value(stride);
  return RunLine(queue, launch, n);
}

Status ElementWise::Run(GpuQueue& queue, const compute::Broadcast& broadcast,
                        std::initializer_list<const Tensor*> operands, const Tensor& out) const {
  bool flat = true;
  int k = 0;
  for (const Tensor* operand : operands) {
    flat &= operand->num_elements() == 1 || broadcast.IsDense(k);
    ++k;
  }
  if (flat) return RunFlat(queue, operands, out);
  if (broadcast.rank() > kMostDims) {
    return Unimplemented("operands that differ in ", broadcast.rank(),
                         " dimensions have no kernel on devices of type GPU; ", kMostDims, " have");
  }
  ASSIGN_OR_RETURN(const uint32_t n, IndexOf(out.num_elements()));
  ElementWalk walk;
  walk.rank = static_cast<uint32_t>(broadcast.rank());
  for (int d = 0; d < broadcast.rank(); ++d) {
    walk.size[d] = static_cast<uint32_t>(broadcast.size(d));
    for (int operand = 0; operand < k; ++operand) {
      walk.stride[operand][d] = static_cast<uint32_t>(broadcast.stride(operand, d));
    }
  }
  GpuLaunch launch(walk_);
  for (const Tensor* operand : operands) launch.Add(*operand);
  launch.Add(out).Value(n).Value(walk);
  return RunLine(queue, launch, n);
}

}  // namespace thalweg
