// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/math/einsum_equation.h"

namespace thalweg {
namespace {

using LabelList = std::vector<int>;

bool Has(const LabelList& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The labels of `from`, each once, that pass the test.
template <class F>
LabelList Filter(const LabelList& from, const F& passes) {
  LabelList kept;
  for (const int label : from) {
    if (passes(label) && !Has(kept, label)) kept.push_back(label);
  }
  return kept;
}

LabelList Joined(std::initializer_list<const LabelList*> parts) {
  LabelList all;
  for (const LabelList* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

// A tensor walked by label: a diagonal where a label is repeated.
struct Operand {
  Tensor tensor;
  std::map<int, int64_t> sizes, strides;

  Dims DimsOf(const LabelList& labels) const {
    Dims dims;
    for (const int label : labels) dims.push_back(sizes.at(label));
    return dims;
  }
  Dims StridesOf(const LabelList& labels) const {
    Dims found;
    for (const int label : labels) found.push_back(strides.at(label));
    return found;
  }
  // True when the elements lie one after the other in the order of the labels.
  bool IsLaidOut(const LabelList& labels) const {
    int64_t next = 1;
    for (size_t i = labels.size(); i-- > 0;) {
      if (sizes.at(labels[i]) != 1 && strides.at(labels[i]) != next) return false;
      next *= sizes.at(labels[i]);
    }
    return next == tensor.num_elements();
  }
};

Result<Operand> Walk(const Tensor& tensor, const LabelList& labels) {
  Operand made{tensor, {}, {}};
  const Dims strides = compute::ContiguousStrides(tensor.shape().dims());
  for (size_t d = 0; d < labels.size(); ++d) {
    const int64_t size = tensor.dim(static_cast<int>(d));
    if (made.sizes.try_emplace(labels[d], size).first->second != size) {
      return InvalidArgument("Expected dimension ", made.sizes.at(labels[d]), " at axis ", d,
                             " of the input shaped ", tensor.shape(), " but got dimension ", size);
    }
    made.strides[labels[d]] += strides[static_cast<int>(d)];
  }
  return made;
}

// A contiguous tensor with the labels in this order; others are summed over.
Result<Operand> LaidOut(Context& ctx, const Operand& x, const LabelList& labels) {
  LabelList summed;
  for (const auto& [label, size] : x.sizes) {
    if (!Has(labels, label)) summed.push_back(label);
  }
  if (summed.empty() && x.IsLaidOut(labels)) return x;
  const LabelList order = Joined({&labels, &summed});
  const Dims dims = x.DimsOf(order);
  const DType dtype = x.tensor.dtype();
  ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemporary(dtype, Shape(dims)));
  RETURN_IF_ERROR(
      compute::CopyStrided(ctx.work(), dtype, dims, {x.tensor.raw_data(), x.StridesOf(order)},
                           {copy.mutable_raw_data(), compute::ContiguousStrides(dims)}));
  if (summed.empty()) return Walk(copy, labels);
  Dims axes;
  for (size_t i = labels.size(); i < order.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  ASSIGN_OR_RETURN(const compute::Reduction reduction, compute::Reduction::Make(dims, axes));
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemporary(dtype, Shape(x.DimsOf(labels))));
  RETURN_IF_ERROR(compute::Reduce(ctx.work(), compute::ReduceOp::kSum, dtype, reduction,
                                  copy.raw_data(), sums.mutable_raw_data()));
  return Walk(sums, labels);
}

// One factor as a batch of matrices: [batch, rows, depth], or [batch, depth, rows] where it lies
// so.
struct Matrices {
  Operand operand;
  bool depth_first = false;
};
Result<Matrices> AsMatrices(Context& ctx, const Operand& x, const LabelList& batch,
                            const LabelList& rows, const LabelList& depth) {
  const LabelList usual = Joined({&batch, &rows, &depth}), turned = Joined({&batch, &depth, &rows});
  const bool depth_first = turned.size() == x.sizes.size() && x.IsLaidOut(turned);
  ASSIGN_OR_RETURN(Operand laid_out, LaidOut(ctx, x, depth_first ? turned : usual));
  return Matrices{std::move(laid_out), depth_first};
}

// Where the matrix of every batch index begins; a dimension of size one is repeated.
std::vector<int64_t> Offsets(const Operand& x, const LabelList& labels, const Dims& batch) {
  std::vector<int64_t> offsets;
  const int64_t count = Shape(batch).num_elements();
  offsets.reserve(static_cast<size_t>(count));
  Dims at;
  at.resize(batch.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (int d = 0; d < batch.size(); ++d) {
      if (x.sizes.at(labels[d]) != 1) offset += at[d] * x.strides.at(labels[d]);
    }
    offsets.push_back(offset);
    for (int d = batch.size() - 1; d >= 0 && ++at[d] == batch[d]; --d) at[d] = 0;
  }
  return offsets;
}

Result<Dims> BatchDims(const Operand& a, const Operand& b, const LabelList& labels) {
  Dims dims;
  for (const int label : labels) {
    const int64_t x = a.sizes.at(label), y = b.sizes.at(label);
    if (x != y && (label < EinsumLabels::kBroadcast || (x != 1 && y != 1))) {
      return InvalidArgument("inputs must have compatible batch dimensions, got ", x, " and ", y,
                             ": the shapes are ", a.tensor.shape(), " and ", b.tensor.shape());
    }
    dims.push_back(x == 1 ? y : x);
  }
  return dims;
}

// Labels and sizes by what becomes of them.
struct Roles {
  LabelList batch, rows, columns, depth;
};
Roles RolesOf(const Operand& a, const LabelList& a_labels, const Operand& b,
              const LabelList& b_labels, const LabelList& output) {
  const auto in = [](const Operand& x, int label) { return x.sizes.count(label) > 0; };
  Roles roles;
  roles.batch = Filter(output, [&](int l) { return in(a, l) && in(b, l); });
  roles.rows = Filter(a_labels, [&](int l) { return Has(output, l) && !in(b, l); });
  roles.columns = Filter(b_labels, [&](int l) { return Has(output, l) && !in(a, l); });
  roles.depth = Filter(a_labels, [&](int l) { return in(b, l) && !Has(output, l); });
  return roles;
}

// InvalidArgument for a label that is summed over and whose sizes differ.
Status CheckDepth(const Operand& a, const Operand& b, const LabelList& b_labels,
                  const LabelList& depth) {
  for (const int label : depth) {
    if (a.sizes.at(label) == b.sizes.at(label)) continue;
    const auto axis = std::find(b_labels.begin(), b_labels.end(), label) - b_labels.begin();
    return InvalidArgument("Expected dimension ", a.sizes.at(label), " at axis ", axis,
                           " of the input shaped ", b.tensor.shape(), " but got dimension ",
                           b.sizes.at(label), ": the other is ", a.tensor.shape());
  }
  return OkStatus();
}

// a times b into `result`, with the labels batch, rows, columns.
Result<Operand> Multiply(Context& ctx, const Operand& a, const Operand& b, const Roles& roles,
                         const Dims& batch, Tensor& result) {
  if (result.num_elements() == 0) {
    return Walk(result, Joined({&roles.batch, &roles.rows, &roles.columns}));
  }
  ASSIGN_OR_RETURN(const Matrices x, AsMatrices(ctx, a, roles.batch, roles.rows, roles.depth));
  ASSIGN_OR_RETURN(const Matrices y, AsMatrices(ctx, b, roles.batch, roles.columns, roles.depth));
  const int64_t m = Shape(a.DimsOf(roles.rows)).num_elements();
  const int64_t n = Shape(b.DimsOf(roles.columns)).num_elements();
  const int64_t k = Shape(a.DimsOf(roles.depth)).num_elements();
  using compute::Transpose;
  const auto shape =
      compute::GemmShape::Dense(m, n, k, x.depth_first ? Transpose::kYes : Transpose::kNo,
                                y.depth_first ? Transpose::kNo : Transpose::kYes);
  const std::vector<int64_t> x_at = Offsets(x.operand, roles.batch, batch);
  const std::vector<int64_t> y_at = Offsets(y.operand, roles.batch, batch);
  RETURN_IF_ERROR(
      compute::BatchedGemm(ctx.work(), a.tensor.dtype(), shape, static_cast<int64_t>(x_at.size()),
                           x.operand.tensor.raw_data(), x_at.data(), y.operand.tensor.raw_data(),
                           y_at.data(), result.mutable_raw_data()));
  return Walk(result, Joined({&roles.batch, &roles.rows, &roles.columns}));
}

class EinsumCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<EinsumCpu>();
    ASSIGN_OR_RETURN(const std::string text, c.Attr<std::string>("equation"));
    ASSIGN_OR_RETURN(kernel->equation_, EinsumEquation::Parse(text));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    std::vector<int> ranks;
    for (int i = 0; i < ctx.num_inputs(); ++i) ranks.push_back(ctx.input(i).rank());
    ASSIGN_OR_RETURN(const EinsumLabels labels, equation_.Expand(ranks));
    ASSIGN_OR_RETURN(const Operand a, Walk(ctx.input(0), labels.inputs[0]));
    if (ctx.num_inputs() == 1) return One(ctx, a, labels);
    ASSIGN_OR_RETURN(const Operand b, Walk(ctx.input(1), labels.inputs[1]));
    return Two(ctx, a, b, labels);
  }

 private:
  static Status One(Context& ctx, const Operand& a, const EinsumLabels& labels) {
    const LabelList kept = Filter(labels.output, [](int) { return true; });
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(labels.output, a.sizes));
    if (a.sizes.size() == kept.size()) return Finish(ctx, a, labels.output, shape);
    ASSIGN_OR_RETURN(const Operand summed, LaidOut(ctx, a, kept));
    return Finish(ctx, summed, labels.output, shape);
  }

  static Status Two(Context& ctx, const Operand& a, const Operand& b, const EinsumLabels& labels) {
    const Roles roles = RolesOf(a, labels.inputs[0], b, labels.inputs[1], labels.output);
    ASSIGN_OR_RETURN(const Dims batch, BatchDims(a, b, roles.batch));
    RETURN_IF_ERROR(CheckDepth(a, b, labels.inputs[1], roles.depth));
    std::map<int, int64_t> sizes = a.sizes;
    sizes.insert(b.sizes.begin(), b.sizes.end());
    for (int d = 0; d < batch.size(); ++d) sizes[roles.batch[d]] = batch[d];
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(labels.output, sizes));
    const LabelList natural = Joined({&roles.batch, &roles.rows, &roles.columns});
    if (natural == labels.output) {
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.tensor.dtype(), shape));
      return Multiply(ctx, a, b, roles, batch, *out).status();
    }
    ASSIGN_OR_RETURN(const Shape made, OutputShape(natural, sizes));
    ASSIGN_OR_RETURN(Tensor product, ctx.AllocateTemporary(a.tensor.dtype(), made));
    ASSIGN_OR_RETURN(const Operand result, Multiply(ctx, a, b, roles, batch, product));
    return Finish(ctx, result, labels.output, shape);
  }

  static Result<Shape> OutputShape(const LabelList& labels, const std::map<int, int64_t>& sizes) {
    Dims dims;
    for (const int label : labels) dims.push_back(sizes.at(label));
    return Shape::Make(dims);
  }

  // x in the order of the output; on a diagonal of zeros where its labels repeat.
  static Status Finish(Context& ctx, const Operand& x, const LabelList& output,
                       const Shape& shape) {
    const DType dtype = x.tensor.dtype();
    const LabelList labels = Filter(output, [](int) { return true; });
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
    if (labels.size() != output.size()) {
      RETURN_IF_ERROR(
          compute::FillZeros(ctx.work(), dtype, out->mutable_raw_data(), out->num_elements()));
    }
    ASSIGN_OR_RETURN(const Operand target, Walk(*out, output));
    return compute::CopyStrided(ctx.work(), dtype, x.DimsOf(labels),
                                {x.tensor.raw_data(), x.StridesOf(labels)},
                                {out->mutable_raw_data(), target.StridesOf(labels)});
  }

  EinsumEquation equation_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(einsum, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt32,
                      DType::kInt64, DType::kComplex64, DType::kComplex128}) {
    registry.Add<EinsumCpu>("Einsum", kCpu, {{"T", dtype}});
  }
}
