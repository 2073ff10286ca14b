// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/string/text_map.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The n parts with the separator between them; false where there is no room for that.
template <class Part>
bool Join(TextMeter& meter, int64_t n, const std::string& separator, const Part& part,
          std::string& to) {
  size_t length = n > 1 ? static_cast<size_t>(n - 1) * separator.size() : 0;
  for (int64_t i = 0; i < n; ++i) {
    compute::Interruption::Look();
    length += part(i).size();
  }
  if (!meter.Take(length)) return false;
  to.reserve(length);
  for (int64_t i = 0; i < n; ++i) {
    compute::Interruption::Look();
    if (i > 0) to += separator;
    to += part(i);
  }
  return true;
}

class StringJoinCpu : public Kernel {
 public:
  explicit StringJoinCpu(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string separator, c.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<StringJoinCpu>(std::move(separator)));
  }

  Status Compute(Context& ctx) override {
    Shape shape;
    bool all_scalar = true;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).rank() == 0) continue;
      if (all_scalar) shape = ctx.input(i).shape();
      all_scalar = false;
      if (shape == ctx.input(i).shape()) continue;
      return InvalidArgument("Input shapes do not match: ", shape, " vs. ", ctx.input(i).shape());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, shape));
    auto* to = out->mutable_data<std::string>();
    const auto part = [&](int i, int64_t e) -> const std::string& {
      return ctx.input(i).data<std::string>()[ctx.input(i).rank() == 0 ? 0 : e];
    };
    TextMeter meter(ctx.allocator(), *out);
    RETURN_IF_ERROR(compute::ForLookingBlocks(
        ctx.work(), out->num_elements(), kTextsPerShard, [&](int64_t begin, int64_t end) {
          for (int64_t e = begin; e < end; ++e) {
            if (!Join(
                    meter, ctx.num_inputs(), separator_,
                    [&](int64_t i) -> const std::string& { return part(static_cast<int>(i), e); },
                    to[e])) {
              return;
            }
          }
        }));
    return meter.status();
  }

 private:
  const std::string separator_;
};

// How far apart the elements of each dimension lie.
std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int d = shape.rank() - 1; d > 0; --d) {
    strides[static_cast<size_t>(d) - 1] = strides[static_cast<size_t>(d)] * shape.dim(d);
  }
  return strides;
}

// The offset of element `i` of the dimensions `axes`, the last of which changes fastest.
int64_t OffsetOf(int64_t i, const std::vector<int>& axes, const Shape& shape,
                 const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t k = axes.size(); k-- > 0;) {
    const int64_t size = shape.dim(axes[k]);
    offset += i % size * strides[static_cast<size_t>(axes[k])];
    i /= size;
  }
  return offset;
}

class ReduceJoinCpu : public Kernel {
 public:
  ReduceJoinCpu(bool keep_dims, std::string separator)
      : keep_dims_(keep_dims), separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool keep, c.Attr<bool>("keep_dims"));
    ASSIGN_OR_RETURN(std::string separator, c.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<ReduceJoinCpu>(keep, std::move(separator)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& input = ctx.input(0);
    const Shape shape = input.shape();
    ASSIGN_OR_RETURN(std::vector<int> joined, AxesOf(ctx.input(1), shape.rank()));
    Dims dims;
    std::vector<int> kept;
    int64_t count = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      if (std::ranges::find(joined, d) == joined.end()) {
        kept.push_back(d);
        dims.push_back(shape.dim(d));
      } else {
        count *= shape.dim(d);
        if (keep_dims_) dims.push_back(1);
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, Shape(dims)));
    const std::vector<int64_t> strides = StridesOf(shape);
    std::ranges::reverse(joined);  // along the first named axis elements are neighbors
    const auto* from = input.data<std::string>();
    auto* to = out->mutable_data<std::string>();
    TextMeter meter(ctx.allocator(), *out);
    const auto join = [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const int64_t first = OffsetOf(e, kept, shape, strides);
        const auto part = [&](int64_t i) -> const std::string& {
          return from[first + OffsetOf(i, joined, shape, strides)];
        };
        if (!Join(meter, count, separator_, part, to[e])) return;
      }
    };
    RETURN_IF_ERROR(compute::ForLookingBlocks(ctx.work(), out->num_elements(), 64, join));
    return meter.status();
  }

 private:
  static Result<std::vector<int>> AxesOf(const Tensor& given, int rank) {
    std::vector<int> axes;
    for (int64_t i = 0; i < given.num_elements(); ++i) {
      const int64_t axis = IntAt(given, i);
      const std::optional<int> from_front = AxisFromFront(axis, rank);
      if (!from_front.has_value()) {
        return OutOfRange("Invalid reduction dimension ", axis, " for input with ", rank,
                          " dimension(s)");
      }
      if (std::ranges::find(axes, *from_front) != axes.end()) {
        return InvalidArgument("Duplicate reduction dimension ", axis);
      }
      axes.push_back(*from_front);
    }
    return axes;
  }

  const bool keep_dims_;
  const std::string separator_;
};

class SegmentJoinCpu : public Kernel {
 public:
  explicit SegmentJoinCpu(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string separator, c.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<SegmentJoinCpu>(std::move(separator)));
  }

  Status Compute(Context& ctx) override {
    const Tensor &input = ctx.input(0), &ids = ctx.input(1), &count = ctx.input(2);
    if (count.rank() != 0) return InvalidArgument("Number of segments must be a scalar");
    const int64_t segments = IntAt(count, 0);
    RETURN_IF_ERROR(Check(input, ids, segments));
    int64_t inner = 1;
    Dims dims{segments};
    for (int d = ids.rank(); d < input.rank(); ++d) {
      dims.push_back(input.dim(d));
      inner *= input.dim(d);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({dims.begin(), dims.end()}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, shape));
    auto* to = out->mutable_data<std::string>();
    TextMeter meter(ctx.allocator(), *out);
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const auto id = static_cast<size_t>(IntAt(ids, i));
      for (int64_t k = 0; k < inner; ++k) {
        RETURN_IF_ERROR(looks.Did());
        std::string& text = to[static_cast<int64_t>(id) * inner + k];
        const std::string& part = input.data<std::string>()[i * inner + k];
        if (!meter.Take(separator_.size() + part.size())) return meter.status();
        if (!text.empty()) text += separator_;  // nothing before it: TensorFlow has none either
        text += part;
      }
    }
    return OkStatus();
  }

 private:
  static Status Check(const Tensor& input, const Tensor& ids, int64_t segments) {
    if (segments < 0) {
      return InvalidArgument("Number of segments must be non-negative but got ", segments);
    }
    if (ids.rank() == 0) return InvalidArgument("Segment_id cannot have rank 0");
    if (ids.rank() > input.rank()) {
      return OutOfRange("Invalid segment_id rank ", ids.rank(), " for input with ", input.rank(),
                        " dimension(s)");
    }
    for (int d = 0; d < ids.rank(); ++d) {
      if (ids.dim(d) == input.dim(d)) continue;
      return InvalidArgument("Segment dimension is ", ids.dim(d), " while input dimension is ",
                             input.dim(d), " in rank ", d);
    }
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      if (IntAt(ids, i) >= 0 && IntAt(ids, i) < segments) continue;
      return InvalidArgument(
          "segment_ids are not allowed to exceed num_segments or to have negative values, got ",
          IntAt(ids, i), " with ", segments, " segments");
    }
    return OkStatus();
  }

  const std::string separator_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(string_join, cpu) {
  registry.Add<StringJoinCpu>("StringJoin", kCpu);
  registry.Add<ReduceJoinCpu>("ReduceJoin", kCpu);
  registry.Add<SegmentJoinCpu>("UnsortedSegmentJoin", kCpu);
}
