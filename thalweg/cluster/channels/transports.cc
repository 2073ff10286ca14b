// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/transports.h"

#include <array>
#include <string>

#include "thalweg/cluster/transport/inproc/inproc_transport.h"
#include "thalweg/cluster/transport/local/local_transport.h"
#include "thalweg/cluster/transport/socket/tcp_transport.h"
#include "thalweg/cluster/transport/ucx/ucx_listener.h"
#include "thalweg/cluster/transport/ucx/ucx_transport.h"

namespace thalweg {
namespace {

struct Row {
  std::string_view name;
  bool has_option;      // --channels NAME uses it alone
  bool is_part_of_any;  // --channels any uses it
  std::unique_ptr<Transport> (*make)(TransportContext& context);
  Status (*built)() = nullptr;  // whether this build has it; null: every one has
};

// Every transport, the nearest first.
constexpr std::array kTransports = {
    Row{"inproc", false, true, &MakeInprocTransport},
    Row{"local", false, true, &MakeLocalTransport},
    Row{"memory", true, false, &MakeMemoryTransport},
    Row{"sockets", true, false, &MakeSocketTransport},
    Row{"tcp", true, true, &MakeTcpTransport},
    Row{"ucx", true, false, &MakeUcxTransport, &HasUcx},
};

}  // namespace

Result<ChannelUse> ParseChannelUse(std::string_view name) {
  for (const ChannelUse use : {ChannelUse::kAny, ChannelUse::kNone}) {
    if (name == use.name) return use;
  }
  std::string names = "any";
  for (const Row& row : kTransports) {
    if (!row.has_option) continue;
    names += StrCat(", ", row.name);
    if (name != row.name) continue;
    if (row.built != nullptr) RETURN_IF_ERROR(row.built());
    return ChannelUse{row.name};
  }
  return InvalidArgument("channels: expected ", names, " or calls, got '", name, "'");
}

std::vector<std::unique_ptr<Transport>> MakeTransports(ChannelUse use, TransportContext& context) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (const Row& row : kTransports) {
    if (use == ChannelUse::kAny ? row.is_part_of_any : use.name == row.name) {
      transports.push_back(row.make(context));
    }
  }
  return transports;
}

}  // namespace thalweg
