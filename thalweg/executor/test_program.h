// SPDX-License-Identifier: Apache-2.0
// TestProgram: writes programs for tests and benchmarks, with kernels of its own, so that the
// executor is tested without a graph, a registry or a session.
//
//   TestProgram p;
//   Value sum = p.Add(p.Feed(), p.Const(1));
//   p.Fetch(sum);
//   Harness h(p.Take(), make);      // runs it; see below
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/executor/executor.h"

namespace thalweg {

// Kernels as functions; the test keeps what they capture.
using KernelFunction = std::function<Status(Context&)>;
std::shared_ptr<Kernel> MakeFunctionKernel(KernelFunction function);
using AsyncFunction = std::function<void(Context&, Done)>;
std::shared_ptr<Kernel> MakeAsyncKernel(AsyncFunction function);

class TestProgram {
 public:
  Value Feed() { return Value::Feed(program_.num_feeds++); }
  void Fetch(Value value) { program_.fetches.push_back(value); }

  // A node of any kind; its number.
  int Node(ProgramNode node);
  Value Const(int64_t value);  // free: waits for nothing
  Value ConstAfter(int64_t value, std::vector<int> before);
  // int64 scalars.
  Value Add(Value a, Value b);
  Value Less(Value a, Value b);
  Value Identity(Value a);
  int NoOp(std::vector<int> before);
  Value Call(std::vector<Value> inputs, KernelFunction function, std::vector<int> before = {});
  Value CallAsync(std::vector<Value> inputs, AsyncFunction function, std::vector<int> before = {});
  ProgramNode& last() { return program_.nodes.back(); }

  struct Sides {
    Value no, yes;
    int node;
  };
  Sides Switch(Value data, Value predicate);
  Value Merge(std::vector<Value> inputs);
  Value Enter(Value value, std::string frame, bool is_constant = false, int parallel = 10);
  Value Exit(Value value);
  Value NextIteration(Value value);
  Value LoopCond(Value value);

  // The shape that a front end gives a while loop. `body` gets the variables of an iteration; with
  // `raw` straight from the Switches, without an Identity behind each.
  using Condition = std::function<Value(const std::vector<Value>&)>;
  using Body = std::function<std::vector<Value>(const std::vector<Value>&)>;
  std::vector<Value> While(const std::string& frame, const std::vector<Value>& initial,
                           const Condition& condition, const Body& body, int parallel = 10,
                           bool raw = false);

  Program& program() { return program_; }
  Program Take() { return std::move(program_); }

 private:
  Value Primitive(Node::Control control, std::string op, std::vector<Value> inputs, int outputs);
  Program program_;
};

// Whatever is scheduled runs on another thread, and has ended before Schedule() returns: who hands
// work over is delayed until others have done it.
class HastyQueue : public WorkQueue {
 public:
  explicit HastyQueue(int threads) : threads_(threads) {}
  void Schedule(Task task) override;
  int Parallelism() const override { return threads_; }
  int CurrentThreadIndex() const override { return -1; }

 private:
  const int threads_;
};

// Everything a step needs, and one call to run one.
class Harness {
 public:
  using Make = std::function<Result<std::unique_ptr<Executor>>(Program)>;
  Harness(Program program, const Make& make, WorkQueue* queue = nullptr, int64_t memory_limit = 0);
  ~Harness();

  // Why the program was refused.
  const Status& made() const { return made_; }
  Executor& executor() { return *executor_; }
  // The bytes of tensors that kernels allocated and somebody still holds.
  int64_t bytes_in_use() const;
  // Scalars of int64 in and out.
  Result<std::vector<int64_t>> Run(const std::vector<int64_t>& feeds = {});
  Status RunStep(std::span<const Tensor> feeds, std::span<Tensor> fetches,
                 CancellationManager& cancellation, StepTrace* trace = nullptr);

 private:
  Status made_;
  std::unique_ptr<Executor> executor_;
  WorkQueue* queue_;
  struct Services;
  std::unique_ptr<Services> services_;
};

}  // namespace thalweg
