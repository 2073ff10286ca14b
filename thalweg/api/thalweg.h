// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: graphs, gradients, optimizers and sessions as values, header-only over the C ABI
// (c_api.h).
//
//   tw::Environment env = tw::Environment::Create().OrThrow();
//   tw::Graph g(env);
//   tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 2});
//   tw::Variable w = g.Variable("w", g.Const<float>({1, 2}, {2, 1}));
//   tw::Output y = g.Op("MatMul", {x, w});
//   tw::Session session = tw::Session::Create(g).OrThrow();
//   session.Run({}, {}, {w.initializer}).OrThrow();
//   std::vector<tw::Tensor> out =
//       session.Run({{x, tw::Tensor::Of<float>({3, 4}, {1, 2})}}, {y}).OrThrow();
//
// Ownership: handles are counted or unique as their C handles are; a Graph may go before its
// sessions.
// Threads: as c_api.h says; one thread at a time builds with one tw::Graph object.
// Errors: functions return Status or Result<T>; OrThrow() turns an error into the exception
// tw::Error. Building is written like an expression: the first error of a Graph sticks, later calls
// do nothing, and Session::Create and Graph::status() report it.
#pragma once

#include "thalweg/attr.h"
#include "thalweg/c_api.h"
#include "thalweg/environment.h"
#include "thalweg/graph.h"
#include "thalweg/optimizer.h"
#include "thalweg/output.h"
#include "thalweg/saver.h"
#include "thalweg/session.h"
#include "thalweg/tensor.h"
