// SPDX-License-Identifier: Apache-2.0
// Fits a line to noisy points by gradient descent, the smallest program that trains.
#include <thalweg/thalweg.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 1});
  tw::Output y = g.Placeholder("y", tw::kFloat, {-1, 1});
  tw::Variable w = g.Variable("w", g.Const<float>({0}, {1, 1}));
  tw::Variable b = g.Variable("b", g.Const<float>({0}, {1}));
  tw::Output error = g.Op("MatMul", {x, w}) + b - y;
  tw::Output loss = g.Op("Mean", {error * error, g.Const<int32_t>({0, 1}, {2})});
  tw::Node train = tw::Optimizer::GradientDescent(0.3).Minimize(loss, {w, b});

  std::mt19937 random(0);
  std::uniform_real_distribution<float> place(0, 1);
  std::normal_distribution<float> noise(0, 0.05f);
  std::vector<float> xs(200), ys(200);
  for (size_t i = 0; i < xs.size(); ++i) {
    xs[i] = place(random);
    ys[i] = 3 * xs[i] + 2 + noise(random);
  }

  tw::Session session = tw::Session::Create(g).OrThrow();
  session.Run({}, {}, {w.initializer, b.initializer}).OrThrow();
  tw::Callable step = session.MakeCallable({x, y}, {loss}, {train}).OrThrow();
  const tw::Tensor points = tw::Tensor::Of<float>(xs, {200, 1});
  const tw::Tensor values = tw::Tensor::Of<float>(ys, {200, 1});
  for (int i = 0; i <= 300; ++i) {
    const float now = step.Run({points, values}).OrThrow()[0].scalar<float>();
    if (i % 100 == 0) std::printf("step %3d  loss %.5f\n", i, now);
  }
  std::vector<tw::Tensor> fitted = session.Run({}, {w, b}).OrThrow();
  const float slope = fitted[0].data<float>()[0], offset = fitted[1].data<float>()[0];
  std::printf("y = %.2f x + %.2f\n", slope, offset);
  return std::abs(slope - 3) < 0.1f && std::abs(offset - 2) < 0.1f ? 0 : 1;
}
