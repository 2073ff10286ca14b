// SPDX-License-Identifier: Apache-2.0
#include "thalweg/executor/test_program.h"

#include <thread>
#include <utility>

namespace thalweg {
namespace {

using Control = Node::Control;

class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(KernelFunction function) : function_(std::move(function)) {}
  Status Compute(Context& ctx) override { return function_(ctx); }

 private:
  const KernelFunction function_;
};

class AsyncFunctionKernel : public AsyncKernel {
 public:
  explicit AsyncFunctionKernel(AsyncFunction function) : function_(std::move(function)) {}
  void ComputeAsync(Context& ctx, Done done) override { function_(ctx, std::move(done)); }

 private:
  const AsyncFunction function_;
};

class AddKernel : public Kernel {
  Status Compute(Context& ctx) override {
    ctx.set_output(0,
                   Tensor::Scalar(ctx.input(0).scalar<int64_t>() + ctx.input(1).scalar<int64_t>()));
    return OkStatus();
  }
};

class LessKernel : public Kernel {
  Status Compute(Context& ctx) override {
    ctx.set_output(0,
                   Tensor::Scalar(ctx.input(0).scalar<int64_t>() < ctx.input(1).scalar<int64_t>()));
    return OkStatus();
  }
};

class IdentityKernel : public Kernel {
  Status Compute(Context& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return OkStatus();
  }
};

class NoOpKernel : public Kernel {
  Status Compute(Context&) override { return OkStatus(); }
};

}  // namespace

std::shared_ptr<Kernel> MakeFunctionKernel(KernelFunction function) {
  return std::make_shared<FunctionKernel>(std::move(function));
}

std::shared_ptr<Kernel> MakeAsyncKernel(AsyncFunction function) {
  return std::make_shared<AsyncFunctionKernel>(std::move(function));
}

int TestProgram::Node(ProgramNode node) {
  const int number = static_cast<int>(program_.nodes.size());
  if (node.name.empty()) node.name = StrCat("n", number);
  program_.nodes.push_back(std::move(node));
  return number;
}

Value TestProgram::Const(int64_t value) { return ConstAfter(value, {}); }

Value TestProgram::ConstAfter(int64_t value, std::vector<int> before) {
  return Value::Of(Node({.op = "Const",
                         .constant = Tensor::Scalar(value),
                         .num_outputs = 1,
                         .inline_outputs = {true},
                         .control_inputs = std::move(before)}));
}

Value TestProgram::Add(Value a, Value b) {
  return Value::Of(Node({.op = "Add",
                         .kernel = std::make_shared<AddKernel>(),
                         .num_outputs = 1,
                         .inline_outputs = {true},
                         .inputs = {a, b}}));
}

Value TestProgram::Less(Value a, Value b) {
  return Value::Of(Node({.op = "Less",
                         .kernel = std::make_shared<LessKernel>(),
                         .num_outputs = 1,
                         .inline_outputs = {true},
                         .inputs = {a, b}}));
}

Value TestProgram::Identity(Value a) {
  return Value::Of(Node({.op = "Identity",
                         .kernel = std::make_shared<IdentityKernel>(),
                         .num_outputs = 1,
                         .inline_outputs = {true},
                         .inputs = {a}}));
}

int TestProgram::NoOp(std::vector<int> before) {
  return Node({.op = "NoOp",
               .kernel = std::make_shared<NoOpKernel>(),
               .control_inputs = std::move(before)});
}

Value TestProgram::Call(std::vector<Value> inputs, KernelFunction function,
                        std::vector<int> before) {
  return Value::Of(Node({.op = "Call",
                         .kernel = MakeFunctionKernel(std::move(function)),
                         .num_outputs = 1,
                         .inputs = std::move(inputs),
                         .control_inputs = std::move(before)}));
}

Value TestProgram::CallAsync(std::vector<Value> inputs, AsyncFunction function,
                             std::vector<int> before) {
  return Value::Of(Node({.op = "CallAsync",
                         .kernel = MakeAsyncKernel(std::move(function)),
                         .num_outputs = 1,
                         .inputs = std::move(inputs),
                         .control_inputs = std::move(before)}));
}

Value TestProgram::Primitive(Control control, std::string op, std::vector<Value> inputs,
                             int outputs) {
  return Value::Of(Node({.op = std::move(op),
                         .control = control,
                         .num_outputs = outputs,
                         .inputs = std::move(inputs)}));
}

TestProgram::Sides TestProgram::Switch(Value data, Value predicate) {
  const int node = Primitive(Control::kSwitch, "Switch", {data, predicate}, 2).node;
  return {Value::Of(node, 0), Value::Of(node, 1), node};
}

Value TestProgram::Merge(std::vector<Value> inputs) {
  return Primitive(Control::kMerge, "Merge", std::move(inputs), 2);
}

Value TestProgram::Enter(Value value, std::string frame, bool is_constant, int parallel) {
  const Value out = Primitive(Control::kEnter, "Enter", {value}, 1);
  last().frame_name = std::move(frame);
  last().is_constant = is_constant;
  last().parallel_iterations = parallel;
  return out;
}

Value TestProgram::Exit(Value value) { return Primitive(Control::kExit, "Exit", {value}, 1); }

Value TestProgram::NextIteration(Value value) {
  return Primitive(Control::kNextIteration, "NextIteration", {value}, 1);
}

Value TestProgram::LoopCond(Value value) {
  return Primitive(Control::kLoopCond, "LoopCond", {value}, 1);
}

std::vector<Value> TestProgram::While(const std::string& frame, const std::vector<Value>& initial,
                                      const Condition& condition, const Body& body, int parallel,
                                      bool raw) {
  std::vector<Value> merges, inside, exits;
  for (const Value& value : initial) {
    merges.push_back(Merge({Enter(value, frame, false, parallel), Value::Feed(0)}));
  }
  const Value predicate = LoopCond(condition(merges));
  for (const Value& merge : merges) {
    const Sides sides = Switch(merge, predicate);
    exits.push_back(Exit(sides.no));
    inside.push_back(raw ? sides.yes : Identity(sides.yes));
  }
  const std::vector<Value> next = body(inside);
  for (size_t i = 0; i < merges.size(); ++i) {
    program_.nodes[merges[i].node].inputs[1] = NextIteration(next[i]);
  }
  return exits;
}

void HastyQueue::Schedule(Task task) {
  std::thread([task] { task.run(task.object, task.argument); }).join();
}

struct Harness::Services {
  AllocatorPtr allocator;
};

Harness::Harness(Program program, const Make& make, WorkQueue* queue, int64_t memory_limit)
    : queue_(queue),
      services_(std::make_unique<Services>(Services{MakeCpuAllocator(memory_limit)})) {
  Result<std::unique_ptr<Executor>> made = make(std::move(program));
  if (made.ok()) {
    executor_ = *std::move(made);
  } else {
    made_ = made.status();
  }
}

Harness::~Harness() = default;

int64_t Harness::bytes_in_use() const { return services_->allocator->Stats().bytes_in_use; }

Status Harness::RunStep(std::span<const Tensor> feeds, std::span<Tensor> fetches,
                        CancellationManager& cancellation, StepTrace* trace) {
  StepContext context;
  context.step_id = 1;
  context.allocator = services_->allocator.get();
  context.queue = queue_;
  context.cancellation = &cancellation;
  std::vector<StepContext*> contexts(static_cast<size_t>(executor_->program().num_devices),
                                     &context);
  KernelExecution work(compute::GetIsaTable(compute::BestIsaLevel()), queue_, *services_->allocator,
                       &cancellation);
  context.work = &work;
  return executor_->Run({.contexts = contexts,
                         .feeds = feeds,
                         .fetches = fetches,
                         .queue = queue_,
                         .work = &work,
                         .trace = trace});
}

Result<std::vector<int64_t>> Harness::Run(const std::vector<int64_t>& feeds) {
  RETURN_IF_ERROR(made_);
  std::vector<Tensor> in;
  for (const int64_t feed : feeds) in.push_back(Tensor::Scalar(feed));
  std::vector<Tensor> out(executor_->program().fetches.size());
  CancellationManager cancellation;
  RETURN_IF_ERROR(RunStep(in, out, cancellation));
  std::vector<int64_t> values;
  for (const Tensor& tensor : out) {
    values.push_back(tensor.dtype() == DType::kInt32 ? tensor.scalar<int32_t>()
                                                     : tensor.scalar<int64_t>());
  }
  return values;
}

}  // namespace thalweg
