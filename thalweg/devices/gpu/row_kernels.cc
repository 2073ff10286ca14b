// SPDX-License-Identifier: Apache-2.0
// Rows that indices name: read from a tensor or a variable, and changed in a variable. Indices are
// in host memory, where each is checked before anything is put into the queue.
#include <algorithm>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr const char* kGather = R"(
__kernel void gather(__global const T* p, ulong pa, __global const long* r, ulong ra,
                     __global T* o, ulong oa, uint inner, uint n) {
  const uint i = get_global_id(0);
  if (i < n) o[oa + i] = p[pa + (ulong)r[ra + i / inner] * inner + i % inner];
}
)";

// An item has a column of all rows, so that a row that is named twice is changed in the order of
// the indices, to the CPU's bits.
constexpr const char* kScatter = R"(
__kernel void scatter(__global T* t, ulong ta, __global const long* r, ulong ra,
                      __global const T* u, ulong ua, uint inner, uint count, uint each) {
  const uint j = get_global_id(0);
  if (j >= inner) return;
  for (uint i = 0; i < count; ++i) {
    const ulong at = ta + (ulong)r[ra + i] * inner + j;
    const T a = t[at];
    const T b = u[ua + (each ? (ulong)i * inner + j : 0)];
    t[at] = COMBINED;
  }
}
)";

// As kScatter; the elements that nothing is added to are 0, and rows of -1 are added nowhere.
constexpr const char* kSegmentSum = R"(
__kernel void segment_sum(__global T* t, ulong ta, __global const long* r, ulong ra,
                          __global const T* u, ulong ua, uint inner, uint count, uint segments) {
  const uint j = get_global_id(0);
  if (j >= inner) return;
  for (uint s = 0; s < segments; ++s) t[ta + (ulong)s * inner + j] = 0;
  for (uint i = 0; i < count; ++i) {
    const long row = r[ra + i];
    if (row >= 0) t[ta + (ulong)row * inner + j] += u[ua + (ulong)i * inner + j];
  }
}
)";

int64_t Product(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int d = begin; d < end; ++d) product *= shape.dim(d);
  return product;
}

std::string Defined(std::string_view name, std::string_view value, std::string_view source) {
  return StrCat("#define ", name, " ", value, "\n", source);
}

class GatherGpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<GatherGpu>();
    kernel->of_variable_ = c.node().op_name() == "ResourceGather";
    kernel->has_axis_ = c.node().op_name() == "GatherV2";
    kernel->dtype_ = c.output_type(0);
    if (c.node().FindAttr("batch_dims") != nullptr) {
      ASSIGN_OR_RETURN(kernel->batch_dims_, c.Attr<int64_t>("batch_dims"));
    }
    ASSIGN_OR_RETURN(kernel->gather_,
                     Compile(c, Defined("T", GpuTypeName(c.output_type(0)), kGather), "gather"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    if (!of_variable_) {
      int64_t axis = 0;
      if (has_axis_) {
        ASSIGN_OR_RETURN(axis, IntScalar(ctx.input(2), "axis"));
      }
      return Gather(ctx, ctx.input(0), axis);
    }
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    ASSIGN_OR_RETURN(const Tensor params, variable->Read());
    if (params.dtype() == dtype_) return Gather(ctx, params, batch_dims_);
    return InvalidArgument("variable '", variable->name(), "' has type ", params.dtype(),
                           ", this node says ", dtype_);
  }

 private:
  Status Gather(Context& ctx, const Tensor& params, int64_t given_axis) const {
    const Tensor& indices = ctx.input(1);
    const Shape from = params.shape(), by = indices.shape();
    if (from.rank() == 0) return InvalidArgument("params must be at least 1 dimensional");
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given_axis, from.rank(), "axis"));
    const auto batch = static_cast<int>(batch_dims_ < 0 ? batch_dims_ + by.rank() : batch_dims_);
    if (batch < 0 || batch > by.rank() || batch > axis) {
      return InvalidArgument("batch_dims = ", batch_dims_, " of indices ", by,
                             " must not be greater than axis = ", axis);
    }
    Dims dims;
    for (int d = 0; d < axis; ++d) dims.push_back(from.dim(d));
    for (int d = batch; d < by.rank(); ++d) dims.push_back(by.dim(d));
    for (int d = axis + 1; d < from.rank(); ++d) dims.push_back(from.dim(d));
    for (int d = 0; d < batch; ++d) {
      if (from.dim(d) == by.dim(d)) continue;
      return InvalidArgument("params.shape[", d, "] should be equal to indices.shape[", d,
                             "]: ", from, " and ", by);
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    GpuDevice& device = GpuOf(ctx);
    ASSIGN_OR_RETURN(Tensor rows,
                     CheckedIndices(device.host_allocator(), indices, from.dim(axis), "indices"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, params.dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const int64_t outer = Product(from, batch, axis);
    if (axis > 0) {
      ASSIGN_OR_RETURN(rows, RowsOfAll(device, rows, from, batch, outer, axis));
    }
    ASSIGN_OR_RETURN(const uint32_t n, IndexOf(out->num_elements()));
    ASSIGN_OR_RETURN(const uint32_t inner, IndexOf(Product(from, axis + 1, from.rank())));
    ASSIGN_OR_RETURN(const Tensor there, Uploaded(device, rows));
    GpuLaunch launch(gather_);
    launch.Add(params).Add(there).Add(*out).Value(inner).Value(n);
    return RunLine(device.queue(), launch, n);
  }

  // Counted over all dimensions up to the axis: those of the batch go with the indices', those
  // behind them are passed through for each index.
  static Result<Tensor> RowsOfAll(GpuDevice& device, const Tensor& indices, const Shape& from,
                                  int batch, int64_t outer, int axis) {
    const int64_t batches = Product(from, 0, batch), rows = from.dim(axis);
    const int64_t count = indices.num_elements() / std::max<int64_t>(batches, 1);
    ASSIGN_OR_RETURN(Tensor all, Tensor::Allocate(device.host_allocator(), DType::kInt64,
                                                  Shape{batches * outer * count}));
    const int64_t* const index = indices.data<int64_t>();
    int64_t* to = all.mutable_data<int64_t>();
    for (int64_t b = 0; b < batches; ++b) {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t k = 0; k < count; ++k) {
          *to++ = (b * outer + o) * rows + index[b * count + k];
        }
      }
    }
    return all;
  }

  bool of_variable_ = false;
  bool has_axis_ = false;
  DType dtype_ = DType::kInvalid;
  int64_t batch_dims_ = 0;
  GpuFunction gather_ = nullptr;
};

// What becomes of an element `a` and its update `b`.
struct Combination {
  std::string_view op;
  std::string_view combined;
  bool of_integers = true;  // they may not be divided by zero
};
constexpr Combination kCombinations[] = {
    {"ResourceScatterUpdate", "b"},         {"ResourceScatterAdd", "a + b"},
    {"ResourceScatterSub", "a - b"},        {"ResourceScatterMul", "a * b"},
    {"ResourceScatterDiv", "a / b", false}, {"ResourceScatterMin", "b < a ? b : a"},
    {"ResourceScatterMax", "a < b ? b : a"}};

class ScatterGpu : public Kernel {
 public:
  explicit ScatterGpu(GpuFunction scatter) : scatter_(scatter) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const auto* const way = std::ranges::find(kCombinations, c.node().op_name(), &Combination::op);
    const std::string source =
        Defined("T", GpuTypeName(c.input_type(2)), Defined("COMBINED", way->combined, kScatter));
    ASSIGN_OR_RETURN(const GpuFunction scatter, Compile(c, source, "scatter"));
    return std::unique_ptr<Kernel>(std::make_unique<ScatterGpu>(scatter));
  }

  Status Compute(Context& ctx) override {
    GpuDevice& device = GpuOf(ctx);
    const Tensor &indices = ctx.input(1), &updates = ctx.input(2);
    ASSIGN_OR_RETURN(const RefPtr<Variable> variable, VariableOf(ctx, 0));
    MutexLock lock(device.updates());
    ASSIGN_OR_RETURN(const Tensor old, variable->Read());
    const Shape shape = old.shape();
    // As in TensorFlow, no row of a resource is looked up, whatever the updates are.
    if (indices.num_elements() == 0) return OkStatus();
    if (old.dtype() != updates.dtype()) {
      return InvalidArgument("the variable has type ", old.dtype(), ", the updates have type ",
                             updates.dtype());
    }
    if (shape.rank() == 0) return InvalidArgument("params must be at least 1 dimensional");
    Dims expected(indices.shape().dims());
    for (int d = 1; d < shape.rank(); ++d) expected.push_back(shape.dim(d));
    if (updates.shape() != Shape(expected) && !updates.shape().IsScalar()) {
      return InvalidArgument(
          "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
          "updates.shape ",
          updates.shape(), ", indices.shape ", indices.shape(), ", params.shape ", shape);
    }
    ASSIGN_OR_RETURN(const Tensor rows,
                     CheckedIndices(device.host_allocator(), indices, shape.dim(0), "indices"));
    const int64_t row = Product(shape, 1, shape.rank());
    if (row == 0) return OkStatus();
    ASSIGN_OR_RETURN(const uint32_t inner, IndexOf(row));
    ASSIGN_OR_RETURN(const uint32_t count, IndexOf(rows.num_elements()));
    const uint32_t each = updates.shape() == Shape(expected) ? 1 : 0;
    ASSIGN_OR_RETURN(const Tensor there, Uploaded(device, rows));
    ASSIGN_OR_RETURN(Tensor next, device.Allocate(old.dtype(), shape));
    RETURN_IF_ERROR(device.queue().Copy(old, next));
    GpuLaunch launch(scatter_);
    launch.Add(next).Add(there).Add(updates).Value(inner).Value(count).Value(each);
    RETURN_IF_ERROR(RunLine(device.queue(), launch, inner));
    return variable->Assign(std::move(next));
  }

 private:
  const GpuFunction scatter_;
};

class SegmentSumGpu : public Kernel {
 public:
  explicit SegmentSumGpu(GpuFunction sum) : sum_(sum) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string source = Defined("T", GpuTypeName(c.input_type(0)), kSegmentSum);
    ASSIGN_OR_RETURN(const GpuFunction sum, Compile(c, source, "segment_sum"));
    return std::unique_ptr<Kernel>(std::make_unique<SegmentSumGpu>(sum));
  }

  Status Compute(Context& ctx) override {
    const Tensor &data = ctx.input(0), &ids = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t segments, IntScalar(ctx.input(2), "num_segments"));
    if (segments < 0) return InvalidArgument("num_segments must not be negative, got ", segments);
    const Shape from = data.shape(), by = ids.shape();
    Dims dims = {segments};
    bool begins = by.rank() <= from.rank();
    for (int d = 0; begins && d < by.rank(); ++d) begins = from.dim(d) == by.dim(d);
    if (!begins) {
      return InvalidArgument("data.shape = ", from,
                             " does not start with segment_ids.shape = ", by);
    }
    for (int d = by.rank(); d < from.rank(); ++d) dims.push_back(from.dim(d));
    GpuDevice& device = GpuOf(ctx);
    ASSIGN_OR_RETURN(const Tensor rows, RowsOf(device, ids, segments));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, data.dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    ASSIGN_OR_RETURN(const uint32_t inner, IndexOf(Product(from, by.rank(), from.rank())));
    ASSIGN_OR_RETURN(const uint32_t count, IndexOf(rows.num_elements()));
    ASSIGN_OR_RETURN(const uint32_t all, IndexOf(segments));
    ASSIGN_OR_RETURN(const Tensor there, Uploaded(device, rows));
    GpuLaunch launch(sum_);
    launch.Add(*out).Add(there).Add(data).Value(inner).Value(count).Value(all);
    return RunLine(device.queue(), launch, inner);
  }

 private:
  // -1 for what is negative, and belongs to no segment.
  static Result<Tensor> RowsOf(GpuDevice& device, const Tensor& ids, int64_t segments) {
    ASSIGN_OR_RETURN(Tensor rows, Tensor::Allocate(device.host_allocator(), DType::kInt64,
                                                   Shape{ids.num_elements()}));
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = IntAt(ids, i);
      if (id >= segments) {
        return InvalidArgument("segment_ids", IndexText(ids.shape(), i), " = ", id,
                               " is out of range [0, ", segments, ")");
      }
      rows.mutable_data<int64_t>()[i] = std::max<int64_t>(id, -1);
    }
    return rows;
  }

  const GpuFunction sum_;
};

}  // namespace

void AddRowKernels(KernelAdder& adder) {
  for (const DType dtype : {DType::kFloat, DType::kInt64}) {
    adder.Add("ResourceGather", {{"dtype", dtype}}, GatherGpu::Create, {"indices"});
    adder.AddLimited<GatherGpu::Create>("Gather", {{"Tparams", dtype}}, {"indices"});
    adder.AddLimited<GatherGpu::Create>("GatherV2", {{"Tparams", dtype}}, {"indices", "axis"});
    adder.AddLimited<SegmentSumGpu::Create>("UnsortedSegmentSum", {{"T", dtype}},
                                            {"segment_ids", "num_segments"});
    for (const Combination& way : kCombinations) {
      if (dtype == DType::kInt64 && !way.of_integers) continue;
      adder.Add(way.op, {{"dtype", dtype}}, ScatterGpu::Create, {"indices"});
    }
  }
}

}  // namespace thalweg
