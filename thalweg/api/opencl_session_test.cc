// SPDX-License-Identifier: Apache-2.0
// Whole sessions on /device:GPU:0 through OpenCL: a net trains there as on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/api/registries.h"
#include "thalweg/autodiff/gradients.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/session/session.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 32;
constexpr int64_t kFeatures = 20;
constexpr int64_t kClasses = 5;

// Two dense layers, their loss and a step of Adam, in a graph and a session of their own.
class TrainedNet {
 public:
  explicit TrainedNet(bool on_gpu) {
    EnvironmentOptions options;
    options.threads = 1;
    if (on_gpu) options.device_count = {{"GPU", 1}};
    Result<std::shared_ptr<Environment>> made = Environment::Create(options, registries_);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (!made.ok()) return;
    environment_ = *std::move(made);
    const Output x = b_.Op("Placeholder", {}, {{"dtype", DType::kFloat}}, "x");
    const Output labels = b_.Op("Placeholder", {}, {{"dtype", DType::kInt64}}, "labels");
    const Output hidden = b_.Op("Relu", {Dense(x, kFeatures, 16, "first")}, {}, "hidden");
    const Output scores = Dense(hidden, 16, kClasses, "second");
    const Output losses = b_.Op("SparseSoftmaxCrossEntropyWithLogits", {scores, labels});
    loss_ = b_.Op("Mean", {losses, b_.Const(std::vector<int32_t>{0})}, {}, "loss");
    AddStep();
  }
  bool made() const { return environment_ != nullptr; }
  Status Open() {
    RETURN_IF_ERROR(b_.status());
    ASSIGN_OR_RETURN(session_, MakeLocalSession(environment_, graph_));
    return session_->Run({}, {}, {}, initializers_, nullptr);
  }
  Result<float> Step(const Tensor& x, const Tensor& labels) {
    std::vector<Tensor> outputs;
    const std::vector<Session::NamedTensor> feeds = {{"x", x}, {"labels", labels}};
    const std::vector<std::string> fetches = {loss_.ToString()};
    RETURN_IF_ERROR(session_->Run({}, feeds, fetches, updates_, &outputs));
    return outputs[0].scalar<float>();
  }
  std::string PlaceOf(const std::string& node) { return *session_->ExplainPlacement(node); }

 private:
  Output Variable(const Shape& shape, const std::string& name, float value) {
    const Output handle = b_.Op(
        "VarHandleOp", {},
        {{"dtype", DType::kFloat}, {"shape", PartialShape(shape)}, {"shared_name", name}}, name);
    std::vector<float> values(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = value * std::sin(1.7f * static_cast<float>(i) + value);
    }
    const Output initial = b_.Const(Tensor::Of<float>(values, shape), name + "_initial");
    initializers_.push_back(
        b_.OpNode("AssignVariableOp", {handle, initial}, {}, name + "_assign")->name());
    return handle;
  }
  Output Read(const Output& handle) {
    const Output value = b_.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
    handles_.push_back(handle);
    values_.push_back(value);
    return value;
  }
  Output Dense(const Output& x, int64_t in, int64_t out, const std::string& name) {
    const Output w = Read(Variable(Shape{in, out}, name + "_w", 0.4f));
    const Output bias = Read(Variable(Shape{out}, name + "_b", 0.0f));
    return b_.Op("BiasAdd", {b_.Op("MatMul", {x, w}), bias});
  }
  void AddStep() {
    const Result<std::vector<GradientValue>> gradients =
        AddGradients(graph_.get(), {loss_}, values_, {});
    ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
    for (size_t i = 0; i < values_.size(); ++i) {
      const Shape shape = i % 2 == 0 ? (i == 0 ? Shape{kFeatures, 16} : Shape{16, kClasses})
                                     : Shape{i == 1 ? 16 : kClasses};
      const Output m = Variable(shape, StrCat("m", i), 0.0f),
                   v = Variable(shape, StrCat("v", i), 0);
      const auto number = [&](float value) { return b_.Const(Tensor::Scalar(value)); };
      updates_.push_back(
          b_.OpNode("ResourceApplyAdam",
                    {handles_[i], m, v, number(0.9f), number(0.999f), number(0.01f), number(0.9f),
                     number(0.999f), number(1e-8f), (*gradients)[i].values},
                    {}, StrCat("update", i))
              ->name());
    }
  }

  const Registries registries_ = MakeRegistries();
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>(registries_.ops);
  GraphBuilder b_{graph_.get()};
  std::shared_ptr<Environment> environment_;
  std::unique_ptr<Session> session_;
  Output loss_;
  std::vector<Output> handles_, values_;
  std::vector<std::string> initializers_, updates_;
};

TEST(OpenClSessionTest, ANetTrainsAsOnTheCpu) {
  TrainedNet here(false), there(true);
  ASSERT_TRUE(there.made());
  Status status = here.Open();
  ASSERT_TRUE(status.ok()) << status.ToString();
  status = there.Open();
  ASSERT_TRUE(status.ok()) << status.ToString();
  float first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    std::vector<float> x(kBatch * kFeatures);
    std::vector<int64_t> labels(kBatch);
    for (size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<int64_t>((i + static_cast<size_t>(step)) % kClasses);
      for (size_t f = 0; f < kFeatures; ++f) {
        x[i * kFeatures + f] = std::sin(static_cast<float>(labels[i] * 7 + f * 3)) +
                               0.3f * std::sin(static_cast<float>(step * 5 + i * 11 + f));
      }
    }
    const Tensor fed = Tensor::Of<float>(x, Shape{kBatch, kFeatures});
    const Tensor answers = Tensor::Of<int64_t>(labels, Shape{kBatch});
    const Result<float> expected = here.Step(fed, answers), found = there.Step(fed, answers);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_NEAR(*found, *expected, 1e-3f * (1 + *expected)) << "step " << step;
    if (step == 0) first = *found;
    last = *found;
  }
  EXPECT_LT(last, 0.5f * first);
  for (const char* node : {"hidden", "update0", "loss"}) {
    EXPECT_THAT(there.PlaceOf(node), HasSubstr("device:GPU:0")) << node;
  }
}

}  // namespace
}  // namespace thalweg
