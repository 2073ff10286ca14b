// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Cell (o1, o2, ...) of every block is one entry of the batch.
struct Blocks {
  Dims sizes;
  Dims before;  // what is added to, or cut from, the front of each dimension
  Dims after;
  int64_t cells = 1;
};

// A space [batch, dims..., inner] and the same elements as blocks [cells * batch, counts...,
// inner], where position j of cell o is place j * block + o - before of the space.
class SpaceBatchKernel : public Kernel {
 public:
  explicit SpaceBatchKernel(int64_t block_size) : block_size_(block_size) {}

 protected:
  Result<Blocks> BlocksOf(Context& ctx) const {
    Blocks blocks;
    if (block_size_ > 0) {
      if (ctx.input(0).rank() != 4) {
        return InvalidArgument("input rank should be 4 instead of ", ctx.input(0).rank());
      }
      blocks.sizes = {block_size_, block_size_};
    } else {
      ASSIGN_OR_RETURN(blocks.sizes, IntVector(ctx.input(1), "block_shape"));
    }
    const int count = blocks.sizes.size();
    if (ctx.input(0).rank() <= count) {
      return InvalidArgument("input rank should be >= ", count + 1, " instead of ",
                             ctx.input(0).rank());
    }
    const Tensor& borders = ctx.input(ctx.num_inputs() - 1);
    if (borders.rank() != 2 || borders.dim(0) != count || borders.dim(1) != 2) {
      return InvalidArgument("paddings and crops should have shape [", count, ", 2] instead of ",
                             borders.shape());
    }
    for (int i = 0; i < count; ++i) {
      blocks.before.push_back(IntAt(borders, 2 * i));
      blocks.after.push_back(IntAt(borders, 2 * i + 1));
      RETURN_IF_ERROR(CheckBlock(blocks, i));
      if (__builtin_mul_overflow(blocks.cells, blocks.sizes[i], &blocks.cells)) {
        return InvalidArgument("the product of the block sizes is too large");
      }
    }
    return blocks;
  }

  // Moves the elements of one cell at a time; `to_batch` says in which direction.
  static Status Move(Context& ctx, const Blocks& blocks, const Shape& space, const Shape& batched,
                     bool to_batch, const void* from, void* to) {
    const int count = blocks.sizes.size();
    const Dims space_strides = compute::ContiguousStrides(space.dims());
    const Dims batch_strides = compute::ContiguousStrides(batched.dims());
    Dims steps = space_strides;
    for (int i = 0; i < count; ++i) steps[i + 1] *= blocks.sizes[i];
    for (int64_t cell = 0; cell < blocks.cells; ++cell) {
      Dims sizes = space.dims();
      int64_t at_space = 0;
      int64_t at_batch = cell * space.dim(0) * batch_strides[0];
      int64_t rest = cell;
      for (int i = count - 1; i >= 0; --i) {
        const int64_t block = blocks.sizes[i];
        const int64_t shift = rest % block - blocks.before[i];
        rest /= block;
        // Positions whose places are inside.
        const int64_t first = shift >= 0 ? 0 : (-shift + block - 1) / block;
        const int64_t inside = space.dim(i + 1) - shift;
        const int64_t end = inside <= 0 ? 0 : (inside + block - 1) / block;
        sizes[i + 1] = std::max<int64_t>(0, std::min(end, batched.dim(i + 1)) - first);
        at_space += (first * block + shift) * space_strides[i + 1];
        at_batch += first * batch_strides[i + 1];
      }
      const compute::StridedSource source{from, to_batch ? steps : batch_strides,
                                          to_batch ? at_space : at_batch};
      const compute::StridedTarget target{to, to_batch ? batch_strides : steps,
                                          to_batch ? at_batch : at_space};
      RETURN_IF_ERROR(
          compute::CopyStrided(ctx.work(), ctx.input(0).dtype(), sizes, source, target));
    }
    return OkStatus();
  }

 private:
  static Status CheckBlock(const Blocks& blocks, int i) {
    if (blocks.sizes[i] < 1) {
      return InvalidArgument("All values in block_shape must be positive, got value, ",
                             blocks.sizes[i], " at index ", i, ".");
    }
    if (blocks.before[i] < 0 || blocks.after[i] < 0) {
      return InvalidArgument("Paddings and crops must be non-negative, got ", blocks.before[i],
                             " and ", blocks.after[i]);
    }
    return OkStatus();
  }

  const int64_t block_size_;  // 0: block_shape is input 1
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateForBlocks(const KernelConstruction& c) {
  int64_t block_size = 0;
  if (c.node().FindAttr("block_size") != nullptr) {
    ASSIGN_OR_RETURN(block_size, c.Attr<int64_t>("block_size"));
    if (block_size < 2) return InvalidArgument("Block size should be > 1, was: ", block_size);
  }
  return std::unique_ptr<Kernel>(std::make_unique<K>(block_size));
}

class SpaceToBatchCpu : public SpaceBatchKernel {
 public:
  using SpaceBatchKernel::SpaceBatchKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateForBlocks<SpaceToBatchCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape space = x.shape();
    ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(ctx));
    Dims dims = space.dims();
    bool padded = false;
    if (__builtin_mul_overflow(dims[0], blocks.cells, &dims[0])) {
      return InvalidArgument("a batch of ", space.dim(0), " times ", blocks.cells, " is too large");
    }
    for (int i = 0; i < blocks.sizes.size(); ++i) {
      int64_t& size = dims[i + 1];
      int64_t borders = 0;
      const bool fits = !__builtin_add_overflow(blocks.before[i], blocks.after[i], &borders) &&
                        !__builtin_add_overflow(size, borders, &size);
      if (!fits || size % blocks.sizes[i] != 0) {
        return InvalidArgument("padded_shape[", i, "]=", space.dim(i + 1), "+", blocks.before[i],
                               "+", blocks.after[i], " is not divisible by block_shape[", i,
                               "]=", blocks.sizes[i]);
      }
      size /= blocks.sizes[i];
      padded = padded || borders > 0;
    }
    ASSIGN_OR_RETURN(const Shape batched, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), batched));
    if (padded) {
      RETURN_IF_ERROR(
          compute::FillZeros(ctx.work(), x.dtype(), out->mutable_raw_data(), out->num_elements()));
    }
    if (out->num_elements() == 0 || x.num_elements() == 0) return OkStatus();
    return Move(ctx, blocks, space, batched, true, x.raw_data(), out->mutable_raw_data());
  }
};

class BatchToSpaceCpu : public SpaceBatchKernel {
 public:
  using SpaceBatchKernel::SpaceBatchKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateForBlocks<BatchToSpaceCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape batched = x.shape();
    ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(ctx));
    Dims dims = batched.dims();
    if (dims[0] % blocks.cells != 0) {
      return InvalidArgument("Input batch dimension (", dims[0],
                             ") is not divisible by product of block sizes (", blocks.cells, ")");
    }
    dims[0] /= blocks.cells;
    for (int i = 0; i < blocks.sizes.size(); ++i) {
      int64_t& size = dims[i + 1];
      const bool fits = !__builtin_mul_overflow(size, blocks.sizes[i], &size) &&
                        !__builtin_sub_overflow(size, blocks.before[i], &size) &&
                        !__builtin_sub_overflow(size, blocks.after[i], &size);
      if (!fits || size < 0) {
        return InvalidArgument("cropped_shape[", i, "]=", batched.dim(i + 1), "*", blocks.sizes[i],
                               "-", blocks.before[i], "-", blocks.after[i],
                               " must be non-negative");
      }
    }
    ASSIGN_OR_RETURN(const Shape space, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), space));
    if (out->num_elements() == 0) return OkStatus();
    return Move(ctx, blocks, space, batched, false, x.raw_data(), out->mutable_raw_data());
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(space_batch, cpu) {
  registry.Add<SpaceToBatchCpu>("SpaceToBatch", kCpu);
  registry.Add<SpaceToBatchCpu>("SpaceToBatchND", kCpu);
  registry.Add<BatchToSpaceCpu>("BatchToSpace", kCpu);
  registry.Add<BatchToSpaceCpu>("BatchToSpaceND", kCpu);
}
