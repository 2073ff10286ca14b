// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

struct Format {
  int64_t block = 0;
  int height = 1;  // dimensions
  int channel = 3;
};
Result<Format> FormatOf(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t block, c.Attr<int64_t>("block_size"));
  std::string name;
  ASSIGN_OR_RETURN(name, c.Attr<std::string>("data_format"));
  if (name == "NHWC") return Format{block, 1, 3};
  if (name == "NCHW") return Format{block, 2, 1};
  return Unimplemented("data_format ", name, " (NHWC and NCHW have kernels)");
}

// A known dimension divided by `block`; -1 stays.
Result<int64_t> Divided(int64_t size, int64_t block, std::string_view what) {
  Result<int64_t> divided = DivideDim(size, block);
  RETURN_IF_ERROR(Explained(divided.status(), what));
  return divided;
}
Result<int64_t> Multiplied(int64_t size, int64_t block) {
  int64_t product = 0;
  if (size < 0) return size;
  if (!__builtin_mul_overflow(size, block, &product)) return product;
  return InvalidArgument("a dimension of ", size, " times ", block, " is too large");
}

Status SpaceToDepthShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Format f, FormatOf(c));
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRank(0, 4));
  for (int i = f.height; i < f.height + 2; ++i) {
    ASSIGN_OR_RETURN(const int64_t size,
                     Divided(x.dim(i), f.block, i == f.height ? "Image height" : "Image width"));
    x.set_dim(i, size);
  }
  ASSIGN_OR_RETURN(const int64_t half, Multiplied(x.dim(f.channel), f.block));
  ASSIGN_OR_RETURN(const int64_t depth, Multiplied(half, f.block));
  x.set_dim(f.channel, depth);
  c.set_output(0, std::move(x));
  return OkStatus();
}

Status DepthToSpaceShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Format f, FormatOf(c));
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRank(0, 4));
  int64_t area = 0;
  if (__builtin_mul_overflow(f.block, f.block, &area)) {
    return InvalidArgument("block_size ", f.block, " is too large");
  }
  ASSIGN_OR_RETURN(const int64_t depth, Divided(x.dim(f.channel), area, "Input depth dimension"));
  x.set_dim(f.channel, depth);
  for (int i = f.height; i < f.height + 2; ++i) {
    ASSIGN_OR_RETURN(const int64_t size, Multiplied(x.dim(i), f.block));
    x.set_dim(i, size);
  }
  c.set_output(0, std::move(x));
  return OkStatus();
}

Status SpaceDepthGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const bool to_depth = c.node().op_name() == "SpaceToDepth";
  c.set_input_grad(0, c.b().Op(to_depth ? "DepthToSpace" : "SpaceToDepth", {c.grad(0)},
                               {{"block_size", *c.node().FindAttr("block_size")},
                                {"data_format", *c.node().FindAttr("data_format")}}));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(space_depth) {
  registry.Op("SpaceToDepth")
      .Shape(SpaceToDepthShape)
      .Gradient(SpaceDepthGradient)
      .Doc("Blocks of an image become its channels.");
  registry.Op("DepthToSpace")
      .Shape(DepthToSpaceShape)
      .Gradient(SpaceDepthGradient)
      .Doc("Channels of an image become blocks of it.");
}
