// SPDX-License-Identifier: Apache-2.0
// Stage: what gives the elements of a dataset, one after the other: one iterator's copy of one step
// of a pipeline. A stage never waits: where it has no element yet it says so, and wakes whoever
// asked once that may have changed. So a pipeline holds no thread between its elements.
//
//   Element element;
//   ASSIGN_OR_RETURN(const Poll poll, input_->Next(poller, &element));
//   if (poll != Poll::kElement) return poll;
//
// After kEnd all calls give kEnd.
// Ownership: a stage owns its inputs. What goes on in the background owns what it shares with its
// stage and outlives it.
// Threads: one at a time, not always the same.
// Errors: that of one element: the next call goes on behind it. Cancelled once nobody wants the
// element.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/status.h"
#include "thalweg/base/work_queue.h"
#include "thalweg/data/actor.h"
#include "thalweg/data/tuner.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class Dataset;
class StateReader;
class StateWriter;

using Element = std::vector<Tensor>;

enum class Poll {
  kElement,
  kEnd,
  kPending,  // the poller's task is awoken when it is worth asking again
};

// What all stages of one iterator share, and what they do in the background holds on to.
struct Pipeline {
  // Null: there are no threads, and nothing goes on in the background.
  WorkQueue* queue = nullptr;
  Allocator* allocator = nullptr;
  int parallelism = 1;               // how much may go on at once where the graph leaves it open
  std::shared_ptr<Tuner> tuner;      // chooses less; null: nobody does
  CancellationManager cancellation;  // the iterator is gone, or begins anew
  std::atomic<int> inner_stages{0};  // that are open inside of others
  std::shared_ptr<const Dataset> dataset;  // that the pass is over
};

// What a dataset's options say of the stages before it.
struct StageOptions {
  // Whether elements come in one order, where a stage's own options leave it open.
  bool deterministic = true;
  // Whether calls at once and buffers that are left open change as it goes.
  bool autotune = true;

  StageOptions operator&(const StageOptions& other) const {
    return {deterministic && other.deterministic, autotune && other.autotune};
  }
};

// A pipeline as a stage that is made sees it.
struct PipelineRef {
  PipelineRef(std::shared_ptr<Pipeline> of, int at = 0,  // NOLINT: a pipeline is one
              StageOptions how = {})
      : shared(std::move(of)), depth(at), options(how) {}
  Pipeline* operator->() const { return shared.get(); }

  std::shared_ptr<Pipeline> shared;
  // How deep it will be inside of stages of other datasets, as the variants of datasets count.
  int depth;
  StageOptions options;
};

// Who asks.
class Poller {
 public:
  // `step`: of the step that asks; null: none does.
  Poller(const std::shared_ptr<Pipeline>& pipeline, std::weak_ptr<Actor> actor,
         const CancellationManager* step, int depth = 0, StageOptions options = {})
      : pipeline_(pipeline),
        own_(std::move(actor)),
        actor_(own_),
        step_(step),
        depth_(depth),
        options_(options) {}
  // On behalf of `outer`, of a stage inside of its stage, `deeper` calls further down; what options
  // of either leave out the stage leaves out, too.
  Poller(const Poller& outer, int deeper, StageOptions options = {})
      : pipeline_(outer.pipeline_),
        actor_(outer.actor_),
        step_(outer.step_),
        depth_(outer.depth_ + deeper),
        options_(outer.options_ & options) {}
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  const std::shared_ptr<Pipeline>& pipeline() const { return pipeline_; }
  Allocator& allocator() const { return *pipeline_->allocator; }
  const std::weak_ptr<Actor>& actor() const { return actor_; }
  const CancellationManager* step() const { return step_; }
  // How deep the stage that is asked is inside of stages of other datasets.
  int depth() const { return depth_; }
  // For a stage that is made by the one that is asked.
  PipelineRef scope() const { return {pipeline_, depth_, options_}; }
  // For loops that may take long between two elements: an error once nobody wants the element any
  // more. What the stage has is not lost by returning it.
  Status Look() const {
    if (step_ != nullptr && step_->IsCancelled()) return step_->Reason();
    if (pipeline_->cancellation.IsCancelled()) return pipeline_->cancellation.Reason();
    return OkStatus();
  }

 private:
  const std::shared_ptr<Pipeline>& pipeline_;
  const std::weak_ptr<Actor> own_;
  const std::weak_ptr<Actor>& actor_;
  const CancellationManager* const step_;
  const int depth_ = 0;
  const StageOptions options_;
};

// What an error calls a dataset, and where the program made it:
// "BatchDatasetV2 'batch']] (created at train.py:7)", behind kPlaceLine. Null: nobody has said.
using PlacePtr = std::shared_ptr<const std::string>;
// Begins the lines of an error's message that name a node, here and in executors.
inline constexpr std::string_view kPlaceLine = "\n\t [[";

// The error with a line for the place it came from, which the first stage that sees it adds. A
// cancellation is nobody's error.
[[gnu::cold]] Status AtPlace(const Status& error, const PlacePtr& place);

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  // kElement: `out` is the next one. Else `out` may be anything. An error names the stage that it
  // began in.
  Result<Poll> Next(const Poller& poller, Element* out) {
    Result<Poll> poll = DoNext(poller, out);
    if (!poll.ok()) [[unlikely]] {
      poll = AtPlace(poll.status(), place_);
    }
    return poll;
  }

  // From now on it may make elements in the background, before it is asked.
  virtual void BeginAhead() {}

  // Where it stands, so that Restore of a stage of the same dataset goes on exactly there.
  // kElement: written. kPending: something in the background must end first; begin again once
  // awoken.
  virtual Result<Poll> Save(const Poller& poller, StateWriter& writer) = 0;
  virtual Status Restore(const Poller& poller, StateReader& reader) = 0;

  // By the dataset that makes it, before it is used.
  void set_place(PlacePtr place) { place_ = std::move(place); }

 private:
  virtual Result<Poll> DoNext(const Poller& poller, Element* out) = 0;

  PlacePtr place_;
};

using StagePtr = std::unique_ptr<Stage>;

}  // namespace thalweg
