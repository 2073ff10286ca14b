// SPDX-License-Identifier: Apache-2.0
// A host that links protobuf itself: both must work in one process.
#include <google/protobuf/struct.pb.h>
#include <thalweg/thalweg.h>

#include <cstdio>

int main() {
  google::protobuf::Value value;
  if (!value.ParseFromString("\x1a\x03"
                             "abc"))
    return 1;
  tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  tw::Output sum = g.Scalar(2.0f) + g.Scalar(3.0f);
  g.Export(true).OrThrow();
  tw::Session session = tw::Session::Create(g).OrThrow();
  std::printf("%s %g\n", value.string_value().c_str(),
              session.Run({}, {sum}).OrThrow()[0].scalar<float>());
}
