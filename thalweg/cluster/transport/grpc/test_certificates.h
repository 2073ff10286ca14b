// SPDX-License-Identifier: Apache-2.0
// TestCertificates: an authority and tasks that it signs, made by the openssl command in a folder
// of a test.
//
//   TestCertificates certificates;
//   const TlsFiles files = certificates.Make("task");
//
// Ownership: the folder goes with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/cluster/transport/grpc/tls.h"

namespace thalweg {

class TestCertificates {
 public:
  TestCertificates() {
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout "
        "ca.key -out ca.crt -subj /CN=authority");
  }

  // `hosts` as subjectAltName says them.
  TlsFiles Make(const std::string& name, const std::string& hosts = "IP:127.0.0.1,DNS:localhost") {
    Run("req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name +
        ".key -out " + name + ".csr -subj /CN=" + name + " -addext subjectAltName=" + hosts);
    Run("x509 -req -in " + name +
        ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
        "-copy_extensions copy -out " +
        name + ".crt");
    return {Path(name + ".crt"), Path(name + ".key"), Path("ca.crt")};
  }
  std::string Path(const std::string& file) const { return folder_.Path(file); }

 private:
  void Run(const std::string& arguments) {
    const std::string command =
        "cd " + folder_.path() + " && openssl " + arguments + " 2> log || cat log";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  const TemporaryDirectory folder_;
};

}  // namespace thalweg
