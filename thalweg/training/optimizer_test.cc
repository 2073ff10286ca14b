// SPDX-License-Identifier: Apache-2.0
// Optimizers against their formulas, and savers, through a local session.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "thalweg/api/registries.h"
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/training/optimizer.h"
#include "thalweg/training/saver.h"

namespace thalweg {
namespace {

// Minimizes (w - 2)^2 from w = [1, 5]; the gradient is 2 (w - 2).
class TrainingTest : public testing::TestWithParam<bool> {
 protected:
  TrainingTest() {
    environment_ = *Environment::Create({.threads = 0}, MakeRegistries());
    graph_ = std::make_shared<Graph>(environment_->shared_ops());
    GraphBuilder b(graph_.get());
    w_ = *AddVariable(b, "w", b.Const(Tensor::Vector<float>({1, 5})), GetParam());
    const Output off = b.Op("Sub", {w_.value, b.ScalarConst(DType::kFloat, 2)});
    loss_ = b.Op("Sum", {b.Op("Mul", {off, off}), b.Const(std::vector<int32_t>{0})});
    EXPECT_TRUE(b.ok()) << b.status().ToString();
  }

  // w after `steps` steps.
  std::vector<float> Train(const OptimizerConfig& config, int steps) {
    Result<Optimizer> optimizer = Optimizer::Create(config);
    EXPECT_TRUE(optimizer.ok()) << optimizer.status().ToString();
    const auto gradients = optimizer->ComputeGradients(graph_.get(), loss_, {w_.handle});
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    if (!gradients.ok()) return {};
    const auto step = optimizer->ApplyGradients(graph_.get(), *gradients, Output(), "train");
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return {};
    session_ = *MakeLocalSession(environment_, graph_);
    std::vector<std::string> initializers = {w_.initializer->name()};
    for (const SlotVariable& slot : optimizer->created())
      initializers.push_back(slot.nodes.initializer->name());
    Run(initializers);
    for (int i = 0; i < steps; ++i) Run({(*step)->name()});
    return Read();
  }
  void Run(const std::vector<std::string>& targets) {
    const Status status = session_->Run(RunOptions(), {}, {}, targets, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<float> Read() {
    std::vector<Tensor> out;
    const std::string fetch[] = {w_.value.ToString()};
    const Status status = session_->Run(RunOptions(), {}, fetch, {}, &out);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return {};
    return {out[0].data<float>(), out[0].data<float>() + 2};
  }
  // The same with `update(w, gradient)` in double precision.
  template <class F>
  static std::vector<float> Expected(int steps, F&& update) {
    std::vector<float> result;
    for (double w : {1.0, 5.0}) {
      auto one = update();
      for (int i = 0; i < steps; ++i) w = one(w, 2 * (w - 2), i + 1);
      result.push_back(static_cast<float>(w));
    }
    return result;
  }
  static void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6);
  }

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  VariableNodes w_;
  Output loss_;
  std::unique_ptr<Session> session_;
};

TEST_P(TrainingTest, GradientDescent) {
  ExpectNear(Train({.kind = "GradientDescent", .numbers = {{"learning_rate", 0.1}}}, 3),
             Expected(3, [] { return [](double w, double g, int) { return w - 0.1 * g; }; }));
}

TEST_P(TrainingTest, Momentum) {
  for (bool nesterov : {false, true}) {
    ExpectNear(Train({.kind = "Momentum",
                      .name = nesterov ? "Nesterov" : "",
                      .numbers = {{"learning_rate", 0.1}, {"momentum", 0.9}},
                      .use_nesterov = nesterov},
                     4),
               Expected(4, [&] {
                 return [nesterov, a = 0.0](double w, double g, int) mutable {
                   a = 0.9 * a + g;
                   return w - 0.1 * (nesterov ? g + 0.9 * a : a);
                 };
               }));
  }
}

TEST_P(TrainingTest, Adagrad) {
  ExpectNear(Train({.kind = "Adagrad", .numbers = {{"learning_rate", 0.5}}}, 4), Expected(4, [] {
               return [a = 0.1](double w, double g, int) mutable {
                 a += g * g;
                 return w - 0.5 * g / std::sqrt(a);
               };
             }));
}

TEST_P(TrainingTest, Adadelta) {
  ExpectNear(Train({.kind = "Adadelta", .numbers = {{"learning_rate", 1.0}}}, 4), Expected(4, [] {
               return [a = 0.0, d = 0.0](double w, double g, int) mutable {
                 a = 0.95 * a + 0.05 * g * g;
                 const double step = g * std::sqrt(d + 1e-8) / std::sqrt(a + 1e-8);
                 d = 0.95 * d + 0.05 * step * step;
                 return w - step;
               };
             }));
}

TEST_P(TrainingTest, RMSProp) {
  ExpectNear(Train({.kind = "RMSProp", .numbers = {{"learning_rate", 0.1}, {"momentum", 0.5}}}, 4),
             Expected(4, [] {
               return [ms = 1.0, m = 0.0](double w, double g, int) mutable {
                 ms = 0.9 * ms + 0.1 * g * g;
                 m = 0.5 * m + 0.1 * g / std::sqrt(ms + 1e-10);
                 return w - m;
               };
             }));
}

TEST_P(TrainingTest, Adam) {
  ExpectNear(Train({.kind = "Adam", .numbers = {{"learning_rate", 0.1}}}, 4), Expected(4, [] {
               return [m = 0.0, v = 0.0](double w, double g, int t) mutable {
                 m = 0.9 * m + 0.1 * g;
                 v = 0.999 * v + 0.001 * g * g;
                 const double rate =
                     0.1 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
                 return w - rate * m / (std::sqrt(v) + 1e-8);
               };
             }));
}

TEST_P(TrainingTest, WrongConfigurationsAreNamed) {
  EXPECT_NE(
      Optimizer::Create({.kind = "Magic"}).status().message().find("there are GradientDescent"),
      std::string_view::npos);
  EXPECT_NE(Optimizer::Create({.kind = "Adam", .numbers = {{"momentum", 1}}})
                .status()
                .message()
                .find("it has"),
            std::string_view::npos);
  EXPECT_FALSE(Optimizer::Create({.kind = "Adam", .tensors = {{"beta1", Output()}}}).ok());
  Optimizer sgd = *Optimizer::Create({.kind = "GradientDescent"});
  EXPECT_FALSE(sgd.ComputeGradients(graph_.get(), loss_, {loss_}).ok());
  EXPECT_FALSE(
      sgd.ApplyGradients(graph_.get(), {{GradientValue(), w_.handle}}, Output(), "none").ok());
}

TEST_P(TrainingTest, SaverKeepsTheNewestAndRestores) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  Saver saver = *Saver::Create(graph_.get(), {{"w", w_.handle}}, {.max_to_keep = 2});
  const std::vector<float> trained =
      Train({.kind = "GradientDescent", .numbers = {{"learning_rate", 0.1}}}, 1);
  std::string last;
  for (int step = 1; step <= 3; ++step) {
    Result<std::string> path = saver.Save(*session_, directory.Path("m"), step);
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    last = *path;
  }
  EXPECT_EQ(last, directory.Path("m-3"));
  EXPECT_EQ(*LatestCheckpoint(fs, directory.path()), last);
  EXPECT_EQ(saver.kept().size(), 2u);
  EXPECT_FALSE(*FileExists(fs, directory.Path("m-1.index")));
  Run({w_.initializer->name()});
  EXPECT_EQ(Read()[0], 1.0f);
  const Status restored = saver.Restore(*session_, last);
  ASSERT_TRUE(restored.ok()) << restored.ToString();
  EXPECT_EQ(Read(), trained);
  EXPECT_EQ(saver.Restore(*session_, last + "x").code(), Code::kNotFound);
}

class SlicedSaverTest : public TrainingTest {
 protected:
  // Parts "p/part_0" and "p/part_1" of one tensor of 5 elements.
  SlicedSaverTest() {
    GraphBuilder b(graph_.get());
    for (const std::vector<float>& values : {std::vector<float>{1, 2, 3}, {4, 5}}) {
      const std::string name = StrCat("p/part_", parts_.size());
      const Output value = b.Const(Tensor::Of<float>(values, Shape{std::ssize(values)}));
      parts_.push_back(*AddVariable(b, name, value, GetParam()));
    }
    whole_ = *AddVariable(b, "p", b.Const(std::vector<float>(5)), GetParam());
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    session_ = *MakeLocalSession(environment_, graph_);
  }
  std::vector<NamedVariable> Slices() const {
    return {{"p", parts_[0].handle, "5 0,3"}, {"p", parts_[1].handle, "5 3,2"}};
  }
  void Initialize() {
    Run({parts_[0].initializer->name(), parts_[1].initializer->name(), whole_.initializer->name()});
  }
  // The values of the parts, or of the whole, one after the other.
  std::vector<float> Values(const std::vector<Output>& of) {
    std::vector<float> values;
    for (const Output& value : of) {
      const Result<std::vector<Tensor>> out = session_->Run({}, {value.ToString()});
      EXPECT_TRUE(out.ok()) << out.status().ToString();
      if (!out.ok()) continue;
      const auto elements = (*out)[0].flat<float>();
      values.insert(values.end(), elements.begin(), elements.end());
    }
    return values;
  }

  std::vector<VariableNodes> parts_;
  VariableNodes whole_;
  const std::vector<float> expected_ = {1, 2, 3, 4, 5};
};

TEST_P(SlicedSaverTest, PartsAreOneTensor) {
  for (const int version : {1, 2}) {
    const TemporaryDirectory directory;
    Saver parts =
        *Saver::Create(graph_.get(), Slices(), {.write_version = version, .scope = "parts"});
    Saver whole = *Saver::Create(graph_.get(), {{"p", whole_.handle}}, {.scope = "whole"});
    Initialize();
    const Result<std::string> path = parts.Save(*session_, directory.Path("m"), 1);
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    Status status = whole.Restore(*session_, *path);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(Values({whole_.value}), expected_);
    const std::string both = *whole.Save(*session_, directory.Path("m"), 2);
    // Changes the parts, so that the restore shows.
    Saver swapped = *Saver::Create(graph_.get(), {{"x", parts_[0].handle}}, {.scope = "swapped"});
    status = parts.Restore(*session_, both);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(Values({parts_[0].value, parts_[1].value}), expected_);
    EXPECT_EQ(swapped.Restore(*session_, both).code(), Code::kNotFound);
  }
}

TEST_P(SlicedSaverTest, CheckpointsThatNameThePartsAreRead) {
  const TemporaryDirectory directory;
  Initialize();
  Saver old = *Saver::Create(graph_.get(),
                             {{"p/part_0", parts_[0].handle}, {"p/part_1", parts_[1].handle}}, {});
  const std::string path = *old.Save(*session_, directory.Path("old"), std::nullopt);
  session_ = *MakeLocalSession(environment_, graph_);  // without values
  Saver saver = *Saver::Create(graph_.get(), Slices(), {.scope = "new"});
  const Status status = saver.Restore(*session_, path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Values({parts_[0].value, parts_[1].value}), expected_);
  std::vector<NamedVariable> more = Slices();
  more.push_back({"q", whole_.handle});
  Saver missing = *Saver::Create(graph_.get(), more, {.scope = "missing"});
  EXPECT_EQ(missing.Restore(*session_, path).code(), Code::kNotFound);
}

TEST_P(SlicedSaverTest, Refusals) {
  const auto refuse = [&](const std::vector<NamedVariable>& variables) {
    EXPECT_EQ(Saver::Create(graph_.get(), variables, {.scope = "no"}).status().code(),
              Code::kInvalidArgument);
  };
  refuse({{"p", parts_[0].handle}, {"p", parts_[1].handle}});
  refuse({{"p", parts_[0].handle, "5 0,3"}, {"p", parts_[1].handle}});
  refuse({{"p", parts_[0].handle, "5 0,3"}, {"p", parts_[1].handle, "5 0,3"}});
  refuse({{"p", parts_[0].handle, "5 0,9"}});
  EXPECT_EQ(Saver::OfNodes(Output(), Output(), nullptr, {}).status().code(),
            Code::kInvalidArgument);
}

TEST_P(SlicedSaverTest, NodesThatAreThere) {
  const TemporaryDirectory directory;
  Initialize();
  const Saver made = *Saver::Create(graph_.get(), Slices(), {});
  Saver saver =
      *Saver::OfNodes(made.filename(), made.save_tensor(), made.restore_op(), {.max_to_keep = 1});
  saver.set_state_file("state");
  const std::string first = *saver.Save(*session_, directory.Path("m"), 1);
  saver.set_kept({{first, 5.0}});
  const std::string second = *saver.Save(*session_, directory.Path("m"), 2);
  PosixFileSystem fs;
  EXPECT_FALSE(*FileExists(fs, first + ".index"));
  EXPECT_TRUE(*FileExists(fs, directory.Path("state")));
  EXPECT_FALSE(*FileExists(fs, directory.Path("checkpoint")));
  saver.set_state_file("");
  const std::string third = *saver.Save(*session_, directory.Path("m"), 3);
  EXPECT_TRUE(*FileExists(fs, second + ".index"));
  ASSERT_EQ(saver.kept().size(), 1u);
  EXPECT_EQ(saver.kept()[0].path, second);
  EXPECT_TRUE(saver.Restore(*session_, third).ok());
}

INSTANTIATE_TEST_SUITE_P(Variables, SlicedSaverTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });
INSTANTIATE_TEST_SUITE_P(Variables, TrainingTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace thalweg
