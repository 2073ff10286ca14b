// SPDX-License-Identifier: Apache-2.0
// Savers from C++: in the background, the best kept, what differs (users H6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/thalweg.h"

namespace {

using ::testing::HasSubstr;

class SaverApiTest : public testing::Test {
 protected:
  SaverApiTest() {
    v_ = graph_.Variable("v", graph_.Const<float>({1, 2}, {2}));
    w_ = graph_.Variable("w", graph_.Const<float>({3, 4, 5}, {3}));
  }
  tw::Session MakeSession() {
    tw::Session session = tw::Session::Create(graph_).OrThrow();
    session.Run({}, {}, {v_.initializer, w_.initializer}).OrThrow();
    return session;
  }

  thalweg::TemporaryDirectory directory_;
  tw::Environment environment_ = tw::Environment::Create().OrThrow();
  tw::Graph graph_{environment_};
  tw::Variable v_, w_;
};

TEST_F(SaverApiTest, SavesInTheBackgroundAndKeepsTheBest) {
  tw::SaverOptions options;
  options.in_background = true;
  options.max_to_keep = 1;
  options.keep_best = 1;
  tw::Saver saver = tw::Saver::Create(graph_, {{"v", v_}, {"w", w_}}, options).OrThrow();
  const tw::Session session = MakeSession();
  for (int step = 0; step < 4; ++step) {
    const double loss = step == 1 ? 0.5 : 1.0;
    EXPECT_EQ(saver.Save(session, directory_.Path("m"), step, loss).OrThrow(),
              directory_.Path("m-") + std::to_string(step));
  }
  saver.Wait().OrThrow();
  EXPECT_FALSE(saver.Compare(directory_.Path("m-0")).ok());
  EXPECT_TRUE(saver.Compare(directory_.Path("m-1")).OrThrow().empty());
  EXPECT_FALSE(saver.Compare(directory_.Path("m-2")).ok());
  EXPECT_TRUE(saver.Restore(session, directory_.Path("m-3")).ok());
  const std::string nowhere = directory_.Path("m-3.index/m");  // a file is no directory
  EXPECT_TRUE(saver.Save(session, nowhere).ok());
  EXPECT_THAT(saver.Wait().message(), HasSubstr(nowhere));
  EXPECT_TRUE(saver.Wait().ok());
}

TEST_F(SaverApiTest, TellsWhatDiffersAndRestoresTheRest) {
  const tw::Session session = MakeSession();
  tw::Saver all = tw::Saver::Create(graph_, {{"v", v_}, {"x", w_}, {"y", w_}}).OrThrow();
  const std::string path = all.Save(session, directory_.Path("m")).OrThrow();
  tw::Saver other = tw::Saver::Create(graph_, {{"v", v_}, {"x", v_}, {"z", w_}}).OrThrow();
  const std::vector<tw::CheckpointDifference> found = other.Compare(path).OrThrow();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].kind, TW_DIFFERENCE_MISSING);
  EXPECT_EQ(found[0].name, "z");
  EXPECT_EQ(found[1].kind, TW_DIFFERENCE_SHAPE);
  EXPECT_EQ(found[1].in_checkpoint + " " + found[1].in_graph, "[3] [2]");
  EXPECT_EQ(found[2].kind, TW_DIFFERENCE_EXTRA);
  EXPECT_THAT(other.Restore(session, path).message(), HasSubstr("'x' [3], not [2]"));
  EXPECT_EQ(other.RestorePart(session, path).OrThrow().size(), 3u);
}

// A C program may count first, or ask until there are no more.
TEST_F(SaverApiTest, KeptCheckpointsAreListedCountedOrNot) {
  const tw::Session session = MakeSession();
  const char* const name = "v";
  const TwOutput variable = v_.handle.c();
  const tw::internal::Handle<TwSaver, &tw_saver_free> saver(
      tw_saver_new(graph_.c(), &name, &variable, 1, nullptr, nullptr));
  const tw::internal::StatusHolder status;
  const auto save = [&](int64_t step) {
    return tw::internal::TextOf(tw_saver_save(saver.get(), session.c(),
                                              directory_.Path("m").c_str(), step, status.c),
                                status)
        .OrThrow();
  };
  EXPECT_EQ(tw_saver_kept(saver.get(), 0, nullptr), nullptr);
  const std::string first = save(1);
  EXPECT_STREQ(tw_saver_kept(saver.get(), 0, nullptr), first.c_str());
  EXPECT_EQ(tw_saver_kept(saver.get(), 1, nullptr), nullptr);
  const std::string second = save(2);
  EXPECT_EQ(tw_saver_num_kept(saver.get()), 2);
  const std::string third = save(3);
  double saved_at = 0;
  EXPECT_STREQ(tw_saver_kept(saver.get(), 0, &saved_at), first.c_str());
  EXPECT_GT(saved_at, 0);
  EXPECT_STREQ(tw_saver_kept(saver.get(), 1, nullptr), second.c_str());
  EXPECT_EQ(tw_saver_kept(saver.get(), 2, nullptr), nullptr);  // as it was counted
  EXPECT_STREQ(tw_saver_kept(saver.get(), 0, nullptr), first.c_str());
  EXPECT_STREQ(tw_saver_kept(saver.get(), 2, nullptr), third.c_str());
  EXPECT_EQ(tw_saver_kept(nullptr, 0, nullptr), nullptr);
}

}  // namespace
