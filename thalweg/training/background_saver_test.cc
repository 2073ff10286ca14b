// SPDX-License-Identifier: Apache-2.0
// Saving in the background, what is kept by a metric, and restoring a part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/base/notification.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/checkpoint_reader.h"
#include "thalweg/testing/graph_session.h"
#include "thalweg/training/background_write.h"
#include "thalweg/training/saver.h"
#include "thalweg/training/test_training.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = RestoreDifference::Kind;

TEST(BackgroundWriteTest, IsWaitedForAsLongAsWasSaid) {
  auto gate = std::make_shared<Notification>();
  BackgroundWrite write("/models/m", [gate](Leisure&) {
    gate->Wait();
    return DataLoss("the disk burns");
  });
  const Status early = write.Wait(std::chrono::milliseconds(1));
  EXPECT_EQ(early.code(), Code::kDeadlineExceeded);
  EXPECT_THAT(early.ToString(), HasSubstr("/models/m"));
  EXPECT_FALSE(write.is_done());
  gate->Notify();
  EXPECT_EQ(write.Wait(std::chrono::hours(1)).message(), "the disk burns");
  EXPECT_TRUE(write.is_done());
}

TEST(BackgroundWriteTest, WhoeverWaitsMakesItHurry) {
  const BackgroundWrite write("m", [](Leisure& leisure) {
    for (int i = 0; i < 1000; ++i) leisure.Take(size_t{1} << 40);  // months
    return OkStatus();
  });
  EXPECT_FALSE(write.is_done());
  EXPECT_TRUE(write.Wait(std::chrono::hours(1)).ok());
}

TEST(BackgroundWriteTest, AnExceptionIsAnError) {
  const BackgroundWrite write("m", [](Leisure&) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(write.Wait(std::chrono::hours(1)).code(), Code::kResourceExhausted);
}

class BackgroundSaverTest : public TrainingTest {
 protected:
  BackgroundSaverTest() {
    GraphBuilder b(graph_.get());
    const Tensor size = Tensor::Vector<int32_t>({4 << 20});
    const Output zeros = b.Op("Fill", {b.Const(size), b.ScalarConst(DType::kFloat, 0)});
    large_ = *AddVariable(b, "large", zeros, GetParam());
    ones_ = b.Op("Fill", {b.Const(size), b.ScalarConst(DType::kFloat, 1)});
    add_ = b.OpNode(GetParam() ? "AssignAddVariableOp" : "AssignAdd", {large_.handle, ones_}, {},
                    "add");
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    session_ = *MakeLocalSession(environment_, graph_);
    Run({large_.initializer->name(), w_.initializer->name()});
  }
  Saver MakeSaver(SaverOptions options) {
    return *Saver::Create(graph_.get(), {{"large", large_.handle}, {"w", w_.handle}},
                          std::move(options));
  }
  // The one value that all elements of "large" have in the checkpoint.
  float SavedValue(const std::string& prefix) {
    PosixFileSystem fs;
    const auto reader = CheckpointReader::Open(fs, prefix);
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    if (!reader.ok()) return -1;
    const AllocatorPtr allocator = MakeCpuAllocator();
    const Tensor value = *(*reader)->Read("large", *allocator);
    const auto elements = value.flat<float>();
    for (const float element : elements) EXPECT_EQ(element, elements[0]);
    return elements[0];
  }

  TemporaryDirectory directory_;
  VariableNodes large_;
  Output ones_;
  Node* add_ = nullptr;
};

TEST_P(BackgroundSaverTest, WhatIsSavedIsOfOneMoment) {
  Saver saver = MakeSaver({.max_to_keep = 0, .in_background = true});
  std::vector<std::string> paths;
  for (int step = 0; step < 4; ++step) {
    const Result<std::string> path = saver.Save(*session_, directory_.Path("m"), step);
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    paths.push_back(*path);
    Run({add_->name()});
    Run({add_->name()});
  }
  const Status status = saver.Wait(std::chrono::hours(1));
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(SavedValue(paths[i]), static_cast<float>(2 * i)) << paths[i];
  }
  PosixFileSystem fs;
  EXPECT_EQ(*LatestCheckpoint(fs, directory_.path()), paths.back());
}

TEST_P(BackgroundSaverTest, AnErrorIsToldOnceByTheNextSaveOrWait) {
  PosixFileSystem fs;
  ASSERT_TRUE(WriteFileAtomically(fs, directory_.Path("file"), "").ok());
  Saver saver = MakeSaver({.in_background = true});
  const std::string bad = directory_.Path("file/m");
  ASSERT_TRUE(saver.Save(*session_, bad, 1).ok());
  const Status next = saver.Save(*session_, directory_.Path("m"), 2).status();
  EXPECT_EQ(next.code(), Code::kFailedPrecondition);
  EXPECT_THAT(next.ToString(), HasSubstr(bad + "-1"));
  ASSERT_TRUE(saver.Save(*session_, bad, 3).ok());
  EXPECT_THAT(saver.Wait(std::chrono::hours(1)).ToString(), HasSubstr(bad + "-3"));
  EXPECT_TRUE(saver.Wait(std::chrono::hours(1)).ok());
  ASSERT_TRUE(saver.Save(*session_, directory_.Path("m"), 4).ok());
  EXPECT_TRUE(saver.Restore(*session_, directory_.Path("m-4")).ok());  // waits for it
}

TEST_P(BackgroundSaverTest, ASaverWaitsForWhatItWrites) {
  {
    Saver saver = MakeSaver({.in_background = true});
    ASSERT_TRUE(saver
                    .Save(*session_,
                          {.path = directory_.Path("m"), .suffix = "meta", .contents = "a graph"})
                    .ok());
  }
  EXPECT_EQ(SavedValue(directory_.Path("m")), 0);
  PosixFileSystem fs;
  EXPECT_EQ(*ReadFile(fs, directory_.Path("m.meta")), "a graph");
}

TEST_P(BackgroundSaverTest, TheBestStayBesidesTheNewest) {
  PosixFileSystem fs;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool greatest : {false, true}) {
    const TemporaryDirectory directory;
    const auto save = [&](Saver& saver, int step, std::optional<double> metric) {
      const auto path = saver.Save(
          *session_, {.path = directory.Path("m"), .global_step = step, .metric = metric});
      ASSERT_TRUE(path.ok()) << path.status().ToString();
    };
    const SaverOptions options{.max_to_keep = 1, .keep_best = 2, .best_is_greatest = greatest};
    Saver saver = MakeSaver(options);
    const std::vector<std::optional<double>> metrics = {3, 1, nan, 2, 5, std::nullopt, 4};
    for (size_t i = 0; i < metrics.size(); ++i) save(saver, static_cast<int>(i), metrics[i]);
    std::vector<std::string> names;
    for (const KeptCheckpoint& kept : saver.kept()) {
      names.push_back(kept.path);
      EXPECT_TRUE(*FileExists(fs, kept.path + ".index"));
    }
    const std::string path = directory.Path("m-");
    if (greatest) {
      EXPECT_THAT(names, ElementsAre(path + "4", path + "6"));
    } else {
      EXPECT_THAT(names, ElementsAre(path + "1", path + "3", path + "6"));
    }
    const std::string best = path + (greatest ? "4" : "1");
    EXPECT_EQ(*BestCheckpoint(fs, directory.path(), "checkpoint"), best);
    // A saver that goes on knows the metrics.
    Saver next = MakeSaver(options);
    next.set_kept(saver.kept());
    save(next, 7, greatest ? 0 : 9);
    EXPECT_TRUE(*FileExists(fs, best + ".index"));
    EXPECT_EQ(next.kept().size(), 3u);
  }
}

TEST_P(BackgroundSaverTest, TheNewestIsNamedBeforeTheOldestGoes) {
  PosixFileSystem fs;
  Saver saver = MakeSaver({.max_to_keep = 1});
  ASSERT_TRUE(saver.Save(*session_, directory_.Path("m"), 1).ok());
  // The state cannot be written: a directory is there. Then nothing may be removed.
  ASSERT_TRUE(fs.RemoveFile(directory_.Path("checkpoint")).ok());
  ASSERT_TRUE(fs.MakeDirectories(directory_.Path("checkpoint/x")).ok());
  EXPECT_FALSE(saver.Save(*session_, directory_.Path("m"), 2).ok());
  EXPECT_TRUE(*FileExists(fs, directory_.Path("m-1.index")));
  EXPECT_TRUE(*FileExists(fs, directory_.Path("m-2.index")));
}

TEST_P(BackgroundSaverTest, AllThatDiffersIsTold) {
  Saver saver = MakeSaver({});
  Run({add_->name()});
  const std::string path = *saver.Save(*session_, directory_.Path("m"), 1);
  GraphBuilder b(graph_.get());
  const VariableNodes wide =
      *AddVariable(b, "wide", b.Const(Tensor::Vector<float>({7, 8, 9})), GetParam());
  const VariableNodes whole =
      *AddVariable(b, "whole", b.Const(Tensor::Vector<int32_t>({7, 8})), GetParam());
  session_ = *MakeLocalSession(environment_, graph_);
  Run({large_.initializer->name(), wide.initializer->name(), whole.initializer->name()});
  Saver other = *Saver::Create(
      graph_.get(),
      {{"large", large_.handle}, {"w", wide.handle}, {"none", w_.handle}, {"gone", whole.handle}},
      {.scope = "other"});
  const CheckpointDifferences found = *other.Compare(path);
  ASSERT_EQ(found.all.size(), 3u);
  EXPECT_EQ(found.all[0].kind, Kind::kMissing);
  EXPECT_EQ(found.all[0].name, "gone");
  EXPECT_EQ(found.all[1].name, "none");
  EXPECT_EQ(found.all[2].kind, Kind::kShape);
  EXPECT_EQ(found.all[2].in_checkpoint, "[2]");
  EXPECT_EQ(found.all[2].in_graph, "[3]");
  const Status status = other.Restore(*session_, path);
  EXPECT_EQ(status.code(), Code::kNotFound);
  for (const char* words : {"'gone' int32 [2]", "'none' float32 [2]", "'w' [2], not [3]"}) {
    EXPECT_THAT(status.ToString(), HasSubstr(words));
  }
  const auto large = [&] {
    return session_->Run({}, {large_.value.ToString()})->at(0).data<float>()[0];
  };
  EXPECT_EQ(large(), 0) << "a restore that was refused has changed something";
  EXPECT_FALSE(other.RestorePart(*session_, path)->fits());
  EXPECT_EQ(large(), 1);
  EXPECT_EQ(session_->Run({}, {wide.value.ToString()})->at(0).data<float>()[2], 9);
  Saver typed = *Saver::Create(graph_.get(), {{"w", whole.handle}}, {.scope = "typed"});
  const Status type = typed.Restore(*session_, path);
  EXPECT_EQ(type.code(), Code::kInvalidArgument);
  EXPECT_THAT(type.ToString(), HasSubstr("of another type: 'w' float32, not int32"));
  EXPECT_THAT(type.ToString(), HasSubstr("only in the checkpoint: 'large'"));
}

// What is read is the environment's memory, whose limit holds, and nothing is set of what does not
// fit into it.
TEST_P(BackgroundSaverTest, APartIsRestoredWithinTheLimitOfMemory) {
  Saver saver = MakeSaver({});
  const std::string path = *saver.Save(*session_, directory_.Path("m"), 1);
  const auto small = MakeTestEnvironment({.threads = 0, .memory_limit = int64_t{8} << 20});
  session_ = *MakeLocalSession(small, graph_);
  const Status status = saver.RestorePart(*session_, path).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_EQ(session_->Run({}, {w_.value.ToString()}).status().code(), Code::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Variables, BackgroundSaverTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

}  // namespace
}  // namespace thalweg
