// SPDX-License-Identifier: Apache-2.0
// TestCertificates: an authority and tasks that it signs, made by the openssl command in a folder
// of a test.
//
//   TestCertificates certificates("my_test");
//   const TlsFiles files = certificates.Make("task");
//
// Ownership: the folder goes with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "thalweg/cluster/transport/grpc/tls.h"

namespace thalweg {

class TestCertificates {
 public:
  explicit TestCertificates(const std::string& name)
      : folder_(::testing::TempDir() + "/certificates_" + std::to_string(::getpid()) + "_" + name) {
    std::filesystem::create_directories(folder_);
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout "
        "ca.key -out ca.crt -subj /CN=authority");
  }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

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
  std::string Path(const std::string& file) const { return folder_ + "/" + file; }

 private:
  void Run(const std::string& arguments) {
    const std::string command = "cd " + folder_ + " && openssl " + arguments + " 2> log || cat log";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

  const std::string folder_;
};

}  // namespace thalweg
