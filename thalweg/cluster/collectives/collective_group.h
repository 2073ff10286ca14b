// SPDX-License-Identifier: Apache-2.0
// CollectiveGroups: who belongs to a group of collective operations, as its leader says
// (CompleteGroup, CompleteInstance), where members may be tasks of TensorFlow's.
//
//   groups.Find(session, leader, call, &cancellation,
//               [](Result<CollectiveGroups::Found> found) { ... });
//
// What a session has found it keeps until Forget: so do TensorFlow's tasks, who ask once.
// Ownership: the environment and the peers outlive it; a cancellation lives until its answer.
// Threads: every member from any; callbacks come on the transport's threads, or at once.
// Errors: the leader's; Unimplemented for groups whose members do not understand each other.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "thalweg/base/cancellation.h"
#include "thalweg/base/mutex.h"
#include "thalweg/cluster/peers/worker_clients.h"
#include "thalweg/resources/collective_call.h"
#include "thalweg/session/environment.h"

namespace thalweg {

struct CollectiveGroup {
  struct Member {
    std::string device;
    uint64_t incarnation = 0;
    PeerVersion version = PeerVersion::kThalweg;
  };
  std::vector<Member> members;  // by rank

  // -1: none.
  int RankOf(const std::string& device) const;
  bool Has(PeerVersion version) const;
  // Why its members hand buffers to each other, for messages.
  std::string_view Kind() const;
};

class CollectiveGroups {
 public:
  // Both outlive this object.
  CollectiveGroups(Environment& environment, WorkerClients& peers)
      : environment_(environment), peers_(peers) {}

  using Answered = std::function<void(Result<OwnedMessage>)>;
  // A call to this very task: method, request, cancellation.
  using AskSelf =
      std::function<void(std::string_view, const Message&, CancellationManager*, Answered)>;
  // Before the first Find.
  void set_ask_self(AskSelf ask) { ask_self_ = std::move(ask); }

  struct Found {
    std::shared_ptr<const CollectiveGroup> group;
    int source = -1;  // the rank of a broadcast's sender
  };
  using FoundDone = std::function<void(Result<Found>)>;
  // `cancellation` lives until the answer.
  void Find(uint32_t session, const std::string& leader, const CollectiveCall& call,
            CancellationManager* cancellation, FoundDone done) EXCLUDES(mutex_);
  void Forget(uint32_t session) EXCLUDES(mutex_);

  // The members of a session that wait for an answer of Find, and those of its groups.
  struct Sought {
    int open = 0;      // how many wait
    int64_t size = 0;  // of the largest group whose members are not known; 0: all are
    std::vector<CollectiveGroup::Member> members;  // of all groups that are known
  };
  Sought SoughtBy(uint32_t session) EXCLUDES(mutex_);

 private:
  struct Search;
  using GroupKey = std::pair<uint32_t, int64_t>;               // session, group
  using InstanceKey = std::tuple<uint32_t, int64_t, int64_t>;  // session, group, instance

  void Ask(const std::string& task, std::string_view method, const Message& request,
           CancellationManager* cancellation, Answered done);
  void AskGroup(const std::shared_ptr<Search>& search);
  void AskMembers(const std::shared_ptr<Search>& search);
  void AskInstance(const std::shared_ptr<Search>& search) EXCLUDES(mutex_);
  Status TakeGroup(const Message& response, Search& search);
  // The answer, without a lock.
  void End(Search& search, Result<Found> found) EXCLUDES(mutex_);

  Environment& environment_;
  WorkerClients& peers_;
  AskSelf ask_self_;
  Mutex mutex_;
  std::map<GroupKey, std::shared_ptr<const CollectiveGroup>> groups_ GUARDED_BY(mutex_);
  std::map<InstanceKey, int> sources_ GUARDED_BY(mutex_);
  std::multimap<GroupKey, int64_t> open_ GUARDED_BY(mutex_);  // sizes of groups that are sought
};

}  // namespace thalweg
