// SPDX-License-Identifier: Apache-2.0
// TlsFiles, TlsTexts: who a task is and whom it believes. Servers, peers and clients of a cluster
// have a certificate each, signed by one authority; each side asks for the other's.
//
//   ASSIGN_OR_RETURN(TlsTexts tls, ReadTls({"task.crt", "task.key", "ca.crt"}));
//
// A certificate names the hosts and addresses at which its task is reached (subjectAltName).
// Ownership: values.
// Threads: any.
// Errors: InvalidArgument where one of the three is missing or holds something else, what the file
// system says where one cannot be read; each names the option.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"

namespace thalweg {

struct TlsFiles {
  std::string certificate;  // --tls-cert: PEM, the chain of this task
  std::string key;          // --tls-key: PEM, its private key, without a password
  std::string authority;    // --tls-ca: PEM, who signs the others' certificates
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
};

struct TlsTexts {
  std::string certificate, key, authority;
  bool empty() const { return certificate.empty(); }
};

// No files: no texts, which is plain text on the wire.
Result<TlsTexts> ReadTls(const TlsFiles& files);

// What a call's failure, in gRPC's words, probably comes from: "; ..." for its end, or nothing.
std::string FailureHint(bool uses_tls, std::string_view error);

}  // namespace thalweg
