// SPDX-License-Identifier: Apache-2.0
// The control messages of a step between two Thalweg tasks, as bytes of a Channel.
//
//   channel.Send(Encode(StartMessage{.step = step, .plan = 3}).view());
//   ASSIGN_OR_RETURN(const StepMessage message, DecodeStepMessage(bytes));
//
// A step has one number, which says its master too. START asks a task to run its part; the task
// answers DONE or FAIL, once; CANCEL ends a part early. Feeds and fetches are tensors of the
// channel; so is what a traced part tells of its run, instead of DONE. Encoding allocates nothing.
// Ownership: values; ControlBytes hold their bytes, a decoded message copies its texts.
// Threads: any.
// Errors: InvalidArgument for bytes that are no message: unknown kinds, lengths that do not fit,
// bytes left over, codes that do not exist.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

// Steps are numbered by their master, which has 24 bits for itself.
inline constexpr int kStepNumberBits = 40;
inline constexpr uint64_t kMostStepNumber = (uint64_t{1} << kStepNumberBits) - 1;
inline constexpr uint64_t MakeStep(uint32_t master, uint64_t number) {
  return uint64_t{master} << kStepNumberBits | number;
}
inline constexpr uint32_t MasterOfStep(uint64_t step) {
  return static_cast<uint32_t>(step >> kStepNumberBits);
}
// What a session's steps carry of its number.
inline constexpr uint32_t MasterOfSession(uint64_t session) { return session & 0xffffff; }
inline constexpr uint64_t NumberOfStep(uint64_t step) { return step & kMostStepNumber; }

// What a part is to tell of its run.
struct TraceWish {
  bool times = false;   // when each node ran, and what came from other tasks
  bool graphs = false;  // the graphs that ran
  // Of a part that fails, too: ahead of its answer, DONE or FAIL, which does not wait for it to be
  // possible. Only to a task that knows kTracedFailures.
  bool failures = false;
  bool any() const { return times || graphs; }
  friend bool operator==(const TraceWish&, const TraceWish&) = default;
};

struct StartMessage {
  uint64_t step = 0;
  uint64_t lowest_open = 0;  // the number of the master's oldest step that is still open
  uint64_t session = 0;      // whose plan is run
  uint64_t plan = 0;         // by the number that its registration got
  uint64_t incarnation = 0;  // of the task that is asked, as its master knows it
  int64_t time_left = 0;     // nanoseconds; 0: no limit
  TraceWish trace = {};      // only to a task that knows kTracedSteps
  uint32_t trace_edge = 0;   // on which it is told, as a vector of bytes; they stand for DONE, but
                             // where failures are traced
  friend bool operator==(const StartMessage&, const StartMessage&) = default;
};
struct DoneMessage {
  uint64_t step = 0;
  friend bool operator==(const DoneMessage&, const DoneMessage&) = default;
};
// Why a step ended. A text that is too long is cut.
struct FailMessage {
  uint64_t step = 0;
  bool derived = false;  // a consequence of what another task reports
  Code code = Code::kUnknown;
  std::string text;
  friend bool operator==(const FailMessage&, const FailMessage&) = default;
};
struct CancelMessage {
  uint64_t step = 0;
  Code code = Code::kCancelled;
  std::string text;
  friend bool operator==(const CancelMessage&, const CancelMessage&) = default;
};
// Of no step: asks the task at the other end for an answer at once, with the same number, or is
// that answer. Only to a task that knows kEchoes.
struct EchoMessage {
  uint64_t number = 0;
  bool is_answer = false;
  friend bool operator==(const EchoMessage&, const EchoMessage&) = default;
};
// The step of a tensor that is to be answered in the same way, by the number of its frame.
inline constexpr uint64_t kEchoStep = 0;
using StepMessage =
    std::variant<StartMessage, DoneMessage, FailMessage, CancelMessage, EchoMessage>;

class ControlBytes {
 public:
  std::string_view view() const { return {bytes_.data(), size_}; }
  void Append(const void* bytes, size_t size);
  size_t room() const { return bytes_.size() - size_; }

 private:
  std::array<char, kMaxControlBytes> bytes_;
  size_t size_ = 0;
};

ControlBytes Encode(const StepMessage& message);
Result<StepMessage> DecodeStepMessage(std::string_view bytes);

}  // namespace thalweg
