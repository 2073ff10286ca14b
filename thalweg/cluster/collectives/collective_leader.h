// SPDX-License-Identifier: Apache-2.0
// CollectiveLeader: who belongs to a group of collective operations, and what its instances are,
// for tasks that ask their leader in TensorFlow's way (CompleteGroup, CompleteInstance). A call
// waits until all members have come.
//
//   CollectiveLeader::Answers answers;
//   leader.JoinGroup({.key = 1, .size = 2, .device_type = "CPU"}, {name}, waiter, &answers);
//   for (const auto& answer : answers) answer();              // without the caller's locks
//
// Groups and instances are kept: who asks again gets the same answer, also after a restart, and
// TensorFlow's tasks ask but once in their lives. When there are too many, groups go that nobody
// waits for, those first that were asked for longest ago, and the oldest instances.
// Ownership: keeps groups, instances and waiters; answers are the caller's, who calls them.
// Threads: every member from any.
// Errors: InvalidArgument for what contradicts the others, which all who wait hear; then nothing is
// kept of it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

class CollectiveLeader {
 public:
  struct Device {
    std::string name;        // full
    std::string attributes;  // a DeviceAttributes, or nothing
  };
  struct Group {
    int64_t key = 0;
    int64_t size = 0;
    std::string device_type;
    std::vector<Device> devices;  // by rank, once complete
  };
  struct Instance {
    int64_t group_key = 0;
    int64_t group_size = 0;
    int64_t instance_key = 0;
    int64_t step_id = 0;  // 0: of all steps
    int64_t type = 0;
    DType dtype = DType::kInvalid;
    PartialShape shape;
  };
  // A call that waits. It counts while `waits` says so.
  template <class T>
  struct Waiter {
    std::function<bool()> waits;
    std::function<void(Result<T>)> done;
  };
  using Answers = std::vector<std::function<void()>>;

  // The order of full names of devices: by job and numbers, as ranks are within a task.
  static bool ComesBefore(const std::string& a, const std::string& b);

  // True: the group was complete, and its member comes in another life, as its attributes say.
  bool JoinGroup(const Group& asked, Device device, Waiter<Group> waiter, Answers* answers)
      EXCLUDES(mutex_);
  // The answer: the rank of the source, -1 where there is none. FailedPrecondition where the group
  // is not complete.
  void JoinInstance(const Instance& asked, const std::string& device, bool is_source,
                    Waiter<int> waiter, Answers* answers) EXCLUDES(mutex_);

 private:
  template <class T>
  struct Member {
    std::string device;
    Waiter<T> waiter;
  };
  struct OpenGroup {
    Group group;
    bool complete = false;
    uint64_t asked = 0;                  // when: rises with each call
    std::vector<Member<Group>> members;  // while it is not complete
  };
  using InstanceKey = std::tuple<int64_t, int64_t, int64_t>;  // group, instance, step
  struct OpenInstance {
    Instance instance;
    bool complete = false;
    int source_rank = -1;
    std::map<std::string, bool> sources;  // by device that has come
    std::vector<Member<int>> members;
  };
  Status FitsGroup(const Group& asked, const std::string& device, const OpenGroup& open) const;
  Status FitsInstance(const Instance& asked, const std::string& device, bool is_source,
                      const OpenInstance& open) const;
  // Makes room for one more group. False: all are waited for.
  bool DropGroup() REQUIRES(mutex_);
  // A new instance; the oldest goes where there are too many.
  void Keep(const InstanceKey& key, Answers* answers) REQUIRES(mutex_);
  Result<int> RankIn(const Instance& asked, const std::string& device) const REQUIRES(mutex_);

  Mutex mutex_;
  std::map<int64_t, OpenGroup> groups_ GUARDED_BY(mutex_);
  uint64_t calls_ GUARDED_BY(mutex_) = 0;  // for groups, so far
  std::map<InstanceKey, OpenInstance> instances_ GUARDED_BY(mutex_);
  std::deque<InstanceKey> in_order_ GUARDED_BY(mutex_);  // as they were made
};

}  // namespace thalweg
