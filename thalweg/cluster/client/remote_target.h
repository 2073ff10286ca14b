// SPDX-License-Identifier: Apache-2.0
// RemoteTarget: which server a session is of, and how it is reached.
//
//   grpc://127.0.0.1:2222                                  plain text
//   grpcs://ps.example:2222?cert=me.crt&key=me.key&ca=ca.crt   TLS; this side's files
//   grpc://far.example:2222?lost-after=20                  it is lost after 20 s of silence
//
// Errors: InvalidArgument for text of another form, with what was expected.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/grpc/tls.h"

namespace thalweg {

struct RemoteTarget {
  std::string address;  // HOST:PORT
  TlsFiles tls;         // empty: plain text
  std::chrono::milliseconds lost_after{3000};
};

bool IsRemoteTarget(std::string_view target);  // begins as one
Result<RemoteTarget> ParseTarget(std::string_view target);
// "HOST:PORT" of either form, whatever else it says.
std::string_view AddressInTarget(std::string_view target);
std::string TargetText(const RemoteTarget& target);  // without lost_after

}  // namespace thalweg
