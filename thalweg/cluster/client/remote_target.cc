// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/client/remote_target.h"

#include <algorithm>
#include <charconv>

namespace thalweg {
namespace {

constexpr std::string_view kPlain = "grpc://";
constexpr std::string_view kTls = "grpcs://";

Result<std::chrono::milliseconds> ReadSeconds(std::string_view text) {
  constexpr double kLeast = 0.1;
  constexpr double kMost = 86400;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds >= kLeast && seconds <= kMost)) {
    return InvalidArgument("lost-after=", text, ": expected seconds from ", kLeast, " to ", kMost);
  }
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

Status ReadOption(std::string_view field, bool is_tls, RemoteTarget* parsed) {
  const std::string_view name = field.substr(0, field.find('='));
  const std::string_view value = field.substr(std::min(field.size(), name.size() + 1));
  if (name == "lost-after") {
    ASSIGN_OR_RETURN(parsed->lost_after, ReadSeconds(value));
    return OkStatus();
  }
  std::string* const to = !is_tls          ? nullptr
                          : name == "cert" ? &parsed->tls.certificate
                          : name == "key"  ? &parsed->tls.key
                          : name == "ca"   ? &parsed->tls.authority
                                           : nullptr;
  if (to == nullptr || name.size() == field.size()) {
    return InvalidArgument("'", field, "': expected ",
                           is_tls ? "cert=FILE, key=FILE, ca=FILE or " : "", "lost-after=SECONDS");
  }
  *to = value;
  return OkStatus();
}

// Whether it is an IPv6 address with or without a port: which of the two, its colons do not say.
bool IsBareIpv6(std::string_view address) {
  const std::string_view host = address.substr(0, address.find('%'));  // a zone may follow
  return std::ranges::count(host, ':') > 1 &&
         host.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

}  // namespace

bool IsRemoteTarget(std::string_view target) {
  return target.starts_with(kPlain) || target.starts_with(kTls);
}

std::string_view AddressInTarget(std::string_view target) {
  if (IsRemoteTarget(target)) {
    target.remove_prefix(target.starts_with(kTls) ? kTls.size() : kPlain.size());
  }
  return target.substr(0, target.find('?'));
}

Result<RemoteTarget> ParseTarget(std::string_view target) {
  if (!IsRemoteTarget(target)) {
    return InvalidArgument("'", target,
                           "' is no server: expected grpc://HOST:PORT, or "
                           "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE for TLS");
  }
  const bool is_tls = target.starts_with(kTls);
  const std::string_view rest = target.substr(is_tls ? kTls.size() : kPlain.size());
  const size_t question = rest.find('?');
  RemoteTarget parsed;
  parsed.address = rest.substr(0, question);
  if (IsBareIpv6(parsed.address)) {
    const size_t colon = parsed.address.rfind(':');
    return InvalidArgument("the target '", target, "': an IPv6 address needs brackets, as in ",
                           is_tls ? kTls : kPlain, "[", parsed.address.substr(0, colon), "]",
                           parsed.address.substr(colon));
  }
  std::string_view options = question == std::string_view::npos ? "" : rest.substr(question + 1);
  while (!options.empty()) {
    const std::string_view field = options.substr(0, options.find('&'));
    options.remove_prefix(std::min(options.size(), field.size() + 1));
    if (Status status = ReadOption(field, is_tls, &parsed); !status.ok()) {
      return status.WithContext(StrCat("the target '", target, "'"));
    }
  }
  if (is_tls && parsed.tls.empty()) {
    return InvalidArgument("the target '", target,
                           "' uses TLS, but names no files: expected "
                           "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE");
  }
  return parsed;
}

Result<std::unique_ptr<RpcChannel>> ConnectTo(std::string_view target) {
  ASSIGN_OR_RETURN(const RemoteTarget where, ParseTarget(target));
  ASSIGN_OR_RETURN(const TlsTexts tls, ReadTls(where.tls));
  return RpcChannel::Connect(where.address, {.tls = tls});
}

std::string TargetText(const RemoteTarget& target) {
  if (target.tls.empty()) return StrCat(kPlain, target.address);
  return StrCat(kTls, target.address, "?cert=", target.tls.certificate, "&key=", target.tls.key,
                "&ca=", target.tls.authority);
}

}  // namespace thalweg
