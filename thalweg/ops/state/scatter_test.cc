// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/resources/variable.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/op_case.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

template <class F>
OpCase RowsCase(const std::string& op, F f, double from = 0, double to = 4) {
  OpCase made(op);
  made.Reference([f](auto& r) {
        r.out = {r.in[0]};
        const int64_t inner = r.in[0].size() / r.in[0].shape.dim(0);
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          for (int64_t k = 0; k < inner; ++k) {
            auto& target = r.out[0][static_cast<int64_t>(std::real(r.in[1][i])) * inner + k];
            target = f(target, r.in[2].size() == 1 ? r.in[2][0] : r.in[2][i * inner + k]);
          }
        }
      })
      .Try({In({5, 3}).Range(from, to), In({4}, {3, 0, 3, 1}), In({4, 3}).Range(1, 2)},
           {{"Tindices", DType::kInt32}})
      .Try({In({5}).Range(from, to), In({2, 1}, {4, 2}), In({}).Range(1, 2)},
           {{"Tindices", DType::kInt64}})
      .Bad({In({5}), In({1}, {5}), In({1}, {1})}, {{"Tindices", DType::kInt32}},
           Code::kInvalidArgument, "indices[0] = 5 is not in [0, 5)")
      .Bad({In({5, 2}), In({1}, {1}), In({3}, {1, 1, 1})}, {{"Tindices", DType::kInt32}},
           Code::kInvalidArgument, "Shapes must be equal rank, but are 1 and 2",
           "Must have updates.shape = indices.shape + params.shape[1:]");
  return made;
}

TEST(ScatterTest, CombinesRowsInOrder) {
  for (const std::string prefix : {"", "Resource"}) {
    RowsCase(prefix + "ScatterAdd", [](auto a, auto b) { return a + b; }).Run();
    RowsCase(
        prefix + "ScatterSub", [](auto a, auto b) { return a - b; }, 20, 30)
        .Run();
    RowsCase(prefix + "ScatterMul", [](auto a, auto b) { return a * b; }).Run();
    RowsCase(prefix + "ScatterMin", [](auto a, auto b) {
      return std::real(b) < std::real(a) ? b : a;
    }).Run();
    RowsCase(prefix + "ScatterMax", [](auto a, auto b) {
      return std::real(a) < std::real(b) ? b : a;
    }).Run();
    RowsCase(prefix + "ScatterUpdate", [](auto, auto b) { return b; })
        .Types({{prefix.empty() ? "T" : "dtype", DType::kFloat}})
        .Types({{prefix.empty() ? "T" : "dtype", DType::kUint8}})
        .Run();
  }
}

TEST(ScatterTest, DividesFloats) {
  for (const std::string prefix : {"", "Resource"}) {
    RowsCase(prefix + "ScatterDiv", [](auto a, auto b) { return a / b; })
        .Types({{prefix.empty() ? "T" : "dtype", DType::kDouble}})
        .Types({{prefix.empty() ? "T" : "dtype", DType::kComplex64}})
        .Run();
  }
}

TEST(ScatterTest, IntegersAreNotDividedByZero) {
  OpCase("ScatterDiv")
      .Types({{"T", DType::kInt32}})
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{2}, {2, 7})};
      })
      .Try({In({2}, {6, 7}), In({1}, {0}), In({1}, {3})}, {{"Tindices", DType::kInt32}})
      .Bad({In({2}, {6, 7}), In({1}, {0}), In({1}, {0})}, {{"Tindices", DType::kInt32}},
           Code::kInvalidArgument, "division by zero")
      .Run();
}

TEST(ScatterTest, ElementsAndSlicesByIndicesOfSeveralDimensions) {
  using Combine = double (*)(double, double);
  const std::pair<std::string, Combine> ops[] = {
      {"ScatterNdUpdate", [](double, double b) { return b; }},
      {"ScatterNdAdd", [](double a, double b) { return a + b; }},
      {"ScatterNdSub", [](double a, double b) { return a - b; }},
      {"ScatterNdMin", [](double a, double b) { return std::min(a, b); }},
      {"ScatterNdMax", [](double a, double b) { return std::max(a, b); }}};
  for (const auto& [op, combine] : ops) {
    for (const std::string prefix : {"", "Resource"}) {
      OpCase(prefix + op)
          .Types({{"T", DType::kDouble}})
          .Types({{"T", DType::kHalf}})
          .Types({{"T", DType::kInt16}})
          .Reference([combine = combine](RefCall<double>& r) {
            r.out = {r.in[0]};
            for (int64_t i = 0; i < 2; ++i) {
              const auto at = static_cast<int64_t>(r.in[1][2 * i] * 3 + r.in[1][2 * i + 1]);
              r.out[0][at] = combine(r.out[0][at], r.in[2][i]);
            }
          })
          .Try({In({2, 3}, {1, 5, 1, 5, 1, 5}), In({2, 2}, {1, 2, 0, 2}), In({2}, {3, 4})},
               {{"Tindices", DType::kInt32}})
          .Bad({In({2, 3}), In({1, 2}, {2, 0}), In({1})}, {{"Tindices", DType::kInt32}},
               Code::kInvalidArgument, "does not index into")
          .Run();
    }
  }
}

TEST(ScatterTest, TruthValuesOfResourceVariables) {
  const auto check = [](const std::string& op, double second) {
    OpCase(op)
        .Types({{"T", DType::kBool}})
        .Reference([=](RefCall<double>& r) {
          r.out = {Array<double>(Shape{3}, {1, second, 1})};
        })
        .Try({In({3}, {0, 1, 1}), In({2, 1}, {0, 1}), In({2}, {1, 1})},
             {{"Tindices", DType::kInt64}})
        .Run();
  };
  check("ResourceScatterNdAdd", 1);
  check("ResourceScatterNdSub", 0);
}

TEST(ScatterTest, ABadIndexChangesNothing) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const Output v = b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}});
  const Output assigned = b.Op("Assign", {v, b.Const(Tensor::Vector<float>({1, 2}))});
  const Output scattered = b.Op("ScatterAdd", {v, b.Const(Tensor::Vector<int32_t>({0, 2})),
                                               b.Const(Tensor::Vector<float>({10, 10}))});
  const Output read = b.Op("Identity", {v});
  ASSERT_TRUE(runner.Run({}, {}, {assigned.node}).ok());
  EXPECT_EQ(runner.Run({}, {}, {scattered.node}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ((*runner.Run({}, {read}))[0].data<float>()[0], 1.0f);
}

// As in TensorFlow; of a variable that is not a resource they must still fit.
TEST(ScatterTest, NoRowsOfAResourceWhateverTheUpdatesAre) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const auto hidden = [&](Tensor value) {  // its shape is not known before the run
    return b.Op("PlaceholderWithDefault", {b.Const(value)}, {{"shape", PartialShape::Unknown()}});
  };
  const Output none = hidden(Tensor::Of<int32_t>({}, Shape{0}));
  const Output updates = hidden(Tensor::Vector<float>({1, 2, 3}));
  const Output v = b.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", Shape{2}}});
  Node* const assigned = b.OpNode("AssignVariableOp", {v, b.Const(Tensor::Vector<float>({1, 2}))});
  Node* const scattered = b.OpNode("ResourceScatterAdd", {v, none, updates});
  const Output read = b.Op("ReadVariableOp", {v}, {{"dtype", DType::kFloat}});
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  ASSERT_TRUE(runner.Run({}, {}, {assigned}).ok());
  const Status done = runner.Run({}, {}, {scattered}).status();
  EXPECT_TRUE(done.ok()) << done.ToString();
  EXPECT_EQ((*runner.Run({}, {read}))[0].data<float>()[1], 2.0f);
}

}  // namespace
}  // namespace thalweg
