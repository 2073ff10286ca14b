// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/grpc/tls.h"

#include "thalweg/base/file_system.h"

namespace thalweg {
namespace {

// More than any chain of certificates takes; keeps a wrong path (a device, a checkpoint) out.
constexpr uint64_t kMostBytes = 1 << 20;

Result<std::string> ReadPem(const std::string& path, std::string_view option,
                            std::string_view kind) {
  if (path.empty()) {
    return InvalidArgument("TLS needs three files, --tls-cert, --tls-key and --tls-ca; ", option,
                           " is not given");
  }
  if (path.find('&') != std::string::npos) {
    return InvalidArgument("the path of ", option, ", ", path,
                           ", has an '&', which targets cannot say");
  }
  PosixFileSystem files;
  Result<std::string> text = ReadFile(files, path, {.max_bytes = kMostBytes});
  if (!text.ok()) return text.status().WithContext(StrCat("the file of ", option));
  const size_t begin = text->find("-----BEGIN ");
  const size_t end = begin == std::string::npos ? begin : text->find('\n', begin);
  if (end == std::string::npos ||
      text->substr(begin, end - begin).find(kind) == std::string::npos) {
    return InvalidArgument("the file of ", option, ", ", path, ", has no ", kind,
                           " in PEM: expected a line '-----BEGIN ... ", kind, "-----'");
  }
  return text;
}

}  // namespace

Result<TlsTexts> ReadTls(const TlsFiles& files) {
  TlsTexts texts;
  if (files.empty()) return texts;
  ASSIGN_OR_RETURN(texts.certificate, ReadPem(files.certificate, "--tls-cert", "CERTIFICATE"));
  ASSIGN_OR_RETURN(texts.key, ReadPem(files.key, "--tls-key", "PRIVATE KEY"));
  ASSIGN_OR_RETURN(texts.authority, ReadPem(files.authority, "--tls-ca", "CERTIFICATE"));
  return texts;
}

std::string FailureHint(bool uses_tls, std::string_view error) {
  const auto says = [&](std::string_view words) {
    return error.find(words) != std::string_view::npos;
  };
  if (says("Received message larger than max")) return "; the server's --max-message-bytes says so";
  if (!says("failed to connect to all addresses")) return "";
  if (!uses_tls) {
    return says("Socket closed") ? "; this side speaks plain text: does the server expect TLS "
                                   "(grpcs://, --tls-cert, --tls-key, --tls-ca)?"
                                 : "";
  }
  if (says("certificate verify failed")) {
    return "; the server's certificate is not of the authority in this side's --tls-ca";
  }
  if (says("is not in peer certificate")) {
    return "; the server's certificate must name the host in its subjectAltName";
  }
  if (says("wrong version number")) return "; this side uses TLS, the server speaks plain text";
  if (says("Socket closed")) {
    return "; is this side's certificate (--tls-cert) of the authority in the server's --tls-ca?";
  }
  return "";
}

}  // namespace thalweg
