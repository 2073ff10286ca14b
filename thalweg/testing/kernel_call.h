// SPDX-License-Identifier: Apache-2.0
// KernelCall: one kernel, called once as it is: no graph runner, no checks. For kernels that may
// leave an output empty (a dead token) or get an empty input, and for asynchronous ones.
//
//   KernelCall call("Switch", {data, Tensor::Scalar(true)});
//   ASSERT_TRUE(call.Run().ok());  // kDeadlineExceeded when an asynchronous kernel has not ended
//   EXPECT_TRUE(call.output(0).empty());
//
// Inputs become Placeholders of their dtypes (references variables); an empty input needs a dtype
// in `input_types`. A kernel that is called after cancellation().Cancel() finds its work cancelled.
// Ownership: owns graph, kernel, device and resources; output(i) is good until the next Run.
// Threads: one.
// Errors: the kernel's or those of making it; DeadlineExceeded while an asynchronous one waits.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/testing/registries.h"
#include "thalweg/testing/test_machine.h"

namespace thalweg {

class KernelCall : private DoneSink {
 public:
  KernelCall(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {},
             std::vector<DType> input_types = {})
      : graph_(AllRegistries().ops) {
    GraphBuilder b(&graph_);
    std::vector<Output> sources;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const DType dtype = i < input_types.size() ? input_types[i] : inputs[i].dtype();
      sources.push_back(i < inputs.size() && inputs[i].is_reference()
                            ? b.Op("VariableV2", {}, {{"dtype", dtype}, {"shape", PartialShape()}})
                            : b.Op("Placeholder", {}, {{"dtype", dtype}}));
    }
    node_ = b.OpNode(op, std::move(sources), std::move(attrs), "under_test");
    made_ = b.status();
    values_ = std::move(inputs);
    num_inputs_ = static_cast<int>(values_.size());
    if (node_ != nullptr)
      values_.resize(values_.size() + static_cast<size_t>(node_->num_outputs()));
    step_.device = &device_;
    step_.allocator = &device_.allocator();
    step_.work = &work_;
    step_.queue = &queue_;
    step_.cancellation = &cancellation_;
    step_.rendezvous = &rendezvous_;
    step_.resources = &resources_;
    step_.step_resources = &step_resources_;
  }
  virtual ~KernelCall() = default;
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // What the kernel says, or the error of making it. An asynchronous kernel that is still waiting
  // gives DeadlineExceeded; ended() tells when it has ended, status() how.
  Status Run(uint64_t tag = 0) {
    RETURN_IF_ERROR(made_);
    ASSIGN_OR_RETURN(kernel_, AllRegistries().kernels->Make(*node_, device_, resources_));
    for (size_t i = 0; i < values_.size(); ++i) {
      operands_.push_back(Operand::Make(0, static_cast<uint32_t>(i)));
    }
    context_.Bind(&step_, tag);
    context_.SetBase(0, values_.data());
    context_.SetOperands(operands_.data(), num_inputs_, node_->num_outputs());
    if (AsyncKernel* async = kernel_->AsAsync(); async != nullptr) {
      async->ComputeAsync(context_, Done(this, 0));
      return status_.value_or(DeadlineExceeded("the kernel is waiting"));
    }
    return kernel_->Compute(context_);
  }
  bool ended() const { return status_.has_value(); }
  const Status& status() const { return *status_; }
  const Tensor& output(int i) const {
    return values_[static_cast<size_t>(num_inputs_) + static_cast<size_t>(i)];
  }
  LocalRendezvous& rendezvous() { return rendezvous_; }
  CancellationManager& cancellation() { return cancellation_; }
  StepContext& step() { return step_; }
  const Node& node() const { return *node_; }

 private:
  void OnDone(uint64_t, Status status) override { status_ = std::move(status); }

  Graph graph_;
  Node* node_ = nullptr;
  Status made_;
  TestDevice device_;
  InlineQueue queue_;
  CancellationManager cancellation_;
  KernelExecution work_{compute::GetIsaTable(compute::BestIsaLevel()), nullptr, device_.allocator(),
                        &cancellation_};
  LocalRendezvous rendezvous_;
  ResourceManager resources_;
  ResourceManager step_resources_;
  StepContext step_;
  int num_inputs_ = 0;
  std::vector<Tensor> values_;
  std::vector<Operand> operands_;
  std::unique_ptr<Kernel> kernel_;
  Context context_;
  std::optional<Status> status_;
};

}  // namespace thalweg
