// SPDX-License-Identifier: Apache-2.0
// CaseTrials: a small graph of each operation that is valid (tests/op_cases/OP.pbtxt), run in a
// session as it is or changed in ways that the bytes of a fuzzer choose, with its gradients; any
// Status is fine then. KernelTrials (kernel_trial.h) calls kernels with anything; here an operation
// is given what it is made for, and one thing that it is not.
//
//   CaseTrials trials("tests/op_cases", int64_t{256} << 20);
//   EXPECT_TRUE(trials.RunValid("Conv2D").ok());
//   EXPECT_EQ(trials.Try("Conv2D", bytes), "");  // what is wrong with a result that is no error
//
// Wrong is an output of another type or shape than inference promised, a gradient of another shape
// than its input, an error without words. A crash, a sanitizer's report, a trial that does not end:
// the reader's business; last_trial() says what was tried. Graphs read and write files below the
// working directory. A trial is given 200 ms; a valid run a minute.
// Ownership: owns its environment and cases; shares the kernels.
// Threads: one.
// Errors: RunValid and RunGradients: NotFound for an operation without a case, Unimplemented for
// one without gradients, those of the run; Try tells in words what is wrong.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/proto/message.h"
#include "thalweg/session/session.h"
#include "thalweg/testing/case_changes.h"

namespace thalweg {

class CaseTrials {
 public:
  // Reads all cases: a file that is none is a bug of the tree and CHECKed.
  CaseTrials(const std::string& folder, int64_t memory_limit);
  // With kernels and devices of the test's own.
  CaseTrials(const std::string& folder, std::shared_ptr<KernelRegistry> kernels,
             DeviceFactory devices, int64_t memory_limit);

  // Sorted: with a CPU kernel; with a case.
  const std::vector<std::string>& ops_with_kernel() const { return with_kernel_; }
  const std::vector<std::string>& ops() const { return ops_; }

  // Whether there is a case, and it writes no files.
  bool MayTryAnywhere(std::string_view op) const;

  // The case as it is, which must hold the operation, or become it when the step is compiled.
  Status RunValid(std::string_view op);
  // The same with the gradients of all that is fed. A Status of code kUnimplemented where the
  // operation says that it has none.
  Status RunGradients(std::string_view op);
  std::string Try(std::string_view op, std::span<const uint8_t> bytes);
  // Any graph, once.
  Status RunGraph(OwnedMessage graph_def, std::chrono::nanoseconds timeout,
                  CancellationManager* cancellation = nullptr);
  const Message& CaseOf(std::string_view op) const { return *cases_.find(op)->second; }
  // The graph, as text.
  std::string last_trial() const;
  // How many trials got as far as a result, and how many of those had gradients.
  int64_t num_results() const { return num_results_; }
  int64_t num_gradients() const { return num_gradients_; }

 private:
  struct Trial;
  Status Import(const Message& graph_def, Trial* trial) const;
  Status Run(Trial& trial, std::chrono::nanoseconds timeout,
             CancellationManager* cancellation = nullptr);
  static Status AddAllGradients(Trial& trial);

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<KernelRegistry> kernels_;
  std::unique_ptr<CaseChanges> changes_;
  std::map<std::string, OwnedMessage, std::less<>> cases_;
  std::vector<std::string> with_kernel_, ops_;
  OwnedMessage last_;
  int64_t num_results_ = 0;
  int64_t num_gradients_ = 0;
};

}  // namespace thalweg
