// SPDX-License-Identifier: Apache-2.0
// Uses the operation of clamp.c: add_an_op ./libclamp.so
#include <thalweg/thalweg.h>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBCLAMP.SO\n", argv[0]);
    return 2;
  }
  tw::Environment environment = tw::Environment::Create().OrThrow();
  environment.LoadLibrary(argv[1]).OrThrow();
  tw::Graph graph(environment);
  tw::Output x = graph.Placeholder("x", tw::kFloat, {-1});
  tw::Output y = graph.Op("Clamp", {x}, {{"limit", 2.0f}});
  tw::Output bad = graph.Op("Clamp", {x}, {{"limit", -1.0f}});
  tw::Session session = tw::Session::Create(graph).OrThrow();
  const tw::Feeds feeds = {{x, tw::Tensor::Of<float>({-5, 1, 5}, {3})}};
  const tw::Tensor out = session.Run(feeds, {y}).OrThrow()[0];
  const float* v = out.data<float>();
  std::printf("%g %g %g\n", v[0], v[1], v[2]);
  const std::string error = session.Run(feeds, {bad}).status().message();
  std::printf("as it should be: %s\n", error.c_str());
  return v[0] == -2 && v[1] == 1 && v[2] == 2 &&
                 error.find("limit must not be negative") != std::string::npos
             ? 0
             : 1;
} catch (const tw::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
