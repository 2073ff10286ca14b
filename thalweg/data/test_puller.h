// SPDX-License-Identifier: Apache-2.0
// Puller: takes the elements of a dataset as a step does, in tests; with threads or without.
//
//   Puller puller(RangeOf(3), 2);
//   EXPECT_EQ(Ints(puller.Rest()), (std::vector<int64_t>{0, 1, 2}));
#pragma once

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/base/thread_pool.h"
#include "thalweg/data/element_function.h"
#include "thalweg/data/iteration.h"
#include "thalweg/data/memory_sources.h"
#include "thalweg/data/state.h"
#include "thalweg/kernel/function_runner.h"

namespace thalweg {

class Puller {
 public:
  // Every call of a dataset's passes is on `threads`; none: all in the caller. `memory_limit` in
  // bytes; 0: none.
  Puller(const DatasetPtr& dataset, int threads, int64_t memory_limit = 0)
      : allocator_(MakeCpuAllocator(memory_limit)),
        threads_(threads > 0 ? std::make_unique<ThreadPool>(ThreadPool::Options{.threads = threads})
                             : nullptr) {
    pipeline_->queue = threads_.get();
    pipeline_->allocator = allocator_.get();
    pipeline_->parallelism = std::max(threads, 1);
    Result<StagePtr> stage = dataset->MakeStage(pipeline_);
    CHECK(stage.ok());
    iteration_ = std::make_shared<Iteration>(queue(), pipeline_, *std::move(stage));
  }
  ~Puller() { iteration_->Stop(); }

  WorkQueue& queue() { return threads_ != nullptr ? static_cast<WorkQueue&>(*threads_) : inline_; }
  Iteration& iteration() { return *iteration_; }
  int64_t bytes_in_use() const { return allocator_->Stats().bytes_in_use; }

  Result<Poll> Do(Iteration::Work work, CancellationManager* step = nullptr) {
    if (std::optional<Result<Poll>> done = iteration_->TryDo(step, work)) return *std::move(done);
    std::promise<Result<Poll>> told;
    std::future<Result<Poll>> result = told.get_future();
    iteration_->Do(step, std::move(work),
                   [&told](Result<Poll> poll) { told.set_value(std::move(poll)); });
    return result.get();
  }
  // Nothing at the end.
  Result<std::optional<Element>> Next() {
    Element element;
    ASSIGN_OR_RETURN(const Poll poll, Do([&](const Poller& poller, Stage& stage) {
                       return stage.Next(poller, &element);
                     }));
    if (poll == Poll::kEnd) return std::optional<Element>();
    return std::optional<Element>(std::move(element));
  }
  // All that is left, at most `most`.
  std::vector<Element> Rest(size_t most = 1000) {
    std::vector<Element> elements;
    while (elements.size() < most) {
      Result<std::optional<Element>> next = Next();
      CHECK(next.ok());
      if (!next->has_value()) break;
      elements.push_back(**std::move(next));
    }
    return elements;
  }
  Result<std::vector<Tensor>> Save() {
    std::vector<Tensor> state;
    ASSIGN_OR_RETURN(const Poll poll, Do([&](const Poller& poller, Stage& stage) -> Result<Poll> {
                       StateWriter writer;
                       ASSIGN_OR_RETURN(const Poll saved, stage.Save(poller, writer));
                       if (saved == Poll::kElement) state = writer.Take();
                       return saved;
                     }));
    CHECK(poll == Poll::kElement);
    return state;
  }
  Status Restore(std::vector<Tensor> state) {
    StateReader reader(std::move(state));
    return Do([&](const Poller& poller, Stage& stage) -> Result<Poll> {
             RETURN_IF_ERROR(stage.Restore(poller, reader));
             RETURN_IF_ERROR(reader.End());
             return Poll::kElement;
           })
        .status();
  }

 private:
  const AllocatorPtr allocator_;
  const std::unique_ptr<ThreadPool> threads_;
  InlineQueue inline_;
  const std::shared_ptr<Pipeline> pipeline_ = std::make_shared<Pipeline>();
  std::shared_ptr<Iteration> iteration_;
};

inline ElementSpec IntSpec() { return {{DType::kInt64}, {PartialShape(Shape())}}; }

inline DatasetPtr RangeOf(int64_t n) { return *RangeDataset(0, n, 1, IntSpec()); }

// Every element's components, as numbers, with a space between them.
inline std::string Text(const Element& element) {
  std::string text;
  for (const Tensor& tensor : element) {
    for (const int64_t value : tensor.flat<int64_t>())
      text += StrCat(text.empty() ? "" : " ", value);
  }
  return text;
}

inline std::vector<std::string> Texts(const std::vector<Element>& elements) {
  std::vector<std::string> texts;
  for (const Element& element : elements) texts.push_back(Text(element));
  return texts;
}

// A function in C++. One that waits answers from a thread of `queue`, later.
class TestFunction : public BoundFunction {
 public:
  using Body = std::function<Result<std::vector<Tensor>>(std::span<const Tensor> args)>;
  TestFunction(Body body, WorkQueue* queue) : body_(std::move(body)), queue_(queue) {}

  bool never_waits() const override { return queue_ == nullptr; }
  std::vector<DType> result_types() const override { return {DType::kInt64}; }
  Status Run(std::span<const Tensor> args, CancellationManager*,
             std::vector<Tensor>* results) override {
    ASSIGN_OR_RETURN(*results, body_(args));
    return OkStatus();
  }
  std::unique_ptr<RepeatedCall> Repeat(CancellationManager* cancellation) override {
    return std::make_unique<Repeated>(*this, cancellation);
  }
  void Start(std::vector<Tensor> args, CancellationManager*, Done done) override {
    const auto run = [this, args = std::move(args), done = std::move(done)] { done(body_(args)); };
    if (queue_ == nullptr) return run();
    ScheduleClosure(*queue_, run);
  }

 private:
  class Repeated : public RepeatedCall {
   public:
    Repeated(TestFunction& function, CancellationManager* cancellation)
        : function_(function), cancellation_(cancellation) {}
    Status Run(std::span<const Tensor> args, std::vector<Tensor>* results) override {
      return function_.Run(args, cancellation_, results);
    }

   private:
    TestFunction& function_;
    CancellationManager* const cancellation_;
  };

  const Body body_;
  WorkQueue* const queue_;
};

inline ElementFunctionPtr FunctionOf(TestFunction::Body body, WorkQueue* queue = nullptr) {
  return std::make_shared<ElementFunction>(
      ElementFunction{std::make_shared<TestFunction>(std::move(body), queue), {}});
}

// x -> f(x) of int64s.
inline ElementFunctionPtr IntFunction(std::function<int64_t(int64_t)> f,
                                      WorkQueue* queue = nullptr) {
  return FunctionOf(
      [f = std::move(f)](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{Tensor::Scalar(f(args[0].scalar<int64_t>()))};
      },
      queue);
}

}  // namespace thalweg
