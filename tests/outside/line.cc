// SPDX-License-Identifier: Apache-2.0
// A program outside the tree: fits a line to four points.
#include <thalweg/thalweg.h>

#include <cstdio>

int main() {
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 1});
  tw::Output y = g.Placeholder("y", tw::kFloat, {-1, 1});
  tw::Variable w = g.Variable("w", g.Const<float>({0}, {1, 1}));
  tw::Variable b = g.Variable("b", g.Const<float>({0}, {1}));
  tw::Output error = g.Op("MatMul", {x, w}) + b - y;
  tw::Output loss = g.Op("Mean", {error * error, g.Const<int32_t>({0, 1}, {2})});
  tw::Node step = tw::Optimizer::GradientDescent(0.1).Minimize(loss, {w, b});
  tw::Session session = tw::Session::Create(g).OrThrow();
  session.Run({}, {}, {w.initializer, b.initializer}).OrThrow();
  tw::Tensor xs = tw::Tensor::Of<float>({0, 1, 2, 3}, {4, 1});
  tw::Tensor ys = tw::Tensor::Of<float>({2, 5, 8, 11}, {4, 1});
  for (int i = 0; i < 500; ++i) session.Run({{x, xs}, {y, ys}}, {}, {step}).OrThrow();
  std::vector<tw::Tensor> fitted = session.Run({}, {w, b}).OrThrow();
  std::printf("y = %.2f x + %.2f\n", fitted[0].data<float>()[0], fitted[1].data<float>()[0]);
}
