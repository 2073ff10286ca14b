// SPDX-License-Identifier: Apache-2.0
// Server: one task of a cluster: its devices, its master and its worker service on one port.
//
//   ASSIGN_OR_RETURN(auto server, Server::Start({.job = "local"}, MakeRegistries()));
//   Use(server->target());          // grpc://127.0.0.1:PORT
//   server->Stop();                 // or from another thread: Join() returns then
//
// Variables, queues and tables belong to the task: sessions see each other's, unless a session asks
// for its own (isolate_session_state). Listens on loopback only, unless it has certificates or
// `insecure` is set.
// Ownership: stops when it is destroyed.
// Threads: every member from any thread; a call that waits has a thread of its own, kernels run in
// the environment's pool.
// Errors: InvalidArgument for options that do not fit each other, Unavailable when the port is
// taken, FailedPrecondition where the gRPC component is missing.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/cluster/debug/http_responder.h"
#include "thalweg/cluster/debug/open_calls.h"
#include "thalweg/cluster/debug/task_metrics.h"
#include "thalweg/cluster/master/master.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/spec/cluster_spec.h"
#include "thalweg/cluster/transport/grpc/blocking_call_pool.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
#include "thalweg/cluster/worker/worker.h"
#include "thalweg/session/environment.h"

namespace thalweg {

struct ServerOptions {
  // Empty: a cluster of this task alone, on a free loopback port.
  ClusterSpec cluster;
  std::string job = "local";
  int task = 0;
  // HOST:PORT, where the cluster's own address of this task is not that of this machine; empty: it
  // is.
  std::string listen;
  // Who leads groups of collective operations where a session does not say: a task's name. Empty:
  // the first by job and number.
  std::string collective_leader;
  // Servers, peers and clients show certificates. None: plain text, on loopback only.
  TlsFiles tls;
  // Listen on an address that other machines reach, without encryption or authentication.
  bool insecure = false;
  int64_t max_message_bytes = 0;         // of a request; 0: half of the memory; else no channels
  int64_t max_graph_bytes = 0;           // of a request with a graph; 0: as any
  int64_t max_graph_nodes = 10'000'000;  // of a session, with the nodes of its functions
  int max_sessions = 10'000;
  int max_waiting_calls = 10'000;  // of RPCs, and as many again through channels
  // How it speaks to other tasks of ours.
  ChannelUse channels = ChannelUse::kAny;
  HealthOptions health;            // when a task is taken for lost, a step for stuck
  EnvironmentOptions environment;  // job and task are set from here
  // PORT or HOST:PORT where GET /metrics tells the task's numbers to Prometheus, unencrypted; PORT
  // alone is on loopback, and 0 is a free one. Empty: nowhere.
  std::string metrics;
  // A ConfigProto's bytes: what it sets counts in every session, before the session's own.
  std::string session_config;
};

class Server {
  struct Token {};

 public:
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, Registries registries);
  Server(Token, ServerOptions options, TlsTexts tls, std::shared_ptr<Environment> environment);
  ~Server() { Stop(); }

  // "grpc://HOST:PORT", or "grpcs://..." with the files of TLS (client/remote_target.h).
  const std::string& target() const { return target_; }
  int port() const { return rpc_->port(); }
  const std::shared_ptr<Environment>& environment() const { return environment_; }

  // How many steps of its sessions went to other tasks through channels.
  uint64_t num_channel_steps() { return channel_steps_.num_coordinated(); }
  // How many record its sessions' steps now.
  size_t num_recorders() { return master_.recorder().num_listeners(); }

  // Closes all sessions, ends all calls, frees the port. Returns when nothing runs any more.
  void Stop() EXCLUDES(mutex_);
  // What the task does now, as JSON (debug/dump.h).
  std::string Dump() EXCLUDES(mutex_);
  // What it tells in numbers (debug/task_metrics.h).
  TaskMetrics Metrics();
  // "HOST:PORT" where it answers GET /metrics; empty: nowhere.
  const std::string& metrics_address() const { return metrics_address_; }
  // Waits for Stop(); false when the deadline passed first.
  bool Join(Deadline deadline) { return stopped_.WaitUntil(environment_->clock(), deadline); }

 private:
  DumpSources Sources();
  Status Listen();
  Status ListenForMetrics();
  Status CheckSize(std::string_view method, const IncomingCall& call) const;
  Result<OwnedMessage> Read(std::string_view method, const MessageDescriptor& type,
                            const IncomingCall& call) const;
  Status CheckExposure(const HostPort& where) const;
  void Handle(std::shared_ptr<IncomingCall> call);
  void Answer(const std::shared_ptr<IncomingCall>& call);
  Result<std::string> AnswerPlacement(const IncomingCall& call);
  Result<std::string> AnswerRecord(IncomingCall& call);
  Result<std::string> AnswerEndRecording(const IncomingCall& call);
  Result<std::string> AnswerMaster(std::string_view method, IncomingCall& call);
  Status ServeByChannel(const Message& request, const Message& response);
  void AnswerWorker(std::string_view method, const std::shared_ptr<IncomingCall>& call);
  Result<OwnedMessage> MergedConfig(const Message* config) const;
  Result<Master::MadeSession> MakeSession(std::shared_ptr<Graph> graph, const Message& request,
                                          const MasterCall& call);
  // The cluster of that ClusterDef, where it calls this task otherwise than it was started; else
  // null. `target`: what the client calls this server.
  Result<std::shared_ptr<SessionCluster>> OwnClusterOf(const Message& cluster_def,
                                                       std::string_view target) const;

  const ServerOptions options_;
  const TlsTexts tls_;
  const std::shared_ptr<Environment> environment_;
  const Clock::TimePoint begun_;
  std::string target_;
  std::string metrics_address_;
  WorkerClients peers_;
  StepService channel_steps_;
  ChannelManager channels_;
  Worker worker_;
  Master master_;
  OpenCalls calls_;
  BlockingCallPool threads_;
  std::unique_ptr<RpcServer> rpc_;
  Mutex mutex_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::atomic<int> num_channel_calls_{0};
  Notification stopped_;
  std::unique_ptr<HttpResponder> metrics_;  // reads the others
};

}  // namespace thalweg
