// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "thalweg/data/iteration.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/data/dataset_kernel.h"

namespace thalweg {
namespace {

// A pass over a dataset that a kernel makes to its end; it goes with the kernel's call.
struct Pass {
  Pass(Context& kernel, Done told) : ctx(kernel), done(std::move(told)) {}
  // Once, at the end: `work` is the last that has called.
  void Tell(const Result<Poll>& poll, Status at_end) {
    iteration->Stop();
    std::move(done)(poll.ok() ? std::move(at_end) : poll.status());
  }
  Context& ctx;
  Done done;
  std::shared_ptr<Iteration> iteration;
  Element element;
};

Status SetOutputs(Context& ctx, const ElementSpec& spec, Element element) {
  RETURN_IF_ERROR(spec.Check(element));
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, std::move(element[static_cast<size_t>(i)]));
  }
  return OkStatus();
}

class ReduceCpu : public AsyncKernel {
 public:
  explicit ReduceCpu(DatasetAttrs attrs) : attrs_(std::move(attrs)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<ReduceCpu>(std::move(attrs)));
  }

  void ComputeAsync(Context& ctx, Done done) override {
    auto pass = std::make_shared<Reduction>(ctx, std::move(done));
    if (Status begun = Begin(ctx, *pass); !begun.ok()) return std::move(pass->done)(begun);
    pass->iteration->Do(
        ctx.step().cancellation,
        [pass](const Poller& poller, Stage& stage) { return pass->Go(poller, stage); },
        [this, pass](const Result<Poll>& poll) {
          pass->Tell(poll, poll.ok() ? SetOutputs(pass->ctx, attrs_.spec, std::move(pass->state))
                                     : OkStatus());
        });
  }

 private:
  struct Reduction : Pass {
    using Pass::Pass;
    Result<Poll> Go(const Poller& poller, Stage& stage) {
      while (true) {
        if (!call->open()) {
          RETURN_IF_ERROR(poller.Look());
          ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &element));
          if (poll != Poll::kElement) return poll;
          Element arguments = state;
          std::move(element.begin(), element.end(), std::back_inserter(arguments));
          call->Begin(poller, std::move(arguments));
        }
        Element next;
        ASSIGN_OR_RETURN(const Poll poll, call->Get(poller, &next));
        if (poll != Poll::kElement) return poll;
        if (next.size() != state.size()) {
          return InvalidArgument("the function of a reduction must give the ", state.size(),
                                 " components of the next state, got ", next.size(), " values");
        }
        state = std::move(next);
      }
    }
    Element state;
    std::optional<CallInTurn> call;
  };

  Status Begin(Context& ctx, Reduction& pass) const {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetOf(ctx.input(0)));
    const int end = attrs_.functions.empty() ? 1 : attrs_.functions.begin()->second.begin;
    std::vector<DType> types;
    for (int i = 1; i < end; ++i) {
      pass.state.push_back(ctx.input(i));
      types.push_back(ctx.input(i).dtype());
    }
    const std::vector<DType>& elements = input->spec().types;
    types.insert(types.end(), elements.begin(), elements.end());
    ASSIGN_OR_RETURN(ElementFunctionPtr function,
                     FunctionArgument(ctx, attrs_, "f", std::move(types)));
    pass.call.emplace(std::move(function));
    ASSIGN_OR_RETURN(pass.iteration, Iteration::Make(input, ctx.step()));
    return OkStatus();
  }

  const DatasetAttrs attrs_;
};

class SingleElementCpu : public AsyncKernel {
 public:
  explicit SingleElementCpu(ElementSpec spec) : spec_(std::move(spec)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(DatasetAttrs attrs, DatasetAttrs::Of(c.node()));
    return std::unique_ptr<Kernel>(std::make_unique<SingleElementCpu>(std::move(attrs.spec)));
  }

  void ComputeAsync(Context& ctx, Done done) override {
    auto pass = std::make_shared<Pass>(ctx, std::move(done));
    const Result<DatasetPtr> input = DatasetOf(ctx.input(0));
    if (!input.ok()) return std::move(pass->done)(input.status());
    Result<std::shared_ptr<Iteration>> iteration = Iteration::Make(*input, ctx.step());
    if (!iteration.ok()) return std::move(pass->done)(iteration.status());
    pass->iteration = *std::move(iteration);
    pass->iteration->Do(ctx.step().cancellation, Two(pass), [this, pass](const Result<Poll>& poll) {
      Status status;
      if (poll.ok() && *poll == Poll::kElement) {
        status = InvalidArgument("Dataset had more than one element.");
      } else if (poll.ok()) {
        status = pass->element.empty() ? InvalidArgument("Dataset was empty.")
                                       : SetOutputs(pass->ctx, spec_, std::move(pass->element));
      }
      pass->Tell(poll, std::move(status));
    });
  }

 private:
  // Asks for an element, then for a second.
  static Iteration::Work Two(const std::shared_ptr<Pass>& pass) {
    return [pass](const Poller& poller, Stage& stage) -> Result<Poll> {
      if (pass->element.empty()) {
        ASSIGN_OR_RETURN(const Poll poll, stage.Next(poller, &pass->element));
        if (poll != Poll::kElement) {
          pass->element.clear();
          return poll;
        }
      }
      Element second;
      return stage.Next(poller, &second);
    };
  }

  const ElementSpec spec_;
};

Status Cardinality(Context& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetOf(ctx.input(0)));
  ctx.set_output(0, Tensor::Scalar(dataset->Cardinality()));
  return OkStatus();
}

Status SameVariant(Context& ctx) {
  RETURN_IF_ERROR(DatasetOf(ctx.input(0)).status());
  ctx.set_output(0, ctx.input(0));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(dataset_reduce, cpu) {
  registry.Add<ReduceCpu>("ReduceDataset", kCpu);
  registry.Add<SingleElementCpu>("DatasetToSingleElement", kCpu);
  registry.AddFunction<Cardinality>("DatasetCardinality", kCpu);
  registry.AddFunction<Cardinality>("ExperimentalDatasetCardinality", kCpu);
  registry.AddFunction<SameVariant>("WrapDatasetVariant", kCpu);
  registry.AddFunction<SameVariant>("UnwrapDatasetVariant", kCpu);
}
