// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/graph_runner.h"

#include <map>
#include <set>

#include "thalweg/base/notification.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/resources/variable.h"

namespace thalweg {
namespace {

using Edge = std::pair<const Node*, int>;

Edge EdgeOf(const Output& output) { return {output.node, output.index}; }

class WaitingSink final : public DoneSink {
 public:
  void OnDone(uint64_t, Status status) override {
    status_ = std::move(status);
    ended_.Notify();
  }
  Status Wait() {
    ended_.Wait();
    return status_;
  }

 private:
  Status status_;
  Notification ended_;
};

Status RunKernel(Kernel& kernel, Context& context) {
  AsyncKernel* async = kernel.AsAsync();
  if (async == nullptr) return kernel.Compute(context);
  WaitingSink sink;
  async->ComputeAsync(context, Done(&sink, 0));
  return sink.Wait();
}

// The tensor that a plain argument sees of a reference edge.
Result<Tensor> Dereferenced(const Tensor& value) {
  auto* variable = dynamic_cast<Variable*>(value.resource());
  if (variable == nullptr) return Internal("a reference to something that is no variable");
  return variable->Read();
}

}  // namespace

struct GraphRunner::Step {
  StepContext context;
  std::map<Edge, Tensor> values;
  std::map<Edge, int> uses;  // still to come; fetches count
};

namespace {

// Nodes to run, each after what it needs. Iterative: chains may be long.
Result<std::vector<const Node*>> NodesInOrder(const std::map<Edge, Tensor>& fed,
                                              const std::vector<Output>& fetches,
                                              const std::vector<Node*>& targets) {
  std::vector<const Node*> order;
  std::map<const Node*, bool> done;  // false: its inputs are being visited
  std::vector<const Node*> stack(targets.begin(), targets.end());
  for (const Output& fetch : fetches) {
    if (!fed.contains(EdgeOf(fetch))) stack.push_back(fetch.node);
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    const auto [it, is_new] = done.emplace(node, false);
    if (!is_new) {
      stack.pop_back();
      if (!it->second) order.push_back(node);
      it->second = true;
      continue;
    }
    if (node->control() != Node::Control::kNone) {
      return Unimplemented(node->Label(), ": GraphRunner has no control flow");
    }
    for (const Output& input : node->inputs()) {
      if (!fed.contains(EdgeOf(input)) && !done.contains(input.node)) stack.push_back(input.node);
    }
    for (const Node* before : node->control_inputs()) {
      if (!done.contains(before)) stack.push_back(before);
    }
  }
  return order;
}

}  // namespace

GraphRunner::GraphRunner(const KernelRegistry& kernels, TestMachine& machine)
    : kernels_(kernels), machine_(machine) {}

Result<Kernel*> GraphRunner::KernelOf(const Node& node) {
  std::unique_ptr<Kernel>& kernel = made_[&node];
  if (kernel == nullptr) {
    ASSIGN_OR_RETURN(kernel, kernels_.Make(node, machine_.device, resources_));
  }
  return kernel.get();
}

Result<std::vector<Tensor>> GraphRunner::Run(Feeds feeds, const std::vector<Output>& fetches,
                                             const std::vector<Node*>& targets) {
  CancellationManager cancellation;
  LocalRendezvous rendezvous;
  ResourceManager step_resources;
  InlineQueue queue;
  Step step;
  step.context.step_id = ++steps_;
  step.context.device = &machine_.device;
  step.context.allocator = &machine_.device.allocator();
  step.context.work = &machine_.work;
  step.context.queue = &queue;
  step.context.cancellation = &cancellation;
  step.context.rendezvous = &rendezvous;
  step.context.resources = &resources_;
  step.context.step_resources = &step_resources;
  for (auto& [output, tensor] : feeds) step.values[EdgeOf(output)] = std::move(tensor);
  ASSIGN_OR_RETURN(const std::vector<const Node*> order,
                   NodesInOrder(step.values, fetches, targets));
  for (const Output& fetch : fetches) ++step.uses[EdgeOf(fetch)];
  for (const Node* node : order) {
    for (const Output& input : node->inputs()) ++step.uses[EdgeOf(input)];
  }
  for (const Node* node : order) {
    Status status = RunNode(step, *node);
    if (!status.ok()) return status.WithContext(node->Label());
  }
  std::vector<Tensor> results;
  for (const Output& fetch : fetches) results.push_back(step.values[EdgeOf(fetch)]);
  return results;
}

Status GraphRunner::RunNode(Step& step, const Node& node) {
  if (node.op_name() == "Const") {
    ASSIGN_OR_RETURN(Tensor value, node.Attr<Tensor>("value"));
    step.values.emplace(Edge(&node, 0), std::move(value));
    return OkStatus();
  }
  const int num_inputs = node.num_inputs();
  const int num_outputs = node.num_outputs();
  std::vector<Tensor> inputs(static_cast<size_t>(num_inputs));
  std::vector<Tensor> outputs(static_cast<size_t>(num_outputs));
  std::vector<Operand> operands;
  for (int i = 0; i < num_inputs; ++i) {
    const Edge edge = EdgeOf(node.input(i));
    Tensor& value = step.values[edge];
    const bool last = --step.uses[edge] == 0 && take_inputs_;
    if (value.is_reference() && !node.input_is_ref(i)) {
      ASSIGN_OR_RETURN(inputs[i], Dereferenced(value));
      operands.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
      continue;
    }
    inputs[i] = last ? std::move(value) : value;
    operands.push_back(Operand::Make(0, static_cast<uint32_t>(i), last));
  }
  for (int i = 0; i < num_outputs; ++i) {
    operands.push_back(Operand::Make(1, static_cast<uint32_t>(i)));
  }
  ASSIGN_OR_RETURN(Kernel * kernel, KernelOf(node));
  Context context;
  context.Bind(&step.context, 0);
  context.SetBase(0, inputs.data());
  context.SetBase(1, outputs.data());
  context.SetOperands(operands.data(), num_inputs, num_outputs);
  RETURN_IF_ERROR(RunKernel(*kernel, context));
  for (int i = 0; i < num_outputs; ++i) {
    const Tensor& value = outputs[i];
    if (value.empty()) return Internal("the kernel did not set output ", i);
    if (value.dtype() != node.output_type(i)) {
      return Internal("output ", i, " is ", value.dtype(), ", inference promised ",
                      node.output_type(i));
    }
    if (!value.is_reference() && !node.output_shape(i).Admits(value.shape())) {
      return Internal("output ", i, " has shape ", value.shape(), ", inference promised ",
                      node.output_shape(i));
    }
    step.values[{&node, i}] = std::move(outputs[i]);
  }
  return OkStatus();
}

}  // namespace thalweg
