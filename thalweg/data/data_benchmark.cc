// SPDX-License-Identifier: Apache-2.0
// data_benchmark [RECORDS_FILE [LINES_FILE]]: what stages take for an element, without a session;
// nanoseconds, the median of 7 passes. Functions are C++; `./dev bench 'data_*'` has the graphs'.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "thalweg/data/batching.h"
#include "thalweg/data/choosing.h"
#include "thalweg/data/counting.h"
#include "thalweg/data/file_sources.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/shuffle.h"
#include "thalweg/data/test_puller.h"

namespace thalweg {
namespace {

constexpr int64_t kNumbers = 200000;

DatasetPtr BatchesOf(DatasetPtr input, int64_t size) {
  ElementSpec spec = input->spec();
  return *BatchDataset(std::move(input), size, {}, std::move(spec));
}

// Prints the time of whole passes over `dataset`, which have `elements` each.
void Measure(const char* name, const DatasetPtr& dataset, int64_t elements) {
  std::vector<double> samples;
  for (int i = 0; i < 7; ++i) {
    Puller puller(dataset, 0);
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
      const Result<std::optional<Element>> next = puller.Next();
      CHECK(next.ok());
      if (!next->has_value()) break;
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    samples.push_back(spent.count() / static_cast<double>(elements));
  }
  std::sort(samples.begin(), samples.end());
  std::printf("%-24s %8.0f ns   (%.0f to %.0f)\n", name, samples[3], samples[0], samples[6]);
}

ElementFunctionPtr IsPositive() {
  return FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(args[0].scalar<int64_t>() >= 0)};
  });
}

void MeasureStages() {
  Measure("range, batch", BatchesOf(RangeOf(kNumbers), 1000), kNumbers);
  constexpr int kTimes = 5;
  const auto chain = [](const auto& stage) {
    DatasetPtr d = RangeOf(kNumbers);
    for (int i = 0; i < kTimes; ++i) d = stage(d);
    return SkipDataset(d, kNumbers);
  };
  const auto each = kTimes * kNumbers;
  Measure("take", chain([](DatasetPtr d) { return TakeDataset(d, kNumbers); }), each);
  Measure("map", chain([](DatasetPtr d) {
            return MapDataset(d, IntFunction([](int64_t x) { return x + 1; }), IntSpec(), {});
          }),
          each);
  Measure("filter", chain([](DatasetPtr d) { return FilterDataset(d, IsPositive()); }), each);
  for (const int64_t n : {kNumbers / 100, 5 * kNumbers}) {
    const auto seeds = RefPtr<ShuffleSeeds>::Adopt(new ShuffleSeeds(1, 2, false));
    Measure(StrCat("shuffle of ", n).c_str(),
            BatchesOf(*ShuffleDataset(RangeOf(n), {.buffer = n, .seeds = seeds}), 1000), n);
  }
}

int64_t CountOf(const DatasetPtr& dataset) {
  Puller puller(dataset, 0);
  int64_t n = 0;
  while (puller.Next()->has_value()) ++n;
  return n;
}

void MeasureFile(const char* name, const DatasetPtr& dataset, int64_t batch) {
  Measure(name, BatchesOf(dataset, batch), CountOf(dataset));
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  thalweg::MeasureStages();
  const thalweg::ElementSpec text{{thalweg::DType::kString},
                                  {thalweg::PartialShape(thalweg::Shape())}};
  if (argc > 1) thalweg::MeasureFile("records", RecordsDataset({{argv[1]}, {}}, text), 1024);
  if (argc > 2) thalweg::MeasureFile("lines", LinesDataset({{argv[2]}, {}}, text), 256);
}
