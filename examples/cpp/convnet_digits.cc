// SPDX-License-Identifier: Apache-2.0
// The convolutional net of the demo, in C++: two convolutions, a pool, two dense layers.
#include "digits_net.h"

int main() {
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  DigitsNet net(g);
  auto convolution = [&](const tw::Output& x, int inputs, int outputs) {
    const tw::Output w = net.Weights({3, 3, inputs, outputs}, 9 * inputs);
    const tw::Output y = g.Op("Conv2D", {x, w},
                              {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
    return g.Op("Relu", {g.Op("BiasAdd", {y, net.Weights({outputs}, 0)})});
  };
  tw::Output x = g.Op("Reshape", {net.images, g.Const<int32_t>({-1, 8, 8, 1}, {4})});
  x = convolution(convolution(x, 1, 16), 16, 32);
  x = g.Op("MaxPool", {x},
           {{"ksize", std::vector<int64_t>{1, 2, 2, 1}},
            {"strides", std::vector<int64_t>{1, 2, 2, 1}},
            {"padding", "VALID"}});
  x = g.Op("Reshape", {x, g.Const<int32_t>({-1, 4 * 4 * 32}, {2})});
  x = g.Op("Relu", {net.Dense(x, 4 * 4 * 32, 128)});
  return net.TrainAndTest(net.Dense(x, 128, 10), 30, 0.96);
}
