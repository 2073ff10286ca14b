// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/broadcast.h"
#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"

namespace thalweg {
namespace {

// A group of 64 work items for each row.
constexpr uint32_t kRowItems = 64;
constexpr const char* kSoftmaxSource = R"(
float row_max(__global const float* x, uint size, IN_LOCAL float* scratch) {
  const uint item = get_local_id(0);
  float most = -INFINITY;
  for (uint i = item; i < size; i += 64) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  scratch[item] = most;
  for (uint half_size = 32; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) scratch[item] = fmax(scratch[item], scratch[item + half_size]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  most = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return most;
}

float row_sum(float part, IN_LOCAL float* scratch) {
  const uint item = get_local_id(0);
  scratch[item] = part;
  for (uint half_size = 32; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) scratch[item] += scratch[item + half_size];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  part = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return part;
}

float sum_of_exp(__global const float* x, uint size, float most, IN_LOCAL float* scratch) {
  float sum = 0.0f;
  for (uint i = get_local_id(0); i < size; i += 64) sum += exp(x[i] - most);
  return row_sum(sum, scratch);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void softmax(__global const float* xb, ulong x0, __global float* yb, ulong y0, uint size, uint of_log) {
  __local float scratch[64];
  const ulong row = get_group_id(0);
  __global const float* x = xb + x0 + row * size;
  __global float* y = yb + y0 + row * size;
  const float most = row_max(x, size, scratch);
  const float sum = sum_of_exp(x, size, most, scratch);
  const float log_sum = log(sum);
  for (uint i = get_local_id(0); i < size; i += 64)
    y[i] = of_log ? x[i] - most - log_sum : exp(x[i] - most) / sum;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void cross_entropy(__global const float* xb, ulong x0, __global const float* lb, ulong l0,
                   __global float* sb, ulong s0, __global float* gb, ulong g0, uint size) {
  __local float scratch[64];
  const ulong row = get_group_id(0);
  __global const float* x = xb + x0 + row * size;
  __global const float* label = lb + l0 + row * size;
  __global float* gradient = gb + g0 + row * size;
  const float most = row_max(x, size, scratch);
  const float sum = sum_of_exp(x, size, most, scratch);
  const float log_sum = log(sum);
  float loss = 0.0f;
  for (uint i = get_local_id(0); i < size; i += 64) {
    loss += label[i] == 0.0f ? 0.0f : label[i] * (log_sum - (x[i] - most));
    gradient[i] = exp(x[i] - most) / sum - label[i];
  }
  loss = row_sum(loss, scratch);
  if (get_local_id(0) == 0) sb[s0 + row] = loss;
}

#define SPARSE(NAME, LABEL)                                                                       \
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))                                          \
void NAME(__global const float* xb, ulong x0, __global const LABEL* lb, ulong l0,                 \
          __global float* sb, ulong s0, __global float* gb, ulong g0, uint size) {                \
  __local float scratch[64];                                                                      \
  const ulong row = get_group_id(0);                                                              \
  __global const float* x = xb + x0 + row * size;                                                 \
  __global float* gradient = gb + g0 + row * size;                                                \
  const LABEL label = lb[l0 + row];                                                               \
  const float most = row_max(x, size, scratch);                                                   \
  const float sum = sum_of_exp(x, size, most, scratch);                                           \
  const bool known = label >= 0 && label < (LABEL)size;                                           \
  for (uint i = get_local_id(0); i < size; i += 64)                                               \
    gradient[i] = known ? exp(x[i] - most) / sum - (i == (uint)label ? 1.0f : 0.0f) : NAN;        \
  if (get_local_id(0) == 0) sb[s0 + row] = known ? log(sum) - (x[label] - most) : NAN;            \
}
SPARSE(sparse_int, int)
SPARSE(sparse_long, long)
)";

// One group a row, in the dimension that has the most on all devices.
Status RunRows(GpuQueue& queue, const GpuLaunch& launch, int64_t rows) {
  return queue.Run(launch, {kRowItems * static_cast<size_t>(rows), 1, 1}, {kRowItems, 1, 1});
}

class SoftmaxGpu : public Kernel {
 public:
  SoftmaxGpu(GpuFunction kernel, bool of_log) : kernel_(kernel), of_log_(of_log) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const GpuFunction kernel, Compile(c, kSoftmaxSource, "softmax"));
    return std::unique_ptr<Kernel>(
        std::make_unique<SoftmaxGpu>(kernel, c.node().op_name() == "LogSoftmax"));
  }
  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    if (shape.rank() < 1) return InvalidArgument("logits must have >= 1 dimension, got ", shape);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    const int64_t size = shape.dim(shape.rank() - 1);
    if (x.num_elements() == 0) return OkStatus();
    RETURN_IF_ERROR(IndexOf(x.num_elements()).status());
    GpuLaunch launch(kernel_);
    launch.Add(x).Add(*y).Value(static_cast<uint32_t>(size)).Value(uint32_t{of_log_});
    return RunRows(GpuOf(ctx).queue(), launch, x.num_elements() / size);
  }

 private:
  const GpuFunction kernel_;
  const bool of_log_;
};

class CrossEntropyGpu : public Kernel {
 public:
  CrossEntropyGpu(GpuFunction kernel, bool sparse) : kernel_(kernel), sparse_(sparse) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const bool sparse = c.node().op_name() != "SoftmaxCrossEntropyWithLogits";
    const char* name = !sparse                            ? "cross_entropy"
                       : c.input_type(1) == DType::kInt64 ? "sparse_long"
                                                          : "sparse_int";
    ASSIGN_OR_RETURN(const GpuFunction kernel, Compile(c, kSoftmaxSource, name));
    return std::unique_ptr<Kernel>(std::make_unique<CrossEntropyGpu>(kernel, sparse));
  }
  Status Compute(Context& ctx) override {
    const Tensor &logits = ctx.input(0), &labels = ctx.input(1);
    const Shape shape = logits.shape(), of_labels = labels.shape();
    RETURN_IF_ERROR(Check(shape, of_labels));
    const int64_t rows = shape.dim(0), classes = shape.dim(1);
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, logits.dtype(), Shape{rows}));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, logits.dtype(), shape));
    RETURN_IF_ERROR(IndexOf(logits.num_elements()).status());
    GpuLaunch launch(kernel_);
    launch.Add(logits).Add(labels).Add(*loss).Add(*gradient);
    launch.Value(static_cast<uint32_t>(classes));
    return RunRows(GpuOf(ctx).queue(), launch, rows);
  }

 private:
  Status Check(const Shape& logits, const Shape& labels) const {
    if (logits.rank() != 2) return InvalidArgument("logits must be 2-D, but got shape ", logits);
    if (!sparse_) {
      if (logits == labels) return OkStatus();
      return InvalidArgument(
          "logits and labels must have one shape on devices of type GPU: logits_size=", logits,
          " labels_size=", labels);
    }
    if (labels.rank() != 1) return InvalidArgument("labels must be 1-D, but got shape ", labels);
    if (labels.dim(0) != logits.dim(0)) {
      return InvalidArgument(
          "logits and labels must have the same first dimension, got logits "
          "shape ",
          logits, " and labels shape ", labels);
    }
    if (logits.dim(0) > 0 && logits.dim(1) == 0) {
      return InvalidArgument("logits must have at least one class, got ", logits);
    }
    return OkStatus();
  }

  const GpuFunction kernel_;
  const bool sparse_;
};

}  // namespace

void AddSoftmaxKernels(KernelAdder& adder) {
  const std::pair<std::string, DType> of_float = {"T", DType::kFloat};
  adder.AddLimited<SoftmaxGpu::Create>("Softmax", {of_float});
  adder.AddLimited<SoftmaxGpu::Create>("LogSoftmax", {of_float});
  adder.AddLimited<CrossEntropyGpu::Create>("SoftmaxCrossEntropyWithLogits", {of_float});
  for (const DType labels : {DType::kInt32, DType::kInt64}) {
    adder.Add("SparseSoftmaxCrossEntropyWithLogits", {of_float, {"Tlabels", labels}},
              CrossEntropyGpu::Create);
  }
}

}  // namespace thalweg
