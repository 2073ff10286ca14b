// SPDX-License-Identifier: Apache-2.0
// Thalweg's loops and conditionals for C++, header-only over thalweg.h. Their bodies are functions
// of the program that add nodes as it does elsewhere: while one is called, what is added to the
// graph, `g`, goes into the body, and what it reads of the graph outside is passed to it.
//
//   tw::Outputs last = tw::WhileLoop(
//       g, {g.Scalar(0), x}, [&](const tw::Outputs& v) { return g.Op("Less", {v[0], n}); },
//       [&](const tw::Outputs& v) { return tw::Outputs{v[0] + one, v[1] * w}; });
//   tw::Output larger = tw::Cond(
//       g, g.Op("Greater", {a, b}), [&] { return tw::Outputs{a}; },
//       [&] { return tw::Outputs{b}; })[0];
//
// Gradients go through them: g.Gradients({last[1]}, {w}).
// Ownership: none.
// Threads: as of Graph.
// Errors: as of Graph, the first one sticks; one of a loop names the variable.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/thalweg.h"

namespace tw {

struct WhileOptions {
  std::string name = "while";
  int64_t parallel_iterations = 10;
  // What variables are in every iteration, one for each; none: what they are at the beginning. A
  // variable whose shape changes has a -1 there, or `ranked` false.
  std::vector<TensorSpec> variables{};
};

// Calls `body` on the variables as long as `condition` of them, a scalar bool, is true; gives their
// last values.
inline Outputs WhileLoop(Graph& g, const Outputs& initial,
                         const std::function<Output(const Outputs&)>& condition,
                         const std::function<Outputs(const Outputs&)>& body,
                         const WhileOptions& options = {}) {
  std::vector<TensorSpec> variables = options.variables;
  if (variables.empty()) {
    for (const Output& value : initial) variables.push_back(TensorSpec::Of(value));
  }
  const internal::BuiltBody goes_on =
      g.BuildBody(variables, [&](const Outputs& given) { return Outputs{condition(given)}; });
  const internal::BuiltBody step = g.BuildBody(variables, body);
  return g.AddControlFlow(initial.size(), options.name, options.parallel_iterations,
                          [&](const TwControlFlowOptions& given, TwOutput* last, TwStatus* status) {
                            const std::vector<TwOutput> first = Graph::Unwrap(initial);
                            const TwBranch bodies[] = {goes_on.branch(), step.branch()};
                            tw_graph_while(g.c(), first.data(), static_cast<int32_t>(first.size()),
                                           &bodies[0], &bodies[1], &given, last, status);
                          });
}

// The results of the branch whose number the int32 scalar is; of the last, where there is no such
// branch. All give as many results, of the same types.
inline Outputs Case(Graph& g, const Output& index,
                    const std::vector<std::function<Outputs()>>& branches,
                    const std::string& name = "case") {
  std::vector<internal::BuiltBody> built;
  for (const std::function<Outputs()>& branch : branches) {
    built.push_back(g.BuildBody({}, [&](const Outputs&) { return branch(); }));
  }
  return g.AddControlFlow(built.empty() ? 0 : built[0].results.size(), name, 0,
                          [&](const TwControlFlowOptions& given, TwOutput* made, TwStatus* status) {
                            std::vector<TwBranch> bodies;
                            for (const internal::BuiltBody& body : built)
                              bodies.push_back(body.branch());
                            tw_graph_branch(g.c(), index.c(), bodies.data(),
                                            static_cast<int32_t>(bodies.size()), &given, made,
                                            status);
                          });
}

// The results of `then` where the scalar bool is true, else those of `otherwise`.
inline Outputs Cond(Graph& g, const Output& predicate, const std::function<Outputs()>& then,
                    const std::function<Outputs()>& otherwise, const std::string& name = "cond") {
  return Case(g, predicate, {then, otherwise}, name);
}

}  // namespace tw
