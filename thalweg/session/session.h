// SPDX-License-Identifier: Apache-2.0
// Session: runs parts of a graph. The graph only grows; nodes added after a Run are seen by the
// next one.
//
//   auto graph = std::make_shared<Graph>(environment->shared_ops());
//   ASSIGN_OR_RETURN(auto session, MakeLocalSession(environment, graph, {}));
//   std::vector<Tensor> y;
//   RETURN_IF_ERROR(session->Run({{"x:0", value}}, {"y:0"}, {"train"}, &y));
//
// Only what the fetches and targets need runs; a feed replaces any edge, also a constant's, and
// what only it needed does not run.
// Ownership: shares its graph and environment; a Callable keeps what it needs of the session.
// Threads: every member from any thread; steps run side by side and see each other through
// variables and queues only. A small step runs on the caller's thread.
// Errors: InvalidArgument for a wrong feed, fetch or target (name, dtype, shape), NotFound for a
// missing node or kernel, DeadlineExceeded with the nodes that wait, Cancelled after Close or a
// cancel, else what a kernel returned; the message names node, operation, device, input shapes and
// the line that made the node. The first error of a step wins; outputs are untouched then.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/session/environment.h"
#include "thalweg/session/options.h"
#include "thalweg/session/run_metadata.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// What a step is asked for, by place: feeds and fetches are edges, targets run without a result.
struct Signature {
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<Node*> targets;
};

struct DeviceDescription {
  std::string name;  // full name
  std::string type;
  int64_t memory_limit = 0;
  uint64_t incarnation = 0;
  std::string hardware = {};  // kernel/hardware.h; "": nothing is known of it
};
DeviceDescription DescribeDevice(Device& device);

// A prepared signature: the fast way to run one step often. Keeps its session's state alive; after
// Session::Close it returns Cancelled. Does not see nodes added later.
class Callable {
 public:
  virtual ~Callable() = default;
  // feeds[i] is for Signature::feeds[i], fetches[i] receives Signature::fetches[i]; sizes must
  // agree. Allocates nothing but tensors. From any thread, also several at once.
  virtual Status Run(std::span<const Tensor> feeds, std::span<Tensor> fetches,
                     RunMetadata* metadata = nullptr) = 0;
  // The same for one call that can be cancelled, is traced or has its own timeout.
  virtual Status Run(const RunOptions& options, std::span<const Tensor> feeds,
                     std::span<Tensor> fetches, RunMetadata* metadata = nullptr) = 0;
  // Runs what has no feeds and fetches again and again: until `time` has passed since the first
  // began, or to the first error. Steps that enqueue what a reader reads may be done several at
  // once, in the order and with the effects of one after the other.
  Status Repeat(RunOptions options, std::chrono::nanoseconds time);
};

class Session {
 public:
  using NamedTensor = std::pair<std::string, Tensor>;

  // Closes.
  virtual ~Session() = default;

  virtual const std::shared_ptr<Graph>& graph() const = 0;
  virtual Environment& environment() const = 0;

  // Names are "node:index" or "node" for index 0; targets are node names ("node:index" is accepted
  // too). A name may be fetched twice, a fed edge may be fetched; `outputs` has one tensor for each
  // fetch.
  virtual Status Run(const RunOptions& options, std::span<const NamedTensor> feeds,
                     std::span<const std::string> fetches, std::span<const std::string> targets,
                     std::vector<Tensor>* outputs, RunMetadata* metadata = nullptr) = 0;
  // The same by place, without names: values[i] feeds signature.feeds[i], fetches[i] receives
  // signature.fetches[i].
  virtual Status Run(const RunOptions& options, const Signature& signature,
                     std::span<const Tensor> values, std::span<Tensor> fetches,
                     RunMetadata* metadata = nullptr) = 0;
  // Compiles now: errors of the signature come here. `options` is the default of its Runs. Ends
  // with the timeout and the cancellation of `within`; null: of `options`.
  virtual Result<std::shared_ptr<Callable>> MakeCallable(const Signature& signature,
                                                         const RunOptions& options = {},
                                                         const RunOptions* within = nullptr) = 0;

  // Partial runs: one step in several calls. Setup names all feeds and fetches; each PartialRun
  // gives some of the feeds, none twice, and returns when the fetches it names are there. The step
  // ends when all have been fetched and every target has run; an error ends it, and the handle with
  // it. The cancellation of `options` must outlive the handle.
  virtual Result<std::string> PartialRunSetup(std::span<const std::string> feeds,
                                              std::span<const std::string> fetches,
                                              std::span<const std::string> targets,
                                              const RunOptions& options = {}) = 0;
  virtual Status PartialRun(const std::string& handle, std::span<const NamedTensor> feeds,
                            std::span<const std::string> fetches, std::vector<Tensor>* outputs) = 0;
  // Cancels what is left of a partial run and forgets its handle; nothing when it is over.
  virtual void EndPartialRun(const std::string& handle) = 0;

  virtual Result<std::vector<DeviceDescription>> ListDevices() = 0;
  // Why the node would run where it would: constraints, colocation, kernels, the choice, a line
  // each.
  virtual Result<std::string> ExplainPlacement(std::string_view node) = 0;
  // The step of a signature before and after rewriting, its memory and its program, as text. Runs
  // nothing.
  virtual Result<std::string> DescribePlan(std::span<const std::string> feeds,
                                           std::span<const std::string> fetches,
                                           std::span<const std::string> targets) = 0;
  // What a step of the signature holds at once when it is fed values of these types and shapes,
  // whose elements are not looked at. Runs nothing. Unimplemented for steps of other tasks.
  virtual Result<StepMemory> PlanMemory(const Signature& signature, std::span<const Tensor> feeds);
  // Empties containers of this session's resources; all when none is named.
  virtual void ResetContainers(const std::vector<std::string>& containers) = 0;

  // Cancels what runs, waits until it has ended, frees what the session keeps. Later calls, and
  // Runs, are Cancelled "Session has been closed." Never hangs: kernels end within moments of a
  // cancel. May be called from any thread, repeatedly; from a function of the program that a step
  // has called it does not wait: the session ends when that step has.
  virtual void Close() = 0;

  // Brace-friendly forms.
  Status Run(std::initializer_list<NamedTensor> feeds, std::initializer_list<std::string> fetches,
             std::initializer_list<std::string> targets, std::vector<Tensor>* outputs) {
    return Run(RunOptions(), std::span(feeds.begin(), feeds.size()),
               std::span(fetches.begin(), fetches.size()),
               std::span(targets.begin(), targets.size()), outputs, nullptr);
  }
  Result<std::vector<Tensor>> Run(std::initializer_list<NamedTensor> feeds,
                                  std::initializer_list<std::string> fetches) {
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(Run(feeds, fetches, {}, &outputs));
    return outputs;
  }
};

// The session of this process: devices, threads and memory are the environment's.
Result<std::unique_ptr<Session>> MakeLocalSession(std::shared_ptr<Environment> environment,
                                                  std::shared_ptr<Graph> graph,
                                                  SessionOptions options = {});

}  // namespace thalweg
