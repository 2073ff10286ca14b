// SPDX-License-Identifier: Apache-2.0
// Worker: TensorFlow's WorkerService: runs the parts of graphs that masters register here, and
// hands out the tensors that other tasks ask for. Knows messages, no sockets.
//
//   Worker worker(environment, peers);
//   worker.Call("RunGraph", *request, call, [](Result<OwnedMessage> response) { ... });
//
// Variables, queues and tables belong to the task, whatever the session. Threads: Call from any,
// several at once; it blocks while a graph is registered or runs; RecvTensor does not block, its
// callback comes when the tensor is there. Errors: those of TensorFlow's workers: Aborted for a
// graph or step that is not there any more, or a sender that has restarted; InvalidArgument for a
// malformed key or graph; Unimplemented for methods that are not there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/call_threads.h"
#include "thalweg/cluster/worker/task_step.h"
#include "thalweg/session/session_core.h"

namespace thalweg {

struct WorkerCall {
  CancellationManager* cancellation = nullptr;  // null: none; lives until the answer
  std::chrono::nanoseconds timeout{0};          // 0: none
};

class Worker {
 public:
  Worker(std::shared_ptr<Environment> environment, Peers& peers);
  ~Worker() { Stop(Cancelled("the worker is gone")); }

  // The type of a method's request, null for an unknown method.
  static const MessageDescriptor* RequestType(std::string_view method);
  // Whether a call of the method may wait for a step or a compilation.
  static bool Blocks(std::string_view method) { return method != "RecvTensor"; }

  using Done = std::function<void(Result<OwnedMessage>)>;
  void Call(std::string_view method, const Message& request, const WorkerCall& call, Done done);
  // Ends what runs.
  void Stop(const Status& reason);
  // The steps of this task, also those of its own master.
  StepTable& steps() { return steps_; }

  // A device as TensorFlow describes it.
  static void DescribeDevice(Device& device, Message* attributes);

 private:
  struct RegisteredGraph {
    std::shared_ptr<SessionCore> core;
    std::shared_ptr<StepPlan> plan;
  };
  struct Entry;
  using Method = Result<OwnedMessage> (Worker::*)(const Message&, const WorkerCall&);
  static const Entry* FindMethod(std::string_view method);

  Result<OwnedMessage> GetStatus(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> CreateWorkerSession(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> DeleteWorkerSession(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> RegisterGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> DeregisterGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> RunGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> CleanupGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> CleanupAll(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> Logging(const Message& request, const WorkerCall& call);
  void RecvTensor(const Message& request, Done done);
  static Status RunPart(const RegisteredGraph& graph, TaskStep& step, const WorkerCall& call);
  Status ContinuePart(const std::string& key, const RegisteredGraph& graph,
                      const std::shared_ptr<TaskStep>& step, bool last);
  Status RunGraphInto(const Message& request, const WorkerCall& call, Message* response);
  Result<RegisteredGraph> FindGraph(std::string_view handle) EXCLUDES(mutex_);

  const std::shared_ptr<Environment> environment_;
  Peers& peers_;
  StepTable steps_;
  CallThreads threads_;  // of partial runs, which go on between calls
  Mutex mutex_;
  std::set<std::string> sessions_ GUARDED_BY(mutex_);
  uint64_t next_graph_ GUARDED_BY(mutex_) = 1;
  // The key of a graph says its session first.
  std::map<std::string, RegisteredGraph, std::less<>> graphs_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
