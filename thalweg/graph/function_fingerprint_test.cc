// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_fingerprint.h"

#include <gtest/gtest.h>

#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/graph_text.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {
namespace {

// A function that calls another one: f(x) = g(x) `op` constant.
std::string Library(std::string_view f, std::string_view g, std::string_view node,
                    std::string_view op, int constant, std::string_view extra = "") {
  return StrCat(
      "library { function { signature { name: '", g,
      "' input_arg { name: 'x' type: DT_INT32 } output_arg { name: 'y' type: DT_INT32 } }",
      " node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_INT32 } } }",
      " ret { key: 'y' value: 'n:y:0' } } function { signature { name: '", f,
      "' input_arg { name: 'x' type: DT_INT32 } output_arg { name: 'y' type: DT_INT32 } }",
      " node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }",
      " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: ", constant,
      " } } } } node_def { name: 'call' op: '", g, "' input: 'x' } node_def { name: '", node,
      "' op: '", op, "' input: 'call:y:0' input: 'c:output:0'", extra,
      " attr { key: 'T' value { type: DT_INT32 } } } ret { key: 'y' value: '", node, ":z:0' } } }");
}

uint64_t FingerprintOf(const std::string& text, std::string_view name) {
  Graph graph{std::make_shared<OpRegistry>()};
  const Result<ImportedGraph> made = ImportGraphDefText(text, graph, {});
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return FunctionFingerprint(graph.library(), name);
}

TEST(FunctionFingerprintTest, IsOfWhatAFunctionDoes) {
  const uint64_t one = FingerprintOf(Library("f", "g", "sum", "Add", 3), "f");
  EXPECT_EQ(FingerprintOf(Library("f_7", "g_9", "sum_2", "Add", 3,
                                  " device: '/cpu:0' attr { key: '_line' value { s: 'a.py' } }"),
                          "f_7"),
            one);
  EXPECT_NE(FingerprintOf(Library("f", "g", "sum", "Add", 4), "f"), one);
  EXPECT_NE(FingerprintOf(Library("f", "g", "sum", "Mul", 3), "f"), one);
  std::string other = Library("f", "g", "sum", "Add", 3);
  other.replace(other.find("'Neg'"), 5, "'Abs'");  // in the function that is called
  EXPECT_NE(FingerprintOf(other, "f"), one);
}

TEST(FunctionFingerprintTest, FilesMayMoveToAnotherFolder) {
  const auto of = [](const char* text) { return TensorFingerprint(Tensor::Scalar(text)); };
  EXPECT_EQ(of("/data/train/a.txt"), of("elsewhere/a.txt"));
  EXPECT_NE(of("/data/train/a.txt"), of("/data/train/b.txt"));
  EXPECT_NE(TensorFingerprint(Tensor::Vector<int64_t>({1, 2})),
            TensorFingerprint(Tensor::Vector<int64_t>({1, 3})));
  EXPECT_NE(TensorFingerprint(Tensor::Scalar(int64_t{1})),
            TensorFingerprint(Tensor::Scalar(int32_t{1})));
}

}  // namespace
}  // namespace thalweg
