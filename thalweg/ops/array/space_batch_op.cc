// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

// Block sizes; `count` is -1 when not even their number is known, single sizes are -1 when unknown.
struct Blocks {
  int64_t count = -1;
  Dims sizes;
};

// From the attribute block_size, or input 1.
Result<Blocks> BlocksOf(ShapeContext& c) {
  if (c.node().FindAttr("block_size") != nullptr) {
    ASSIGN_OR_RETURN(const int64_t size, c.Attr<int64_t>("block_size"));
    return Blocks{2, Dims{size, size}};
  }
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(1, 1));
  const Tensor value = c.InputValue(1);
  if (value.empty()) {
    Blocks blocks{shape.dim(0), {}};
    if (blocks.count > kMaxRank) return InvalidArgument("too many blocks: ", blocks.count);
    for (int64_t i = 0; i < blocks.count; ++i) blocks.sizes.push_back(kUnknown);
    return blocks;
  }
  ASSIGN_OR_RETURN(Dims sizes, IntVector(value, "block_shape"));
  for (int64_t size : sizes) {
    if (size < 1) return InvalidArgument("All values in block_shape must be positive, got ", size);
  }
  const int64_t count = sizes.size();
  return Blocks{count, std::move(sizes)};
}

// What the two columns of row i of the matrix add up to; -1 when not known.
Result<int64_t> BordersOf(const Tensor& borders, int i) {
  if (borders.empty()) return kUnknown;
  const int64_t before = IntAt(borders, 2 * i), after = IntAt(borders, 2 * i + 1);
  int64_t sum = 0;
  if (before < 0 || after < 0) {
    return InvalidArgument("Paddings and crops must be non-negative, got ", before, " and ", after);
  }
  if (!__builtin_add_overflow(before, after, &sum)) return sum;
  return InvalidArgument("borders of ", before, " and ", after, " are too large");
}

// One spatial dimension after the operation.
Result<int64_t> ToBatch(int64_t size, int64_t block, int64_t borders) {
  if (size < 0 || block < 0 || borders < 0) return kUnknown;
  int64_t padded = 0;
  if (!__builtin_add_overflow(size, borders, &padded) && padded % block == 0) return padded / block;
  return InvalidArgument("the padded dimension ", size, " + ", borders,
                         " is not divisible by block_shape ", block);
}
Result<int64_t> ToSpace(int64_t size, int64_t block, int64_t borders) {
  if (size < 0 || block < 0 || borders < 0) return kUnknown;
  int64_t whole = 0;
  if (!__builtin_mul_overflow(size, block, &whole) && whole >= borders) return whole - borders;
  return InvalidArgument("the cropped dimension ", size, " * ", block, " - ", borders,
                         " must be non-negative");
}
Result<int64_t> BatchAfter(int64_t batch, const Dims& blocks, bool to_batch) {
  for (int64_t block : blocks) {
    if (batch < 0 || block < 0) return kUnknown;
    const bool bad = to_batch ? __builtin_mul_overflow(batch, block, &batch) : batch % block != 0;
    if (bad) {
      return InvalidArgument("Input batch dimension ", batch,
                             to_batch ? " becomes too large" : " is not divisible", " by block ",
                             block);
    }
    if (!to_batch) batch /= block;
  }
  return batch;
}

template <bool kToBatch>
Status SpaceBatchShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(c));
  const int borders_input = c.num_inputs() - 1;
  ASSIGN_OR_RETURN(const PartialShape borders_shape, c.InputWithRank(borders_input, 2));
  RETURN_IF_ERROR(borders_shape.MergeWith(PartialShape{blocks.count, 2}).status());
  const bool is_image = c.node().FindAttr("block_size") != nullptr;
  PartialShape x = c.input(0);
  if (is_image) {
    ASSIGN_OR_RETURN(x, c.InputWithRank(0, 4));
  }
  if (!x.known_rank() || blocks.count < 0) return OkStatus();
  RETURN_IF_ERROR(Explained(CheckRankAtLeast(x.rank(), blocks.count + 1), "of input 0"));
  const Tensor borders = c.InputValue(borders_input);
  ASSIGN_OR_RETURN(const int64_t batch, BatchAfter(x.dim(0), blocks.sizes, kToBatch));
  x.set_dim(0, batch);
  for (int i = 0; i < blocks.sizes.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t sum, BordersOf(borders, i));
    ASSIGN_OR_RETURN(const int64_t size, kToBatch ? ToBatch(x.dim(i + 1), blocks.sizes[i], sum)
                                                  : ToSpace(x.dim(i + 1), blocks.sizes[i], sum));
    x.set_dim(i + 1, size);
  }
  c.set_output(0, std::move(x));
  return OkStatus();
}

// The two directions are each other's gradient.
template <bool kToBatch>
Status SpaceBatchGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const AttrValue* const block = c.node().FindAttr("block_size");
  std::vector<Output> inputs = {c.grad(0)};
  for (int i = 1; i < c.node().num_inputs(); ++i) inputs.push_back(c.input(i));
  AttrMap attrs;
  if (block != nullptr) attrs.Set("block_size", *block);
  const std::string op = kToBatch ? "BatchToSpace" : "SpaceToBatch";
  c.set_input_grad(0, c.b().Op(block == nullptr ? op + "ND" : op, inputs, attrs));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(space_batch) {
  for (const char* name : {"SpaceToBatch", "SpaceToBatchND"}) {
    registry.Op(name)
        .Shape(SpaceBatchShape<true>)
        .Gradient(SpaceBatchGradient<true>)
        .Doc("Blocks of the padded space become entries of the batch.");
  }
  for (const char* name : {"BatchToSpace", "BatchToSpaceND"}) {
    registry.Op(name)
        .Shape(SpaceBatchShape<false>)
        .Gradient(SpaceBatchGradient<false>)
        .Doc("Entries of the batch become blocks of a space, which is then cropped.");
  }
}
