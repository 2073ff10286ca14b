// SPDX-License-Identifier: Apache-2.0
// compute_benchmark [FILTER]: the inner loops against the roof of one core, at every instruction
// set level. Each row: the 10th percentile of its times, and its share of the roof (FMA loop or
// copy) measured in the same process.
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/conv/depthwise.h"
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/compute/isa/components.h"
#include "thalweg/compute/norm/batch_norm.h"
#include "thalweg/compute/optimizer/optimizer.h"
#include "thalweg/compute/pool/pool.h"
#include "thalweg/compute/program/program.h"
#include "thalweg/compute/program/reduced_program.h"
#include "thalweg/compute/quantized/level_product.h"
#include "thalweg/compute/reduce/reduce.h"
#include "thalweg/compute/softmax/softmax.h"
#include "thalweg/compute/work.h"

namespace thalweg::compute {
namespace {

constexpr double kSecondsARow = 0.15;

// The thread's own time: what other processes take of the core does not count.
double Now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds of one call: 10th percentile.
double Time(const std::function<void()>& call) {
  call();
  std::vector<double> times;
  const double start = Now();
  for (double before = start; before - start < kSecondsARow || times.size() < 5;) {
    call();
    const double after = Now();
    times.push_back(after - before);
    before = after;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 10];
}

#define THALWEG_FMA_LOOP(NAME, TARGET, VECTOR, SET, FMA)                       \
  __attribute__((target(TARGET), noinline)) void NAME(int64_t n, float* out) { \
    VECTOR acc[12];                                                            \
    for (auto& v : acc) v = SET(1.0f);                                         \
    const VECTOR x = SET(0.999f), y = SET(0.001f);                             \
    for (int64_t i = 0; i < n; ++i) {                                          \
      _Pragma("GCC unroll 12") for (auto& v : acc) v = FMA(v, x, y);           \
    }                                                                          \
    VECTOR sum = acc[0];                                                       \
    for (int i = 1; i < 12; ++i) sum += acc[i];                                \
    std::memcpy(out, &sum, sizeof sum);                                        \
  }
#define THALWEG_MULTIPLY_ADD(a, b, c) (a) * (b) + (c)
THALWEG_FMA_LOOP(FmaSse4, "sse4.2", __m128, _mm_set1_ps, THALWEG_MULTIPLY_ADD)
THALWEG_FMA_LOOP(FmaAvx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)
THALWEG_FMA_LOOP(FmaAvx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)

struct Roof {
  double gflops;
  double copy_gbs;
};

Roof Calibrate(IsaLevel level) {
  float out[16];
  constexpr int64_t n = 1000000;
  const int lanes = 4 << static_cast<int>(level);
  const double seconds = Time([&] {
    if (level == IsaLevel::kSse4) FmaSse4(n, out);
    if (level == IsaLevel::kAvx2) FmaAvx2(n, out);
    if (level == IsaLevel::kAvx512) FmaAvx512(n, out);
  });
  std::vector<char> from(40000000, 1), to(40000000);
  const double copy = Time([&] { std::memcpy(to.data(), from.data(), from.size()); });
  return {n * 12.0 * lanes * 2 / seconds / 1e9,
          2.0 * static_cast<double>(from.size()) / copy / 1e9};
}

class Bench {
 public:
  Bench(IsaLevel level, std::string filter)
      : level_(level),
        filter_(std::move(filter)),
        roof_(Calibrate(level)),
        work_(GetIsaTable(level)) {
    std::printf("%-6s roof: %.1f GFLOP/s, copy %.1f GB/s\n", IsaLevelName(level), roof_.gflops,
                roof_.copy_gbs);
  }
  Work& work() { return work_; }
  void Flops(const std::string& name, double flops, const std::function<void()>& call) {
    if (Wants(name)) PrintFlops(name, flops, Time(call));
  }
  bool Wants(const std::string& name) const { return name.find(filter_) != std::string::npos; }
  void PrintFlops(const std::string& name, double flops, double seconds) const {
    std::printf("%-6s %-44s %9.1f us %8.1f GFLOP/s %5.0f %% of FMA\n", IsaLevelName(level_),
                name.c_str(), seconds * 1e6, flops / seconds / 1e9,
                100 * flops / seconds / 1e9 / roof_.gflops);
  }
  void Bytes(const std::string& name, double bytes, const std::function<void()>& call) {
    if (name.find(filter_) == std::string::npos) return;
    const double seconds = Time(call);
    std::printf("%-6s %-44s %9.1f us %8.1f GB/s    %5.0f %% of copy\n", IsaLevelName(level_),
                name.c_str(), seconds * 1e6, bytes / seconds / 1e9,
                100 * bytes / seconds / 1e9 / roof_.copy_gbs);
  }

 private:
  IsaLevel level_;
  std::string filter_;
  Roof roof_;
  SerialWork work_;
};

std::string Label(const char* kind, std::initializer_list<int64_t> sizes) {
  std::string label = kind;
  char separator = ' ';
  for (int64_t size : sizes) {
    label += separator + std::to_string(size);
    separator = 'x';
  }
  return label;
}

void GemmRows(Bench& bench) {
  // Cubes; the layers of mlp, mlp_infer_b1, lstm and transformer of benchmarks/peers/workloads.md.
  const int64_t sizes[][3] = {{32, 32, 32},       {64, 64, 64},      {128, 128, 128},
                              {256, 256, 256},    {512, 512, 512},   {1024, 1024, 1024},
                              {2048, 2048, 2048}, {128, 784, 512},   {128, 512, 512},
                              {128, 512, 10},     {1, 784, 512},     {4, 784, 512},
                              {20, 650, 2600},    {400, 650, 2600},  {400, 650, 10000},
                              {2048, 256, 256},   {2048, 256, 1024}, {2048, 1024, 256},
                              {256, 2048, 1024},  {64, 2048, 1000},  {1024, 1024, 1}};
  for (const auto& [m, k, n] : sizes) {
    std::vector<float> a(m * k, 0.5f), b(k * n, 0.25f), c(m * n);
    const std::pair<Transpose, Transpose> forms[] = {{Transpose::kNo, Transpose::kNo},
                                                     {Transpose::kYes, Transpose::kNo},
                                                     {Transpose::kNo, Transpose::kYes}};
    const double flops = 2.0 * static_cast<double>(m * n * k);
    for (const auto& [ta, tb] : forms) {
      std::string name = Label("gemm", {m, k, n});
      if (ta != Transpose::kNo) name += " a^T";
      if (tb != Transpose::kNo) name += " b^T";
      bench.Flops(name, flops, [&, ta = ta, tb = tb] {
        Gemm(bench.work(), DType::kFloat, GemmShape::Dense(m, n, k, ta, tb), a.data(), b.data(),
             c.data())
            .IgnoreError();
      });
    }
    std::vector<float> packed(*PackedSize(bench.work().isa(), DType::kFloat, n, k));
    const GemmShape shape = GemmShape::Dense(m, n, k);
    PackGemm(bench.work(), DType::kFloat, shape, b.data(), packed.data()).IgnoreError();
    bench.Flops(Label("gemm", {m, k, n}) + " packed b", flops, [&] {
      PackedGemm(bench.work(), DType::kFloat, shape, a.data(), packed.data(), c.data())
          .IgnoreError();
    });
  }
}

// Sums of float; where the processor has instructions of its own, beyond the roof of floats.
void Bfloat16Rows(Bench& bench) {
  const int64_t sizes[][3] = {{1024, 1024, 1024}, {2048, 2048, 2048}, {2048, 256, 1024},
                              {2048, 1024, 256},  {128, 768, 3072},   {1, 768, 3072}};
  for (const auto& [rows, depth, columns] : sizes) {
    const int64_t m = rows, k = depth, n = columns;
    const std::vector<Bfloat16> a(m * k, Bfloat16(0.5f)), b(k * n, Bfloat16(0.25f));
    std::vector<Bfloat16> c(m * n);
    const double flops = 2.0 * static_cast<double>(m * n * k);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const GemmShape shape = GemmShape::Dense(m, n, k, ta ? Transpose::kYes : Transpose::kNo,
                                                 tb ? Transpose::kYes : Transpose::kNo);
        bench.Flops(Label("bfloat16", {m, k, n}) + (ta ? " a^T" : "") + (tb ? " b^T" : ""), flops,
                    [&] {
                      Gemm(bench.work(), DType::kBfloat16, shape, a.data(), b.data(), c.data())
                          .IgnoreError();
                    });
      }
    }
    const GemmShape shape = GemmShape::Dense(m, n, k);
    std::vector<float> packed(*PackedSize(bench.work().isa(), DType::kBfloat16, n, k));
    PackGemm(bench.work(), DType::kBfloat16, shape, b.data(), packed.data()).IgnoreError();
    bench.Flops(Label("bfloat16", {m, k, n}) + " packed b", flops, [&] {
      PackedGemm(bench.work(), DType::kBfloat16, shape, a.data(), packed.data(), c.data())
          .IgnoreError();
    });
  }
}

// Levels of 8 bits; multiplications and additions of integers stand beside the roof of floats.
void LevelProductRows(Bench& bench) {
  const int64_t sizes[][3] = {{128, 768, 768},  {128, 768, 3072}, {128, 3072, 768},
                              {1, 768, 3072},   {3136, 64, 64},   {784, 1152, 128},
                              {196, 2304, 256}, {49, 4608, 512},  {12544, 147, 64}};
  for (const auto& [rows, depth, columns] : sizes) {
    const int64_t m = rows, k = depth, n = columns;
    const std::vector<uint8_t> a(m * k, 5), b(k * n, 3);
    std::vector<int32_t> c(m * n), wide_a(m * k, 5), wide_b(k * n, 3);
    const double flops = 2.0 * static_cast<double>(m * n * k);
    const ProductSize size{m, n, k};
    const LevelMatrix of_a{.dtype = DType::kQuint8, .levels = a.data(), .zero = 3};
    LevelMatrix of_b{.dtype = DType::kQint8, .levels = b.data()};
    bench.Flops(Label("levels", {m, k, n}), flops,
                [&] { LevelProduct(bench.work(), size, of_a, of_b, c.data()).IgnoreError(); });
    std::vector<uint8_t> packed(PackedLevelsSize(bench.work().isa(), size));
    PackLevels(bench.work(), size, of_b, packed.data()).IgnoreError();
    of_b.packed = packed.data();
    bench.Flops(Label("levels", {m, k, n}) + " packed b", flops,
                [&] { LevelProduct(bench.work(), size, of_a, of_b, c.data()).IgnoreError(); });
    bench.Flops(Label("levels", {m, k, n}) + " as int32", flops, [&] {
      Gemm(bench.work(), DType::kInt32, GemmShape::Dense(m, n, k), wide_a.data(), wide_b.data(),
           c.data())
          .IgnoreError();
    });
  }
}

void BatchedRows(Bench& bench) {
  const int64_t batch = 96, m = 128, k = 64, n = 128;
  std::vector<float> a(batch * m * k, 0.5f), b(batch * k * n, 0.25f), c(batch * m * n);
  std::vector<int64_t> a_offsets, b_offsets;
  for (int64_t i = 0; i < batch; ++i) {
    a_offsets.push_back(i * m * k);
    b_offsets.push_back(i * k * n);
  }
  bench.Flops("batched 96x128x64x128 b^T", 2.0 * static_cast<double>(batch * m * k * n), [&] {
    BatchedGemm(bench.work(), DType::kFloat,
                GemmShape::Dense(m, n, k, Transpose::kNo, Transpose::kYes), batch, a.data(),
                a_offsets.data(), b.data(), b_offsets.data(), c.data())
        .IgnoreError();
  });
}

template <class T>
void ConvRows(Bench& bench, const char* kind) {
  constexpr DType kType = kDTypeOf<T>;
  // size, in, filter, stride, out
  const int64_t layers[][5] = {{224, 3, 7, 2, 64},    {56, 64, 1, 1, 256},  {56, 64, 3, 1, 64},
                               {56, 128, 3, 2, 128},  {28, 256, 3, 1, 256}, {14, 256, 3, 1, 256},
                               {14, 1024, 1, 1, 256}, {7, 512, 3, 1, 512}};
  const int64_t batch = 8;
  for (const auto& [size, in, filter, stride, out] : layers) {
    const Window w = *MakeWindow(size, filter, stride, 1, Padding::kSame);
    const Conv2DShape s{batch, w, w, in, out};
    std::vector<T> x(batch * s.InPixels() * in, T(0.5f)), f(s.Taps() * in * out, T(0.25f)),
        y(batch * s.OutPixels() * out);
    const double flops = 2.0 * static_cast<double>(batch * s.OutPixels() * s.Taps() * in * out);
    const std::string name = Label(kind, {size, in, filter, stride, out});
    bench.Flops(name + " forward", flops, [&] {
      Conv2D(bench.work(), kType, s, x.data(), f.data(), y.data()).IgnoreError();
    });
    bench.Flops(name + " backward input", flops, [&] {
      Conv2DBackwardInput(bench.work(), kType, s, f.data(), y.data(), x.data()).IgnoreError();
    });
    bench.Flops(name + " backward filter", flops, [&] {
      Conv2DBackwardFilter(bench.work(), kType, s, x.data(), y.data(), f.data()).IgnoreError();
    });
  }
}

struct Layer {
  Conv2DShape shape;
  int count;
};

// The 53 convolutions of ResNet-50.
std::vector<Layer> ResnetLayers(int64_t batch) {
  std::vector<Layer> layers;
  const auto add = [&](int count, int64_t size, int64_t in, int64_t filter, int64_t stride,
                       int64_t out) {
    const Window w = *MakeWindow(size, filter, stride, 1, Padding::kSame);
    layers.push_back({{batch, w, w, in, out}, count});
  };
  add(1, 224, 3, 7, 2, 64);
  int64_t in = 64, size = 56;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage, out = 4 * width, stride = stage == 0 ? 1 : 2;
    const int more = blocks[stage] - 1;
    add(1, size, in, 1, 1, width);
    add(1, size, width, 3, stride, width);
    add(1, size, in, 1, stride, out);
    size /= stride;
    add(more + 1, size, width, 1, 1, out);
    add(more, size, out, 1, 1, width);
    add(more, size, width, 3, 1, width);
    in = out;
  }
  return layers;
}

// Keeps one packed filter, as the kernels of a model that is served do.
class OneFilter final : public PackedFilterCache {
 public:
  const float* Find(std::string_view format) override {
    return !format_.empty() && format_ == format ? packed_.data() : nullptr;
  }
  float* Allocate(int64_t floats) override {
    packed_.resize(static_cast<size_t>(floats) + 16);
    return packed_.data();
  }
  void Keep(std::string_view format) override { format_ = format; }

 private:
  std::vector<float> packed_;
  std::string format_;
};

enum class ConvForm { kForward, kBackwardInput, kBackwardFilter, kServed };

// Seconds of one layer; served: one image, the filter kept.
double TimeLayer(Work& work, const Conv2DShape& s, ConvForm form, ConvPlans* plans) {
  std::vector<float> x(s.batch * s.InPixels() * s.in_channels, 0.5f),
      f(s.Taps() * s.in_channels * s.out_channels, 0.25f),
      y(s.batch * s.OutPixels() * s.out_channels, 0.125f), bias(s.out_channels, 0.5f);
  const DType t = DType::kFloat;
  OneFilter keeper;
  return Time([&] {
    const auto run = [&] {
      switch (form) {
        case ConvForm::kForward:
          return Conv2D(work, t, s, x.data(), f.data(), y.data(), {}, plans);
        case ConvForm::kBackwardInput:
          return Conv2DBackwardInput(work, t, s, f.data(), y.data(), x.data(), plans);
        case ConvForm::kBackwardFilter:
          return Conv2DBackwardFilter(work, t, s, x.data(), y.data(), f.data(), plans);
        case ConvForm::kServed:
          return Conv2D(work, t, s, x.data(), {f.data(), nullptr, &keeper}, y.data(),
                        {.bias = bias.data(), .relu = true}, plans);
      }
      return OkStatus();
    };
    run().IgnoreError();
  });
}

// Sums over all layers: the own path beside the component.
void ResnetRows(Bench& bench) {
  const std::pair<ConvForm, const char*> forms[] = {{ConvForm::kForward, "forward"},
                                                    {ConvForm::kBackwardInput, "backward input"},
                                                    {ConvForm::kBackwardFilter, "backward filter"},
                                                    {ConvForm::kServed, "served"}};
  for (const bool component : {false, true}) {
    if (component && !(MayUseComponents(bench.work().isa()) && HasConvComponent())) continue;
    for (const auto& [form, form_name] : forms) {
      const std::string name = StrCat("resnet-50 ", component ? "onednn " : "own ", form_name);
      if (!bench.Wants(name)) continue;
      double seconds = 0, flops = 0;
      for (const auto& [s, count] : ResnetLayers(form == ConvForm::kServed ? 1 : 8)) {
        ConvPlans own_plans;
        const double time = TimeLayer(bench.work(), s, form, component ? &own_plans : nullptr);
        const double layer_flops = 2.0 *
                                   static_cast<double>(s.batch * s.OutPixels() * s.out_channels) *
                                   static_cast<double>(s.Taps() * s.in_channels);
        bench.PrintFlops(StrCat(name, Label(" layer", {s.rows.input, s.in_channels, s.rows.size,
                                                       s.rows.stride, s.out_channels})),
                         layer_flops, time);
        seconds += time * count;
        flops += layer_flops * count;
      }
      bench.PrintFlops(name, flops, seconds);
    }
  }
}

void ElementwiseRows(Bench& bench) {
  for (const int64_t n : {8192, 10000000}) {
    std::vector<float> a(n, 0.5f), b(n, 0.25f), c(n);
    const auto bytes = static_cast<double>(n) * 4;
    for (UnaryOp op : {UnaryOp::kRelu, UnaryOp::kExp, UnaryOp::kLog, UnaryOp::kTanh,
                       UnaryOp::kSigmoid, UnaryOp::kErf, UnaryOp::kSqrt}) {
      bench.Bytes(Label(UnaryOpName(op), {n}), 2 * bytes, [&] {
        RunUnary(bench.work(), op, DType::kFloat, n, a.data(), c.data()).IgnoreError();
      });
    }
    bench.Bytes(Label("Add", {n}), 3 * bytes, [&] {
      RunBinary(bench.work(), BinaryOp::kAdd, DType::kFloat, Broadcast::Dense(n, 2), a.data(),
                b.data(), c.data())
          .IgnoreError();
    });
    for (int64_t columns : {10, 1000}) {
      const std::vector<int64_t> dims = {n / columns, columns}, row = {columns},
                                 column = {n / columns, 1};
      for (const auto& other : {row, column}) {
        const Broadcast broadcast = *Broadcast::Make({dims, other});
        bench.Bytes(Label(other == row ? "Add row" : "Add column", {n / columns, columns}),
                    2 * bytes, [&] {
                      RunBinary(bench.work(), BinaryOp::kAdd, DType::kFloat, broadcast, a.data(),
                                b.data(), c.data())
                          .IgnoreError();
                    });
      }
    }
  }
}

using I = EwInstruction;

// Inputs: x, a vector of its size, one of the size of a row, a number.
struct Chain {
  const char* name;
  std::vector<I> instructions;
  double tensors;  // read and written
};

std::vector<Chain> Chains() {
  const auto u = [](UnaryOp op, int x) { return I::Unary(op, x); };
  const auto b = [](BinaryOp op, int x, int y) { return I::Binary(op, x, y); };
  std::vector<Chain> chains = {
      {"x*a+b", {b(BinaryOp::kMul, 0, 3), b(BinaryOp::kAdd, 4, 1)}, 3},
      {"relu(x+row)", {b(BinaryOp::kAdd, 0, 2), u(UnaryOp::kRelu, 4)}, 2},
      {"gelu",
       {b(BinaryOp::kMul, 0, 3), u(UnaryOp::kErf, 4), b(BinaryOp::kAdd, 5, 3),
        b(BinaryOp::kMul, 0, 6), b(BinaryOp::kMul, 7, 3)},
       2},
      {"tanh(x*a+b)*sigmoid(x)-x*x",
       {b(BinaryOp::kMul, 0, 3), b(BinaryOp::kAdd, 4, 3), u(UnaryOp::kTanh, 5),
        u(UnaryOp::kSigmoid, 0), b(BinaryOp::kMul, 6, 7), b(BinaryOp::kMul, 0, 0),
        b(BinaryOp::kSub, 8, 9)},
       2},
      {"20 adds", {}, 3}};
  for (int i = 0; i < 20; ++i) chains.back().instructions.push_back(b(BinaryOp::kAdd, 3 + i, 1));
  chains.back().instructions[0] = b(BinaryOp::kAdd, 0, 1);
  return chains;
}

void ChainRows(Bench& bench) {
  for (const Chain& chain : Chains()) {
    const Result<EwProgram> program =
        EwProgram::Make(std::vector<DType>(4, DType::kFloat), chain.instructions,
                        {3 + static_cast<int>(chain.instructions.size())});
    for (const int64_t rows : {1, 10000}) {
      const int64_t columns = 1000, n = rows * columns;
      std::vector<float> x(n, 0.5f), same(n, 0.25f), row(columns, 0.125f), number(1, 0.75f), y(n);
      const int64_t dims[] = {rows, columns};
      const EwRun::Input inputs[] = {{x.data(), dims},
                                     {same.data(), dims},
                                     {row.data(), std::span(dims).last(1)},
                                     {number.data(), {}}};
      bench.Bytes(Label(chain.name, {n}), 4.0 * chain.tensors * static_cast<double>(n), [&] {
        EwRun run(*program, bench.work().isa(), inputs);
        run.InferShapes().IgnoreError();
        void* outputs[] = {y.data()};
        run.Execute(bench.work(), outputs).IgnoreError();
      });
    }
  }
}

void ReducedRows(Bench& bench) {
  struct Program {
    const char* name;
    std::vector<const char*> lines;
    double tensors;  // read and written
  };
  const Program programs[] = {{"sum of squares", {"Square 0", "Sum 3 axes 0,1"}, 1},
                              {"bias gradient of relu", {"ReluGrad 0 0 same", "Sum 3 axes 0"}, 1},
                              {"layer norm",
                               {"Mean 0 axes 1 keep", "SquaredDifference 0 3", "Mean 4 axes 1 keep",
                                "Add 5 2", "Rsqrt 6", "Sub 0 3", "Mul 8 7", "Mul 9 1", "Add 10 1"},
                               2}};
  for (const Program& row : programs) {
    std::vector<ReducedInstruction> instructions;
    for (const char* line : row.lines) instructions.push_back(*ReducedInstruction::Parse(line));
    const Result<ReducedProgram> program =
        ReducedProgram::Make(std::vector<DType>(3, DType::kFloat), std::move(instructions),
                             {2 + static_cast<int>(row.lines.size())});
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{2048, 256}, {10000, 1024}, {2500, 4096}}) {
      const int64_t n = rows * columns, dims[] = {rows, columns};
      std::vector<float> x(n, 0.5f), scale(columns, 0.5f), number(1, 1e-5f), y(n);
      const EwRun::Input inputs[] = {
          {x.data(), dims}, {scale.data(), std::span(dims).last(1)}, {number.data(), {}}};
      bench.Bytes(Label(row.name, {rows, columns}), 4.0 * row.tensors * static_cast<double>(n),
                  [&] {
                    ReducedRun run(*program, bench.work().isa(), inputs);
                    run.InferShapes().IgnoreError();
                    void* outputs[] = {y.data()};
                    run.Execute(bench.work(), outputs).IgnoreError();
                  });
    }
  }
}

// Elements of one value: floats, or of 16 bits.
class Stored {
 public:
  Stored(DType type, int64_t n, float value)
      : bytes_(static_cast<size_t>(n * (type == DType::kFloat ? 4 : 2))) {
    for (int64_t i = 0; i < n; ++i) {
      if (type == DType::kFloat) Put(i, value);
      if (type == DType::kHalf) Put(i, Half(value));
      if (type == DType::kBfloat16) Put(i, Bfloat16(value));
    }
  }
  const void* data() const { return bytes_.data(); }
  void* data() { return bytes_.data(); }
  double bytes() const { return static_cast<double>(bytes_.size()); }

 private:
  template <class T>
  void Put(int64_t i, T value) {
    std::memcpy(bytes_.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
  std::vector<char> bytes_;
};

void SumRows(Bench& bench, DType t, int64_t rows, int64_t columns) {
  const std::vector<int64_t> dims = {rows, columns};
  const Stored x(t, rows * columns, 0.5f);
  Stored y(t, std::max(rows, columns), 0);
  for (const int64_t axis : {0, 1}) {
    const std::vector<int64_t> axes = {axis};
    const Reduction reduction = *Reduction::Make(dims, axes);
    const std::string name = StrCat("sum of ", DTypeName(t), axis == 0 ? " columns" : " rows");
    bench.Bytes(Label(name.c_str(), {rows, columns}), x.bytes(), [&] {
      Reduce(bench.work(), ReduceOp::kSum, t, reduction, x.data(), y.data()).IgnoreError();
    });
  }
}

void RowRows(Bench& bench) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1000, 1024}, {1000, 10}, {10000, 1000}, {1000000, 10}}) {
    const int64_t n = rows * columns;
    std::vector<float> x(n, 0.5f), y(n), loss(rows);
    const auto bytes = static_cast<double>(n) * 4;
    bench.Bytes(Label("softmax", {rows, columns}), 2 * bytes, [&] {
      Softmax(bench.work(), DType::kFloat, rows, columns, x.data(), y.data()).IgnoreError();
    });
    bench.Bytes(Label("log softmax", {rows, columns}), 2 * bytes, [&] {
      LogSoftmax(bench.work(), DType::kFloat, rows, columns, x.data(), y.data()).IgnoreError();
    });
    const std::vector<int32_t> places(static_cast<size_t>(rows), 3);
    bench.Bytes(Label("sparse cross entropy", {rows, columns}), 2 * bytes, [&] {
      SparseCrossEntropy(bench.work(), DType::kFloat, rows, columns, x.data(), DType::kInt32,
                         places.data(), loss.data(), y.data())
          .IgnoreError();
    });
    bench.Bytes(Label("dense cross entropy", {rows, columns}), 3 * bytes, [&] {
      CrossEntropy(bench.work(), DType::kFloat, rows, columns, {columns, 1, columns, 1}, x.data(),
                   x.data(), loss.data(), y.data())
          .IgnoreError();
    });
    for (DType t : {DType::kFloat, DType::kBfloat16}) SumRows(bench, t, rows, columns);
  }
  const int64_t n = 10000000;
  std::vector<float> var(n), m(n), v(n, 1.0f), grad(n, 0.1f);
  Update update{.rule = UpdateRule::kAdam,
                .var = var.data(),
                .slots = {m.data(), v.data()},
                .grad = grad.data()};
  update.scalars = AdamScalars(DType::kFloat, 0.001, 0.9, 0.999, 1e-8, 0.5, 0.9);
  bench.Bytes(Label("Adam", {n}), 28.0 * n,
              [&] { RunUpdate(bench.work(), DType::kFloat, n, update).IgnoreError(); });
}

void PoolRows(Bench& bench, DType t) {
  const Window w = *MakeWindow(112, 3, 2, 1, Padding::kSame);
  const PoolShape s{8, w, w, 64};
  const Stored x(t, s.batch * s.InPixels() * 64, 0.5f);
  Stored dx(x), y(t, s.batch * s.OutPixels() * 64, 0);
  const double in = x.bytes(), out = y.bytes();
  const std::string shape = StrCat(" 3x3/2 8x112x112x64 ", DTypeName(t));
  bench.Bytes("max pool" + shape, in + out,
              [&] { MaxPool(bench.work(), t, s, x.data(), y.data()).IgnoreError(); });
  bench.Bytes("max pool gradient" + shape, 2 * in + out, [&] {
    MaxPoolGrad(bench.work(), t, s, x.data(), y.data(), dx.data()).IgnoreError();
  });
  bench.Bytes("average pool" + shape, in + out,
              [&] { AvgPool(bench.work(), t, s, x.data(), y.data()).IgnoreError(); });
  bench.Bytes("average pool gradient" + shape, in + out,
              [&] { AvgPoolGrad(bench.work(), t, s, y.data(), dx.data()).IgnoreError(); });
}

// Batch normalization of 8x56x56x256 in training: four passes over memory.
void NormRows(Bench& bench, DType t) {
  const ChannelShape s{8 * 56 * 56, 256, 1};
  const int64_t n = s.outer * s.channels;
  const Stored x(t, n, 0.5f), dy(t, n, 0.25f);
  Stored y(t, n, 0);
  std::vector<float> factor(s.channels, 1.0f);
  std::vector<double> a(s.channels), b(s.channels);
  const float* f = factor.data();
  const std::string norm = StrCat("batch norm ", DTypeName(t), " ");
  bench.Bytes(norm + "moments", x.bytes(), [&] {
    ChannelMoments(bench.work(), t, s, x.data(), a.data(), b.data()).IgnoreError();
  });
  bench.Bytes(norm + "scale", 2 * x.bytes(),
              [&] { ScaleChannels(bench.work(), t, s, x.data(), f, f, y.data()).IgnoreError(); });
  bench.Bytes(norm + "gradient sums", 2 * x.bytes(), [&] {
    ChannelGradSums(bench.work(), t, s, dy.data(), x.data(), f, a.data(), b.data()).IgnoreError();
  });
  bench.Bytes(norm + "gradient", 3 * x.bytes(), [&] {
    CenteredGrad(bench.work(), t, s, dy.data(), x.data(), f, f, f, f, y.data()).IgnoreError();
  });
}

void DepthwiseRows(Bench& bench) {
  const Window w = *MakeWindow(56, 3, 1, 1, Padding::kSame);
  const DepthwiseShape s{8, w, w, 128, 1};
  const int64_t n = s.batch * s.InPixels() * s.in_channels;
  std::vector<float> x(n, 0.5f), y(n, 0.25f), f(9 * 128, 0.5f);
  const double bytes = 8.0 * static_cast<double>(n);
  const DType t = DType::kFloat;
  bench.Bytes("depthwise 3x3 8x56x56x128", bytes,
              [&] { Depthwise(bench.work(), t, s, x.data(), f.data(), y.data()).IgnoreError(); });
  bench.Bytes("depthwise 3x3 8x56x56x128 backward input", bytes, [&] {
    DepthwiseBackwardInput(bench.work(), t, s, f.data(), y.data(), x.data()).IgnoreError();
  });
  bench.Bytes("depthwise 3x3 8x56x56x128 backward filter", bytes, [&] {
    DepthwiseBackwardFilter(bench.work(), t, s, x.data(), y.data(), f.data()).IgnoreError();
  });
}

}  // namespace
}  // namespace thalweg::compute

int main(int argc, char** argv) {
  using namespace thalweg::compute;
  const std::string filter = argc > 1 ? argv[1] : "";
  const std::string only = argc > 2 ? argv[2] : "";
  for (int level = 0; level <= static_cast<int>(BestIsaLevel()); ++level) {
    if (!only.empty() && only != IsaLevelName(static_cast<IsaLevel>(level))) continue;
    Bench bench(static_cast<IsaLevel>(level), filter);
    GemmRows(bench);
    Bfloat16Rows(bench);
    LevelProductRows(bench);
    BatchedRows(bench);
    ConvRows<float>(bench, "conv");
    ConvRows<thalweg::Bfloat16>(bench, "bfloat16 conv");
    ResnetRows(bench);
    ElementwiseRows(bench);
    ChainRows(bench);
    ReducedRows(bench);
    RowRows(bench);
    using thalweg::DType;
    for (DType t : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
      PoolRows(bench, t);
      NormRows(bench, t);
    }
    DepthwiseRows(bench);
  }
  return 0;
}
