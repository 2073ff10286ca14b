// SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron on the handwritten digits.
#include "digits_net.h"

int main() {
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  DigitsNet net(g);
  tw::Output x = g.Op("Relu", {net.Dense(net.images, 64, 128)});
  x = g.Op("Relu", {net.Dense(x, 128, 64)});
  return net.TrainAndTest(net.Dense(x, 64, 10), 30, 0.94);
}
