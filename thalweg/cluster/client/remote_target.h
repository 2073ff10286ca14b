// SPDX-License-Identifier: Apache-2.0
// RemoteTarget: which server a session is of, and how it is reached.
//
//   ASSIGN_OR_RETURN(RemoteTarget plain, ParseTarget("grpc://127.0.0.1:2222"));
//   ASSIGN_OR_RETURN(RemoteTarget tls,       // with this side's files
//                    ParseTarget("grpcs://ps.example:2222?cert=me.crt&key=me.key&ca=ca.crt"));
//   ASSIGN_OR_RETURN(RemoteTarget patient, ParseTarget("grpc://far.example:2222?lost-after=20"));
//
// `lost-after`: it is lost after so many seconds of silence.
// Ownership: values, but for AddressInTarget, whose result points into its argument.
// Threads: any.
// Errors: InvalidArgument for text of another form, with what was expected; ConnectTo: also those
// of ReadTls and RpcChannel::Connect.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/grpc/rpc.h"
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
// A channel to its server, with the files that it names.
Result<std::unique_ptr<RpcChannel>> ConnectTo(std::string_view target);
std::string TargetText(const RemoteTarget& target);  // without lost_after

}  // namespace thalweg
