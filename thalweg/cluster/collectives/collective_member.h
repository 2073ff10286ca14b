// SPDX-License-Identifier: Apache-2.0
// CollectiveMember: a member of a collective operation on its way to the task where all join, and
// what it gets there. It travels as a RecvBuf: the member asks for the result's buffer, and brings
// its own value in the request's transport options.
//
//   ASSIGN_OR_RETURN(const OwnedMessage request, EncodeCollectiveMember(member));
//   if (IsCollectiveMember(*request)) Join(DecodeCollectiveMember(*request, &allocator));
//
// Ownership: messages and values are the caller's; encoding copies the value, decoding takes memory
// of `allocator`, which tensors outlive.
// Threads: any.
// Errors: InvalidArgument for what no member of ours says: all that CollectiveInstance takes for
// granted is checked here.
#pragma once

#include <string>

#include "thalweg/proto/message.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

struct CollectiveMember {
  std::string step;  // a name that is the same in all tasks
  uint64_t tag = 0;  // the iteration of a loop
  double timeout_seconds = 0;
  CollectiveCall call;
};

Result<OwnedMessage> EncodeCollectiveMember(const CollectiveMember& member);
// Whether a RecvBufRequest is one.
bool IsCollectiveMember(const Message& request);
Result<CollectiveMember> DecodeCollectiveMember(const Message& request, Allocator* allocator);

// A RecvBufResponse.
Result<OwnedMessage> EncodeCollectiveResult(const Tensor& result);
Result<Tensor> DecodeCollectiveResult(const Message& response, const CollectiveCall& call,
                                      Allocator* allocator);

}  // namespace thalweg
