// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "thalweg/devices/gpu/gpu_kernel.h"
#include "thalweg/devices/gpu/register_kernels.h"
#include "thalweg/resources/variable.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// An update in the words of its source: the variable is `v`, its slots s0 and s1, the gradient `g`,
// scalars c0, c1 ... in the order of their names here. With has_sparse there is one of rows, too.
struct Rule {
  std::string_view name;
  bool has_sparse;
  std::array<std::string_view, 2> slots;
  std::array<std::string_view, 6> scalars;
  std::string_view grad;
  std::string_view update;
  std::string_view variant = "";  // with use_nesterov, or without update_slots
};

constexpr std::string_view kDense = "ResourceApply", kSparse = "ResourceSparseApply";
constexpr auto kRules = std::to_array<Rule>({
    {"GradientDescent", false, {}, {"alpha"}, "delta", "v -= c0 * g;"},
    {"Momentum",
     true,
     {"accum"},
     {"lr", "momentum"},
     "grad",
     "s0 = s0 * c1 + g; v -= c0 * s0;",
     "s0 = s0 * c1 + g; v -= c0 * g + c0 * c1 * s0;"},
    {"Adagrad",
     true,
     {"accum"},
     {"lr"},
     "grad",
     "s0 += g * g; v -= c0 * g / sqrt(s0);",
     "v -= c0 * g / sqrt(s0);"},
    {"RMSProp",
     true,
     {"ms", "mom"},
     {"lr", "rho", "momentum", "epsilon"},
     "grad",
     "s0 += (g * g - s0) * (1.0f - c1); s1 = s1 * c2 + c0 * g / sqrt(s0 + c3); v -= s1;"},
    {"Adam",
     false,
     {"m", "v"},
     {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"},
     "grad",
     "float rate = c0 * sqrt(1.0f - c5) / (1.0f - c4); s0 += (g - s0) * (1.0f - c1); "
     "s1 += (g * g - s1) * (1.0f - c2); v -= rate * s0 / (sqrt(s1) + c3);",
     "float rate = c0 * sqrt(1.0f - c5) / (1.0f - c4); s0 += (g - s0) * (1.0f - c1); "
     "s1 += (g * g - s1) * (1.0f - c2); "
     "v -= rate * (g * (1.0f - c1) + c1 * s0) / (sqrt(s1) + c3);"},
});

template <size_t N>
size_t CountNames(const std::array<std::string_view, N>& names) {
  return static_cast<size_t>(std::ranges::count_if(names, [](auto name) { return !name.empty(); }));
}

// The values that the update makes of those before, which a sparse one finds copied.
std::string SourceOf(const Rule& rule, bool is_variant, bool is_sparse) {
  const size_t slots = CountNames(rule.slots), scalars = CountNames(rule.scalars);
  std::string parameters, numbers, reads, writes;
  const auto add_variable = [&](const std::string& name) {
    if (!is_sparse) parameters += StrCat("__global const float* ", name, "b, ulong ", name, "a, ");
    parameters += StrCat("__global float* ", name, "o, ulong ", name, "p, ");
    reads += is_sparse ? StrCat("  float ", name, " = ", name, "o[", name, "p + at];\n")
                       : StrCat("  float ", name, " = ", name, "b[", name, "a + at];\n");
    writes += StrCat("  ", name, "o[", name, "p + at] = ", name, ";\n");
  };
  add_variable("v");
  for (size_t k = 0; k < slots; ++k) add_variable(StrCat("s", k));
  for (size_t k = 0; k < scalars; ++k) {
    parameters += StrCat("__global const float* c", k, "b, ulong c", k, "a, ");
    numbers += StrCat("  const float c", k, " = c", k, "b[c", k, "a];\n");
  }
  const std::string update = StrCat("  ", is_variant ? rule.variant : rule.update, "\n", writes);
  const std::string begin =
      StrCat("__kernel void update(", parameters, "__global const float* gb, ulong ga, ",
             is_sparse ? "__global const long* rb, ulong ra, uint count, " : "",
             "uint n) {\n  const uint j = get_global_id(0);\n  if (j >= n) return;\n", numbers);
  if (!is_sparse) {
    return StrCat(begin, "  const uint at = j;\n", reads, "  const float g = gb[ga + at];\n",
                  update, "}\n");
  }
  // An item has a column of all rows: one that is named twice is changed in the indices' order.
  return StrCat(begin,
                "  for (uint i = 0; i < count; ++i) {\n"
                "  const ulong at = (ulong)rb[ra + i] * n + j;\n",
                reads, "  const float g = gb[ga + (ulong)i * n + j];\n", update, "  }\n}\n");
}

// A gradient has one row of the variable's shape for each index.
Status CheckRows(const Shape& var, const Tensor& indices, const Shape& grad) {
  if (var.rank() < 1) return InvalidArgument("var must be at least 1 dimensional");
  if (indices.rank() != 1) {
    return InvalidArgument("indices must be one-dimensional, got shape ", indices.shape());
  }
  Dims expected = var.dims();
  expected[0] = indices.num_elements();
  if (grad == Shape(expected)) return OkStatus();
  return InvalidArgument("the gradient of a variable ", var, " with ", indices.num_elements(),
                         " indices must be ", Shape(expected), ", got ", grad);
}

class UpdateGpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const std::string_view op = c.node().op_name();
    const auto* const rule =
        std::ranges::find_if(kRules, [op](const Rule& r) { return op.ends_with(r.name); });
    bool is_variant = false;
    if (c.node().FindAttr("use_nesterov") != nullptr) {
      ASSIGN_OR_RETURN(is_variant, c.Attr<bool>("use_nesterov"));
    }
    if (c.node().FindAttr("update_slots") != nullptr) {
      ASSIGN_OR_RETURN(const bool update_slots, c.Attr<bool>("update_slots"));
      is_variant |= !update_slots;
    }
    auto kernel = std::make_unique<UpdateGpu>();
    kernel->variables_.push_back(0);
    for (size_t k = 0; k < CountNames(rule->slots); ++k) {
      ASSIGN_OR_RETURN(const auto range, c.node().InputRange(rule->slots[k]));
      kernel->variables_.push_back(range.first);
    }
    for (size_t k = 0; k < CountNames(rule->scalars); ++k) {
      ASSIGN_OR_RETURN(const auto range, c.node().InputRange(rule->scalars[k]));
      kernel->scalars_.emplace_back(range.first, rule->scalars[k]);
    }
    ASSIGN_OR_RETURN(const auto grad, c.node().InputRange(rule->grad));
    kernel->grad_ = grad.first;
    const bool is_sparse = op.starts_with(kSparse);
    if (is_sparse) {
      ASSIGN_OR_RETURN(const auto indices, c.node().InputRange("indices"));
      kernel->indices_ = indices.first;
    }
    ASSIGN_OR_RETURN(kernel->update_, Compile(c, SourceOf(*rule, is_variant, is_sparse), "update"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    GpuDevice& device = GpuOf(ctx);
    const Tensor& grad = ctx.input(grad_);
    Shape shape = grad.shape();
    std::vector<RefPtr<Variable>> variables;
    for (const int input : variables_) {
      ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, input));
      for (const RefPtr<Variable>& other : variables) {
        if (other.get() != variable.get()) continue;
        return InvalidArgument("variable ", variable->name(), " is given twice");
      }
      variables.push_back(std::move(variable));
    }
    GpuLaunch launch(update_);
    std::vector<Tensor> old, made;
    MutexLock lock(device.updates());
    Rows rows{.count = 0, .inner = 0, .there = {}};
    if (indices_ >= 0) {
      ASSIGN_OR_RETURN(const Tensor value, variables.front()->Read());
      shape = value.shape();
      ASSIGN_OR_RETURN(rows, RowsOf(device, ctx.input(indices_), shape, grad));
      if (rows.count == 0 || rows.inner == 0) return OkStatus();
    }
    for (const RefPtr<Variable>& variable : variables) {
      ASSIGN_OR_RETURN(Tensor value, variable->Read());
      if (value.dtype() != grad.dtype() || value.shape() != shape) {
        return InvalidArgument("variables and gradient must agree: '", variable->name(), "' is ",
                               value.dtype(), value.shape(), ", the gradient is ", grad.dtype(),
                               shape);
      }
      ASSIGN_OR_RETURN(Tensor next, device.Allocate(value.dtype(), shape));
      if (indices_ < 0) {
        launch.Add(value);
      } else {
        RETURN_IF_ERROR(device.queue().Copy(value, next));
      }
      launch.Add(next);
      old.push_back(std::move(value));
      made.push_back(std::move(next));
    }
    for (const auto& [input, name] : scalars_) {
      const Tensor& scalar = ctx.input(input);
      if (scalar.rank() != 0) return InvalidArgument(name, " is not a scalar: ", scalar.shape());
      launch.Add(scalar);
    }
    launch.Add(grad);
    ASSIGN_OR_RETURN(const uint32_t all, IndexOf(grad.num_elements()));
    if (indices_ >= 0) launch.Add(rows.there).Value(rows.count);
    const uint32_t n = indices_ < 0 ? all : rows.inner;
    launch.Value(n);
    RETURN_IF_ERROR(RunLine(device.queue(), launch, n));
    for (size_t k = 0; k < variables.size(); ++k) {
      RETURN_IF_ERROR(variables[k]->Assign(std::move(made[k])));
    }
    return OkStatus();
  }

 private:
  struct Rows {
    uint32_t count, inner;
    Tensor there;
  };
  static Result<Rows> RowsOf(GpuDevice& device, const Tensor& indices, const Shape& var,
                             const Tensor& grad) {
    RETURN_IF_ERROR(CheckRows(var, indices, grad.shape()));
    ASSIGN_OR_RETURN(const Tensor rows,
                     CheckedIndices(device.host_allocator(), indices, var.dim(0), "indices"));
    ASSIGN_OR_RETURN(const uint32_t count, IndexOf(rows.num_elements()));
    ASSIGN_OR_RETURN(const uint32_t inner, IndexOf(count == 0 ? 0 : grad.num_elements() / count));
    ASSIGN_OR_RETURN(Tensor there, Uploaded(device, rows));
    return Rows{.count = count, .inner = inner, .there = std::move(there)};
  }

  std::vector<int> variables_;  // inputs: the variable, then slots
  std::vector<std::pair<int, std::string_view>> scalars_;
  int grad_ = 0;
  int indices_ = -1;  // of a sparse update
  GpuFunction update_ = nullptr;
};

}  // namespace

void AddOptimizerKernels(KernelAdder& adder) {
  for (const Rule& rule : kRules) {
    adder.Add(StrCat(kDense, rule.name), {{"T", DType::kFloat}}, UpdateGpu::Create);
    if (!rule.has_sparse) continue;
    adder.Add(StrCat(kSparse, rule.name), {{"T", DType::kFloat}}, UpdateGpu::Create, {"indices"});
  }
}

}  // namespace thalweg
