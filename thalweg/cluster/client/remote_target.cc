// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_target.h"

#include <algorithm>

namespace thalweg {
namespace {

constexpr std::string_view kPlain = "grpc://";
constexpr std::string_view kTls = "grpcs://";

}  // namespace

bool IsRemoteTarget(std::string_view target) {
  return target.starts_with(kPlain) || target.starts_with(kTls);
}

Result<RemoteTarget> ParseTarget(std::string_view target) {
  if (!IsRemoteTarget(target)) {
    return InvalidArgument("'", target,
                           "' is no server: expected grpc://HOST:PORT, or "
                           "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE for TLS");
  }
  RemoteTarget parsed;
  if (target.starts_with(kPlain)) {
    parsed.address = target.substr(kPlain.size());
    return parsed;
  }
  const std::string_view rest = target.substr(kTls.size());
  const size_t question = rest.find('?');
  parsed.address = rest.substr(0, question);
  std::string_view files = question == std::string_view::npos ? "" : rest.substr(question + 1);
  while (!files.empty()) {
    const std::string_view field = files.substr(0, files.find('&'));
    files.remove_prefix(std::min(files.size(), field.size() + 1));
    const std::string_view name = field.substr(0, field.find('='));
    std::string* const to = name == "cert"  ? &parsed.tls.certificate
                            : name == "key" ? &parsed.tls.key
                            : name == "ca"  ? &parsed.tls.authority
                                            : nullptr;
    if (to == nullptr || name.size() == field.size()) {
      return InvalidArgument("'", field, "' in the target '", target,
                             "': expected cert=FILE, key=FILE or ca=FILE");
    }
    *to = field.substr(name.size() + 1);
  }
  if (parsed.tls.empty()) {
    return InvalidArgument("the target '", target,
                           "' uses TLS, but names no files: expected "
                           "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE");
  }
  return parsed;
}

std::string TargetText(const RemoteTarget& target) {
  if (target.tls.empty()) return StrCat(kPlain, target.address);
  return StrCat(kTls, target.address, "?cert=", target.tls.certificate, "&key=", target.tls.key,
                "&ca=", target.tls.authority);
}

}  // namespace thalweg
