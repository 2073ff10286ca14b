// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/random/index_shuffle.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// How many indices there are; every input has one for each, or one for all.
Result<int64_t> CountOf(const Tensor& index, const Tensor& seed, const Tensor& most) {
  if (index.rank() > 1 || (index.rank() == 1 && index.dim(0) == 0)) {
    return InvalidArgument("index must be a scalar or a vector that is not empty, got shape ",
                           index.shape());
  }
  int64_t count = index.rank() == 1 ? index.dim(0) : 1;
  const auto merge = [&](int64_t other) {
    if (index.rank() == 0 && count == 1) count = other;
    return other == count;
  };
  if (seed.rank() < 1 || seed.rank() > 2 || seed.dim(seed.rank() - 1) != 3 ||
      seed.num_elements() == 0 || (seed.rank() == 2 && !merge(seed.dim(0)))) {
    return InvalidArgument("Seed must be a vector of size [3] or a matrix of size [", count,
                           ", 3] but got ", seed.shape());
  }
  if (most.rank() > 1 || most.num_elements() == 0 || (most.rank() == 1 && !merge(most.dim(0)))) {
    return InvalidArgument("max_index must be a scalar or a vector of ", count, ", got shape ",
                           most.shape());
  }
  return count;
}

// The lower 32 bits of wider seeds count.
uint32_t SeedWord(const Tensor& seed, int64_t i) {
  return seed.dtype() == DType::kUint64 ? static_cast<uint32_t>(seed.data<uint64_t>()[i])
                                        : static_cast<uint32_t>(IntAt(seed, i));
}

template <class T>
class IndexShuffleCpu : public Kernel {
 public:
  explicit IndexShuffleCpu(int rounds) : rounds_(rounds) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t rounds, Int32Attr(c, "rounds"));
    if (rounds < 4) return InvalidArgument("rounds must be at least 4, got ", rounds);
    if (rounds % 2 != 0 || rounds > kMostRounds) {
      return Unimplemented("index shuffles of ", rounds, " rounds: an even number of at most ",
                           kMostRounds);
    }
    return std::unique_ptr<Kernel>(std::make_unique<IndexShuffleCpu<T>>(static_cast<int>(rounds)));
  }

  Status Compute(Context& ctx) override {
    const Tensor &index = ctx.input(0), &seed = ctx.input(1), &most = ctx.input(2);
    ASSIGN_OR_RETURN(const int64_t count, CountOf(index, seed, most));
    const bool one = index.rank() == 0 && seed.rank() == 1 && most.rank() == 0;
    ASSIGN_OR_RETURN(Tensor * out,
                     ctx.AllocateOutput(0, kDTypeOf<T>, one ? Shape() : Shape{count}));
    T* const to = out->mutable_data<T>();
    return compute::Interruptibly(ctx.work(),
                                  [&] { return Shuffle(index, seed, most, count, to); });
  }

 private:
  Status Shuffle(const Tensor& index, const Tensor& seed, const Tensor& most, int64_t count,
                 T* to) const {
    for (int64_t i = 0; i < count; ++i) {
      const T from = index.data<T>()[index.rank() == 0 ? 0 : i];
      const T last = most.data<T>()[most.rank() == 0 ? 0 : i];
      if constexpr (std::is_signed_v<T>) {
        if (from < 0) return InvalidArgument("index must be >= 0 but was ", from);
        if (last < 0) return InvalidArgument("max_index must be >= 0 but was ", last);
      }
      if (last < from) {
        return InvalidArgument("max_index must be >= index, but ", last, " < ", from);
      }
      const int64_t word = seed.rank() == 1 ? 0 : 3 * i;
      const compute::IndexShuffle shuffle(
          {SeedWord(seed, word), SeedWord(seed, word + 1), SeedWord(seed, word + 2)},
          static_cast<uint64_t>(last), rounds_);
      to[i] = static_cast<T>(shuffle(static_cast<uint64_t>(from)));
    }
    return OkStatus();
  }

  static constexpr int kMostRounds = 64;  // as long as the cipher's constants go
  const int rounds_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(index_shuffle, cpu) {
  ForEachType<Types<int32_t, uint32_t, int64_t, uint64_t>>([&]<class T>() {
    registry.Add<IndexShuffleCpu<T>>("RandomIndexShuffle", kCpu, {{"dtype", kDTypeOf<T>}});
  });
}
