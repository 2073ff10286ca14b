// SPDX-License-Identifier: Apache-2.0
// GraphSession: an empty graph with every operation of the library and a local session over it, for
// tests of rooms that add nodes to a graph (autodiff/, training/) and must see them run.
//
//   GraphSession local(3);                                   // threads
//   const Output y = local.b.Op("Neg", {local.b.ScalarConst(DType::kFloat, 1)});
//   ASSERT_TRUE(local.session->Run({}, {y.ToString()}).ok());
//
// Ownership: owns its environment, graph and session.
// Threads: as Session; the builder one at a time.
// Errors: a session that cannot be made ends the test.
#pragma once

#include <memory>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {

// What every test environment is: all operations, all kernels, the CPU.
std::shared_ptr<Environment> MakeTestEnvironment(const EnvironmentOptions& options);

struct GraphSession {
  explicit GraphSession(int threads = 0);

  std::shared_ptr<Environment> environment;
  std::shared_ptr<Graph> graph;
  GraphBuilder b;
  std::unique_ptr<Session> session;
};

}  // namespace thalweg
