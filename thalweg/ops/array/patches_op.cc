// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/array/patch_window.h"

namespace thalweg {
namespace {

Status PatchesShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PatchWindow window, PatchWindowOf(c.node()));
  ASSIGN_OR_RETURN(PartialShape x, c.InputWithRank(0, window.rank() + 2));
  int64_t depth = x.dim(window.rank() + 1);
  for (int d = 0; d < window.rank(); ++d) {
    if (x.dim(d + 1) >= 0) {
      ASSIGN_OR_RETURN(const PatchPlaces places, window.PlacesAlong(d, x.dim(d + 1)));
      x.set_dim(d + 1, places.count);
    }
    if (depth >= 0 && __builtin_mul_overflow(depth, window.sizes[d], &depth)) {
      return InvalidArgument("patches of this size are too large");
    }
  }
  x.set_dim(window.rank() + 1, depth);
  c.set_output(0, std::move(x));
  return OkStatus();
}

Output Int32s(GraphBuilder& b, std::vector<int32_t> values) { return b.Const(values); }

Output SliceOf(GraphBuilder& b, Output vector, int32_t begin, int32_t end) {
  return b.Op("StridedSlice", {vector, Int32s(b, {begin}), Int32s(b, {end}), Int32s(b, {1})});
}

Output Concat(GraphBuilder& b, std::vector<Output> parts) {
  parts.push_back(b.ScalarConst(DType::kInt32, 0));
  return b.Op("ConcatV2", parts);
}

// Patches of the places' own numbers (1, 2, ...; 0 is padding) say where each element came from;
// the gradients of all elements from one place are added.
Status PatchesGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  ASSIGN_OR_RETURN(const PatchWindow window, PatchWindowOf(c.node()));
  GraphBuilder& b = c.b();
  AttrMap attrs;
  for (const char* name : {"ksizes", "strides", "rates", "padding"}) {
    if (c.node().FindAttr(name) != nullptr) attrs.Set(name, *c.node().FindAttr(name));
  }
  const int32_t rank = window.rank();
  const Output shape = b.Op("Shape", {c.input(0)});
  const Output batch = SliceOf(b, shape, 0, 1);
  const Output space = SliceOf(b, shape, 1, rank + 1);
  const Output channels = SliceOf(b, shape, rank + 1, rank + 2);
  const Output one = Int32s(b, {1});
  const Output all = Int32s(b, {-1});
  const Output zero = b.ScalarConst(DType::kInt32, 0);
  const Output places = b.Op("Prod", {space, zero});
  const Output unit = b.ScalarConst(DType::kInt32, 1);
  const Output numbers = b.Op("Range", {unit, b.Op("AddV2", {places, unit}), unit});
  const Output numbered =
      b.Op(c.node().op_name(), {b.Op("Reshape", {numbers, Concat(b, {one, space, one})})}, attrs);
  // Padding becomes -1, which the sum leaves out.
  const Output ids = b.Op("Sub", {b.Op("Reshape", {numbered, all}), unit});
  // [batch, patches * window, channels] with the batch behind.
  const Output count = b.Op("Reshape", {b.Op("Size", {ids}), one});
  const Output grads = b.Op(
      "Transpose",
      {b.Op("Reshape", {c.grad(0), Concat(b, {batch, count, channels})}), Int32s(b, {1, 0, 2})});
  const Output sums = b.Op("UnsortedSegmentSum", {grads, ids, places});
  const Output back = b.Op("Transpose", {sums, Int32s(b, {1, 0, 2})});
  c.set_input_grad(0, b.Op("Reshape", {back, shape}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(patches) {
  registry.Op("ExtractImagePatches")
      .Shape(PatchesShape)
      .Gradient(PatchesGradient)
      .Doc("Windows of an image, each laid out as the channels of one output place.");
  registry.Op("ExtractVolumePatches")
      .Shape(PatchesShape)
      .Gradient(PatchesGradient)
      .Doc("Windows of a volume, each laid out as the channels of one output place.");
}
