// SPDX-License-Identifier: Apache-2.0
// The draws are new in every session: what is tested holds for all of them.
#include <algorithm>
#include <map>
#include <set>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/test_machine.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

// Ten words, of which "the" stands thrice and "cat" twice.
constexpr std::string_view kText = "the cat sat on the mat\n the  cat\tate rats ";

class SkipgramTest : public testing::Test {
 protected:
  std::string Write(std::string_view text) {
    PosixFileSystem fs;
    std::string name = directory_.Path("text");
    auto file = fs.OpenForWriting(name);
    EXPECT_TRUE(file.ok() && (*file)->Append(text).ok() && (*file)->Close().ok());
    return name;
  }
  AttrMap Attrs(std::string_view text, int64_t batch, int64_t window, int64_t least_count = 1,
                float subsample = 0) {
    return {{"filename", Write(text)},
            {"batch_size", batch},
            {"window_size", window},
            {"min_count", least_count},
            {"subsample", subsample}};
  }
  TemporaryDirectory directory_;
};

TEST_F(SkipgramTest, WordsByFrequency) {
  auto out = RunOp("Skipgram", {}, Attrs(kText, 4, 1));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(
      BitDifference((*out)[0], Texts({"UNK", "the", "cat", "sat", "on", "mat", "ate", "rats"})),
      "");
  EXPECT_EQ(BitDifference((*out)[1], Numbers<int32_t>({0, 3, 2, 1, 1, 1, 1, 1})), "");
  EXPECT_EQ((*out)[2].scalar<int64_t>(), 10);
  out = RunOp("Skipgram", {}, Attrs(kText, 4, 1, 2));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(BitDifference((*out)[0], Texts({"UNK", "the", "cat"})), "");
  EXPECT_EQ(BitDifference((*out)[1], Numbers<int32_t>({5, 3, 2})), "");
}

// As TensorFlow 2.21 gives them: with a window of one nothing is drawn.
TEST_F(SkipgramTest, PairsGoOnFromStepToStep) {
  Graph graph(AllRegistries().ops);
  GraphBuilder b(&graph);
  Node* const node = b.OpNode("Skipgram", {}, Attrs(kText, 6, 1));
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  TestMachine machine(compute::BestIsaLevel(), false);
  GraphRunner runner(*AllRegistries().kernels, machine);
  const std::vector<int32_t> text = {1, 2, 3, 4, 1, 5, 1, 2, 6, 7};
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (size_t i = 0; pairs.size() < 24; ++i) {
    if (i > 0) pairs.emplace_back(text[i % 10], text[(i - 1) % 10]);
    pairs.emplace_back(text[i % 10], text[(i + 1) % 10]);
  }
  for (size_t step = 0; step < 4; ++step) {
    const auto out = runner.Run({}, {{node, 5}, {node, 6}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ((*out)[0].data<int32_t>()[i], pairs[step * 6 + i].first);
      EXPECT_EQ((*out)[1].data<int32_t>()[i], pairs[step * 6 + i].second);
    }
  }
}

TEST_F(SkipgramTest, WindowsReachAsFarAsTheyMay) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += StrCat("w", i, " ");
  const auto out = RunOp("Skipgram", {}, Attrs(text, 4000, 5));
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  std::map<int, int> distances;
  for (int64_t i = 0; i < 4000; ++i) {
    ++distances[(*out)[6].data<int32_t>()[i] - (*out)[5].data<int32_t>()[i]];
  }
  EXPECT_EQ(distances.size(), 10u);
  EXPECT_EQ(distances.begin()->first, -5);
  EXPECT_EQ(distances.rbegin()->first, 5);
  EXPECT_EQ(distances.count(0), 0u);
  // Reaches are even, so the nearest comes five times as often as the farthest.
  EXPECT_GT(distances[1], 3 * distances[5]);
}

TEST_F(SkipgramTest, FrequentWordsAreLeftOut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 10 == 0 ? StrCat("rare", i, " ") : "often ";
  const auto share = [&](float subsample) {
    const auto out = RunOp("Skipgram", {}, Attrs(text, 4000, 1, 1, subsample));
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    const auto examples = (*out)[5].flat<int32_t>();
    return static_cast<double>(std::count(examples.begin(), examples.end(), 1)) / 4000;
  };
  EXPECT_NEAR(share(0), 0.9, 0.01);
  EXPECT_LT(share(1e-3f), 0.5);
}

TEST_F(SkipgramTest, Refusals) {
  const auto refuse = [&](const AttrMap& attrs, Code code, std::string_view message) {
    ExpectError("Skipgram", {}, attrs, code, message);
  };
  refuse(Attrs(kText, 4, 2), Code::kInvalidArgument, "too little data: 10 words");
  refuse(Attrs("", 4, 1), Code::kInvalidArgument, "too little data: 0 words");
  refuse(Attrs(kText, 4, INT32_MAX), Code::kInvalidArgument, "too little data");
  refuse(Attrs(kText, 4, int64_t{1} << 62), Code::kInvalidArgument, "out of range for an int32");
  refuse(Attrs(kText, 0, 1), Code::kInvalidArgument, "batch_size");
  refuse(Attrs(kText, 4, 1, 1, 1e-30f), Code::kInvalidArgument, "leaves out too many");
  AttrMap missing = Attrs(kText, 4, 1);
  missing.Set("filename", directory_.Path("none"));
  refuse(missing, Code::kNotFound, "");
}

}  // namespace
}  // namespace thalweg
