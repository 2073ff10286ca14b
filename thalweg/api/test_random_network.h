// SPDX-License-Identifier: Apache-2.0
// RunRandomNetwork: runs a random network for tests of rewrites.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "thalweg/api/registries.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {

// y of Net(GraphBuilder, seed), three times twice, its variables changed in between. A Net has x
// and y, Input() with a new value of x, and nodes: initializers, and changes of variables.
template <class Net>
std::vector<std::vector<float>> RunRandomNetwork(unsigned seed, int threads,
                                                 const std::string& passes) {
  auto environment = *Environment::Create({.threads = threads}, MakeRegistries());
  auto graph = std::make_shared<Graph>(environment->shared_ops());
  Net net(GraphBuilder(graph.get()), seed);
  auto session = *MakeLocalSession(environment, graph, {.passes = passes});
  std::vector<std::vector<float>> results;
  const auto run = [&](const Signature& signature, std::vector<Tensor> values) {
    std::vector<Tensor> fetched(signature.fetches.size());
    const Status status = session->Run(RunOptions(), signature, values, fetched, nullptr);
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString();
    for (const Tensor& t : fetched) {
      if (!t.empty()) results.emplace_back(t.data<float>(), t.data<float>() + t.num_elements());
    }
  };
  run({{}, {}, net.initializers}, {});
  for (int i = 0; i < 3; ++i) {
    const Tensor input = net.Input();
    for (int repeat = 0; repeat < 2; ++repeat) run({{net.x}, {net.y}, {}}, {input});
    run({{}, {}, net.changes}, {});
  }
  return results;
}

}  // namespace thalweg
