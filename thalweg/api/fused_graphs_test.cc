// SPDX-License-Identifier: Apache-2.0
// FuseElementwise with the real operations: what becomes one node, and that sessions give the same
// bits with it and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "thalweg/api/registries.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/passes/fuse_elementwise.h"
#include "thalweg/passes/prune.h"
#include "thalweg/session/session.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFused = "_FusedElementwise";
constexpr const char* kReduction = "_FusedReduction";

const Registries& All() {
  static const Registries registries = MakeRegistries();
  return registries;
}

class FusePassTest : public testing::Test {
 protected:
  FusePassTest() : graph(std::make_shared<Graph>(All().ops)), b(graph.get()) {
    x = Placeholder("x", PartialShape{-1, 4});
    y = Placeholder("y", PartialShape{4});
  }
  Output Placeholder(const char* name, PartialShape shape, DType dtype = DType::kFloat) {
    return b.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}}, name);
  }
  StepGraph Fuse(std::vector<Output> fetches, std::vector<Node*> targets = {}) {
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    const Result<StepGraph> step =
        Prune(*graph, {.feeds = {x, y}, .fetches = std::move(fetches), .targets = targets});
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    Result<StepGraph> fused = FuseElementwise(*step, *All().kernels);
    EXPECT_TRUE(fused.ok()) << fused.status().ToString();
    return *fused;
  }
  // The program of each fused node, in order.
  static std::vector<std::vector<std::string>> Programs(const StepGraph& step) {
    std::vector<std::vector<std::string>> programs;
    for (const Node* node : step.graph->Nodes()) {
      if (node->op_name() != kFused && node->op_name() != kReduction) continue;
      programs.push_back(*node->Attr<std::vector<std::string>>("program"));
    }
    return programs;
  }

  std::shared_ptr<Graph> graph;
  GraphBuilder b;
  Output x, y;
};

TEST_F(FusePassTest, ATreeBecomesOneNodeWithTheRootsName) {
  const Output sum = b.Op("AddV2", {b.Op("Mul", {x, y}), y}, {}, "sum");
  const Output root = b.Op("Relu", {b.Op("Identity", {sum})}, {}, "root");
  const StepGraph step = Fuse({root});
  EXPECT_THAT(Programs(step), ElementsAre(ElementsAre("Mul 0 1", "Add 2 1", "Relu 3")));
  const Node* node = step.graph->FindNode("root");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->op_name(), kFused);
  EXPECT_EQ(step.fetches[0].node, node);
  EXPECT_EQ(step.Origin(*node), root.node);
  EXPECT_EQ(node->output_shape(0), (PartialShape{-1, 4}));
  EXPECT_EQ(step.graph->num_nodes(), 3);
}

TEST_F(FusePassTest, AValueReadSeveralTimesInsideIsMadeOnce) {
  const Output e = b.Op("Exp", {x});
  const StepGraph step = Fuse({b.Op("Mul", {e, b.Op("Sub", {y, e})})});
  EXPECT_THAT(Programs(step), ElementsAre(ElementsAre("Exp 0", "Sub 1 2", "Mul 2 3")));
}

TEST_F(FusePassTest, SumsAndCastsAndSelects) {
  const Output sum = b.Op("AddN", {x, x, b.Op("Neg", {x})});
  const Output whole = b.Op("Cast", {sum}, {{"DstT", DType::kInt32}});
  const Output root = b.Op("SelectV2", {b.Op("Less", {x, y}), whole, b.Op("Neg", {whole})});
  EXPECT_THAT(Programs(Fuse({root})),
              ElementsAre(ElementsAre("Neg 0", "Add 0 0 same", "Add 3 2 same", "Cast:int32 4",
                                      "Less 0 1", "Neg 5", "Select 6 5 7")));
}

TEST_F(FusePassTest, FetchesTargetsAndWhatOthersWaitForStayOutside) {
  const Output middle = b.Op("Neg", {b.Op("Square", {x})}, {}, "middle");
  const Output root = b.Op("Relu", {b.Op("Exp", {middle})}, {}, "root");
  EXPECT_EQ(Programs(Fuse({root})).size(), 1u);
  EXPECT_EQ(Programs(Fuse({middle, root})).size(), 2u);
  EXPECT_EQ(Programs(Fuse({root}, {middle.node})).size(), 2u);
  b.WithControls({middle.node}).OpNode("NoOp", {}, {}, "waits");
  EXPECT_EQ(Programs(Fuse({root}, {graph->FindNode("waits")})).size(), 2u);
  // Two readers in different trees.
  const Output other =
      b.Op("MatMul", {b.Op("Tanh", {middle}), b.Op("Tanh", {x})}, {{"transpose_b", true}});
  EXPECT_EQ(Programs(Fuse({root, other})).size(), 2u);
}

TEST_F(FusePassTest, ControlInputsMoveToTheFusedNode) {
  Node* before = b.OpNode("NoOp", {}, {}, "before");
  const Output middle = b.WithControls({before}).Op("Neg", {x});
  const StepGraph step = Fuse({b.Op("Relu", {middle}, {}, "root")});
  ASSERT_EQ(Programs(step).size(), 1u);
  const Node* root = step.graph->FindNode("root");
  ASSERT_EQ(root->control_inputs().size(), 1u);
  EXPECT_EQ(root->control_inputs()[0]->name(), "before");
}

TEST_F(FusePassTest, DevicesAndColocationAreKept) {
  const auto root = [&](GraphBuilder first) { return b.Op("Relu", {first.Op("Neg", {x})}); };
  EXPECT_EQ(Programs(Fuse({root(b)})).size(), 1u);
  EXPECT_EQ(Programs(Fuse({root(b.WithDevice("/cpu:1"))})).size(), 0u);
  EXPECT_EQ(Programs(Fuse({root(b.ColocatedWith(*x.node))})).size(), 0u);
}

TEST_F(FusePassTest, ReferencesAndStateAreLeftAlone) {
  const Output v =
      b.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{4}}}, "v");
  EXPECT_EQ(Programs(Fuse({b.Op("Relu", {b.Op("Neg", {v})})})).size(), 0u);
}

TEST_F(FusePassTest, OtherMeaningsAreLeftAlone) {
  const auto alone = [&](Output first) {
    return Programs(Fuse({b.Op("LogicalNot", {first})})).empty();
  };
  EXPECT_FALSE(alone(b.Op("Equal", {x, y})));
  EXPECT_TRUE(alone(b.Op("Equal", {x, y}, {{"incompatible_shape_error", false}})));
  // Not known to have one element per channel.
  const Output bias = Placeholder("bias", PartialShape{-1});
  EXPECT_TRUE(Programs(Fuse({b.Op("Relu", {b.Op("BiasAdd", {x, bias})})})).empty());
  EXPECT_FALSE(Programs(Fuse({b.Op("Relu", {b.Op("BiasAdd", {x, y})})})).empty());
  // No kernel: the step will say so.
  const Output u = Placeholder("u", PartialShape{}, DType::kUint32);
  const Output negative = b.Op("Neg", {u});
  if (negative.node != nullptr) {
    EXPECT_TRUE(Programs(Fuse({b.Op("Neg", {negative})})).empty());
  }
}

TEST_F(FusePassTest, AReductionEndsATree) {
  const auto axes = [&](std::vector<int32_t> list) { return b.Const(list); };
  const Output difference = b.Op("SquaredDifference", {x, y});
  const StepGraph step = Fuse({b.Op("Mean", {difference, axes({1, 0})}, {}, "loss")});
  EXPECT_THAT(Programs(step), ElementsAre(ElementsAre("SquaredDifference 0 1", "Mean 2 axes 0,1")));
  EXPECT_EQ(step.graph->num_nodes(), 3);  // the axes are gone
  EXPECT_EQ(step.graph->FindNode("loss")->op_name(), kReduction);
  const AttrMap keep = {{"keep_dims", true}};
  EXPECT_THAT(Programs(Fuse({b.Op("Sum", {b.Op("Neg", {x}), axes({-1})}, keep)})),
              ElementsAre(ElementsAre("Neg 0", "Sum 1 axes 1 keep")));
  // Not before others: these do not keep rows.
  EXPECT_TRUE(Programs(Fuse({b.Op("Neg", {b.Op("Sum", {x, axes({1})})})})).empty());
  EXPECT_TRUE(Programs(Fuse({b.Op("Neg", {b.Op("Sum", {x, axes({0})}, keep)})})).empty());
  // Refused by the operation itself, or known only in the step.
  const Output fed = Placeholder("fed", PartialShape{1}, DType::kInt32);
  EXPECT_TRUE(Programs(Fuse({b.Op("Sum", {b.Op("Neg", {x}), fed})})).empty());
  // What else reads the elements gets them from the same node.
  const Output gradient = b.Op("ReluGrad", {x, x}, {}, "gradient");
  const Output bias = b.Op("BiasAddGrad", {gradient}, {}, "bias");
  const Output product = b.Op("MatMul", {gradient, x}, {{"transpose_b", true}}, "product");
  const StepGraph several = Fuse({bias, product});
  EXPECT_THAT(Programs(several), ElementsAre(ElementsAre("ReluGrad 0 0 same", "Sum 1 axes 0")));
  EXPECT_EQ(several.graph->FindNode("product")->input(0).ToString(), "bias:1");
}

// A program of several shapes is planned in every step.
TEST_F(FusePassTest, ScalarsAmongLargerValuesAreAProgramOfTheirOwn) {
  const Output n = Placeholder("n", PartialShape{}, DType::kInt32);
  const Output count = b.Op("Cast", {b.Op("Maximum", {n, b.ScalarConst(DType::kInt32, 1)})},
                            {{"DstT", DType::kFloat}});
  EXPECT_THAT(
      Programs(Fuse({b.Op("Neg", {b.Op("RealDiv", {x, count})})})),
      ElementsAre(ElementsAre("Maximum 0 1", "Cast:float32 2"), ElementsAre("Div 0 1", "Neg 2")));
  // One that is alone stays a node, and scalars that read scalars are one program.
  const Output cast = b.Op("Cast", {n}, {{"DstT", DType::kFloat}});
  EXPECT_THAT(Programs(Fuse({b.Op("Neg", {b.Op("RealDiv", {x, cast})})})),
              ElementsAre(ElementsAre("Div 0 1", "Neg 2")));
  EXPECT_THAT(Programs(Fuse({b.Op("Neg", {count})})),
              ElementsAre(ElementsAre("Maximum 0 1", "Cast:float32 2", "Neg 3")));
  // A reduction over nothing passes on what it is given.
  const Output same = b.Op("Mean", {count, b.Const(std::vector<int32_t>())});
  EXPECT_THAT(Programs(Fuse({same})), ElementsAre(ElementsAre("Maximum 0 1", "Cast:float32 2")));
}

TEST_F(FusePassTest, RowsAreNormalizedInOneNode) {
  const AttrMap keep = {{"keep_dims", true}};
  const Output axis = b.Const(std::vector<int32_t>{-1});
  const Output mean = b.Op("Mean", {x, axis}, keep);
  const Output square = b.Op("SquaredDifference", {x, b.Op("StopGradient", {mean})});
  const Output variance = b.Op("Mean", {square, axis}, keep);
  const Output root = b.Op("Rsqrt", {variance}, {}, "rsqrt");
  const Output centered = b.Op("Sub", {x, mean}, {}, "centered");
  const Output result = b.Op("AddV2", {b.Op("Mul", {centered, root}), y}, {}, "result");
  EXPECT_THAT(
      Programs(Fuse({result})),
      ElementsAre(ElementsAre("Mean 0 axes 1 keep", "SquaredDifference 0 2", "Mean 3 axes 1 keep",
                              "Rsqrt 4", "Sub 0 2", "Mul 6 5", "Add 7 1")));
  // As in training: later nodes read what is in the middle.
  const Output later = b.Op("MatMul", {centered, result}, {{"transpose_b", true}}, "later");
  const StepGraph step = Fuse({later});
  ASSERT_EQ(Programs(step).size(), 1u);
  EXPECT_EQ(step.graph->FindNode("later")->input(0).ToString(), "result:1");
}

TEST_F(FusePassTest, LongChainsAreCut) {
  Output value = x;
  for (int i = 0; i < 200; ++i) value = b.Op("AddV2", {value, y});
  const auto programs = Programs(Fuse({value}));
  size_t total = 0;
  for (const auto& program : programs) {
    EXPECT_LE(program.size(), 48u);
    total += program.size();
  }
  EXPECT_EQ(total, 200u);
  EXPECT_LE(programs.size(), 7u);
}

TEST_F(FusePassTest, NothingWithoutTheOperation) {
  graph = std::make_shared<Graph>(std::make_shared<OpRegistry>());
  b = GraphBuilder(graph.get());
  x = Placeholder("x", PartialShape{});
  y = Placeholder("y", PartialShape{});
  const StepGraph step = Fuse({b.Op("Neg", {b.Op("Neg", {x})})});
  EXPECT_EQ(step.graph->num_nodes(), 3);
}

// Sessions with the pass and without.
class FusedGraphsTest : public testing::Test {
 protected:
  FusedGraphsTest()
      : environment(*Environment::Create({.threads = 2}, MakeRegistries())),
        graph(std::make_shared<Graph>(environment->shared_ops())),
        b(graph.get()) {}

  Output Placeholder(DType dtype, PartialShape shape) {
    return b.Op("Placeholder", {}, {{"dtype", dtype}, {"shape", std::move(shape)}});
  }
  Result<std::vector<Tensor>> Run(bool fuse, const std::vector<Output>& feeds,
                                  const std::vector<Tensor>& values,
                                  const std::vector<Output>& fetches) {
    RETURN_IF_ERROR(b.status());
    SessionOptions options;
    if (!fuse) options.passes = "-fuse_elementwise";
    ASSIGN_OR_RETURN(const auto session, MakeLocalSession(environment, graph, options));
    std::vector<Tensor> fetched(fetches.size());
    RunMetadata metadata;
    const Signature signature{feeds, fetches, {}};
    RETURN_IF_ERROR(
        session->Run({.partition_graphs = true}, signature, values, fetched, &metadata));
    fused_nodes = 0;
    for (const auto& part : metadata.partition_graphs) {
      for (const Node* node : part.graph->Nodes()) {
        fused_nodes += node->op_name() == kFused || node->op_name() == kReduction;
      }
    }
    return fetched;
  }
  void ExpectSame(const std::vector<Output>& feeds, const std::vector<Tensor>& values,
                  const std::vector<Output>& fetches, bool* any_fused = nullptr) {
    const auto plain = Run(false, feeds, values, fetches);
    ASSERT_TRUE(plain.ok()) << plain.status().ToString();
    EXPECT_EQ(fused_nodes, 0);
    const auto fused = Run(true, feeds, values, fetches);
    ASSERT_TRUE(fused.ok()) << fused.status().ToString();
    if (any_fused != nullptr) *any_fused = fused_nodes > 0;
    for (size_t i = 0; i < fetches.size(); ++i) {
      const Tensor &a = (*plain)[i], &c = (*fused)[i];
      ASSERT_EQ(a.dtype(), c.dtype());
      ASSERT_EQ(a.shape(), c.shape()) << fetches[i].ToString();
      EXPECT_EQ(std::memcmp(a.raw_data(), c.raw_data(), a.bytes()), 0) << fetches[i].ToString();
    }
  }

  std::shared_ptr<Environment> environment;
  std::shared_ptr<Graph> graph;
  GraphBuilder b;
  int fused_nodes = 0;
};

Tensor RandomTensor(std::mt19937& random, DType dtype, const Shape& shape) {
  Tensor tensor = *Tensor::AllocateHost(dtype, shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int number = static_cast<int>(random() % 15) - 7;
    if (dtype == DType::kFloat) {
      tensor.mutable_data<float>()[i] = static_cast<float>(number) * 0.37f;
    } else if (dtype == DType::kHalf) {
      tensor.mutable_data<Half>()[i] = Half(static_cast<float>(number) * 0.37f);
    } else {
      tensor.mutable_data<int32_t>()[i] = number;
    }
  }
  return tensor;
}

// 40 operations over values whose shapes broadcast together.
TEST_F(FusedGraphsTest, RandomGraphsGiveTheSameBits) {
  const char* kUnary[] = {"Neg", "Square", "Abs", "Relu", "Identity", "Sign"};
  const char* kFloatUnary[] = {"Tanh", "Sigmoid", "Exp", "Softplus", "Erf", "Rsqrt"};
  const char* kBinary[] = {"AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"};
  const char* kReduce[] = {"Sum", "Mean", "Max", "Min"};
  int graphs_with_fused = 0;
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    graph = std::make_shared<Graph>(environment->shared_ops());
    b = GraphBuilder(graph.get());
    std::mt19937 random(seed);
    const auto pick = [&](size_t n) { return static_cast<int>(random() % n); };
    const DType dtype = std::array{DType::kFloat, DType::kFloat, DType::kHalf,
                                   DType::kInt32}[static_cast<size_t>(pick(4))];
    const Dims base = {1 + pick(4), 1 + pick(9), 1 + pick(300)};
    std::vector<Output> feeds, all;
    std::vector<Tensor> values;
    for (int i = 0; i < 4; ++i) {
      Dims dims = base;
      for (int d = 0; d < 3; ++d) {
        if (pick(3) == 0) dims[d] = 1;
      }
      for (int cut = pick(4); cut < 3; ++cut) dims.erase(0);
      feeds.push_back(
          Placeholder(dtype, pick(2) == 0 ? PartialShape(Shape(dims)) : PartialShape::Unknown()));
      values.push_back(RandomTensor(random, dtype, Shape(dims)));
    }
    all = feeds;
    const auto any = [&] { return all[static_cast<size_t>(pick(all.size()))]; };
    for (int i = 0; i < 40; ++i) {
      const int kind = pick(12);
      const Output first = kind % 2 == 0 ? all.back() : any();
      const PartialShape& shape = first.shape();
      if (kind >= 10 && shape.known_rank() && shape.rank() > 0) {
        const int32_t axis = kind == 10 ? -1 : pick(static_cast<size_t>(shape.rank()));
        all.push_back(b.Op(kReduce[pick(4)], {first, b.Const(std::vector<int32_t>{axis})},
                           {{"keep_dims", pick(6) > 0}}));
        continue;
      }
      if (kind < 5) {
        all.push_back(b.Op(kBinary[pick(6)], {first, any()}));
      } else if (kind < 7) {
        all.push_back(b.Op(kUnary[pick(6)], {first}));
      } else if (kind < 9 && dtype != DType::kInt32) {
        all.push_back(b.Op(kFloatUnary[pick(6)], {first}));
      } else {
        const Output less = b.Op("Less", {first, any()});
        all.push_back(b.Op("SelectV2", {less, first, any()}));
      }
    }
    bool fused = false;
    ExpectSame(feeds, values, {all.back(), any(), any()}, &fused);
    graphs_with_fused += fused;
    // An edge in the middle is fed, with what it would have been.
    const Output inner = all[20];
    const auto value = Run(false, feeds, values, {inner});
    ASSERT_TRUE(value.ok()) << value.status().ToString();
    feeds.push_back(inner);
    values.push_back((*value)[0]);
    ExpectSame(feeds, values, {all.back(), all[30]});
  }
  EXPECT_GE(graphs_with_fused, 20);
}

TEST_F(FusedGraphsTest, AFedEdgeInTheMiddleIsReplaced) {
  const Output x = Placeholder(DType::kFloat, PartialShape::Unknown());
  const Output middle = b.Op("Exp", {b.Op("Neg", {x})});
  const Output root = b.Op("Sqrt", {b.Op("Square", {middle})});
  const auto got = Run(true, {middle}, {Tensor::Vector<float>({-3, 2})}, {root});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(fused_nodes, 1);
  EXPECT_EQ((*got)[0].data<float>()[0], 3);
}

TEST_F(FusedGraphsTest, ErrorsNameTheUsersNode) {
  const Output x = Placeholder(DType::kInt32, PartialShape::Unknown());
  const Output y = Placeholder(DType::kInt32, PartialShape::Unknown());
  const Output quotient = b.Op("FloorDiv", {b.Op("Neg", {x}), y}, {}, "quotient");
  const Output root = b.Op("Square", {quotient}, {}, "root");
  const Tensor one = Tensor::Vector<int32_t>({1, 2}), three = Tensor::Vector<int32_t>({1, 2, 3}),
               zero = Tensor::Vector<int32_t>({1, 0});
  for (const auto& [other, what] : {std::pair(three, "Incompatible shapes: [2] vs. [3]"),
                                    std::pair(zero, "Integer division by zero")}) {
    const Status plain = Run(false, {x, y}, {one, other}, {root}).status();
    const Status fused = Run(true, {x, y}, {one, other}, {root}).status();
    EXPECT_EQ(fused.code(), plain.code());
    for (const Status& status : {plain, fused}) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(what));
      EXPECT_THAT(std::string(status.message()), HasSubstr("FloorDiv 'quotient'"));
    }
  }
}

TEST_F(FusedGraphsTest, BranchesNotTakenStayDead) {
  const Output x = Placeholder(DType::kFloat, PartialShape::Unknown());
  const Output condition = Placeholder(DType::kBool, PartialShape{});
  Node* split = b.OpNode("Switch", {x, condition});
  ASSERT_NE(split, nullptr);
  const Output no = b.Op("Neg", {b.Op("Square", {{split, 0}})});
  const Output yes = b.Op("Relu", {b.Op("Mul", {{split, 1}, x})});
  const Output merged = b.Op("Merge", {no, yes});
  for (bool taken : {false, true}) {
    const auto got =
        Run(true, {x, condition}, {Tensor::Vector<float>({3}), Tensor::Scalar(taken)}, {merged});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ((*got)[0].data<float>()[0], taken ? 9 : -9);
    EXPECT_EQ(fused_nodes, 2);
  }
}

}  // namespace
}  // namespace thalweg
