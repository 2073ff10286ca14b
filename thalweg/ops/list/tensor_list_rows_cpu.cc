// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/list_shape.h"
#include "thalweg/ops/list/row_pieces.h"
#include "thalweg/resources/tensor_list.h"

namespace thalweg {
namespace {

// `value`, or zeros where it is empty, into n elements of `out` from `offset` on.
Status CopyOrZero(Context& ctx, const Tensor& value, Tensor& out, int64_t offset, int64_t n) {
  if (!value.empty()) return CopyInto(ctx, value, out, offset);
  auto* const to = static_cast<char*>(out.mutable_raw_data()) +
                   static_cast<size_t>(offset) * DTypeStride(out.dtype());
  return compute::FillZeros(ctx.work(), out.dtype(), to, n);
}

// Output 0: n elements of the list as rows, all of the shape `known`.
template <class At>
Status StackRows(Context& ctx, const TensorList& list, const PartialShape& known, int64_t n,
                 At at) {
  ASSIGN_OR_RETURN(const Shape element, Shape::Make(known.dims()));
  ASSIGN_OR_RETURN(const Shape whole, RowsOf(n, element));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, list.element_dtype(), whole));
  const int64_t each = element.num_elements();
  for (int64_t i = 0; i < n; ++i) {
    const Tensor& value = at(i);
    // MergedShape has compared all elements only where it had to.
    if (!value.empty() && value.shape() != element) {
      return TensorList::MergeError(known, PartialShape(value.shape()));
    }
    RETURN_IF_ERROR(CopyOrZero(ctx, value, *out, i * each, each));
  }
  return OkStatus();
}

class StackCpu : public Kernel {
 public:
  StackCpu(DType dtype, int64_t count) : dtype_(dtype), count_(count) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t count, c.Attr<int64_t>("num_elements"));
    return std::unique_ptr<Kernel>(std::make_unique<StackCpu>(c.output_type(0), count));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(dtype_));
    if (count_ != -1 && count_ != list->size()) {
      return InvalidArgument("Operation expected a list with ", count_,
                             " elements but got a list with ", list->size(), " elements.");
    }
    ASSIGN_OR_RETURN(const PartialShape given, ElementShapeOf(ctx.input(1)));
    ASSIGN_OR_RETURN(const PartialShape known, list->MergedShape(given));
    if (!known.IsFullyDefined()) {
      return InvalidArgument("Tried to stack ",
                             list->size() == 0
                                 ? "elements of an empty list with"
                                 : "list which only contains uninitialized tensors and has a",
                             " non-fully-defined element_shape: ", known);
    }
    return StackRows(ctx, *list, known, list->size(),
                     [list](int64_t i) -> const Tensor& { return list->at(i); });
  }

 private:
  const DType dtype_;
  const int64_t count_;
};

class GatherCpu : public Kernel {
 public:
  explicit GatherCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(dtype_));
    const Tensor indices = ctx.input(1);
    const int32_t* const at = indices.data<int32_t>();
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      if (at[i] >= 0 && at[i] < list->size()) continue;
      return InvalidArgument("Index ", at[i], " out of range; list only has ", list->size(),
                             " elements.");
    }
    ASSIGN_OR_RETURN(const PartialShape given, ElementShapeOf(ctx.input(2)));
    ASSIGN_OR_RETURN(const PartialShape known, list->MergedShape(given, indices.flat<int32_t>()));
    if (!known.IsFullyDefined()) {
      return InvalidArgument("Tried to gather ",
                             indices.num_elements() == 0
                                 ? "0-elements from a list with non-fully-defined shape: "
                                 : "uninitialized tensors from a list with non-fully-defined "
                                   "element_shape: ",
                             known);
    }
    return StackRows(ctx, *list, known, indices.num_elements(),
                     [list, at](int64_t i) -> const Tensor& { return list->at(at[i]); });
  }

 private:
  const DType dtype_;
};

// The shape that a list of the rows of `tensor` has: what was asked for, which must admit them.
Result<PartialShape> ListShapeOfRows(const Tensor& tensor, const Tensor& given_shape) {
  if (tensor.rank() < 1) {
    return InvalidArgument("Tensor must be at least a vector, but saw shape: ", tensor.shape());
  }
  ASSIGN_OR_RETURN(PartialShape shape, ElementShapeOf(given_shape));
  if (shape.Admits(RowShape(tensor.shape()))) return shape;
  return InvalidArgument("Specified a list with shape ", shape, " from a tensor with shape ",
                         RowShape(tensor.shape()));
}

Status FromTensor(Context& ctx) {
  const Tensor& tensor = ctx.input(0);
  ASSIGN_OR_RETURN(PartialShape shape, ListShapeOfRows(tensor, ctx.input(1)));
  auto list = std::make_shared<TensorList>(tensor.dtype(), std::move(shape));
  RETURN_IF_ERROR(list->Resize(ctx.allocator(), tensor.dim(0)));
  const Shape row = RowShape(tensor.shape());
  for (int64_t i = 0; i < tensor.dim(0); ++i) {
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, tensor, i, i + 1, row));
    RETURN_IF_ERROR(list->Set(i, std::move(piece)));
  }
  return SetListOutput(ctx, 0, std::move(list));
}

// Row i of the tensor becomes element indices[i]; the list grows where it must.
Status ScatterRows(Context& ctx, const Tensor& tensor, const Tensor& indices, TensorList& list) {
  if (tensor.rank() < 1 || tensor.dim(0) != indices.num_elements()) {
    return InvalidArgument("Invalid number of rows in input tensor. Expected: ",
                           indices.num_elements(), " Actual: ", tensor.shape());
  }
  int64_t size = list.size();
  for (const int32_t index : indices.flat<int32_t>()) {
    if (index < 0) {
      return InvalidArgument("Indices in TensorListScatter must all be non-negative.");
    }
    size = std::max(size, int64_t{index} + 1);
  }
  RETURN_IF_ERROR(list.Resize(ctx.allocator(), size));
  const Shape row = RowShape(tensor.shape());
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, tensor, i, i + 1, row));
    RETURN_IF_ERROR(list.Set(indices.data<int32_t>()[i], std::move(piece)));
  }
  return OkStatus();
}

Status Scatter(Context& ctx) {
  const Tensor& tensor = ctx.input(0);
  ASSIGN_OR_RETURN(PartialShape shape, ListShapeOfRows(tensor, ctx.input(2)));
  auto list = std::make_shared<TensorList>(tensor.dtype(), std::move(shape));
  int64_t count = -1;
  if (ctx.num_inputs() == 4) {
    ASSIGN_OR_RETURN(count, IntScalar(ctx.input(3), "num_elements"));
    if (count < -1) {
      return InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", count);
    }
  }
  for (const int32_t index : ctx.input(1).flat<int32_t>()) {
    if (count == -1 || index < count) continue;
    return InvalidArgument("TensorListScatter: Trying to scatter at index ", index,
                           " in list with size ", count);
  }
  if (count > 0) RETURN_IF_ERROR(list->Resize(ctx.allocator(), count));
  RETURN_IF_ERROR(ScatterRows(ctx, tensor, ctx.input(1), *list));
  return SetListOutput(ctx, 0, std::move(list));
}

Status ScatterIntoExistingList(Context& ctx) {
  const Tensor tensor = ctx.input(1), indices = ctx.input(2);
  ASSIGN_OR_RETURN(ListUpdate list, ListUpdate::Of(ctx, 0));
  if (list->element_dtype() != tensor.dtype()) {
    return InvalidArgument("Invalid data types; input tensor type: ", tensor.dtype(),
                           " list element_type: ", list->element_dtype());
  }
  if (tensor.rank() < 1 || !list->element_shape().Admits(RowShape(tensor.shape()))) {
    return InvalidArgument("a tensor of shape ", tensor.shape(),
                           " has no rows for a list of shape ", list->element_shape());
  }
  RETURN_IF_ERROR(ScatterRows(ctx, tensor, indices, *list));
  return std::move(list).SetOutput(ctx, 0);
}

class ConcatCpu : public Kernel {
 public:
  ConcatCpu(DType dtype, PartialShape shape) : dtype_(dtype), shape_(std::move(shape)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    PartialShape shape;
    if (c.node().op_name() == "TensorListConcat") {
      ASSIGN_OR_RETURN(shape, c.Attr<PartialShape>("element_shape"));
    }
    return std::unique_ptr<Kernel>(std::make_unique<ConcatCpu>(c.output_type(0), std::move(shape)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(dtype_));
    PartialShape element = shape_;
    std::span<const int64_t> given_lengths;
    if (ctx.num_inputs() == 3) {
      ASSIGN_OR_RETURN(element, ElementShapeOf(ctx.input(1)));
      given_lengths = ctx.input(2).flat<int64_t>();
    }
    ASSIGN_OR_RETURN(element, element.MergeWith(list->element_shape()));
    compute::CancelLooks looks(ctx.work());
    ASSIGN_OR_RETURN(const std::vector<Shape> shapes, Shapes(*list, element, given_lengths, looks));
    PieceShapes pieces(RestOf(element));
    for (size_t i = 0; i < shapes.size(); ++i) {
      RETURN_IF_ERROR(looks.Did());
      RETURN_IF_ERROR(pieces.Add(static_cast<int64_t>(i), shapes[i]));
    }
    if (shapes.empty() && !RestOf(element).IsFullyDefined()) {
      return InvalidArgument(
          "All except the first dimension must be fully defined when concating an empty tensor "
          "list. element_shape: ",
          element);
    }
    ASSIGN_OR_RETURN(const Shape whole, pieces.Whole());
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, whole));
    int64_t offset = 0;
    for (int64_t i = 0; i < list->size(); ++i) {
      const int64_t n = shapes[static_cast<size_t>(i)].num_elements();
      RETURN_IF_ERROR(CopyOrZero(ctx, list->at(i), *out, offset, n));
      offset += n;
    }
    ASSIGN_OR_RETURN(Tensor * lengths, ctx.AllocateOutput(1, DType::kInt64, Shape{list->size()}));
    std::copy(pieces.lengths().begin(), pieces.lengths().end(), lengths->mutable_data<int64_t>());
    return OkStatus();
  }

 private:
  static PartialShape RestOf(const PartialShape& element) {
    if (!element.known_rank() || element.rank() == 0) return PartialShape::Unknown();
    Dims dims = element.dims();
    dims.erase(0);
    return PartialShape(std::move(dims));
  }

  // The length of all elements that are set; -1 where they differ or none is.
  static int64_t CommonLength(const TensorList& list) {
    int64_t common = -1;
    for (int64_t i = 0; i < list.size(); ++i) {
      if (list.at(i).empty() || list.at(i).rank() == 0) continue;
      const int64_t length = list.at(i).dim(0);
      if (common >= 0 && length != common) return -1;
      common = length;
    }
    return common;
  }

  // The shape of each element; those that are not set have what `element` and the given lengths
  // say, else what all others have.
  static Result<std::vector<Shape>> Shapes(const TensorList& list, const PartialShape& element,
                                           std::span<const int64_t> lengths,
                                           compute::CancelLooks& looks) {
    std::vector<Shape> shapes;
    PartialShape rest = RestOf(element);
    for (int64_t i = 0; i < list.size() && !rest.IsFullyDefined(); ++i) {
      if (!list.at(i).empty() && list.at(i).rank() > 0) rest = RowShape(list.at(i).shape());
    }
    const int64_t common = CommonLength(list);
    for (int64_t i = 0; i < list.size(); ++i) {
      RETURN_IF_ERROR(looks.Did());
      if (!list.at(i).empty()) {
        if (!element.Admits(list.at(i).shape())) {
          return InvalidArgument("Incompatible shapes: element ", i, " has shape ",
                                 list.at(i).shape(), ", expected ", element);
        }
        shapes.push_back(list.at(i).shape());
        continue;
      }
      if (!rest.IsFullyDefined()) {
        return InvalidArgument(
            "Trying to concat list with only uninitialized tensors but "
            "element_shape_except_first_dim is not fully defined: ",
            rest);
      }
      int64_t length = element.known_rank() && element.rank() > 0 ? element.dim(0) : -1;
      if (length < 0) {
        const bool is_given = i < static_cast<int64_t>(lengths.size());
        if (!is_given && common < 0) {
          return InvalidArgument("List contains uninitialized tensor at index ", i,
                                 " but leading_dims has only ", lengths.size(), " elements.");
        }
        length = is_given ? lengths[static_cast<size_t>(i)] : common;
      }
      ASSIGN_OR_RETURN(Shape shape, RowsOf(length, rest.ToShape()));
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }

  const DType dtype_;
  const PartialShape shape_;
};

Status Split(Context& ctx) {
  const Tensor& tensor = ctx.input(0);
  const Tensor& lengths = ctx.input(2);
  ASSIGN_OR_RETURN(PartialShape element, ElementShapeOf(ctx.input(1)));
  RETURN_IF_ERROR(CheckLengths(tensor, lengths));
  const Shape row = RowShape(tensor.shape());
  Dims any = tensor.shape().dims();
  any[0] = PartialShape::kUnknownDim;
  if (!element.IsCompatibleWith(PartialShape(std::move(any)))) {
    return InvalidArgument("tensor shape ", tensor.shape(),
                           " is not compatible with element_shape ", element);
  }
  auto list = std::make_shared<TensorList>(tensor.dtype(), std::move(element));
  int64_t begin = 0;
  for (const int64_t length : lengths.flat<int64_t>()) {
    ASSIGN_OR_RETURN(const Shape shape, RowsOf(length, row));
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, tensor, begin, begin + length, shape));
    RETURN_IF_ERROR(list->Add(ctx.allocator(), std::move(piece)));
    begin += length;
  }
  return SetListOutput(ctx, 0, std::move(list));
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_list_rows, cpu) {
  registry.Add<StackCpu>("TensorListStack", kCpu);
  registry.AddFunction<FromTensor>("TensorListFromTensor", kCpu);
  registry.Add<GatherCpu>("TensorListGather", kCpu);
  registry.AddFunction<Scatter>("TensorListScatter", kCpu);
  registry.AddFunction<Scatter>("TensorListScatterV2", kCpu);
  registry.AddFunction<ScatterIntoExistingList>("TensorListScatterIntoExistingList", kCpu);
  registry.Add<ConcatCpu>("TensorListConcat", kCpu);
  registry.Add<ConcatCpu>("TensorListConcatV2", kCpu);
  registry.AddFunction<Split>("TensorListSplit", kCpu);
}
