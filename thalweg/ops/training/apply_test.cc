// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

// One element of one update: var and slots (in the order of the inputs) in place.
struct Element {
  double var;
  std::vector<double> slot;
  double grad;
};
using Scalar = std::function<double(const char*)>;
using Formula = std::function<void(Element&, const Scalar&)>;

struct Rule {
  const char* name;
  std::vector<const char*>
      args;  // behind var: slots, scalars, the gradient, as the schema has them
  int slots;
  Formula formula;
  bool has_sparse = true;
  const char* grad = "grad";
  std::vector<const char*> prefixes = {"Apply", "ResourceApply"};  // of the dense forms
};

int InputOf(const RefCall<double>& r, std::string_view name) {
  return r.node->InputRange(name)->first;
}

void Apply(RefCall<double>& r, const Rule& rule) {
  const Scalar scalar = [&](const char* name) { return r.in[InputOf(r, name)][0]; };
  const bool sparse = r.node->InputRange("indices").ok();
  const Array<double>& grad =
      r.in[InputOf(r, r.node->InputRange("grad").ok() ? "grad" : rule.grad)];
  std::vector<int> variables = {0};
  for (int k = 0; k < rule.slots; ++k) variables.push_back(InputOf(r, rule.args[k]));
  for (int64_t i = 0; i < grad.size(); ++i) {
    int64_t target = i;
    if (sparse) {
      const Array<double>& indices = r.in[InputOf(r, "indices")];
      const int64_t inner = grad.size() / indices.size();
      target = static_cast<int64_t>(indices[i / inner]) * inner + i % inner;
    }
    Element element{r.in[0][target], {}, grad[i]};
    for (int k = 0; k < rule.slots; ++k) element.slot.push_back(r.in[variables[k + 1]][target]);
    rule.formula(element, scalar);
    r.in[0][target] = element.var;
    for (int k = 0; k < rule.slots; ++k) r.in[variables[k + 1]][target] = element.slot[k];
  }
  for (int v : variables) r.out.push_back(r.in[v]);
}

double Shrunk(double x, double amount) {
  return std::copysign(std::max(std::abs(x) - amount, 0.0), x);
}

void Ftrl(Element& e, const Scalar& s, double shrinkage) {
  const double power = -s("lr_power"), before = std::pow(e.slot[0], power);
  e.slot[0] += e.grad * e.grad;
  const double after = std::pow(e.slot[0], power);
  e.slot[1] += e.grad + 2 * shrinkage * e.var - (after - before) / s("lr") * e.var;
  const double linear = e.slot[1], l1 = s("l1");
  e.var = std::abs(linear) > l1
              ? (std::copysign(l1, linear) - linear) / (after / s("lr") + 2 * s("l2"))
              : 0;
}

void RmsProp(Element& e, const Scalar& s, double& ms, double& mom, double center) {
  mom = s("momentum") * mom + s("lr") * e.grad / std::sqrt(ms - center * center + s("epsilon"));
  e.var -= mom;
}

std::vector<Rule> Rules() {
  return {
      {"GradientDescent",
       {"alpha", "delta"},
       0,
       [](Element& e, const Scalar& s) { e.var -= s("alpha") * e.grad; },
       false,
       "delta"},
      {"Momentum",
       {"accum", "lr", "grad", "momentum"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] = s("momentum") * e.slot[0] + e.grad;
         e.var -= s("lr") * e.slot[0];
       }},
      {"Adagrad",
       {"accum", "lr", "grad"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] += e.grad * e.grad;
         e.var -= s("lr") * e.grad / std::sqrt(e.slot[0]);
       }},
      {"AdagradV2",
       {"accum", "lr", "epsilon", "grad"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] += e.grad * e.grad;
         e.var -= s("lr") * e.grad / (std::sqrt(e.slot[0]) + s("epsilon"));
       }},
      {"Adadelta",
       {"accum", "accum_update", "lr", "rho", "epsilon", "grad"},
       2,
       [](Element& e, const Scalar& s) {
         const double rho = s("rho"), epsilon = s("epsilon");
         e.slot[0] = rho * e.slot[0] + (1 - rho) * e.grad * e.grad;
         const double step =
             std::sqrt(e.slot[1] + epsilon) / std::sqrt(e.slot[0] + epsilon) * e.grad;
         e.slot[1] = rho * e.slot[1] + (1 - rho) * step * step;
         e.var -= s("lr") * step;
       }},
      {"RMSProp",
       {"ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
       2,
       [](Element& e, const Scalar& s) {
         e.slot[0] += (1 - s("rho")) * (e.grad * e.grad - e.slot[0]);
         RmsProp(e, s, e.slot[0], e.slot[1], 0);
       }},
      {"CenteredRMSProp",
       {"mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
       3,
       [](Element& e, const Scalar& s) {
         e.slot[1] += (1 - s("rho")) * (e.grad * e.grad - e.slot[1]);
         e.slot[0] += (1 - s("rho")) * (e.grad - e.slot[0]);
         RmsProp(e, s, e.slot[1], e.slot[2], e.slot[0]);
       }},
      {"Adam",
       {"m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
       2,
       [](Element& e, const Scalar& s) {
         const double rate = s("lr") * std::sqrt(1 - s("beta2_power")) / (1 - s("beta1_power"));
         e.slot[0] += (e.grad - e.slot[0]) * (1 - s("beta1"));
         e.slot[1] += (e.grad * e.grad - e.slot[1]) * (1 - s("beta2"));
         e.var -= rate * e.slot[0] / (std::sqrt(e.slot[1]) + s("epsilon"));
       },
       false},
      {"ProximalGradientDescent",
       {"alpha", "l1", "l2", "grad"},
       0,
       [](Element& e, const Scalar& s) {
         const double rate = s("alpha"), moved = e.var - rate * e.grad;
         e.var = Shrunk(moved, rate * s("l1")) / (1 + rate * s("l2"));
       },
       true,
       "delta"},
      {"ProximalAdagrad",
       {"accum", "lr", "l1", "l2", "grad"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] += e.grad * e.grad;
         const double rate = s("lr") / std::sqrt(e.slot[0]), moved = e.var - rate * e.grad;
         e.var = Shrunk(moved, rate * s("l1")) / (1 + rate * s("l2"));
       }},
      {"Ftrl",
       {"accum", "linear", "grad", "lr", "l1", "l2", "lr_power"},
       2,
       [](Element& e, const Scalar& s) { Ftrl(e, s, 0); }},
      {"FtrlV2",
       {"accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
       2,
       [](Element& e, const Scalar& s) { Ftrl(e, s, s("l2_shrinkage")); }},
      {"AdagradDA",
       {"gradient_accumulator", "gradient_squared_accumulator", "grad", "lr", "l1", "l2",
        "global_step"},
       2,
       [](Element& e, const Scalar& s) {
         e.slot[0] += e.grad;
         e.slot[1] += e.grad * e.grad;
         const double sum = Shrunk(e.slot[0], s("l1") * s("global_step"));
         e.var = -s("lr") * sum / (s("l2") * s("global_step") * s("lr") + std::sqrt(e.slot[1]));
       }},
  };
}

double SignOf(double x) { return (x > 0) - (x < 0); }

// Without a sparse form; formulas compared with TensorFlow 2.21.
std::vector<Rule> RareRules() {
  return {
      {"AdaMax",
       {"m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
       2,
       [](Element& e, const Scalar& s) {
         e.slot[0] += (e.grad - e.slot[0]) * (1 - s("beta1"));
         e.slot[1] = std::max(s("beta2") * e.slot[1], std::abs(e.grad));
         e.var -= s("lr") / (1 - s("beta1_power")) * e.slot[0] / (e.slot[1] + s("epsilon"));
       },
       false},
      {"AddSign",
       {"m", "lr", "alpha", "sign_decay", "beta", "grad"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] = e.slot[0] * s("beta") + e.grad * (1 - s("beta"));
         const double agree = SignOf(e.grad) * SignOf(e.slot[0]);
         e.var -= s("lr") * (s("alpha") + s("sign_decay") * agree) * e.grad;
       },
       false},
      {"PowerSign",
       {"m", "lr", "logbase", "sign_decay", "beta", "grad"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] = e.slot[0] * s("beta") + e.grad * (1 - s("beta"));
         const double agree = SignOf(e.grad) * SignOf(e.slot[0]);
         e.var -= s("lr") * std::exp(s("logbase") * s("sign_decay") * agree) * e.grad;
       },
       false},
      {"AdamWithAmsgrad",
       {"m", "v", "vhat", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
       3,
       [](Element& e, const Scalar& s) {
         const double rate = s("lr") * std::sqrt(1 - s("beta2_power")) / (1 - s("beta1_power"));
         e.slot[0] += (e.grad - e.slot[0]) * (1 - s("beta1"));
         e.slot[1] += (e.grad * e.grad - e.slot[1]) * (1 - s("beta2"));
         e.slot[2] = std::max(e.slot[2], e.slot[1]);
         e.var -= rate * e.slot[0] / (std::sqrt(e.slot[2]) + s("epsilon"));
       },
       false,
       "grad",
       {"ResourceApply"}},
      {"KerasMomentum",
       {"accum", "lr", "grad", "momentum"},
       1,
       [](Element& e, const Scalar& s) {
         e.slot[0] = e.slot[0] * s("momentum") - e.grad * s("lr");
         e.var += e.slot[0];
       },
       true,
       "grad",
       {"ResourceApply"}},
  };
}

// A plausible value of each scalar.
In ScalarIn(std::string_view name) {
  if (name == "lr_power") return In({}, {-0.5});
  if (name == "global_step") return In({}, {3});
  if (name == "momentum" || name == "rho" || name.starts_with("beta")) return In({}, {0.75});
  if (name == "l1" || name == "l2" || name == "l2_shrinkage") return In({}, {0.0625});
  return In({}, {0.25});
}

// Inputs of an update of variables of shape `var` with a gradient of shape `grad`; indices (when
// not empty) stand behind the gradient, as every schema has them.
std::vector<In> Inputs(const Rule& rule, const In& var, const In& grad,
                       const std::vector<double>& indices) {
  std::vector<In> inputs = {var};
  for (int k = 0; k < static_cast<int>(rule.args.size()); ++k) {
    const std::string_view name = rule.args[k];
    if (k < rule.slots) {
      In slot = var;
      // Second moments stay above the squares of first moments.
      const bool is_mean = name == "mg" || name == "linear" || name == "m";
      inputs.push_back(is_mean ? slot.Range(-0.5, 0.5) : slot.Range(0.5, 2));
    } else if (name == "grad" || name == "delta") {
      inputs.push_back(grad);
      if (!indices.empty()) {
        inputs.push_back(In({static_cast<int64_t>(indices.size())}, indices));
      }
    } else {
      inputs.push_back(ScalarIn(name));
    }
  }
  return inputs;
}

OpCase Update(const std::string& op, const Rule& rule) {
  OpCase made(op);
  made.Reference([rule](RefCall<double>& r) { Apply(r, rule); })
      .Skip(DType::kComplex64, "see ComplexNumbers")
      .Skip(DType::kComplex128, "see ComplexNumbers")
      .Tolerance(DType::kFloat, ToleranceOf(OpClass::kOptimizer, DType::kFloat))
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kOptimizer, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kOptimizer, DType::kBfloat16));
  return made;
}

TEST(ApplyTest, Dense) {
  std::vector<Rule> rules = Rules();
  for (const Rule& rule : RareRules()) rules.push_back(rule);
  for (const Rule& rule : rules) {
    for (const char* prefix : rule.prefixes) {
      Update(StrCat(prefix, rule.name), rule)
          .Try(Inputs(rule, In({7, 31}), In({7, 31}), {}))
          .Try(Inputs(rule, In({}), In({}), {}), {{"use_locking", true}})
          .Try(Inputs(rule, In({0, 2}), In({0, 2}), {}))
          .Bad(Inputs(rule, In({3}), In({4}), {}), {}, Code::kInvalidArgument,
               "Dimension 0 in both shapes must be equal, but are 3 and 4",
               "do not have the same shape[3] [4]")
          .Run();
    }
  }
}

TEST(ApplyTest, Sparse) {
  std::vector<Rule> rules = Rules();
  rules.push_back(RareRules().back());
  for (const Rule& rule : rules) {
    if (!rule.has_sparse) continue;
    for (const char* prefix : {"SparseApply", "ResourceSparseApply"}) {
      if (rule.prefixes.size() == 1 && prefix[0] == 'S') continue;
      for (DType indices : {DType::kInt32, DType::kInt64}) {
        const AttrMap attrs = {{"Tindices", indices}};
        Update(StrCat(prefix, rule.name), rule)
            .Try(Inputs(rule, In({7, 31}), In({3, 31}), {5, 0, 3}), attrs)
            .Try(Inputs(rule, In({4}), In({3}), {1, 3, 1}), attrs)
            .Bad(Inputs(rule, In({4}), In({2}), {1, 4}), attrs, Code::kInvalidArgument,
                 "Index 4 at offset 1 in indices is out of range: var has 4 rows")
            .Bad(Inputs(rule, In({4}), In({2}), {-1, 0}), attrs, Code::kInvalidArgument,
                 "Index -1 at offset 0 in indices is out of range: var has 4 rows")
            .Bad(Inputs(rule, In({4, 2}), In({2, 3}), {1, 0}), attrs, Code::kInvalidArgument,
                 "Dimension 1 in both shapes must be equal, but are 2 and 3. Shapes are [4,2] and "
                 "[?,3].",
                 "var and grad must match in dimension 1: they are [4,2] and [2,3]")
            .Run();
      }
    }
  }
}

TEST(ApplyTest, Nesterov) {
  const Rule momentum = {
      "Momentum", {"accum", "lr", "grad", "momentum"}, 1, [](Element& e, const Scalar& s) {
        e.slot[0] = s("momentum") * e.slot[0] + e.grad;
        e.var -= s("lr") * (e.grad + s("momentum") * e.slot[0]);
      }};
  const AttrMap nesterov = {{"use_nesterov", true}};
  Update("ApplyMomentum", momentum)
      .Try(Inputs(momentum, In({7, 31}), In({7, 31}), {}), nesterov)
      .Run();
  AttrMap sparse = nesterov;
  sparse.Set("Tindices", DType::kInt32);
  Update("SparseApplyMomentum", momentum)
      .Try(Inputs(momentum, In({7, 31}), In({2, 31}), {6, 2}), sparse)
      .Run();
  const Rule adam = {
      "Adam",
      {"m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
      2,
      [](Element& e, const Scalar& s) {
        const double rate = s("lr") * std::sqrt(1 - s("beta2_power")) / (1 - s("beta1_power"));
        e.slot[0] += (e.grad - e.slot[0]) * (1 - s("beta1"));
        e.slot[1] += (e.grad * e.grad - e.slot[1]) * (1 - s("beta2"));
        e.var -= rate * (e.grad * (1 - s("beta1")) + s("beta1") * e.slot[0]) /
                 (std::sqrt(e.slot[1]) + s("epsilon"));
      }};
  Update("ApplyAdam", adam).Try(Inputs(adam, In({7, 31}), In({7, 31}), {}), nesterov).Run();
}

// On numbers without imaginary part complex updates do what real ones do, and momentum is linear.
TEST(ApplyTest, ComplexNumbers) {
  using V = std::complex<double>;
  for (const Rule& rule : Rules()) {
    if (std::string_view(rule.name).find("Ftrl") != std::string_view::npos ||
        std::string_view(rule.name).find("Proximal") != std::string_view::npos ||
        std::string_view(rule.name) == "AdagradDA") {
      continue;
    }
    OpCase(StrCat("ResourceApply", rule.name))
        .Reference([rule](RefCall<V>& r) {
          RefCall<double> real;
          real.node = r.node;
          for (const Array<V>& in : r.in) {
            Array<double> part(in.shape);
            for (int64_t i = 0; i < in.size(); ++i) part[i] = in[i].real();
            real.in.push_back(part);
          }
          Apply(real, rule);
          for (const Array<double>& out : real.out) {
            Array<V> whole(out.shape);
            for (int64_t i = 0; i < out.size(); ++i) whole[i] = out[i];
            r.out.push_back(whole);
          }
        })
        .Types({{"T", DType::kComplex128}})
        .Try(Inputs(rule, In({3}, {0.5, 0.75, 0.9}), In({3}, {-1, 0.25, 0.5}), {}))
        .Run();
  }
  OpCase("ResourceApplyMomentum")
      .Reference([](RefCall<V>& r) {  // var, accum, lr, grad, momentum
        Array<V> var = r.in[0], accum = r.in[1];
        for (int64_t i = 0; i < var.size(); ++i) {
          accum[i] = accum[i] * r.in[4][0] + r.in[3][i];
          var[i] -= r.in[2][0] * accum[i];
        }
        r.out = {var, accum};
      })
      .Types({{"T", DType::kComplex64}})
      .Tolerance(DType::kComplex64, ToleranceOf(OpClass::kOptimizer, DType::kComplex64))
      .Try({In({5}), In({5}), In({}), In({5}), In({})})
      .Run();
}

TEST(ApplyTest, SlotsThatStay) {
  for (bool has_epsilon : {false, true}) {
    Rule rule = {has_epsilon ? "AdagradV2" : "Adagrad",
                 {"accum", "lr", "grad"},
                 1,
                 [has_epsilon](Element& e, const Scalar& s) {
                   const double epsilon = has_epsilon ? s("epsilon") : 0;
                   e.var -= s("lr") * e.grad / (std::sqrt(e.slot[0]) + epsilon);
                 }};
    if (has_epsilon) rule.args = {"accum", "lr", "epsilon", "grad"};
    Update(StrCat("ApplyAdagrad", has_epsilon ? "V2" : ""), rule)
        .Try(Inputs(rule, In({7, 3}), In({7, 3}), {}), {{"update_slots", false}})
        .Run();
    Update(StrCat("ResourceSparseApplyAdagrad", has_epsilon ? "V2" : ""), rule)
        .Try(Inputs(rule, In({7, 3}), In({2, 3}), {6, 2}),
             {{"update_slots", false}, {"Tindices", DType::kInt64}})
        .Run();
  }
}

TEST(ApplyTest, FtrlWithLinearTimesRate) {
  const Rule ftrl = {
      "FtrlV2",
      {"accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
      2,
      [](Element& e, const Scalar& s) {
        const double power = -s("lr_power"), lr = s("lr");
        const double before = std::pow(e.slot[0], power);
        e.slot[0] += e.grad * e.grad;
        const double after = std::pow(e.slot[0], power);
        e.slot[1] += lr * (e.grad + 2 * s("l2_shrinkage") * e.var) - (after - before) * e.var;
        const double linear = e.slot[1], l1 = s("l1") * lr;
        e.var = std::abs(linear) > l1
                    ? (std::copysign(l1, linear) - linear) / (after + 2 * s("l2") * lr)
                    : 0;
      }};
  Update("ResourceApplyFtrlV2", ftrl)
      .Try(Inputs(ftrl, In({7, 3}), In({7, 3}), {}), {{"multiply_linear_by_lr", true}})
      .Run();
}

TEST(ApplyTest, OtherPowersOfFtrl) {
  const Rule ftrl = {"Ftrl",
                     {"accum", "linear", "grad", "lr", "l1", "l2", "lr_power"},
                     2,
                     [](Element& e, const Scalar& s) { Ftrl(e, s, 0); }};
  std::vector<In> inputs = Inputs(ftrl, In({7, 31}), In({7, 31}), {});
  inputs.back() = In({}, {-0.25});
  Update("ApplyFtrl", ftrl).Try(inputs).Run();
}

}  // namespace
}  // namespace thalweg
