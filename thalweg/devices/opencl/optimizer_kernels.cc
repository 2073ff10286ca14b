// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "thalweg/devices/opencl/opencl_kernel.h"
#include "thalweg/devices/opencl/register_kernels.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

// An update in the words of its source: the variable is `v`, its slots s0 and s1, the gradient `g`,
// scalars c0, c1 ... in the order of their names here.
struct Rule {
  std::string_view op;
  std::array<std::string_view, 2> slots;
  std::array<std::string_view, 6> scalars;
  std::string_view grad;
  std::string_view update;
  std::string_view nesterov = "";  // with use_nesterov
};

constexpr auto kRules = std::to_array<Rule>({
    {"ResourceApplyGradientDescent", {}, {"alpha"}, "delta", "v -= c0 * g;"},
    {"ResourceApplyMomentum",
     {"accum"},
     {"lr", "momentum"},
     "grad",
     "s0 = s0 * c1 + g; v -= c0 * s0;",
     "s0 = s0 * c1 + g; v -= c0 * g + c0 * c1 * s0;"},
    {"ResourceApplyAdagrad", {"accum"}, {"lr"}, "grad", "s0 += g * g; v -= c0 * g / sqrt(s0);"},
    {"ResourceApplyRMSProp",
     {"ms", "mom"},
     {"lr", "rho", "momentum", "epsilon"},
     "grad",
     "s0 += (g * g - s0) * (1.0f - c1); s1 = s1 * c2 + c0 * g / sqrt(s0 + c3); v -= s1;"},
    {"ResourceApplyAdam",
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

std::string SourceOf(const Rule& rule, bool nesterov) {
  const size_t slots = CountNames(rule.slots), scalars = CountNames(rule.scalars);
  std::string parameters, reads, writes;
  const auto add_variable = [&](const std::string& name) {
    parameters += StrCat("__global const float* ", name, "b, ulong ", name, "a, __global float* ",
                         name, "o, ulong ", name, "p, ");
    reads += StrCat("  float ", name, " = ", name, "b[", name, "a + i];\n");
    writes += StrCat("  ", name, "o[", name, "p + i] = ", name, ";\n");
  };
  add_variable("v");
  for (size_t k = 0; k < slots; ++k) add_variable(StrCat("s", k));
  for (size_t k = 0; k < scalars; ++k) {
    parameters += StrCat("__global const float* c", k, "b, ulong c", k, "a, ");
    reads += StrCat("  const float c", k, " = c", k, "b[c", k, "a];\n");
  }
  return StrCat("__kernel void update(", parameters,
                "__global const float* gb, ulong ga, uint n) {\n"
                "  const uint i = get_global_id(0);\n  if (i >= n) return;\n",
                reads, "  const float g = gb[ga + i];\n  ", nesterov ? rule.nesterov : rule.update,
                "\n", writes, "}\n");
}

class UpdateOpenCl : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    const auto* const rule = std::ranges::find(kRules, c.node().op_name(), &Rule::op);
    bool nesterov = false;
    if (!rule->nesterov.empty()) {
      ASSIGN_OR_RETURN(nesterov, c.Attr<bool>("use_nesterov"));
    }
    if (c.node().FindAttr("update_slots") != nullptr) {
      ASSIGN_OR_RETURN(const bool update_slots, c.Attr<bool>("update_slots"));
      if (!update_slots) {
        return Unimplemented(rule->op, " with update_slots=False has no kernel on OpenCL devices");
      }
    }
    auto kernel = std::make_unique<UpdateOpenCl>();
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
    ASSIGN_OR_RETURN(kernel->update_, Compile(c, SourceOf(*rule, nesterov), "update"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    OpenClDevice& device = OpenClOf(ctx);
    const Tensor& grad = ctx.input(grad_);
    const Shape shape = grad.shape();
    ASSIGN_OR_RETURN(const uint32_t n, IndexOf(grad.num_elements()));
    std::vector<RefPtr<Variable>> variables;
    for (const int input : variables_) {
      ASSIGN_OR_RETURN(RefPtr<Variable> variable, VariableOf(ctx, input));
      for (const RefPtr<Variable>& other : variables) {
        if (other.get() != variable.get()) continue;
        return InvalidArgument("variable ", variable->name(), " is given twice");
      }
      variables.push_back(std::move(variable));
    }
    OpenClLaunch launch(update_);
    std::vector<Tensor> old, made;
    MutexLock lock(device.updates());
    for (const RefPtr<Variable>& variable : variables) {
      ASSIGN_OR_RETURN(Tensor value, variable->Read());
      if (value.dtype() != grad.dtype() || value.shape() != shape) {
        return InvalidArgument("variables and gradient must agree: '", variable->name(), "' is ",
                               value.dtype(), value.shape(), ", the gradient is ", grad.dtype(),
                               shape);
      }
      ASSIGN_OR_RETURN(Tensor next, device.Allocate(value.dtype(), shape));
      launch.Add(value).Add(next);
      old.push_back(std::move(value));
      made.push_back(std::move(next));
    }
    for (const auto& [input, name] : scalars_) {
      const Tensor& scalar = ctx.input(input);
      if (scalar.rank() != 0) return InvalidArgument(name, " is not a scalar: ", scalar.shape());
      launch.Add(scalar);
    }
    launch.Add(grad).Value(n);
    RETURN_IF_ERROR(RunLine(device.queue(), launch, n));
    for (size_t k = 0; k < variables.size(); ++k) {
      RETURN_IF_ERROR(variables[k]->Assign(std::move(made[k])));
    }
    return OkStatus();
  }

 private:
  std::vector<int> variables_;  // inputs: the variable, then slots
  std::vector<std::pair<int, std::string_view>> scalars_;
  int grad_ = 0;
  cl::KernelId update_ = nullptr;
};

}  // namespace

void AddOptimizerKernels(KernelAdder& adder) {
  for (const Rule& rule : kRules) {
    adder.Add(rule.op, {{"T", DType::kFloat}}, UpdateOpenCl::Create);
  }
}

}  // namespace thalweg
