// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/array_handle.h"
#include "thalweg/ops/list/row_pieces.h"

namespace thalweg {
namespace {

Status CheckElement(const PartialShape& wanted, const Shape& found, int64_t index) {
  if (wanted.Admits(found)) return OkStatus();
  return InvalidArgument("TensorArray was passed element_shape ", wanted,
                         " which does not match the Tensor at index ", index, ": ", found);
}

// Output 0: the elements that `index` names for 0 .. n - 1.
template <class Index>
Status StackElements(Context& ctx, TensorArray& array, const PartialShape& wanted, int64_t n,
                     Index index) {
  if (n == 0) {
    ASSIGN_OR_RETURN(const PartialShape element, wanted.MergeWith(array.element_shape()));
    if (!element.IsFullyDefined()) {
      return Unimplemented("TensorArray has size zero, but element shape ", element,
                           " is not fully defined. Currently only static shapes are supported "
                           "when packing zero-size TensorArrays.");
    }
    ASSIGN_OR_RETURN(const Shape none, RowsOf(0, element.ToShape()));
    return ctx.AllocateOutput(0, array.dtype(), none).status();
  }
  ASSIGN_OR_RETURN(const Shape element, array.ShapeAt(index(0)));
  RETURN_IF_ERROR(CheckElement(wanted, element, 0));
  ASSIGN_OR_RETURN(const Shape whole, RowsOf(n, element));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, array.dtype(), whole));
  for (int64_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(const Tensor value, array.Read(ctx, index(i)));
    if (value.shape() != element) {
      return InvalidArgument("TensorArray has inconsistent shapes.  Index 0 has shape: ", element,
                             " but index ", i, " has shape: ", value.shape());
    }
    RETURN_IF_ERROR(CopyInto(ctx, value, *out, i * value.num_elements()));
  }
  return OkStatus();
}

class GatherCpu : public Kernel {
 public:
  GatherCpu(DType dtype, PartialShape element) : dtype_(dtype), element_(std::move(element)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape element, c.Attr<PartialShape>("element_shape"));
    return std::unique_ptr<Kernel>(
        std::make_unique<GatherCpu>(c.output_type(0), std::move(element)));
  }

  // Pack has no indices: it reads all.
  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx, dtype_, "requested"));
    if (ctx.num_inputs() == 2) {
      return StackElements(ctx, *array, element_, array->size(), [](int64_t i) { return i; });
    }
    const Tensor indices = ctx.input(1);
    if (indices.rank() != 1) {
      return InvalidArgument("Expected indices to be a vector, but received shape: ",
                             indices.shape());
    }
    const int32_t* const at = indices.data<int32_t>();
    return StackElements(ctx, *array, element_, indices.num_elements(),
                         [at](int64_t i) { return int64_t{at[i]}; });
  }

 private:
  const DType dtype_;
  const PartialShape element_;
};

Status Scatter(Context& ctx) {
  const Tensor indices = ctx.input(1), value = ctx.input(2);
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array,
                   ArrayOf(ctx, value.dtype(), "is trying to write"));
  if (indices.rank() != 1) {
    return InvalidArgument("Expected indices to be a vector, but received shape: ",
                           indices.shape());
  }
  if (value.rank() < 1 || value.dim(0) != indices.num_elements()) {
    return InvalidArgument("Expected len(indices) == values.shape[0], but saw: ",
                           indices.num_elements(), " vs. shape ", value.shape());
  }
  for (const int32_t index : indices.flat<int32_t>()) {
    if (index >= array->size() && !array->dynamic_size()) {
      return InvalidArgument("Max scatter index must be < array size (", index, " vs. ",
                             array->size(), ")");
    }
  }
  const Shape row = RowShape(value.shape());
  for (int64_t i = 0; i < value.dim(0); ++i) {
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, value, i, i + 1, row));
    RETURN_IF_ERROR(array->Write(ctx, indices.data<int32_t>()[i], std::move(piece)));
  }
  ctx.set_output(0, ctx.input(3));
  return OkStatus();
}

Status Unpack(Context& ctx) {
  const Tensor value = ctx.input(1);
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array,
                   ArrayOf(ctx, value.dtype(), "is trying to write"));
  if (value.rank() < 1) {
    return InvalidArgument("Expected value to be at least a vector, but received shape: ",
                           value.shape());
  }
  if (value.dim(0) != array->size() && !array->dynamic_size()) {
    return InvalidArgument("TensorArray's size is not equal to the first dimension of the value (",
                           array->size(), " vs. ", value.dim(0),
                           "), and the TensorArray is not marked as dynamically resizeable");
  }
  const Shape row = RowShape(value.shape());
  for (int64_t i = 0; i < value.dim(0); ++i) {
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, value, i, i + 1, row));
    RETURN_IF_ERROR(array->Write(ctx, i, std::move(piece)));
  }
  ctx.set_output(0, ctx.input(2));
  return OkStatus();
}

class ConcatCpu : public Kernel {
 public:
  ConcatCpu(DType dtype, PartialShape rest) : dtype_(dtype), rest_(std::move(rest)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(PartialShape rest, c.Attr<PartialShape>("element_shape_except0"));
    return std::unique_ptr<Kernel>(std::make_unique<ConcatCpu>(c.output_type(0), std::move(rest)));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const RefPtr<TensorArray> array, ArrayOf(ctx, dtype_, "requested"));
    const int64_t n = array->size();
    if (n == 0 && !rest_.IsFullyDefined()) {
      return Unimplemented("TensorArray has size zero, but element_shape_except0 ", rest_,
                           " is not fully defined. Currently only static shapes are supported "
                           "when concatenating zero-size TensorArrays.");
    }
    PieceShapes pieces(rest_);
    compute::CancelLooks looks(ctx.work());
    for (int64_t i = 0; i < n; ++i) {
      RETURN_IF_ERROR(looks.Did());
      ASSIGN_OR_RETURN(const Shape shape, array->ShapeAt(i));
      RETURN_IF_ERROR(pieces.Add(i, shape));
    }
    ASSIGN_OR_RETURN(const Shape whole, pieces.Whole());
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype_, whole));
    int64_t offset = 0;
    for (int64_t i = 0; i < n; ++i) {
      ASSIGN_OR_RETURN(const Tensor value, array->Read(ctx, i));
      // Another kernel may have written meanwhile.
      if (offset + value.num_elements() > out->num_elements()) {
        return InvalidArgument("the TensorArray changed while it was read");
      }
      RETURN_IF_ERROR(CopyInto(ctx, value, *out, offset));
      offset += value.num_elements();
    }
    ASSIGN_OR_RETURN(Tensor * lengths, ctx.AllocateOutput(1, DType::kInt64, Shape{n}));
    std::copy(pieces.lengths().begin(), pieces.lengths().end(), lengths->mutable_data<int64_t>());
    return OkStatus();
  }

 private:
  const DType dtype_;
  const PartialShape rest_;
};

Status Split(Context& ctx) {
  const Tensor value = ctx.input(1), lengths = ctx.input(2);
  ASSIGN_OR_RETURN(const RefPtr<TensorArray> array,
                   ArrayOf(ctx, value.dtype(), "is trying to write"));
  RETURN_IF_ERROR(CheckLengths(value, lengths));
  const int64_t n = lengths.num_elements();
  if (n != array->size() && !(array->dynamic_size() && n > array->size())) {
    return InvalidArgument("TensorArray's size is not equal to the size of lengths (",
                           array->size(), " vs. ", n,
                           "), and the TensorArray is not marked as dynamically resizeable");
  }
  int64_t begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t length = lengths.data<int64_t>()[i];
    ASSIGN_OR_RETURN(const Shape shape, RowsOf(length, RowShape(value.shape())));
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, value, begin, begin + length, shape));
    RETURN_IF_ERROR(array->Write(ctx, i, std::move(piece)));
    begin += length;
  }
  ctx.set_output(0, ctx.input(3));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_array_rows, cpu) {
  for (const char* version : {"", "V2", "V3"}) {
    registry.Add<GatherCpu>(StrCat("TensorArrayGather", version), kCpu);
    registry.AddFunction<Scatter>(StrCat("TensorArrayScatter", version), kCpu);
    registry.Add<ConcatCpu>(StrCat("TensorArrayConcat", version), kCpu);
    registry.AddFunction<Split>(StrCat("TensorArraySplit", version), kCpu);
  }
  registry.Add<GatherCpu>("TensorArrayPack", kCpu);
  registry.AddFunction<Unpack>("TensorArrayUnpack", kCpu);
}
