// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "thalweg/base/entropy.h"
#include "thalweg/base/mutex.h"
#include "thalweg/compute/image/distorted_box.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/seed_stream.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::BoxWish;
using compute::PixelBox;

Result<std::pair<float, float>> Range(const KernelConstruction& c, std::string_view name) {
  ASSIGN_OR_RETURN(const auto range, c.Attr<std::vector<float>>(name));
  if (range.size() == 2) return std::pair(range[0], range[1]);
  return InvalidArgument(name, " must have two elements, got ", range.size());
}

Result<BoxWish> ReadWish(const KernelConstruction& c) {
  BoxWish wish;
  ASSIGN_OR_RETURN(const auto aspect, Range(c, "aspect_ratio_range"));
  ASSIGN_OR_RETURN(const auto area, Range(c, "area_range"));
  ASSIGN_OR_RETURN(wish.attempts, Int32Attr(c, "max_attempts"));
  std::tie(wish.min_aspect, wish.max_aspect) = aspect;
  std::tie(wish.min_area, wish.max_area) = area;
  if (!(wish.min_aspect > 0 && wish.max_aspect > 0)) {
    return InvalidArgument("aspect_ratio_range must be positive, got [", wish.min_aspect, ", ",
                           wish.max_aspect, "]");
  }
  if (!(wish.min_area > 0 && wish.max_area > 0)) {
    return InvalidArgument("area_range must be positive, got [", wish.min_area, ", ", wish.max_area,
                           "]");
  }
  if (!(wish.min_area <= 1 && wish.max_area <= 1)) {
    return InvalidArgument("area_range must not be above 1, got [", wish.min_area, ", ",
                           wish.max_area, "]");
  }
  if (wish.attempts < 1) {
    return InvalidArgument("max_attempts must be positive, got ", wish.attempts);
  }
  return wish;
}

Result<float> CheckedCover(float cover) {
  if (cover >= 0) return cover;
  return InvalidArgument("min_object_covered must be non-negative, got ", cover);
}

// Rows and columns.
Result<std::pair<int64_t, int64_t>> SizeOf(const Tensor& tensor) {
  if (tensor.rank() != 1 || tensor.num_elements() != 3) {
    return InvalidArgument("image_size must contain 3 elements, got shape ", tensor.shape());
  }
  constexpr std::string_view kNames[] = {"height", "width"};
  for (int d = 0; d < 2; ++d) {
    const int64_t size = IntAt(tensor, d);
    if (size < 0 || size >= std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("image ", kNames[d],
                             " must not be negative and be below 2^31 - 1, got ", size);
    }
  }
  return std::pair(IntAt(tensor, 0), IntAt(tensor, 1));
}

// The boxes, given by shares of the image, in whole pixels.
Result<std::vector<PixelBox>> ObjectsOf(const Tensor& boxes, int64_t rows, int64_t columns) {
  if (boxes.rank() != 3 || boxes.dim(2) != 4) {
    return InvalidArgument("bounding boxes must have shape [batch, boxes, 4], got ", boxes.shape());
  }
  const auto shares = boxes.flat<float>();
  for (const float share : shares) {
    if (!(share >= 0 && share <= 1)) {
      return InvalidArgument("All bounding box coordinates must be in [0.0, 1.0], got ", share);
    }
  }
  const auto height = static_cast<float>(rows), width = static_cast<float>(columns);
  const auto pixel = [](float share, float size) { return static_cast<int64_t>(share * size); };
  std::vector<PixelBox> objects;
  for (size_t i = 0; i < shares.size(); i += 4) {
    objects.push_back({pixel(shares[i], height), pixel(shares[i + 1], width),
                       pixel(shares[i + 2], height), pixel(shares[i + 3], width)});
  }
  return objects;
}

// Outputs begin, size, and the box by shares.
template <class T>
Status SetBox(Context& ctx, const PixelBox& box, int64_t rows, int64_t columns) {
  ctx.set_output(0, Tensor::Vector<T>({static_cast<T>(box.top), static_cast<T>(box.left), T(0)}));
  ctx.set_output(1, Tensor::Vector<T>({static_cast<T>(box.rows()), static_cast<T>(box.columns()),
                                       static_cast<T>(-1)}));
  const auto height = static_cast<float>(rows), width = static_cast<float>(columns);
  const float shares[] = {
      static_cast<float>(box.top) / height, static_cast<float>(box.left) / width,
      static_cast<float>(box.bottom) / height, static_cast<float>(box.right) / width};
  ctx.set_output(2, Tensor::Of<float>(shares, Shape{1, 1, 4}));
  return OkStatus();
}

// What every version does with a stream: all draw in the same way.
template <class T>
class BoxKernel : public Kernel {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(wish_, ReadWish(c));
    ASSIGN_OR_RETURN(whole_, c.Attr<bool>("use_image_if_no_bounding_boxes"));
    if (c.node().num_inputs() > 2) return OkStatus();
    ASSIGN_OR_RETURN(const float cover, c.Attr<float>("min_object_covered"));
    ASSIGN_OR_RETURN(wish_.least_covered, CheckedCover(cover));
    return OkStatus();
  }

 protected:
  uint64_t blocks() const { return static_cast<uint64_t>(wish_.attempts); }

  // stream() gives the stream, once all else is checked.
  template <class F>
  Status Draw(Context& ctx, F&& stream) const {
    ASSIGN_OR_RETURN(const auto size, SizeOf(ctx.input(0)));
    const auto [rows, columns] = size;
    ASSIGN_OR_RETURN(std::vector<PixelBox> objects, ObjectsOf(ctx.input(1), rows, columns));
    BoxWish wish = wish_;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).rank() != 0) {
        return InvalidArgument("min_object_covered must be a scalar, got shape ",
                               ctx.input(2).shape());
      }
      ASSIGN_OR_RETURN(wish.least_covered, CheckedCover(ctx.input(2).scalar<float>()));
    }
    if (objects.empty()) {
      if (!whole_) {
        return InvalidArgument(
            "No bounding boxes provided as input: set use_image_if_no_bounding_boxes if there "
            "need not be one");
      }
      objects.push_back({0, 0, rows, columns});
    }
    ASSIGN_OR_RETURN(const Philox numbers, stream());
    ASSIGN_OR_RETURN(const PixelBox box,
                     compute::DrawBox(ctx.work(), numbers, wish, rows, columns, objects));
    return SetBox<T>(ctx, box, rows, columns);
  }

 private:
  BoxWish wish_;
  bool whole_ = false;
};

template <class T>
class DistortedBoxCpu : public BoxKernel<T> {
 public:
  explicit DistortedBoxCpu(const Philox& stream) : stream_(stream) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, c.Attr<int64_t>("seed2"));
    const bool any = seed == 0 && seed2 == 0;
    const Philox stream(any ? RandomSeed() : static_cast<uint64_t>(seed),
                        any ? RandomSeed() : static_cast<uint64_t>(seed2));
    auto kernel = std::make_unique<DistortedBoxCpu<T>>(stream);
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    return this->Draw(ctx, [&]() -> Result<Philox> { return Reserve(); });
  }

 private:
  // As many blocks as an attempt may need, for each; the next call goes on behind them.
  Philox Reserve() {
    MutexLock lock(mutex_);
    const Philox now = stream_;
    stream_.Skip(this->blocks());
    return now;
  }

  Mutex mutex_;
  Philox stream_ GUARDED_BY(mutex_);
};

template <class T>
class StatelessBoxCpu : public BoxKernel<T> {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<StatelessBoxCpu<T>>();
    RETURN_IF_ERROR(kernel->Read(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(Context& ctx) override {
    return this->Draw(ctx, [&] { return StreamOfSeed(ctx.input(3)); });
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(distorted_box, cpu) {
  // The schema allows no other types.
  ForEachType<Types<uint8_t, int8_t, int16_t, int32_t, int64_t>>([&]<class T>() {
    for (const char* op : {"SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"}) {
      registry.Add<DistortedBoxCpu<T>>(op, kCpu, {{"T", kDTypeOf<T>}}).KeepsState();
    }
    registry.Add<StatelessBoxCpu<T>>("StatelessSampleDistortedBoundingBox", kCpu,
                                     {{"T", kDTypeOf<T>}});
  });
}
