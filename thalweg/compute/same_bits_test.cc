// SPDX-License-Identifier: Apache-2.0
// One kernel of every class, a hundred times with 1, 2 and 8 threads: the bits are those of the
// first run. Sizes make several shards.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "thalweg/base/philox.h"
#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/norm/batch_norm.h"
#include "thalweg/compute/pool/pool.h"
#include "thalweg/compute/program/reduced_program.h"
#include "thalweg/compute/random/philox_fill.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/compute/softmax/softmax.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

constexpr int kRuns = 100;
constexpr DType kFloat = DType::kFloat;

using Call = std::function<Status(Work& work, float* out)>;

void ExpectSameBits(const char* what, size_t elements, const Call& call) {
  std::vector<float> first(elements, -1), again(elements);
  TestWork alone(BestIsaLevel(), 1);
  ASSERT_TRUE(call(alone, first.data()).ok()) << what;
  for (int threads : {1, 2, 8}) {
    TestWork work(BestIsaLevel(), threads);
    for (int run = 0; run < kRuns; ++run) {
      std::fill(again.begin(), again.end(), -2.0f);
      ASSERT_TRUE(call(work, again.data()).ok()) << what;
      ASSERT_EQ(std::memcmp(first.data(), again.data(), elements * sizeof(float)), 0)
          << what << ", " << threads << " threads, run " << run;
    }
  }
}

TEST(SameBitsTest, Products) {
  const int64_t m = 150, k = 300, n = 170;
  const auto a = RandomValues(m * k), b = RandomValues(k * n, -1, 1, 2);
  ExpectSameBits("gemm", static_cast<size_t>(m * n), [&](Work& work, float* out) {
    return Gemm(work, kFloat, GemmShape::Dense(m, n, k), a.data(), b.data(), out);
  });
}

TEST(SameBitsTest, Convolutions) {
  const Window w = *MakeWindow(12, 3, 1, 1, Padding::kSame);
  const Conv2DShape s{.batch = 3, .rows = w, .columns = w, .in_channels = 20, .out_channels = 17};
  const auto x = RandomValues(s.batch * s.InPixels() * s.in_channels);
  const auto f = RandomValues(s.Taps() * s.in_channels * s.out_channels, -1, 1, 2);
  const auto g = RandomValues(s.batch * s.OutPixels() * s.out_channels, -1, 1, 3);
  ExpectSameBits("conv", g.size(), [&](Work& work, float* out) {
    return Conv2D(work, kFloat, s, x.data(), f.data(), out);
  });
  ExpectSameBits("conv by input", x.size(), [&](Work& work, float* out) {
    return Conv2DBackwardInput(work, kFloat, s, f.data(), g.data(), out);
  });
  ExpectSameBits("conv by filter", f.size(), [&](Work& work, float* out) {
    return Conv2DBackwardFilter(work, kFloat, s, x.data(), g.data(), out);
  });
}

TEST(SameBitsTest, ReductionsAndPrograms) {
  const int64_t rows = 700, columns = 301;
  const std::vector<int64_t> dims = {rows, columns};
  const auto x = RandomValues(rows * columns), row = RandomValues(columns, -1, 1, 2);
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 1}, {0}, {1}}) {
    const Reduction reduction = *Reduction::Make(dims, axes);
    ExpectSameBits("reduce", static_cast<size_t>(reduction.output_elements()),
                   [&](Work& work, float* out) {
                     return Reduce(work, ReduceOp::kSum, kFloat, reduction, x.data(), out);
                   });
  }
  const std::vector<std::vector<std::string>> programs = {
      {"Mul 0 1", "Tanh 2", "Add 3 0"},
      {"SquaredDifference 0 1", "Mean 2 axes 0,1"},
      {"Mul 0 1", "Sum 2 axes 0"},
      {"Mean 0 axes 1 keep", "Sub 0 2", "Mul 3 1"}};
  for (const auto& lines : programs) {
    std::vector<ReducedInstruction> instructions;
    for (const auto& line : lines) instructions.push_back(*ReducedInstruction::Parse(line));
    const int last = 1 + static_cast<int>(lines.size());
    const ReducedProgram program =
        *ReducedProgram::Make({kFloat, kFloat}, std::move(instructions), {last});
    const EwRun::Input inputs[] = {{x.data(), dims}, {row.data(), std::span(dims).last(1)}};
    ReducedRun shapes(program, GetIsaTable(BestIsaLevel()), inputs);
    ASSERT_TRUE(shapes.InferShapes().ok());
    const Dims& made = shapes.output_dims(0);
    const int64_t n = std::accumulate(made.begin(), made.end(), int64_t{1}, std::multiplies<>());
    ExpectSameBits("program", static_cast<size_t>(n), [&](Work& work, float* out) {
      ReducedRun run(program, work.isa(), inputs);
      RETURN_IF_ERROR(run.InferShapes());
      void* outputs[] = {out};
      return run.Execute(work, outputs);
    });
  }
}

TEST(SameBitsTest, Softmax) {
  const int64_t rows = 400, columns = 130;
  const auto x = RandomValues(rows * columns, -5, 5);
  ExpectSameBits("softmax", x.size(), [&](Work& work, float* out) {
    return Softmax(work, kFloat, rows, columns, x.data(), out);
  });
}

TEST(SameBitsTest, Scatter) {
  // Many indices meet in few rows.
  const int64_t count = 5000, inner = 17, targets = 30;
  const auto updates = RandomValues(count * inner);
  std::vector<int64_t> indices(static_cast<size_t>(count));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * i) % targets;
  ExpectSameBits("scatter", static_cast<size_t>(targets * inner), [&](Work& work, float* out) {
    std::fill_n(out, targets * inner, 0.0f);
    return CombineRows(work, kFloat, Combine::kAdd, {.inner = inner, .count = count},
                       indices.data(), updates.data(), out);
  });
}

TEST(SameBitsTest, Random) {
  const int64_t n = 50000;
  ExpectSameBits("uniform", n, [&](Work& work, float* out) {
    return FillUniform(work, kFloat, Philox(7, 9), out, n);
  });
  ExpectSameBits("truncated normal", n, [&](Work& work, float* out) {
    return FillTruncatedNormal(work, kFloat, Philox(7, 9), out, n);
  });
}

TEST(SameBitsTest, Norms) {
  const ChannelShape s{3000, 40, 1};
  const auto x = RandomValues(s.outer * s.channels);
  ExpectSameBits("moments", static_cast<size_t>(2 * s.channels), [&](Work& work, float* out) {
    std::vector<double> mean(static_cast<size_t>(s.channels)), variance(mean);
    RETURN_IF_ERROR(ChannelMoments(work, kFloat, s, x.data(), mean.data(), variance.data()));
    for (size_t c = 0; c < mean.size(); ++c) {
      out[2 * c] = static_cast<float>(mean[c]);
      out[2 * c + 1] = static_cast<float>(variance[c]);
    }
    return OkStatus();
  });
}

TEST(SameBitsTest, Pools) {
  const Window w = *MakeWindow(20, 3, 1, 1, Padding::kSame);
  const PoolShape s{.batch = 4, .rows = w, .columns = w, .channels = 30};
  const auto x = RandomValues(s.batch * s.InPixels() * s.channels);
  const auto g = RandomValues(s.batch * s.OutPixels() * s.channels, -1, 1, 2);
  ExpectSameBits("average", g.size(),
                 [&](Work& work, float* out) { return AvgPool(work, kFloat, s, x.data(), out); });
  ExpectSameBits("maximum gradient", x.size(), [&](Work& work, float* out) {
    return MaxPoolGrad(work, kFloat, s, x.data(), g.data(), out);
  });
}

}  // namespace
}  // namespace thalweg::compute
