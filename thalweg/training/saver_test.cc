// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/training/test_training.h"

namespace thalweg {
namespace {

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
  const Status refused = missing.Restore(*session_, path);
  EXPECT_EQ(refused.code(), Code::kNotFound);
  EXPECT_THAT(refused.ToString(),
              testing::EndsWith("; missing in the checkpoint: 'q' float32 [5]"));
}

// What Restore reads, Compare and RestorePart find, too.
TEST_P(SlicedSaverTest, NamedPartsAreNoDifferences) {
  const TemporaryDirectory directory;
  Initialize();
  Saver old = *Saver::Create(graph_.get(),
                             {{"p/part_0", parts_[0].handle}, {"p/part_1", parts_[1].handle}}, {});
  const std::string path = *old.Save(*session_, directory.Path("old"), std::nullopt);
  Saver one = *Saver::Create(graph_.get(), {{"p/part_0", parts_[0].handle}}, {});
  const std::string half = *one.Save(*session_, directory.Path("half"), std::nullopt);
  session_ = *MakeLocalSession(environment_, graph_);  // without values
  std::vector<NamedVariable> more = Slices();
  more.push_back({"q", whole_.handle});
  Saver saver = *Saver::Create(graph_.get(), more, {.scope = "new"});
  for (const bool restores : {false, true}) {
    const Result<CheckpointDifferences> found =
        restores ? saver.RestorePart(*session_, path) : saver.Compare(path);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_EQ(found->all.size(), 1u);
    EXPECT_EQ(found->all[0].name, "q");
  }
  EXPECT_EQ(Values({parts_[0].value, parts_[1].value}), expected_);
  Saver both = *Saver::Create(graph_.get(), Slices(), {.scope = "both"});
  EXPECT_TRUE(both.Compare(path)->all.empty());
  const CheckpointDifferences found = *both.Compare(half);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all[0].name + " " + found.all[0].in_graph, "p/part_1 float32 [2]");
  EXPECT_EQ(both.Restore(*session_, half).code(), Code::kNotFound);
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

TEST_P(TrainingTest, OptionsThatCannotBeAreRefused) {
  const auto words = [&](SaverOptions options) {
    const Status status =
        Saver::Create(graph_.get(), {{"w", w_.handle}}, std::move(options)).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(words({.max_to_keep = -1}), "max_to_keep must not be negative, got -1");
  EXPECT_EQ(words({.write_version = 3}), "checkpoints are written in format 1 or 2, not 3");
  EXPECT_EQ(Saver::Create(graph_.get(), {}, {}).status().message(), "no variables to save");
  EXPECT_EQ(Saver::Create(graph_.get(), {{"w", loss_}}, {}).status().code(),
            Code::kInvalidArgument);
}

TEST_P(TrainingTest, TheNodesHaveTheNamesThatMetaGraphsGiveThem) {
  const Saver saver = *Saver::Create(graph_.get(), {{"w", w_.handle}}, {});
  EXPECT_EQ(saver.filename().ToString(), "save/Const");
  EXPECT_EQ(saver.save_tensor().ToString(), "save/control_dependency");
  EXPECT_EQ(saver.restore_op()->name(), "save/restore_all");
  const Saver second = *Saver::Create(graph_.get(), {{"w", w_.handle}}, {});
  EXPECT_EQ(second.restore_op()->name(), "save_1/restore_all");
}

TEST_P(TrainingTest, AllCheckpointsAreKeptWhereNoneIsTooMany) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  session_ = *MakeLocalSession(environment_, graph_);
  Saver all = *Saver::Create(graph_.get(), {{"w", w_.handle}}, {.max_to_keep = 0});
  Run({w_.initializer->name()});
  for (int step = 1; step <= 7; ++step) {
    ASSERT_TRUE(all.Save(*session_, directory.Path("m"), step).ok());
  }
  // As TensorFlow has it, only the last is listed.
  ASSERT_EQ(all.kept().size(), 1u);
  EXPECT_EQ(all.kept()[0].path, directory.Path("m-7"));
  for (int step = 1; step <= 7; ++step) {
    EXPECT_TRUE(*FileExists(fs, StrCat(directory.Path("m-"), step, ".index")));
  }
}

TEST_P(TrainingTest, OneCheckpointInEverySpanIsKeptForGood) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  session_ = *MakeLocalSession(environment_, graph_);
  Saver saver = *Saver::Create(graph_.get(), {{"w", w_.handle}},
                               {.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1e-12});
  Run({w_.initializer->name()});
  const std::string first = *saver.Save(*session_, directory.Path("m"), 1);
  ASSERT_TRUE(saver.Save(*session_, directory.Path("m"), 2).ok());
  EXPECT_EQ(saver.kept().size(), 1u);
  EXPECT_TRUE(*FileExists(fs, first + ".index")) << "no longer listed, but there";
}

TEST_P(TrainingTest, TheStateNamesPathsThatMoveWithTheirDirectory) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  session_ = *MakeLocalSession(environment_, graph_);
  Saver saver = *Saver::Create(graph_.get(), {{"w", w_.handle}}, {});
  Run({w_.initializer->name()});
  ASSERT_TRUE(saver.Save(*session_, directory.Path("m"), std::nullopt).ok());
  const std::string text = *ReadFile(fs, directory.Path("checkpoint"));
  EXPECT_THAT(text, testing::HasSubstr("model_checkpoint_path: \"m\""));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(directory.path())));
}

TEST(LatestCheckpointTest, AFileThatNamesNoneOrIsBrokenIsAnErrorThatNamesIt) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  const auto latest = [&] { return LatestCheckpoint(fs, directory.path()); };
  const auto write = [&](const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(fs, directory.Path("checkpoint"), text).ok());
  };
  EXPECT_EQ(latest().status().code(), Code::kNotFound);
  write("");
  EXPECT_EQ(latest().status().code(), Code::kNotFound);
  write("model_checkpoint_path: 5 {");
  EXPECT_EQ(latest().status().code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(latest().status().message()),
              testing::HasSubstr(directory.path() + "/checkpoint"));
  write("model_checkpoint_path: \"m-7\"");
  EXPECT_EQ(*latest(), directory.Path("m-7"));
  write("model_checkpoint_path: \"/elsewhere/m-7\"");
  EXPECT_EQ(*latest(), "/elsewhere/m-7");
}

INSTANTIATE_TEST_SUITE_P(Variables, SlicedSaverTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace thalweg
