// SPDX-License-Identifier: Apache-2.0
// RpcStepRendezvous: what one task has of a step: the rendezvous in which its nodes and those of
// other tasks meet. A value is kept where it was sent until somebody asks for it; one that another
// task has is asked for there. RpcStepTable: the steps of a task by number, made at the first Find.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<RpcStepRendezvous> step, table.Find(id));
//   step->RecvForPeer(key, received);                          // may come before the step runs
//   table.Erase(id, Cancelled("the step has ended"));          // answers who still waits
//
// Ownership: the table shares its steps with who runs them; peers and collectives outlive both.
// Threads: every member from any.
// Errors: after Abort, and for a step that has ended, everything gets that status. A key is
// received once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/collectives/collective_rendezvous.h"
#include "thalweg/cluster/collectives/ring_participant.h"
#include "thalweg/cluster/collectives/step_word.h"
#include "thalweg/cluster/peers/session_cluster.h"
#include "thalweg/cluster/peers/transfer_log.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/cluster/steps/step_snapshot.h"
#include "thalweg/executor/frame_observer.h"
#include "thalweg/kernel/local_rendezvous.h"

namespace thalweg {

// A key as a peer writes it.
struct PeerKey {
  RendezvousKey key;
  // Not 0: the loop frame's number by one of TensorFlow's rules; the key's tag is the iteration
  // then.
  uint64_t foreign_frame = 0;
};
// "src;incarnation in hex;dst;edge;frame:iteration", as RendezvousKey writes it.
Result<PeerKey> ParsePeerKey(std::string_view text);
// InvalidArgument for a key in a frame of TensorFlow's.
Result<RendezvousKey> ParseRendezvousKey(std::string_view text);

class RpcStepRendezvous : public Rendezvous,
                          public FrameObserver,
                          public StepCollectives,
                          public BufferTransport,
                          public std::enable_shared_from_this<RpcStepRendezvous> {
 public:
  RpcStepRendezvous(int64_t id, WorkerClients& peers, AllocatorPtr allocator,
                    TransferLog& transfers, Clock::TimePoint made,
                    CollectiveRendezvous* collectives = nullptr);

  int64_t id() const { return id_; }
  // Cancelling it ends what runs and waits of the step in this task.
  CancellationManager& cancellation() override { return cancellation_; }

  Status Send(const RendezvousKey& key, Delivery delivery) override {
    return here_.Send(key, std::move(delivery));
  }
  void Recv(const RendezvousKey& key, RecvDone done) override;
  void Abort(Status reason) override;
  // This task's parts tell of their frames, where peers may name loops by another rule.
  void OnFrame(uint64_t tag, uint64_t parent, std::string_view name) override EXCLUDES(mutex_);
  Clock::TimePoint made() const { return made_; }
  // A part of the step runs here, for the master of the session. `cluster`: that the session has
  // brought; null: the task's.
  void Begin(const std::string& session, std::shared_ptr<SessionCluster> cluster) EXCLUDES(mutex_);
  bool begun() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return begun_;
  }
  std::string session() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return session_;
  }
  // Members of collective operations hand buffers to each other, as TensorFlow's tasks do: for all
  // parts of the step, before the first runs.
  void ExchangeBuffers() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    exchanges_buffers_ = true;
  }
  // The step is one with steps of other sessions (SharedSteps): whoever has asked for a buffer that
  // does not come hears so by LetGo only, when the others have been told why.
  void Share() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    is_shared_ = true;
  }
  bool is_shared() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return is_shared_;
  }
  // `why`: what they hear; ok: what has ended the step.
  void LetGo(const Status& why) EXCLUDES(mutex_);
  // Another task has told that the step has failed there.
  void NoteTold() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    was_told_ = true;
  }
  bool was_told() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return was_told_;
  }
  // Who owes buffers, or has not taken them yet.
  std::vector<SharedSteps::Debt> Owed() EXCLUDES(mutex_);
  void SendBuffer(const RendezvousKey& key, Tensor value, Taken taken) override EXCLUDES(mutex_);
  void RecvBuffer(const RendezvousKey& key, DType dtype, int64_t elements, RecvDone done) override;
  StepSnapshot Describe(Clock::TimePoint now) EXCLUDES(mutex_);
  // Unimplemented in a session that brings its own cluster: members find each other by the names
  // that servers were started with.
  void Join(Context& ctx, CollectiveCall call, double timeout_seconds, Done done) override;
  // A graph of this task that runs over several calls (a partial run).
  struct Part {
    Notification ended;
    Status status;  // once it has ended
  };
  // By the graph's name; *is_new: made by this call, who runs it now.
  std::shared_ptr<Part> FindPart(const std::string& graph, bool* is_new) EXCLUDES(mutex_);
  // What was or will be sent here.
  void RecvForPeer(const RendezvousKey& key, RecvDone done) { here_.Recv(key, std::move(done)); }
  void RecvBufferForPeer(const RendezvousKey& key, RecvDone done) EXCLUDES(mutex_);
  // A buffer was asked for: members may be in steps of other sessions, which come when they like.
  bool waits_for_sessions() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return waits_for_sessions_;
  }
  void RecvForPeer(PeerKey key, RecvDone done) EXCLUDES(mutex_);
  // False: the request was seen already. 0 is no id.
  bool IsNewRequest(int64_t id) EXCLUDES(mutex_);

 private:
  struct Parked {
    RendezvousKey key;
    RecvDone done;
  };
  uint32_t master() override;
  static std::string PlaceOfBuffer(const RendezvousKey& key);
  bool Hold(const RecvDone& done, const Status& status) EXCLUDES(mutex_);
  // Somebody has the buffer, or nobody will.
  void TakeOut(const std::string& place, const Status& status) EXCLUDES(mutex_);
  // Requests to other tasks that are not answered.
  void AppendAsked(StepSnapshot* snapshot) const;
  std::shared_ptr<BufferTransport> buffers() override EXCLUDES(mutex_);
  void RecvFromTask(const RendezvousKey& key, const std::string& text, RecvDone done);
  // The key as a task of that version writes it.
  Result<std::string> KeyFor(PeerVersion version, const RendezvousKey& key) EXCLUDES(mutex_);

  const int64_t id_;
  // Set before the first part runs, and read by parts.
  WorkerClients* peers_;
  std::shared_ptr<SessionCluster> cluster_;  // whose clients they are; null: the task's
  const AllocatorPtr allocator_;
  TransferLog& transfers_;
  const Clock::TimePoint made_;
  LocalRendezvous here_;
  CancellationManager cancellation_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Part>> parts_ GUARDED_BY(mutex_);
  // Requests to other tasks that are not answered: shared, as an answer may come after the step.
  struct Asked;
  const std::shared_ptr<Asked> asked_;
  bool begun_ GUARDED_BY(mutex_) = false;
  std::string session_ GUARDED_BY(mutex_);
  bool exchanges_buffers_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Taken> untaken_ GUARDED_BY(mutex_);  // buffers, by edge and destination
  bool is_shared_ GUARDED_BY(mutex_) = false;
  bool was_told_ GUARDED_BY(mutex_) = false;
  bool has_let_go_ GUARDED_BY(mutex_) = false;
  Status let_go_ GUARDED_BY(mutex_);
  std::vector<std::pair<RecvDone, Status>> held_ GUARDED_BY(mutex_);  // until LetGo
  bool waits_for_sessions_ GUARDED_BY(mutex_) = false;
  std::unordered_set<int64_t> requests_ GUARDED_BY(mutex_);
  FrameIds frames_ GUARDED_BY(mutex_);
  std::unordered_multimap<uint64_t, Parked> parked_ GUARDED_BY(mutex_);  // by a frame not open yet
  Status aborted_ GUARDED_BY(mutex_);
};

class RpcStepTable {
 public:
  RpcStepTable(WorkerClients& peers, AllocatorPtr allocator, Clock& clock)
      : peers_(peers), allocator_(std::move(allocator)), clock_(clock) {}

  // Aborted for a step that has ended; ResourceExhausted when too many are open.
  Result<std::shared_ptr<RpcStepRendezvous>> Find(int64_t id) EXCLUDES(mutex_);
  // Finds or makes it, for a part of the step that runs now; see RpcStepRendezvous::Begin.
  Result<std::shared_ptr<RpcStepRendezvous>> Begin(int64_t id, const std::string& session,
                                                   std::shared_ptr<SessionCluster> cluster)
      EXCLUDES(mutex_);
  // Ends the step, or refuses it should it still come. `why`: what who asks for it later hears; ok:
  // that it has ended.
  void Erase(int64_t id, Status reason, Status why = OkStatus()) EXCLUDES(mutex_);
  // The step has failed in another task, of whose step it is one: it fails here, too, or should it
  // still come. True: it had not begun.
  bool Fail(int64_t id, const Status& why) EXCLUDES(mutex_);
  StepReply StateOf(int64_t id) EXCLUDES(mutex_);
  Clock::TimePoint Now() const { return clock_.Now(); }
  void EraseAll(const Status& reason) EXCLUDES(mutex_);
  // The rendezvous of the steps' collective operations outlives them: set before the first step.
  void set_collectives(CollectiveRendezvous* collectives) { collectives_ = collectives; }
  CollectiveRendezvous* collectives() const { return collectives_; }
  // What the steps receive from other tasks.
  TransferLog& transfers() { return transfers_; }
  void EraseSession(const std::string& session, const Status& reason) EXCLUDES(mutex_);
  // Ends steps of which values were asked for `early_for` ago, and no part has begun since; an hour
  // later those of which buffers were asked for. Drops
  // marks of ended steps that are too old to matter.
  void Expire(std::chrono::nanoseconds early_for) EXCLUDES(mutex_);
  std::vector<std::shared_ptr<RpcStepRendezvous>> List() EXCLUDES(mutex_);
  bool idle() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return steps_.empty() && ended_of_.empty();
  }

 private:
  WorkerClients& peers_;
  // Marks of ended steps in the order of their ends: of one session, so that a busy one drops only
  // its own.
  struct Ended {
    int64_t id;
    Clock::TimePoint time;
  };
  Result<std::shared_ptr<RpcStepRendezvous>> FindLocked(int64_t id) REQUIRES(mutex_);
  void MarkEnded(int64_t id, const std::string& session, Status why = OkStatus()) REQUIRES(mutex_);

  const AllocatorPtr allocator_;
  TransferLog transfers_;
  CollectiveRendezvous* collectives_ = nullptr;
  Clock& clock_;
  Mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<RpcStepRendezvous>> steps_ GUARDED_BY(mutex_);
  // With what they have failed, for others that ask; ok: what these need not know.
  std::unordered_map<int64_t, Status> ended_ GUARDED_BY(mutex_);
  std::map<std::string, std::deque<Ended>> ended_of_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
