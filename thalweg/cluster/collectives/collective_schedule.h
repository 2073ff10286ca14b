// SPDX-License-Identifier: Apache-2.0
// PlanBuffers: how a member of a collective operation comes to its result among members that hand
// buffers to each other, as TensorFlow's tasks do: reductions and gathers go round a ring, section
// by section; a broadcast goes down a tree; an exchange goes from everybody to everybody.
//
//   ASSIGN_OR_RETURN(const std::vector<BufferSection> sections,
//                    PlanBuffers(call, n, {.size = 3, .rank = 1}));
//
// Sections are independent of each other: each begins with a piece of the member's value and goes
// hop by hop; what it has at its end is a piece of the result. No thread, message or step: who has
// the buffers is ring_participant.h.
// Ownership: values.
// Threads: any.
// Errors: InvalidArgument for a broadcast without a source; Unimplemented for kinds that
// TensorFlow's tasks do not have among themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/resources/collective_call.h"

namespace thalweg {

// Receives, or has something from the start; then sends what it has.
struct ScheduleStep {
  struct Buffer {
    int peer = 0;      // a rank
    std::string name;  // what follows the operation's own key
  };
  std::optional<Buffer> recv;
  bool merges = false;   // with what it has, else that is replaced
  bool divides = false;  // then, by the number of members
  std::vector<Buffer> sends;
};

struct BufferSection {
  int64_t from = 0;   // of the member's value, in elements
  int64_t to = 0;     // in the result
  int64_t count = 0;  // elements
  bool begins_empty = false;
  std::vector<ScheduleStep> hops;
};

struct BufferPlace {
  int size = 0;
  int rank = 0;
  int source = -1;  // the rank of a broadcast's sender
  int rings = 1;    // of a reduction: so many sections a member
};

// InvalidArgument for a broadcast without a source; Unimplemented for kinds that TensorFlow's tasks
// do not have among themselves. `elements`: of the value that the member brings or expects.
Result<std::vector<BufferSection>> PlanBuffers(const CollectiveCall& call, int64_t elements,
                                               const BufferPlace& place);

}  // namespace thalweg
