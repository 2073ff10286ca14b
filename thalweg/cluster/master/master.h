// SPDX-License-Identifier: Apache-2.0
// Master: TensorFlow's MasterService: sessions that clients make, extend, run and close by calls.
// Knows messages, no sockets.
//
//   Master master(environment, make_session, reset_tasks);
//   Result<OwnedMessage> answer = master.Call("RunStep", request, {&cancellation});
//
// Ownership: shares the environment.
// Threads: Call from any, several at once; it blocks while the step runs.
// Errors: those of TensorFlow's masters: Aborted for a session that is not there (the client then
// makes a new one), InvalidArgument and NotFound for wrong graphs and names; Unimplemented for a
// method that the service does not have.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/counters/step_counter.h"
#include "thalweg/cluster/master/step_recorder.h"
#include "thalweg/cluster/peers/method_table.h"
#include "thalweg/cluster/spec/service_limits.h"
#include "thalweg/proto/message.h"
#include "thalweg/session/session.h"

namespace thalweg {

// One session as its client sees it.
class MasterSession {
 public:
  MasterSession(std::string handle, std::shared_ptr<Graph> graph, std::unique_ptr<Session> session,
                std::chrono::nanoseconds timeout, const ServiceLimits& limits)
      : handle_(std::move(handle)),
        graph_(std::move(graph)),
        session_(std::move(session)),
        timeout_(timeout),
        limits_(limits) {}

  const std::string& handle() const { return handle_; }
  Session& session() { return *session_; }
  std::chrono::nanoseconds timeout() const { return timeout_; }

  // Adds nodes; gives the new version. Aborted when `version` is not the present one.
  Result<int64_t> Extend(const Message& graph_def, int64_t version, Allocator& memory)
      EXCLUDES(mutex_);

  struct Prepared {
    std::shared_ptr<Callable> callable;
    std::vector<DType> feeds;  // their types
    size_t num_fetches = 0;
    std::shared_ptr<const std::vector<std::string>> names;  // of what it fetches and runs
  };
  int64_t AddCallable(Prepared prepared) EXCLUDES(mutex_);
  Result<Prepared> FindCallable(int64_t handle) EXCLUDES(mutex_);
  Status ReleaseCallable(int64_t handle) EXCLUDES(mutex_);
  // False: the request was seen already. 0 is no id.
  bool IsNew(int64_t request_id) EXCLUDES(mutex_);

 private:
  const std::string handle_;
  const std::shared_ptr<Graph> graph_;
  const std::unique_ptr<Session> session_;
  const std::chrono::nanoseconds timeout_;
  const ServiceLimits limits_;
  Mutex mutex_;
  int64_t version_ GUARDED_BY(mutex_) = 0;
  int64_t next_callable_ GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Prepared> callables_ GUARDED_BY(mutex_);
  std::unordered_set<int64_t> requests_ GUARDED_BY(mutex_);
  std::vector<int64_t> request_order_ GUARDED_BY(mutex_);  // a ring of the latest
  size_t next_request_ GUARDED_BY(mutex_) = 0;
};

// A call's own limits.
struct MasterCall {
  CancellationManager* cancellation = nullptr;  // null: none
  std::chrono::nanoseconds timeout{0};          // 0: none
};

class Master {
 public:
  struct MadeSession {
    std::unique_ptr<Session> session;
    std::chrono::nanoseconds timeout{0};  // of its steps that have none of their own; 0: none
  };
  // Makes the session of a graph that a CreateSessionRequest asks for; `call` limits the making.
  using SessionMaker = std::function<Result<MadeSession>(
      std::shared_ptr<Graph> graph, const Message& request, const MasterCall& call)>;
  // Empties containers of the other tasks, all when none is named.
  using TaskResetter = std::function<Status(const std::vector<std::string>& containers)>;
  Master(std::shared_ptr<Environment> environment, SessionMaker make_session,
         TaskResetter reset_tasks, const ServiceLimits& limits = {})
      : environment_(std::move(environment)),
        make_session_(std::move(make_session)),
        reset_tasks_(std::move(reset_tasks)),
        limits_(limits),
        steps_(environment_->clock()),
        recorder_(environment_->clock()) {}
  ~Master() { CloseAll(); }

  // The type of a method's request, null for an unknown method. "RunStep", without the service.
  static const MessageDescriptor* RequestType(std::string_view method);
  Result<OwnedMessage> Call(std::string_view method, const Message& request,
                            const MasterCall& call);
  // A callable that was made by a call: the one of its number, in the session of the handle.
  Result<MasterSession::Prepared> FindCallable(const std::string& session, int64_t callable)
      EXCLUDES(mutex_);
  // Why a node of a session is where it is. Aborted where there is no such session; NotFound.
  Result<std::string> ExplainPlacement(const std::string& session, std::string_view node)
      EXCLUDES(mutex_);
  // Ends all sessions.
  void CloseAll() EXCLUDES(mutex_);
  // The steps that clients asked for: each call of a partial run counts as one.
  StepCounter& steps() { return steps_; }
  // Of those steps, but partial runs.
  StepRecorder& recorder() { return recorder_; }
  size_t num_sessions() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return sessions_.size();
  }

 private:
  using SessionPtr = std::shared_ptr<MasterSession>;
  using Method = Result<OwnedMessage> (Master::*)(const Message&, const MasterCall&);
  static const ServiceMethod<Method>* Find(std::string_view method);

  Result<OwnedMessage> CreateSession(const Message& request, const MasterCall& call);
  Result<OwnedMessage> ExtendSession(const Message& request, const MasterCall& call);
  Result<OwnedMessage> PartialRunSetup(const Message& request, const MasterCall& call);
  Result<OwnedMessage> RunStep(const Message& request, const MasterCall& call);
  Result<OwnedMessage> CloseSession(const Message& request, const MasterCall& call);
  Result<OwnedMessage> ListDevices(const Message& request, const MasterCall& call);
  Result<OwnedMessage> Reset(const Message& request, const MasterCall& call);
  Result<OwnedMessage> MakeCallable(const Message& request, const MasterCall& call);
  Result<OwnedMessage> RunCallable(const Message& request, const MasterCall& call);
  Result<OwnedMessage> ReleaseCallable(const Message& request, const MasterCall& call);

  Status RunStepInto(const Message& request, const MasterCall& call, Message* response);
  // Aborted when there is none.
  Result<SessionPtr> FindSession(const Message& request, int field) EXCLUDES(mutex_);
  Result<SessionPtr> FindSession(std::string_view handle) EXCLUDES(mutex_);

  const std::shared_ptr<Environment> environment_;
  const SessionMaker make_session_;
  const TaskResetter reset_tasks_;
  const ServiceLimits limits_;
  StepCounter steps_;
  StepRecorder recorder_;
  Mutex mutex_;
  std::map<std::string, SessionPtr, std::less<>> sessions_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
