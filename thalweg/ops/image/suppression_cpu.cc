// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/image/suppress.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::Selected;
using compute::SuppressRule;

Result<Tensor> AsFloats(Context& ctx, int i) {
  const Tensor& x = ctx.input(i);
  if (x.dtype() == DType::kFloat) return x;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kFloat, x.shape()));
  RETURN_IF_ERROR(compute::RunCast(ctx.work(), x.dtype(), DType::kFloat, x.num_elements(),
                                   x.raw_data(), wide.mutable_raw_data()));
  return wide;
}

Result<float> Real(Context& ctx, int i, std::string_view what) {
  if (ctx.input(i).rank() != 0) {
    return InvalidArgument(what, " must be 0-D, got shape ", ctx.input(i).shape());
  }
  ASSIGN_OR_RETURN(const Tensor wide, AsFloats(ctx, i));
  return wide.scalar<float>();
}

Status CheckFraction(float value, std::string_view what) {
  if (value >= 0 && value <= 1) return OkStatus();
  return InvalidArgument(what, " must be in [0, 1], got ", value);
}

// The limits from the scalars behind boxes and scores; those that are no inputs, as given.
Result<SuppressRule> RuleOf(Context& ctx, float overlap, bool any_overlap) {
  SuppressRule rule{.overlap = overlap, .score = std::numeric_limits<float>::lowest()};
  if (ctx.input(2).rank() != 0) {
    return InvalidArgument("max_output_size must be 0-D, got shape ", ctx.input(2).shape());
  }
  ASSIGN_OR_RETURN(rule.most, IntScalar(ctx.input(2), "max_output_size"));
  if (rule.most < 0) {
    return InvalidArgument("output size must be non-negative, got ", rule.most);
  }
  const int n = ctx.num_inputs();
  if (n > 3) {
    ASSIGN_OR_RETURN(rule.overlap, Real(ctx, 3, "iou_threshold"));
  }
  if (!any_overlap) RETURN_IF_ERROR(CheckFraction(rule.overlap, "iou_threshold"));
  if (n > 4) {
    ASSIGN_OR_RETURN(rule.score, Real(ctx, 4, "score_threshold"));
  }
  if (n > 5) {
    ASSIGN_OR_RETURN(rule.soft_sigma, Real(ctx, 5, "soft_nms_sigma"));
    if (!(rule.soft_sigma >= 0)) {
      return InvalidArgument("soft_nms_sigma must not be negative, got ", rule.soft_sigma);
    }
  }
  return rule;
}

// `square`: as many columns as rows, not 4.
Status CheckBoxes(const Tensor& boxes, const Tensor& scores, bool square) {
  if (boxes.rank() != 2) {
    return InvalidArgument(square ? "overlaps" : "boxes", " must be 2-D", boxes.shape());
  }
  if (square && boxes.dim(1) != boxes.dim(0)) {
    return InvalidArgument("overlaps must be square", boxes.shape());
  }
  if (!square && boxes.dim(1) != 4) {
    return InvalidArgument("boxes must have 4 columns, got shape ", boxes.shape());
  }
  if (scores.rank() != 1) return InvalidArgument("scores must be 1-D", scores.shape());
  if (scores.dim(0) == boxes.dim(0)) return OkStatus();
  return InvalidArgument("scores has incompatible shape ", scores.shape(), " for ", boxes.dim(0),
                         " boxes");
}

class SuppressionCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SuppressionCpu>();
    const Node& node = c.node();
    if (node.FindAttr("iou_threshold") != nullptr) {
      ASSIGN_OR_RETURN(kernel->overlap_, c.Attr<float>("iou_threshold"));
      RETURN_IF_ERROR(CheckFraction(kernel->overlap_, "iou_threshold"));
    }
    if (node.FindAttr("pad_to_max_output_size") != nullptr) {
      ASSIGN_OR_RETURN(kernel->pad_, c.Attr<bool>("pad_to_max_output_size"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    RETURN_IF_ERROR(CheckBoxes(ctx.input(0), ctx.input(1), false));
    ASSIGN_OR_RETURN(const SuppressRule rule, RuleOf(ctx, overlap_, false));
    ASSIGN_OR_RETURN(const Tensor boxes, AsFloats(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor scores, AsFloats(ctx, 1));
    const float* box = boxes.data<float>();
    const auto overlap = [&](int64_t i, int64_t j) {
      return compute::BoxOverlap(box + 4 * i, box + 4 * j);
    };
    ASSIGN_OR_RETURN(
        const std::vector<Selected> kept,
        compute::Suppress(ctx.work(), scores.num_elements(), scores.data<float>(), rule, overlap));
    const auto count = static_cast<int64_t>(kept.size());
    const Shape shape{pad_ ? rule.most : count};
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt32, shape));
    auto* to = indices->mutable_data<int32_t>();
    std::fill_n(to, shape.dim(0), 0);
    for (const Selected& s : kept) *to++ = static_cast<int32_t>(s.index);
    const int outputs = ctx.num_outputs();
    if (outputs > 1) ctx.set_output(outputs - 1, Tensor::Scalar(static_cast<int32_t>(count)));
    if (outputs < 3) return OkStatus();
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(DType::kFloat, shape));
    std::fill_n(wide.mutable_data<float>(), shape.dim(0), 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      wide.mutable_data<float>()[i] = kept[static_cast<size_t>(i)].score;
    }
    const DType type = ctx.input(1).dtype();
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(1, type, shape));
    return compute::RunCast(ctx.work(), DType::kFloat, type, shape.dim(0), wide.raw_data(),
                            out->mutable_raw_data());
  }

 private:
  float overlap_ = 0;
  bool pad_ = false;
};

Status WithOverlaps(Context& ctx) {
  const Tensor &overlaps = ctx.input(0), &scores = ctx.input(1);
  RETURN_IF_ERROR(CheckBoxes(overlaps, scores, true));
  ASSIGN_OR_RETURN(const SuppressRule rule, RuleOf(ctx, 0, true));
  const int64_t n = scores.num_elements();
  const auto overlap = [&](int64_t i, int64_t j) { return overlaps.data<float>()[i * n + j]; };
  ASSIGN_OR_RETURN(const std::vector<Selected> kept,
                   compute::Suppress(ctx.work(), n, scores.data<float>(), rule, overlap));
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, DType::kInt32, Shape{static_cast<int64_t>(kept.size())}));
  auto* to = out->mutable_data<int32_t>();
  for (const Selected& s : kept) *to++ = static_cast<int32_t>(s.index);
  return OkStatus();
}

class CombinedCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<CombinedCpu>();
    ASSIGN_OR_RETURN(kernel->pad_per_class_, c.Attr<bool>("pad_per_class"));
    ASSIGN_OR_RETURN(kernel->clip_, c.Attr<bool>("clip_boxes"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
    RETURN_IF_ERROR(Check(boxes.shape(), scores.shape()));
    SuppressRule rule;
    ASSIGN_OR_RETURN(rule.most, IntScalar(ctx.input(2), "max_output_size_per_class"));
    ASSIGN_OR_RETURN(int64_t total, IntScalar(ctx.input(3), "max_total_size"));
    if (rule.most < 1 || total < 1) {
      return InvalidArgument("max_output_size_per_class and max_total_size must be > 0, got ",
                             rule.most, " and ", total);
    }
    ASSIGN_OR_RETURN(rule.overlap, Real(ctx, 4, "iou_threshold"));
    RETURN_IF_ERROR(CheckFraction(rule.overlap, "iou_threshold"));
    ASSIGN_OR_RETURN(rule.score, Real(ctx, 5, "score_threshold"));
    if (pad_per_class_) {
      int64_t most = 0;
      if (!__builtin_mul_overflow(rule.most, scores.dim(2), &most)) total = std::min(total, most);
    }
    return Select(ctx, rule, total);
  }

 private:
  struct Found {
    Selected box;
    int64_t of_class;
  };

  // Boxes are [batch, n, 1 or classes, 4], scores [batch, n, classes].
  static Status Check(const Shape& boxes, const Shape& scores) {
    if (boxes.rank() != 4) return InvalidArgument("boxes must be 4-D", boxes);
    if (scores.rank() != 3) return InvalidArgument("scores must be 3-D", scores);
    if (boxes.dim(0) != scores.dim(0) || boxes.dim(1) != scores.dim(1)) {
      return InvalidArgument("scores has incompatible shape ", scores, " for boxes ", boxes);
    }
    if (boxes.dim(2) != 1 && boxes.dim(2) != scores.dim(2)) {
      return InvalidArgument("third dimension of boxes must be either 1 or num classes, got ",
                             boxes, " for scores ", scores);
    }
    if (boxes.dim(3) == 4) return OkStatus();
    return InvalidArgument("boxes must have 4 columns, got shape ", boxes);
  }

  Status Select(Context& ctx, const SuppressRule& rule, int64_t total) const {
    const int64_t batch = ctx.input(0).dim(0);
    ASSIGN_OR_RETURN(const Shape pairs, Shape::Make(Dims{batch, total}));
    ASSIGN_OR_RETURN(const Shape fours, Shape::Make(Dims{batch, total, 4}));
    ASSIGN_OR_RETURN(Tensor * boxes, ctx.AllocateOutput(0, DType::kFloat, fours));
    ASSIGN_OR_RETURN(Tensor * scores, ctx.AllocateOutput(1, DType::kFloat, pairs));
    ASSIGN_OR_RETURN(Tensor * classes, ctx.AllocateOutput(2, DType::kFloat, pairs));
    ASSIGN_OR_RETURN(Tensor * counts, ctx.AllocateOutput(3, DType::kInt32, Shape{batch}));
    std::fill_n(boxes->mutable_data<float>(), boxes->num_elements(), 0.0f);
    std::fill_n(scores->mutable_data<float>(), scores->num_elements(), 0.0f);
    std::fill_n(classes->mutable_data<float>(), classes->num_elements(), 0.0f);
    return compute::ForShards(ctx.work(), batch, [&](int64_t image) {
      std::vector<Found> found = OfImage(ctx, rule, image);
      const auto count = std::min(total, static_cast<int64_t>(found.size()));
      for (int64_t i = 0; i < count; ++i) {
        const Found& f = found[static_cast<size_t>(i)];
        const int64_t at = image * total + i;
        const float* box = BoxAt(ctx, image, f.box.index, f.of_class);
        for (int64_t k = 0; k < 4; ++k) {
          boxes->mutable_data<float>()[4 * at + k] =
              clip_ ? std::min(std::max(box[k], 0.0f), 1.0f) : box[k];
        }
        scores->mutable_data<float>()[at] = f.box.score;
        classes->mutable_data<float>()[at] = static_cast<float>(f.of_class);
      }
      counts->mutable_data<int32_t>()[image] = static_cast<int32_t>(count);
      return true;
    });
  }

  static const float* BoxAt(const Context& ctx, int64_t image, int64_t i, int64_t of_class) {
    const Tensor& boxes = ctx.input(0);
    const int64_t kinds = boxes.dim(2), kind = kinds == 1 ? 0 : of_class;
    return boxes.data<float>() + ((image * boxes.dim(1) + i) * kinds + kind) * 4;
  }

  // What stays of all classes, the best first; the lower class first among equals.
  static std::vector<Found> OfImage(const Context& ctx, const SuppressRule& rule, int64_t image) {
    const Tensor& scores = ctx.input(1);
    const int64_t n = scores.dim(1), classes = scores.dim(2);
    std::vector<Found> found;
    std::vector<float> of_class(static_cast<size_t>(n));
    for (int64_t c = 0; c < classes; ++c) {
      for (int64_t i = 0; i < n; ++i) {
        of_class[static_cast<size_t>(i)] = scores.data<float>()[(image * n + i) * classes + c];
      }
      const auto overlap = [&](int64_t i, int64_t j) {
        return compute::BoxOverlap(BoxAt(ctx, image, i, c), BoxAt(ctx, image, j, c));
      };
      const Result<std::vector<Selected>> kept =
          compute::Suppress(ctx.work(), n, of_class.data(), rule, overlap);
      if (!kept.ok()) return {};  // cancelled, as the loop over images will say
      for (const Selected& s : *kept) found.push_back({s, c});
    }
    const auto better = [](const Found& a, const Found& b) { return a.box.score > b.box.score; };
    if (!compute::StableSort(ctx.work(), found.begin(), found.end(), better).ok()) return {};
    return found;
  }

  bool pad_per_class_ = false, clip_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(suppression, cpu) {
  registry.Add<SuppressionCpu>("NonMaxSuppression", kCpu);
  for (DType dtype : {DType::kHalf, DType::kFloat}) {
    for (const char* op : {"NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
                           "NonMaxSuppressionV5"}) {
      registry.Add<SuppressionCpu>(op, kCpu, {{"T", dtype}});
    }
  }
  registry.AddFunction<WithOverlaps>("NonMaxSuppressionWithOverlaps", kCpu);
  registry.Add<CombinedCpu>("CombinedNonMaxSuppression", kCpu);
}
