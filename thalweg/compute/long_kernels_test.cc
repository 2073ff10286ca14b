// SPDX-License-Identifier: Apache-2.0
// Kernels whose one call may take long or much: they stop when their step is cancelled, and what
// they need beyond their inputs comes from the Work, which may refuse it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <functional>
#include <limits>
#include <list>
#include <string>
#include <vector>

#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/conv/conv2d_plain.h"
#include "thalweg/compute/ctc/ctc.h"
#include "thalweg/compute/image/distorted_box.h"
#include "thalweg/compute/image/suppress.h"
#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/interruption.h"
#include "thalweg/compute/linalg/linalg.h"
#include "thalweg/compute/move/unique.h"
#include "thalweg/compute/pool/dilation2d.h"
#include "thalweg/compute/reduce/scan.h"
#include "thalweg/compute/signal/fft.h"
#include "thalweg/compute/sort.h"
#include "thalweg/compute/test_work.h"
#include "thalweg/compute/text/base64.h"
#include "thalweg/compute/text/unicode.h"

namespace thalweg::compute {
namespace {

class CtcWorkTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSteps = 40, kClasses = 5;

  Status Loss(Work& work) {
    std::vector<float> gradient(logits_.size());
    return CtcLoss(work, Logits(), {0, 1, 2, 3, 1}, true, gradient.data()).status();
  }
  Status Search(Work& work) { return CtcBeamSearch(work, Logits(), 30, 1, false).status(); }

 private:
  CtcLogits<float> Logits() const { return {logits_.data(), kSteps, kClasses, kClasses}; }
  const std::vector<float> logits_ = RandomValues(kSteps * kClasses);
};

TEST_F(CtcWorkTest, StopsWhenItIsCancelled) {
  TestWork work;
  EXPECT_TRUE(Loss(work).ok());
  EXPECT_TRUE(Search(work).ok());
  work.cancel = true;
  EXPECT_EQ(Loss(work).code(), Code::kCancelled);
  EXPECT_EQ(Search(work).code(), Code::kCancelled);
}

// The labels that were found lie as deep as the input is long.
TEST_F(CtcWorkTest, FreesWhatItFoundInALongInput) {
  constexpr int64_t kLong = 300'000;
  TestWork work;
  std::vector<float> turns(3 * kLong);
  for (int64_t t = 0; t < kLong; ++t) turns[static_cast<size_t>(3 * t + t % 2)] = 9;
  const CtcLogits<float> changing{turns.data(), kLong, 3, 3};
  const auto found = CtcBeamSearch(work, changing, 1, 1, false);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].labels.size(), static_cast<size_t>(kLong));
}

TEST_F(CtcWorkTest, AsksForWhatItNeeds) {
  TestWork work;
  work.refuse_scratch = true;
  EXPECT_EQ(Loss(work).code(), Code::kResourceExhausted);
  EXPECT_EQ(Search(work).code(), Code::kResourceExhausted);
}

TEST(SuppressWorkTest, StopsWhenItIsCancelled) {
  const std::vector<float> scores = RandomValues(50, 0.1, 1);
  const SuppressRule rule{.most = 50, .overlap = 0.5f};
  const auto apart = [](int64_t, int64_t) { return 0.0f; };
  TestWork work;
  const auto all = Suppress(work, 50, scores.data(), rule, apart);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 50u);
  work.cancel = true;
  EXPECT_EQ(Suppress(work, 50, scores.data(), rule, apart).status().code(), Code::kCancelled);
}

// A work that is cancelled while the kernel runs.
class CancelledLater final : public Work {
 public:
  explicit CancelledLater(int64_t last) : Work(GetIsaTable(BestIsaLevel())), last_(last) {}
  void ParallelFor(int64_t shards, ShardFn fn, void* context) override {
    for (int64_t shard = 0; shard < shards; ++shard) fn(context, shard);
  }
  void* AllocateScratch(size_t bytes) override { return std::malloc(bytes); }
  void FreeScratch(void* pointer, size_t) override { std::free(pointer); }
  bool cancelled() const override { return ++asked_ >= last_; }
  int64_t asked() const { return asked_; }

 private:
  const int64_t last_;
  mutable int64_t asked_ = 0;
};

// One image whose windows take a while; work that ends at the fourth look does not go on to its
// end.
TEST(DilationWorkTest, StopsWhenItIsCancelled) {
  Window side;
  side.input = side.output = 64;
  side.size = 31;
  side.pad_before = 15;
  const Dilation2DShape shape{1, side, side, 4};
  const std::vector<float> x = RandomValues(64 * 64 * 4), filter = RandomValues(31 * 31 * 4);
  std::vector<float> out(x.size());
  const auto run = [&](int direction, Work& work) {
    if (direction == 0) {
      return Dilation2D(work, DType::kFloat, shape, x.data(), filter.data(), out.data());
    }
    return (direction == 1 ? Dilation2DBackwardInput : Dilation2DBackwardFilter)(
        work, DType::kFloat, shape, x.data(), filter.data(), x.data(), out.data());
  };
  for (int direction = 0; direction < 3; ++direction) {
    CancelledLater patient(1 << 30), hasty(4);
    EXPECT_TRUE(run(direction, patient).ok());
    EXPECT_GT(patient.asked(), 30) << direction;
    EXPECT_EQ(run(direction, hasty).code(), Code::kCancelled) << direction;
  }
}

TEST(IntegerConvolutionWorkTest, StopsWithinOneImage) {
  Window side;
  side.input = side.output = 64;
  side.size = 3;
  side.pad_before = 1;
  const Conv2DShape shape{
      .batch = 1, .rows = side, .columns = side, .in_channels = 2, .out_channels = 2};
  const std::vector<int32_t> x(64 * 64 * 2, 1), filter(3 * 3 * 2 * 2, 1);
  std::vector<int32_t> out(x.size());
  const auto run = [&](int direction, Work& work) {
    if (direction == 0) return ConvForward(work, shape, x.data(), filter.data(), out.data(), {});
    return direction == 1 ? ConvBackwardInput(work, shape, filter.data(), x.data(), out.data())
                          : ConvBackwardFilter(work, shape, x.data(), x.data(), out.data());
  };
  for (int direction = 0; direction < 3; ++direction) {
    CancelledLater patient(1 << 30), hasty(4);
    EXPECT_TRUE(run(direction, patient).ok());
    EXPECT_GT(patient.asked(), 30) << direction;
    EXPECT_EQ(run(direction, hasty).code(), Code::kCancelled) << direction;
  }
}

TEST(BlocksWorkTest, StopWhenTheyAreCancelled) {
  CancelledLater patient(1 << 30), hasty(3);
  int64_t sum = 0;
  const auto add = [&](int64_t begin, int64_t end) { sum += end - begin; };
  EXPECT_TRUE(ForBlocksInOrder(patient, 25, 10, add).ok());
  EXPECT_EQ(sum, 25);
  EXPECT_EQ(ForBlocksInOrder(hasty, 100, 10, add).code(), Code::kCancelled);
  EXPECT_EQ(sum, 45);
}

TEST(CancelLooksTest, LookEverySoManyThings) {
  CancelledLater hasty(2);
  CancelLooks looks(hasty);
  int64_t did = 0;
  while (did < 1'000'000 && looks.Did().ok()) ++did;
  EXPECT_EQ(hasty.asked(), 2);
  EXPECT_LT(did, 100'000);
  CancelledLater patient(1 << 30);
  CancelLooks of_large(patient);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(of_large.Did(1'000'000).ok());
  EXPECT_EQ(patient.asked(), 10);
}

// f() looks more often than thrice, and ends at its third look.
template <class F>
void ExpectEndsEarly(const F& f) {
  CancelledLater patient(1 << 30), hasty(3);
  EXPECT_TRUE(Interruptibly(patient, f).ok());
  EXPECT_GT(patient.asked(), 3);
  EXPECT_EQ(Interruptibly(hasty, f).code(), Code::kCancelled);
  EXPECT_EQ(hasty.asked(), 3);
}

TEST(LongTextWorkTest, EndsWithinOneText) {
  const std::string text(1 << 20, 'a');
  ExpectEndsEarly([&] { EncodeBase64(text, true); });
  ExpectEndsEarly([&] { DecodeBase64(text); });
  const auto decoder = TextDecoder::Make("UTF-8");
  ASSERT_TRUE(decoder.ok());
  ExpectEndsEarly([&] { decoder->Decode(text, [](int32_t, int64_t) {}); });
}

TEST(ScanWorkTest, EndsWithinOneLine) {
  constexpr int64_t kSize = 1 << 20;
  std::vector<float> x(kSize, 1), y(kSize);
  const auto run = [&](Work& work) {
    return Scan(work, ScanOp::kSum, DType::kFloat, {.outer = 1, .size = kSize, .inner = 1},
                x.data(), y.data());
  };
  CancelledLater patient(1 << 30), hasty(4);
  EXPECT_TRUE(run(patient).ok());
  EXPECT_EQ(y.back(), kSize);
  EXPECT_GT(patient.asked(), 10);
  y.back() = 0;
  EXPECT_EQ(run(hasty).code(), Code::kCancelled);
  EXPECT_EQ(y.back(), 0);
}

void ExpectFftStops(const std::vector<int64_t>& length) {
  int64_t n = 1;
  for (const int64_t size : length) n *= size;
  const FftProblem problem{.input = length, .length = length};
  const std::vector<std::complex<float>> in(static_cast<size_t>(n));
  std::vector<std::complex<float>> out(in.size());
  CancelledLater patient(std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(Fft(patient, problem, in.data(), out.data()).ok());
  EXPECT_GE(patient.asked(), 8);
  const int64_t half = patient.asked() / 2;
  CancelledLater work(half);
  EXPECT_EQ(Fft(work, problem, in.data(), out.data()).code(), Code::kCancelled);
  EXPECT_LE(work.asked(), half + 4);
}

TEST(FftWorkTest, StopsWithinATransform) {
  ExpectFftStops({int64_t{1} << 18});
  ExpectFftStops({(int64_t{1} << 17) - 1});  // a prime
  ExpectFftStops({64, 64, 64});
}

TEST(DistortedBoxWorkTest, StopsBetweenAttempts) {
  const std::vector<PixelBox> objects = {{0, 0, 1, 1}};
  const BoxWish wish{.least_covered = 2, .attempts = 1'000'000'000};  // never
  CancelledLater work(10);
  EXPECT_EQ(DrawBox(work, Philox(1, 2), wish, 100, 100, objects).status().code(), Code::kCancelled);
  EXPECT_EQ(work.asked(), 10);
}

// The table of what was seen is made by blocks, and so are the looks while it is filled.
TEST(UniqueWorkTest, StopsWhileItsTableIsCleared) {
  constexpr int64_t kRows = 1 << 20;
  const std::vector<int32_t> x(kRows, 7);
  std::vector<int64_t> first(kRows), index(kRows);
  const auto run = [&](Work& work) {
    return UniqueRows(work, DType::kInt32, kRows, 1, x.data(), first.data(), index.data());
  };
  CancelledLater patient(1 << 30), hasty(4);
  EXPECT_EQ(*run(patient), 1);
  EXPECT_GT(patient.asked(), 40);
  EXPECT_EQ(run(hasty).status().code(), Code::kCancelled);
}

// Every sort, stopped at many points.
TEST(SortWorkTest, EverySortEndsEarly) {
  std::vector<std::string> words;
  for (int64_t i = 0; i < 5000; ++i)
    words.push_back("a longer word " + std::to_string(i * 7919 % 5003));
  std::vector<std::string> sorted = words;
  std::sort(sorted.begin(), sorted.end());
  using Words = std::vector<std::string>;
  const std::less<> less;
  const auto middle = [](Words& w) { return w.begin() + 2000; };
  const std::vector<std::function<Status(const Work&, Words&)>> sorts = {
      [](const Work& work, Words& w) { return Sort(work, w.begin(), w.end()); },
      [&](const Work& work, Words& w) { return StableSort(work, w.begin(), w.end(), less); },
      [&](const Work& work, Words& w) {
        return PartialSort(work, w.begin(), middle(w), w.end(), less);
      },
      [&](const Work& work, Words& w) {
        return NthElement(work, w.begin(), middle(w), w.end(), less);
      }};
  for (size_t which = 0; which < sorts.size(); ++which) {
    SCOPED_TRACE(which);
    CancelledLater patient(std::numeric_limits<int64_t>::max());
    Words all = words;
    ASSERT_TRUE(sorts[which](patient, all).ok());
    const size_t in_order = which < 2 ? all.size() : which == 2 ? 2000 : 0;
    for (size_t i = 0; i < in_order; ++i) EXPECT_EQ(all[i], sorted[i]);
    if (which == 3) {
      EXPECT_EQ(all[2000], sorted[2000]);
    }
    const int64_t looks = patient.asked();
    EXPECT_GE(looks, 100);
    for (int64_t at = 1; at <= looks; at += 1 + looks / 20) {
      CancelledLater work(at);
      Words some = words;
      EXPECT_EQ(sorts[which](work, some).code(), Code::kCancelled);
      EXPECT_EQ(work.asked(), at);
    }
  }
}

// Every call of every decomposition, stopped at many points: it ends, with nothing but kCancelled.
class LinalgWorkTest : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr int64_t kSize = 48;

  template <class F>
  void ExpectStops(const char* name, const F& call) {
    SCOPED_TRACE(name);
    CancelledLater patient(std::numeric_limits<int64_t>::max());
    {
      const Interruption interruption(patient);
      ASSERT_EQ(call(), LinalgResult::kOk);
    }
    const int64_t looks = patient.asked();
    EXPECT_GE(looks, 1);
    for (int64_t at = 1; at <= looks; at += 1 + looks / 40) {
      CancelledLater work(at);
      const Interruption interruption(work);
      EXPECT_EQ(call(), LinalgResult::kCancelled);
      EXPECT_EQ(work.asked(), at);
    }
  }

  char* Out() {
    outputs_.emplace_back(static_cast<size_t>(kSize * kSize * 16));
    return outputs_.back().data();
  }

 private:
  std::list<std::vector<char>> outputs_;
};

TEST_P(LinalgWorkTest, StopsWithinADecomposition) {
  const LinalgKernels& k = *LinalgKernelsOf(GetParam());
  const int64_t n = kSize, parts = IsComplex(GetParam()) ? 2 : 1;
  const bool wide = GetParam() == DType::kDouble || GetParam() == DType::kComplex128;
  char* a = Out();
  char* definite = Out();
  for (int64_t i = 0; i < n * n * parts; ++i) {
    const double value = std::sin(static_cast<double>(7 * i % 1009));
    const bool diagonal = i % (parts * (n + 1)) == 0;
    for (const auto& [to, number] :
         {std::pair(a, value), std::pair(definite, diagonal ? 99.0 : 0.1)}) {
      if (wide) {
        reinterpret_cast<double*>(to)[i] = number;
      } else {
        reinterpret_cast<float*>(to)[i] = static_cast<float>(number);
      }
    }
  }
  char *x = Out(), *y = Out(), *z = Out();
  std::vector<int64_t> p(kSize);
  ExpectStops("cholesky", [&] { return k.cholesky(n, definite, x); });
  ExpectStops("cholesky_gradient", [&] { return k.cholesky_gradient(n, definite, a, x); });
  ExpectStops("lu", [&] { return k.lu(n, a, x, p.data()); });
  ExpectStops("determinant", [&] { return k.determinant(n, a, x); });
  ExpectStops("log_determinant", [&] { return k.log_determinant(n, a, x, y); });
  ExpectStops("inverse", [&] { return k.inverse(n, a, true, x); });
  ExpectStops("solve", [&] { return k.solve(n, n, a, definite, false, x); });
  ExpectStops("least_squares", [&] { return k.least_squares(n, n, n, a, definite, 0, false, x); });
  ExpectStops("fast least_squares", [&] { return k.least_squares(n, n, n, a, a, 1, true, x); });
  ExpectStops("qr", [&] { return k.qr(n, n, a, true, x, y); });
  ExpectStops("svd", [&] { return k.svd(n, n, a, false, x, y, z); });
  ExpectStops("singular values", [&] { return k.svd(n, n, a, false, x, nullptr, nullptr); });
  ExpectStops("self_adjoint_eigen", [&] { return k.self_adjoint_eigen(n, definite, x, y); });
  ExpectStops("eigen", [&] { return k.eigen(n, a, x, y); });
  ExpectStops("square_root", [&] { return k.square_root(n, definite, x); });
  ExpectStops("exponential", [&] { return k.exponential(n, a, x); });
  if (IsComplex(GetParam())) ExpectStops("logarithm", [&] { return k.logarithm(n, definite, x); });
}

INSTANTIATE_TEST_SUITE_P(Types, LinalgWorkTest,
                         ::testing::Values(DType::kFloat, DType::kDouble, DType::kComplex64,
                                           DType::kComplex128));

}  // namespace
}  // namespace thalweg::compute
