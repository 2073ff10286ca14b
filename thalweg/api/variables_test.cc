// SPDX-License-Identifier: Apache-2.0
// Variables under many threads, through the real operations and a local session: reads of whole
// versions, exact sums, bits that only the order of the edges decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "thalweg/api/registries.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {
namespace {

struct Form {
  const char* name;
  bool resource;
  int64_t size;  // of the variable; 100,000 elements are updated in several pieces
  int threads;
  friend void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }
};

class VariablesTest : public testing::TestWithParam<Form> {
 protected:
  VariablesTest() {
    environment_ = *Environment::Create({.threads = GetParam().threads}, MakeRegistries());
    graph_ = std::make_shared<Graph>(environment_->shared_ops());
    b_ = std::make_unique<GraphBuilder>(graph_.get());
    session_ = *MakeLocalSession(environment_, graph_);
  }

  Output Variable(DType dtype, Shape shape, std::string_view name) {
    return b_->Op(GetParam().resource ? "VarHandleOp" : "VariableV2", {},
                  {{"dtype", dtype}, {"shape", std::move(shape)}, {"shared_name", name}}, name);
  }
  Node* Assign(Output variable, Output value) {
    return b_->OpNode(GetParam().resource ? "AssignVariableOp" : "Assign", {variable, value});
  }
  Node* Add(const GraphBuilder& b, Output variable, Output value, bool locked) {
    if (GetParam().resource) {
      return GraphBuilder(b).OpNode("AssignAddVariableOp", {variable, value});
    }
    return GraphBuilder(b).OpNode("AssignAdd", {variable, value}, {{"use_locking", locked}});
  }
  Node* Descend(Output variable, Output rate, Output gradient, bool locked) {
    return b_->OpNode(GetParam().resource ? "ResourceApplyGradientDescent" : "ApplyGradientDescent",
                      {variable, rate, gradient}, {{"use_locking", locked}});
  }
  Output Read(const GraphBuilder& b, Output variable, DType dtype) {
    if (GetParam().resource) {
      return GraphBuilder(b).Op("ReadVariableOp", {variable}, {{"dtype", dtype}});
    }
    return GraphBuilder(b).Op("Identity", {variable});
  }
  Output Filled(float value) {
    const Shape shape{GetParam().size};
    Tensor t = *Tensor::AllocateHost(DType::kFloat, shape);
    std::fill_n(t.mutable_data<float>(), GetParam().size, value);
    return b_->Const(t);
  }
  Status Run(const std::vector<Output>& fetches, const std::vector<Node*>& targets,
             std::vector<Tensor>* out = nullptr) {
    RETURN_IF_ERROR(b_->status());
    std::vector<Tensor> values(fetches.size());
    RETURN_IF_ERROR(session_->Run(RunOptions(), {{}, fetches, targets}, {}, values));
    if (out != nullptr) *out = std::move(values);
    return OkStatus();
  }

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  std::unique_ptr<GraphBuilder> b_;
  std::unique_ptr<Session> session_;
};

INSTANTIATE_TEST_SUITE_P(
    Forms, VariablesTest,
    testing::Values(Form{"reference_1", false, 100, 1}, Form{"reference_2", false, 100'000, 2},
                    Form{"reference_8", false, 100'000, 8}, Form{"resource_1", true, 100, 1},
                    Form{"resource_2", true, 100'000, 2}, Form{"resource_8", true, 100'000, 8}),
    [](const auto& info) { return std::string(info.param.name); });

bool IsWhole(const Tensor& version) {
  const float* data = version.data<float>();
  return std::all_of(data, data + version.num_elements(), [&](float x) { return x == data[0]; });
}

// Readers in the updating step and in steps of their own, beside two kinds of update.
TEST_P(VariablesTest, AReadBesideUpdatesIsAWholeVersion) {
  constexpr int kUpdates = 30;
  for (const bool locked : {true, false}) {
    const Output v = Variable(DType::kFloat, Shape{GetParam().size}, locked ? "locked" : "free");
    ASSERT_TRUE(Run({}, {Assign(v, Filled(0))}).ok());
    Node* add = Add(*b_, v, Filled(1), locked);
    Node* descend = Descend(v, b_->ScalarConst(DType::kFloat, -2), Filled(1), locked);
    const Output beside = Read(*b_, v, DType::kFloat);
    ASSERT_TRUE(b_->ok()) << b_->status().ToString();
    std::atomic<int> updating{2};
    std::vector<std::thread> threads;
    for (Node* update : {add, descend}) {
      threads.emplace_back([&, update] {
        for (int i = 0; i < kUpdates; ++i) {
          std::vector<Tensor> read;
          const Status status = Run({beside}, {update}, &read);
          EXPECT_TRUE(status.ok()) << status.ToString();
          EXPECT_TRUE(status.ok() && IsWhole(read[0]));
        }
        updating.fetch_sub(1);
      });
    }
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        float last = 0;
        do {
          std::vector<Tensor> read;
          const Status status = Run({beside}, {}, &read);
          EXPECT_TRUE(status.ok()) << status.ToString();
          if (!status.ok()) break;
          EXPECT_TRUE(IsWhole(read[0]));
          EXPECT_GE(read[0].data<float>()[0], locked ? last : 0);
          last = read[0].data<float>()[0];
        } while (updating.load() > 0);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<Tensor> end;
    ASSERT_TRUE(Run({beside}, {}, &end).ok());
    EXPECT_TRUE(IsWhole(end[0]));
    if (locked) {
      EXPECT_EQ(end[0].data<float>()[0], 3 * kUpdates);
    }
  }
}

TEST_P(VariablesTest, AThousandConcurrentLockedAddsSumExactly) {
  constexpr int kAdds = 250, kSteps = 4;
  const Output v = Variable(DType::kInt64, Shape{}, "sum");
  ASSERT_TRUE(Run({}, {Assign(v, b_->ScalarConst(DType::kInt64, 0))}).ok());
  std::vector<Node*> adds;
  for (int i = 0; i < kAdds; ++i) {
    adds.push_back(Add(*b_, v, b_->ScalarConst(DType::kInt64, i + 1), true));
  }
  Node* all = b_->Group(adds);
  const Output read = Read(*b_, v, DType::kInt64);
  ASSERT_TRUE(b_->ok()) << b_->status().ToString();
  std::vector<std::thread> threads;
  for (int t = 0; t < kSteps; ++t) {
    threads.emplace_back([&] {
      const Status status = Run({read}, {all});
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Tensor> sum;
  ASSERT_TRUE(Run({read}, {}, &sum).ok());
  EXPECT_EQ(sum[0].scalar<int64_t>(), int64_t{kSteps} * kAdds * (kAdds + 1) / 2);
}

// Sums of floats depend on their order: where control edges fix it, the bits are those of the
// plain loop, whatever runs beside.
TEST_P(VariablesTest, BitsAreThoseOfTheOrderThatEdgesFix) {
  constexpr int kVariables = 8, kAdds = 40;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> expected(kVariables, 0.0f);
  std::vector<Node*> last;
  std::vector<Output> variables, reads;
  for (int i = 0; i < kVariables; ++i) {
    variables.push_back(Variable(DType::kFloat, Shape{}, StrCat("v", i)));
    last.push_back(Assign(variables.back(), b_->ScalarConst(DType::kFloat, 0)));
  }
  for (int k = 0; k < kAdds; ++k) {
    for (int i = 0; i < kVariables; ++i) {
      const float value = any(random) * static_cast<float>(1 << (k % 20));
      expected[i] += value;
      last[i] = Add(b_->WithControls({last[i]}), variables[i], b_->Const(Tensor::Scalar(value)),
                    k % 2 == 0);
    }
  }
  for (int i = 0; i < kVariables; ++i) {
    reads.push_back(Read(b_->WithControls({last[i]}), variables[i], DType::kFloat));
  }
  for (int round = 0; round < 10; ++round) {
    std::vector<Tensor> got;
    const Status status = Run(reads, {}, &got);
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (int i = 0; i < kVariables; ++i) ASSERT_EQ(got[i].scalar<float>(), expected[i]) << i;
  }
}

}  // namespace
}  // namespace thalweg
