// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/op_gradient.h"

#include <algorithm>
#include <cmath>

#include "thalweg/graph/gradient_context.h"

namespace thalweg {
namespace {

bool IsReal(DType dtype) { return dtype == DType::kDouble || dtype == DType::kFloat; }

// The sum over the outputs of weight times value.
Result<double> WeightedSum(const KernelRegistry& kernels, TestMachine& machine,
                           const CaseNode& node, const std::vector<CaseInput>& inputs,
                           const std::vector<Array<double>>& weights) {
  ASSIGN_OR_RETURN(CaseNode::Outcome outcome, node.Run(kernels, machine, inputs, false));
  double sum = 0;
  for (size_t o = 0; o < weights.size(); ++o) {
    if (weights[o].size() == 0) continue;
    const Array<double> values = ToArray<double>(outcome.outputs[o]);
    for (int64_t i = 0; i < values.size(); ++i) sum += values[i] * weights[o][i];
  }
  return sum;
}

// The gradient as a dense array; rows of a sparse one are added up.
Array<double> Dense(const Tensor& values, const Tensor& indices, const Shape& shape) {
  if (indices.empty()) return ToArray<double>(values);
  Array<double> dense(shape);
  const Array<double> rows = ToArray<double>(indices);
  const Array<double> given = ToArray<double>(values);
  const int64_t width = rows.size() == 0 ? 0 : given.size() / rows.size();
  for (int64_t r = 0; r < rows.size(); ++r) {
    for (int64_t c = 0; c < width; ++c) {
      dense[static_cast<int64_t>(rows[r]) * width + c] += given[r * width + c];
    }
  }
  return dense;
}

struct Analytic {
  std::vector<bool> present;
  std::vector<Array<double>> grads;
};

Result<Analytic> RunGradientGraph(const KernelRegistry& kernels, TestMachine& machine,
                                  const CaseNode& node, const std::vector<CaseInput>& inputs,
                                  const std::vector<Tensor>& weights) {
  GraphBuilder b(&node.graph());
  std::vector<GradientValue> output_grads(weights.size());
  Feeds feeds;
  for (size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(node.sources()[i], inputs[i].value);
  for (size_t o = 0; o < weights.size(); ++o) {
    if (weights[o].empty()) continue;
    const PartialShape& known = node.node().output_shape(static_cast<int>(o));
    const Output source =
        b.Op("Placeholder", {}, {{"dtype", weights[o].dtype()}, {"shape", known}});
    RETURN_IF_ERROR(b.status());
    output_grads[o].values = source;
    feeds.emplace_back(source, weights[o]);
  }
  GradientContext context(node.node(), b.Scope("gradients"), std::move(output_grads));
  RETURN_IF_ERROR(node.node().op().gradient(context));
  RETURN_IF_ERROR(context.b().status());
  Analytic analytic;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GradientValue& grad = context.input_grads()[i];
    analytic.present.push_back(grad.present());
    analytic.grads.emplace_back();
    if (!grad.present()) continue;
    std::vector<Output> fetches = {grad.values};
    if (grad.is_sparse()) fetches.push_back(grad.indices);
    GraphRunner runner(kernels, machine);
    ASSIGN_OR_RETURN(std::vector<Tensor> got, runner.Run(feeds, fetches));
    if (!grad.is_sparse() && got[0].shape() != inputs[i].value.shape()) {
      return Internal("the gradient of input ", i, " has shape ", got[0].shape(), ", the input ",
                      inputs[i].value.shape());
    }
    analytic.grads.back() =
        Dense(got[0], grad.is_sparse() ? got[1] : Tensor(), inputs[i].value.shape());
  }
  return analytic;
}

// Random incoming gradients for the outputs that get one; empty arrays for the others.
Result<std::vector<Array<double>>> MakeWeights(const GradientCheck& check,
                                               const std::vector<Tensor>& outputs) {
  GuardedAllocator allocator;
  std::vector<Array<double>> weights(outputs.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    const bool wanted =
        check.outputs.empty() ||
        std::ranges::find(check.outputs, static_cast<int>(o)) != check.outputs.end();
    if (!wanted || !IsReal(outputs[o].dtype())) continue;
    In in({});
    in.shape = outputs[o].shape();
    ASSIGN_OR_RETURN(Tensor made, MakeInput(in, outputs[o].dtype(), 77, allocator));
    weights[o] = ToArray<double>(made);
  }
  return weights;
}

// Compares up to 24 elements of the gradient of input i with central differences.
Result<std::string> CompareInput(const KernelRegistry& kernels, TestMachine& machine,
                                 const CaseNode& node, const std::vector<CaseInput>& inputs,
                                 size_t i, const std::vector<Array<double>>& weights,
                                 const Array<double>& grad, const GradientCheck& check) {
  const Array<double> at = ToArray<double>(inputs[i].value);
  const int64_t stride = std::max<int64_t>(1, at.size() / 24);
  for (int64_t k = 0; k < at.size(); k += stride) {
    double sums[2];
    double points[2];
    for (int side = 0; side < 2; ++side) {
      Array<double> moved = at;
      moved[k] += side == 0 ? -check.step : check.step;
      std::vector<CaseInput> changed = inputs;
      ASSIGN_OR_RETURN(changed[i].value,
                       ToTensor(moved, inputs[i].dtype, machine.device.allocator()));
      points[side] = ToArray<double>(changed[i].value)[k];
      ASSIGN_OR_RETURN(sums[side], WeightedSum(kernels, machine, node, changed, weights));
    }
    const double numeric = (sums[1] - sums[0]) / (points[1] - points[0]);
    if (!(std::abs(numeric - grad[k]) <= check.tolerance * (1 + std::abs(numeric)))) {
      return StrCat("gradient of input ", i, ", element ", k, ": the registered one is ", grad[k],
                    ", differences give ", numeric);
    }
  }
  return std::string();
}

Result<std::string> Compare(const KernelRegistry& kernels, TestMachine& machine,
                            const CaseNode& node, const std::vector<CaseInput>& inputs,
                            const GradientCheck& check) {
  ASSIGN_OR_RETURN(CaseNode::Outcome outcome, node.Run(kernels, machine, inputs, false));
  ASSIGN_OR_RETURN(const std::vector<Array<double>> weights, MakeWeights(check, outcome.outputs));
  std::vector<Tensor> weight_tensors(weights.size());
  for (size_t o = 0; o < weights.size(); ++o) {
    const bool wanted = weights[o].shape == outcome.outputs[o].shape() &&
                        weights[o].size() == outcome.outputs[o].num_elements();
    if (!wanted || !IsReal(outcome.outputs[o].dtype())) continue;
    ASSIGN_OR_RETURN(weight_tensors[o],
                     ToTensor(weights[o], outcome.outputs[o].dtype(), machine.device.allocator()));
  }
  // Nothing to differentiate: integers.
  if (std::ranges::all_of(weight_tensors, &Tensor::empty)) return std::string();
  ASSIGN_OR_RETURN(const Analytic analytic,
                   RunGradientGraph(kernels, machine, node, inputs, weight_tensors));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool wanted = check.inputs.empty() ||
                        std::ranges::find(check.inputs, static_cast<int>(i)) != check.inputs.end();
    if (!wanted || !IsReal(inputs[i].dtype)) continue;
    if (!analytic.present[i]) return StrCat("input ", i, " got no gradient");
    ASSIGN_OR_RETURN(const std::string difference, CompareInput(kernels, machine, node, inputs, i,
                                                                weights, analytic.grads[i], check));
    if (!difference.empty()) return difference;
  }
  return std::string();
}

}  // namespace

std::string CheckGradient(const KernelRegistry& kernels, TestMachine& machine, const CaseNode& node,
                          const std::vector<CaseInput>& inputs, const GradientCheck& check) {
  Result<std::string> difference = Compare(kernels, machine, node, inputs, check);
  return difference.ok() ? *difference
                         : StrCat("the gradient failed: ", difference.status().ToString());
}

}  // namespace thalweg
