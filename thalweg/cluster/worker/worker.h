// SPDX-License-Identifier: Apache-2.0
// Worker: TensorFlow's WorkerService: runs the parts of graphs that masters register here, and
// hands out the tensors that other tasks ask for. Knows messages, no sockets.
//
//   Worker worker(environment, peers, channels);
//   worker.Call("RunGraph", request, call, [](Result<OwnedMessage> response) { ... });
//
// Variables, queues and tables belong to the task, whatever the session.
// Ownership: shares the environment; peers and channels outlive it.
// Threads: Call from any, several at once; it blocks while a graph is registered or runs;
// RecvTensor does not block, its callback comes when the tensor is there.
// Errors: those of TensorFlow's workers: Aborted for a graph or step that is not there any more, or
// a sender that has restarted; InvalidArgument for a malformed key or graph; Unimplemented for
// methods that are not there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/channels/task_links.h"
#include "thalweg/cluster/collectives/collective_leader.h"
#include "thalweg/cluster/collectives/collective_rendezvous.h"
#include "thalweg/cluster/counters/step_counter.h"
#include "thalweg/cluster/health/health.h"
#include "thalweg/cluster/peers/method_table.h"
#include "thalweg/cluster/peers/session_cluster.h"
#include "thalweg/cluster/peers/task_rates.h"
#include "thalweg/cluster/spec/service_limits.h"
#include "thalweg/cluster/steps/rpc_rendezvous.h"
#include "thalweg/cluster/steps/step_reports.h"
#include "thalweg/session/session_core.h"

namespace thalweg {

struct WorkerCall {
  CancellationManager* cancellation = nullptr;  // null: none; lives until the answer
  std::chrono::nanoseconds timeout{0};          // 0: none
};

class Worker {
 public:
  // `channels` outlives the worker.
  Worker(std::shared_ptr<Environment> environment, WorkerClients& peers, ChannelManager& channels,
         const ServiceLimits& limits = {}, const HealthOptions& health = {});
  ~Worker();

  // The type of a method's request, null for an unknown method.
  static const MessageDescriptor* RequestType(std::string_view method);
  // Whether a call of the method may wait for a step or a compilation.
  static bool Blocks(std::string_view method) { return method != "RecvTensor"; }

  using Done = std::function<void(Result<OwnedMessage>)>;
  void Call(std::string_view method, const Message& request, const WorkerCall& call, Done done);
  // Ends what runs.
  void Stop(const Status& reason);
  // The steps of this task, also those of its own master.
  RpcStepTable& steps() { return steps_; }
  Health& health() { return health_; }
  // From this task, whichever session asks.
  TaskLinks& links() { return links_; }
  // The parts of steps that masters had run here: not of partial runs.
  const StepCounter& parts() const { return parts_; }
  size_t num_graphs() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return graphs_.size();
  }
  // The heartbeats of a master here whose session brings its own cluster.
  std::shared_ptr<Health> MakeMasterHealth(std::shared_ptr<SessionCluster> cluster);
  // Who leads groups of collective operations where a session does not say.
  void set_collective_leader(std::string task) { collectives_.set_default_leader(std::move(task)); }
  // Tells the other tasks that this one is there (SharedSteps::Greet), once it can be reached.
  void Greet() { collectives_.shared_steps().Greet(); }

  // A device as TensorFlow describes it.
  static void DescribeDevice(Device& device, Message* attributes);

 private:
  struct RegisteredGraph {
    std::shared_ptr<SessionCluster> cluster;  // null: the task's
    std::shared_ptr<SessionCore> core;
    std::shared_ptr<StepPlan> plan;
    std::vector<std::string> loop_peers;
    bool exchanges_buffers = false;  // its collective operations have members of TensorFlow's
  };
  // What a master's session has here.
  struct WorkerSession {
    std::shared_ptr<ResourceManager> state;   // null: the task's
    std::shared_ptr<SessionCluster> cluster;  // null: the task's
  };
  struct Method {
    Result<OwnedMessage> (Worker::*answers)(const Message&, const WorkerCall&);
    // Instead: its answer comes later, and takes no thread.
    void (Worker::*waits)(const Message&, const WorkerCall&, Done) = nullptr;
  };
  static const ServiceMethod<Method>* Find(std::string_view method);

  Result<OwnedMessage> GetStatus(const Message& request, const WorkerCall& call);
  TaskRates RatesTo(const std::vector<std::string>& tasks);
  Result<OwnedMessage> CreateWorkerSession(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> DeleteWorkerSession(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> RegisterGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> DeregisterGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> RunGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> CleanupGraph(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> CleanupAll(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> Logging(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> GetStepSequence(const Message& request, const WorkerCall& call);
  Result<OwnedMessage> MarkRecvFinished(const Message& request, const WorkerCall& call);
  void RecvTensor(const Message& request, const WorkerCall& call, Done done);
  void RecvBuf(const Message& request, const WorkerCall& call, Done done);
  Result<OwnedMessage> HearOfStep(const Message& request);
  void EndSharedSteps(const Status& why);
  void CompleteGroup(const Message& request, const WorkerCall& call, Done done);
  void CompleteInstance(const Message& request, const WorkerCall& call, Done done);
  // InvalidArgument for a value that `source` gives to another device of this task alone.
  Status CheckIsForOthers(const RendezvousKey& key, const Device& source) const;
  // The step in which another task asks for a value of a device here, by a request that is new.
  Result<std::shared_ptr<RpcStepRendezvous>> StepFor(const RendezvousKey& key, int64_t step,
                                                     int64_t request);
  Result<std::shared_ptr<SessionCluster>> OwnClusterOf(const Message& server_def) const;
  void EndSession(const std::string& session) EXCLUDES(mutex_);
  StepRequest PartRequest(const RegisteredGraph& graph, RpcStepRendezvous& step);
  Status RunPart(const RegisteredGraph& graph, RpcStepRendezvous& step, const WorkerCall& call,
                 StepStats* stats = nullptr);
  Status RunTraced(const Message& options, const RegisteredGraph& graph, RpcStepRendezvous& step,
                   const WorkerCall& call, Message* response);
  Status RunByChannel(const RegisteredGraph& graph, ChannelRendezvous& step, PartRun& how);
  Status ContinuePart(const std::string& key, const RegisteredGraph& graph,
                      const std::shared_ptr<RpcStepRendezvous>& step, const WorkerCall& call,
                      bool last);
  Status AwaitPart(RpcStepRendezvous& step, RpcStepRendezvous::Part& part, const WorkerCall& call);
  Status RunGraphInto(const Message& request, const WorkerCall& call, Message* response);
  Result<std::shared_ptr<ChannelEdges>> ConnectEdges(const Message& request);
  WorkerClients& PeersOf(const RegisteredGraph& graph) {
    return graph.cluster == nullptr ? peers_ : graph.cluster->peers;
  }
  Result<RegisteredGraph> FindGraph(std::string_view handle) EXCLUDES(mutex_);

  const std::shared_ptr<Environment> environment_;
  WorkerClients& peers_;
  ChannelManager& channels_;
  const ServiceLimits limits_;
  TaskLinks links_;
  RpcStepTable steps_;
  StepCounter parts_;
  StepReports reports_;
  CollectiveRendezvous collectives_;  // asks the reports
  CollectiveLeader leader_;
  Mutex mutex_;
  CondVar parts_ended_;
  int open_parts_ GUARDED_BY(mutex_) = 0;  // of partial runs
  std::map<std::string, WorkerSession, std::less<>> sessions_ GUARDED_BY(mutex_);
  uint64_t next_graph_ GUARDED_BY(mutex_) = 1;
  // The key of a graph says its session first.
  std::map<std::string, RegisteredGraph, std::less<>> graphs_ GUARDED_BY(mutex_);
  Health health_;  // last: it asks the others
};

}  // namespace thalweg
