// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression in its versions.
#include <algorithm>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Boxes [n, columns] and scores [n], then scalars. n boxes.
Status CheckBoxes(ShapeContext& c, bool square) {
  ASSIGN_OR_RETURN(const PartialShape boxes, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape scores, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const int64_t count, MergeDims(boxes.dim(0), scores.dim(0)));
  const int64_t columns = square ? count : 4;
  if (columns >= 0 && boxes.dim(1) >= 0 && boxes.dim(1) != columns) {
    if (square) return InvalidArgument("overlaps must be square, got shape ", boxes.ToString());
    return InvalidArgument("Dimension must be 4 but is ", boxes.dim(1));
  }
  for (int i = 2; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return OkStatus();
}

Status SelectedShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckBoxes(c, false));
  int64_t count = PartialShape::kUnknownDim;
  if (c.node().FindAttr("pad_to_max_output_size") != nullptr) {
    ASSIGN_OR_RETURN(const bool pad, c.Attr<bool>("pad_to_max_output_size"));
    const Tensor most = c.InputValue(2);
    if (pad && !most.empty()) {
      count = IntAt(most, 0);
      if (count < 0) return InvalidArgument("max_output_size must not be negative, got ", count);
    }
  }
  const int last = c.num_outputs() - 1;
  for (int i = 0; i <= last; ++i) {
    const bool is_count = i > 0 && i == last;
    c.set_output(i, is_count ? PartialShape(Shape{}) : PartialShape{count});
  }
  return OkStatus();
}

Status OverlapsShape(ShapeContext& c) {
  RETURN_IF_ERROR(CheckBoxes(c, true));
  c.set_output(0, PartialShape{-1});
  return OkStatus();
}

Status CombinedShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape boxes, c.InputWithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape scores, c.InputWithRank(1, 3));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(boxes.dim(0), scores.dim(0)));
  RETURN_IF_ERROR(MergeDims(boxes.dim(1), scores.dim(1)).status());
  if (boxes.dim(2) != 1) RETURN_IF_ERROR(MergeDims(boxes.dim(2), scores.dim(2)).status());
  if (boxes.dim(3) >= 0 && boxes.dim(3) != 4) {
    return InvalidArgument("boxes must have 4 columns, got shape ", boxes.ToString());
  }
  for (int i = 2; i < 6; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  ASSIGN_OR_RETURN(const bool pad, c.Attr<bool>("pad_per_class"));
  const Tensor each = c.InputValue(2), all = c.InputValue(3);
  int64_t count = all.empty() ? PartialShape::kUnknownDim : IntAt(all, 0);
  if (!all.empty() && count < 1) {
    return InvalidArgument("max_total_size must be > 0, got ", count);
  }
  if (pad && count >= 0) {
    const bool known = !each.empty() && scores.dim(2) >= 0 && scores.dim(2) < (int64_t{1} << 31);
    count = known ? std::min(count, IntAt(each, 0) * scores.dim(2)) : PartialShape::kUnknownDim;
  }
  c.set_output(0, PartialShape{batch, std::max<int64_t>(count, -1), 4});
  c.set_output(1, PartialShape{batch, std::max<int64_t>(count, -1)});
  c.set_output(2, PartialShape{batch, std::max<int64_t>(count, -1)});
  c.set_output(3, PartialShape{batch});
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(suppression) {
  constexpr std::string_view kWhy = "it gives places";
  for (const char* op : {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3",
                         "NonMaxSuppressionV4", "NonMaxSuppressionV5"}) {
    registry.Op(op)
        .Shape(SelectedShape)
        .NotDifferentiable(kWhy)
        .Doc("The boxes that stay when of those that overlap only the best one does.");
  }
  registry.Op("NonMaxSuppressionWithOverlaps")
      .Shape(OverlapsShape)
      .NotDifferentiable(kWhy)
      .Doc("The boxes that stay when of those that overlap, as given, only the best one does.");
  registry.Op("CombinedNonMaxSuppression")
      .Shape(CombinedShape)
      .NotDifferentiable("TensorFlow has no gradient of it either")
      .Doc("The best boxes of all classes, suppressed class by class.");
}
