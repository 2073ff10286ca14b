// SPDX-License-Identifier: Apache-2.0
// Components are sets of pixels that are united with their neighbors to the left and above; a set
// is known by its first pixel, so that numbers follow the order of first pixels.
#include <algorithm>
#include <string>
#include <vector>

#include "thalweg/compute/work.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

template <class T>
bool AreEqual(const T& a, const T& b) {
  return a == b;
}
bool AreEqual(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }

template <class T>
bool IsNothing(const T& value) {
  return AreEqual(value, T());
}

// The set of each pixel, as a chain of pixels that come before it.
class PixelSets {
 public:
  explicit PixelSets(int64_t* before) : before_(before) {}

  void Begin(int64_t pixel) { before_[pixel] = pixel; }
  void Unite(int64_t a, int64_t b) {
    a = First(a);
    b = First(b);
    before_[std::max(a, b)] = std::min(a, b);
  }
  int64_t First(int64_t pixel) {
    while (before_[pixel] != pixel) {
      before_[pixel] = before_[before_[pixel]];  // chains stay short
      pixel = before_[pixel];
    }
    return pixel;
  }

 private:
  int64_t* const before_;
};

template <class T>
void UniteRows(const T* image, int64_t rows, int64_t columns, PixelSets& sets) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = i * columns + j;
      sets.Begin(at);
      if (IsNothing(image[at])) continue;
      if (j > 0 && AreEqual(image[at - 1], image[at])) sets.Unite(at, at - 1);
      if (i > 0 && AreEqual(image[at - columns], image[at])) sets.Unite(at, at - columns);
    }
  }
}

template <class T>
Status Components(Context& ctx) {
  const Tensor& images = ctx.input(0);
  if (images.rank() != 3) {
    return InvalidArgument("Input images must have rank 3, got shape ", images.shape());
  }
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, DType::kInt64, images.shape()));
  const int64_t pixels = images.num_elements();
  if (pixels == 0) return OkStatus();
  ASSIGN_OR_RETURN(Tensor before, Tensor::Allocate(ctx.allocator(), DType::kInt64, images.shape()));
  const int64_t rows = images.dim(1), columns = images.dim(2), each = rows * columns;
  const T* const values = images.data<T>();
  int64_t* const numbers = y->mutable_data<int64_t>();
  int64_t* const chains = before.mutable_data<int64_t>();
  RETURN_IF_ERROR(compute::ForBlocks(ctx.work(), images.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      PixelSets sets(chains + i * each);
      UniteRows(values + i * each, rows, columns, sets);
    }
  }));
  int64_t count = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    const int64_t image = i / each;
    PixelSets sets(chains + image * each);
    const int64_t first = image * each + sets.First(i - image * each);
    numbers[i] = IsNothing(values[i]) ? 0 : first == i ? ++count : numbers[first];
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(components, cpu) {
  constexpr std::string_view kOp = "ImageConnectedComponents";
  registry.AddFunction<Components<int64_t>>(kOp, kCpu, {{"dtype", DType::kInt64}});
  registry.AddFunction<Components<int32_t>>(kOp, kCpu, {{"dtype", DType::kInt32}});
  registry.AddFunction<Components<uint16_t>>(kOp, kCpu, {{"dtype", DType::kUint16}});
  registry.AddFunction<Components<int16_t>>(kOp, kCpu, {{"dtype", DType::kInt16}});
  registry.AddFunction<Components<uint8_t>>(kOp, kCpu, {{"dtype", DType::kUint8}});
  registry.AddFunction<Components<int8_t>>(kOp, kCpu, {{"dtype", DType::kInt8}});
  registry.AddFunction<Components<Half>>(kOp, kCpu, {{"dtype", DType::kHalf}});
  registry.AddFunction<Components<float>>(kOp, kCpu, {{"dtype", DType::kFloat}});
  registry.AddFunction<Components<double>>(kOp, kCpu, {{"dtype", DType::kDouble}});
  registry.AddFunction<Components<bool>>(kOp, kCpu, {{"dtype", DType::kBool}});
  registry.AddFunction<Components<std::string>>(kOp, kCpu, {{"dtype", DType::kString}});
}
