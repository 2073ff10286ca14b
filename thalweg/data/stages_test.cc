// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/data/batching.h"
#include "thalweg/data/cache.h"
#include "thalweg/data/choosing.h"
#include "thalweg/data/counting.h"
#include "thalweg/data/mapping.h"
#include "thalweg/data/prefetch.h"
#include "thalweg/data/shuffle.h"
#include "thalweg/data/test_groups.h"
#include "thalweg/data/test_puller.h"
#include "thalweg/resources/held_tensor.h"

namespace thalweg {
namespace {

using Lines = std::vector<std::string>;

ElementSpec Vectors() { return {{DType::kInt64}, {PartialShape{-1}}}; }

RefPtr<ShuffleSeeds> SeedsOf(int64_t seed, bool reshuffle) {
  return RefPtr<ShuffleSeeds>::Adopt(
      std::make_unique<ShuffleSeeds>(seed, seed + 1, reshuffle).release());
}

// The n-th gives n elements: n * 10, n * 10 + 1 ...
ElementFunctionPtr TensOf() {
  return FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    const int64_t n = args[0].scalar<int64_t>();
    ASSIGN_OR_RETURN(DatasetPtr tens, RangeDataset(n * 10, n * 11, 1, IntSpec()));
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(std::move(tens)));
    return std::vector<Tensor>{std::move(tensor)};
  });
}

DatasetPtr Numbers(std::initializer_list<int64_t> numbers) {
  return *SliceDataset({Tensor::Vector<int64_t>(numbers)}, IntSpec());
}

// The tensors that the variants of a vector hold.
ElementFunctionPtr Held() {
  return FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> tensors;
    for (const Variant& variant : args[0].flat<Variant>()) {
      tensors.push_back(variant.As<HeldTensor>()->tensor());
    }
    return tensors;
  });
}

// A dataset of a kind, all without seeds that differ from run to run.
struct Kind {
  const char* name;
  DatasetPtr dataset;
};
std::vector<Kind> GroupsAndChoices() {
  return {
      {"sparse batch",
       MapDataset(*SparseBatchDataset(*BatchDataset(RangeOf(7), 3, {}, Vectors()), 2,
                                      PartialShape{-1}, {{DType::kVariant}, {PartialShape{3}}}),
                  Held(),
                  {{DType::kInt64, DType::kInt64, DType::kInt64},
                   {PartialShape(), PartialShape(), PartialShape()}},
                  {})},
      {"group by window", Grouped()},
      {"group by reducer", Reduced()},
      {"unique", *UniqueDataset(Numbers({3, 1, 3, 2, 1, 4}))},
      {"sampling", SamplingDataset(RangeOf(30), 0.3f, 3, 4)},
      {"directed",
       *DirectedInterleaveDataset(Numbers({0, 1, 1, 2, 1, 0, 2, 2, 0, 1}),
                                  {RangeOf(4), RangeOf(2), RangeOf(9)}, false, IntSpec())},
      {"directed, stops",
       *DirectedInterleaveDataset(Numbers({0, 1, 1, 2, 1, 0}), {RangeOf(4), RangeOf(2), RangeOf(9)},
                                  true, IntSpec())},
  };
}

// A dataset of each kind.
std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = GroupsAndChoices();
  const DatasetPtr seven = RangeOf(7);
  const ElementFunctionPtr square = IntFunction([](int64_t x) { return x * x; });
  const ElementFunctionPtr odd =
      FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{Tensor::Scalar(args[0].scalar<int64_t>() % 2 == 1)};
      });
  const ElementFunctionPtr sum =
      FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        const Tensor next = Tensor::Scalar(args[0].scalar<int64_t>() + args[1].scalar<int64_t>());
        return std::vector<Tensor>{next, next};
      });
  const Element zero = {Tensor::Scalar(int64_t{0})};
  const std::vector<Kind> others = {
      {"range", seven},
      {"random", TakeDataset(RandomDataset(1, 2, IntSpec()), 9)},
      {"slices", *SliceDataset({Tensor::Vector<int64_t>({4, 5, 6})}, IntSpec())},
      {"sparse rows",
       *SparseRowsDataset(*Tensor::Vector<int64_t>({0, 1, 2, 1, 2, 0}).Reshaped(Shape{3, 2}),
                          Tensor::Vector<int64_t>({7, 8, 9}), Tensor::Vector<int64_t>({4, 2}))},
      {"take", TakeDataset(seven, 3)},
      {"skip", SkipDataset(seven, 3)},
      {"repeat", RepeatDataset(seven, 3)},
      {"shard", *ShardDataset(seven, 3, 1)},
      {"concatenate", ConcatenateDataset(RangeOf(3), RangeOf(4), IntSpec())},
      {"zip", ZipDataset({RangeOf(5), RepeatDataset(RangeOf(2), 2)},
                         {{DType::kInt64, DType::kInt64}, {Shape(), Shape()}})},
      {"unbatch", UnbatchDataset(*BatchDataset(seven, 3, {}, Vectors()), IntSpec())},
      {"batch", *BatchDataset(seven, 3, {}, Vectors())},
      {"dropping", *BatchDataset(seven, 3, {.drop_remainder = true}, Vectors())},
      {"padded",
       *PaddedBatchDataset(*BatchDataset(seven, 4, {}, Vectors()), 2, {}, {PartialShape{-1}}, zero,
                           {{DType::kInt64}, {PartialShape{-1, -1}}})},
      {"rebatch", *RebatchDataset(*BatchDataset(seven, 3, {}, Vectors()), {2, 1}, {}, Vectors())},
      {"rebatch, larger", *RebatchDataset(*BatchDataset(seven, 2, {}, Vectors()), {5},
                                          {.drop_remainder = true}, Vectors())},
      {"map", MapDataset(seven, square, IntSpec(), {})},
      {"parallel map", MapDataset(seven, square, IntSpec(), {.calls = 3})},
      {"filter", FilterDataset(seven, odd)},
      {"scan", ScanDataset(seven, zero, sum, IntSpec(), true)},
      {"flat map", *InterleaveDataset(RangeOf(5), TensOf(), IntSpec(), {})},
      {"interleave",
       *InterleaveDataset(RangeOf(6), TensOf(), IntSpec(), {.cycle_length = 3, .block_length = 2})},
      {"buffered", *InterleaveDataset(RangeOf(6), TensOf(), IntSpec(),
                                      {.cycle_length = 3, .block_length = 2, .buffer = 2})},
      {"buffered as they are used",
       *InterleaveDataset(RangeOf(6), TensOf(), IntSpec(),
                          {.cycle_length = 3, .block_length = 2, .buffer = -2})},
      {"shuffle", *ShuffleDataset(seven, {.buffer = 4, .seeds = SeedsOf(5, false)})},
      {"shuffled repeats",
       *ShuffleDataset(seven, {.buffer = 9, .count = 3, .seeds = SeedsOf(5, false)})},
      {"prefetch", PrefetchDataset(seven, 3)},
      {"auto prefetch", PrefetchDataset(MapDataset(seven, square, IntSpec(), {}), kAutoBuffer)},
      {"cache", RepeatDataset(CacheDataset(seven, RefPtr<MemoryCache>::Adopt(
                                                      std::make_unique<MemoryCache>().release())),
                              2)},
  };
  kinds.insert(kinds.end(), others.begin(), others.end());
  return kinds;
}

TEST(StagesTest, ThreadsChangeNothing) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    const Lines alone = Texts(Puller(kind.dataset, 0).Rest());
    EXPECT_FALSE(alone.empty());
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(Texts(Puller(kind.dataset, 2).Rest()), alone);
    }
  }
}

TEST(StagesTest, AnIteratorGoesOnWhereItWasSaved) {
  for (const int threads : {0, 2}) {
    for (const Kind& kind : Kinds()) {
      const Lines all = Texts(Puller(kind.dataset, 0).Rest());
      for (size_t at = 0; at <= all.size(); ++at) {
        SCOPED_TRACE(StrCat(kind.name, " at ", at, ", threads: ", threads));
        Puller first(kind.dataset, threads);
        EXPECT_EQ(Texts(first.Rest(at)), Lines(all.begin(), all.begin() + static_cast<long>(at)));
        const Result<std::vector<Tensor>> state = first.Save();
        ASSERT_TRUE(state.ok()) << state.status().ToString();
        const Lines rest(all.begin() + static_cast<long>(at), all.end());
        EXPECT_EQ(Texts(first.Rest()), rest);  // saving changes nothing
        Puller second(kind.dataset, threads);
        (void)second.Rest(1);
        Puller third(kind.dataset, threads);
        const Status restored = third.Restore(*state);
        ASSERT_TRUE(restored.ok()) << restored.ToString();
        EXPECT_EQ(Texts(third.Rest()), rest);
      }
    }
  }
}

TEST(StagesTest, TheStateOfAnotherDatasetIsRefused) {
  Puller batches(*BatchDataset(RangeOf(7), 3, {}, Vectors()), 0);
  (void)batches.Rest(1);
  Puller zipped(
      ZipDataset({RangeOf(3), RangeOf(3)}, {{DType::kInt64, DType::kInt64}, {Shape(), Shape()}}),
      0);
  const Status restored = zipped.Restore(*batches.Save());
  EXPECT_EQ(restored.code(), Code::kInvalidArgument);
}

TEST(StagesTest, AnEndStaysTheEnd) {
  for (const Kind& kind : Kinds()) {
    SCOPED_TRACE(kind.name);
    Puller puller(kind.dataset, 2);
    (void)puller.Rest();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(puller.Next()->has_value());
  }
}

TEST(StagesTest, AWrongCardinalityIsSaidOnce) {
  for (const int64_t expected : {int64_t{2}, int64_t{5}, Dataset::kInfinite}) {
    const DatasetPtr dataset = AssertCardinalityDataset(RangeOf(3), expected);
    const Lines kept = expected == 2 ? Lines{"0", "1"} : Lines{"0", "1", "2"};
    for (const int threads : {0, 2}) {
      Puller puller(dataset, threads);
      EXPECT_EQ(Texts(puller.Rest(kept.size())), kept);
      EXPECT_EQ(puller.Next().status().code(), Code::kFailedPrecondition);
      // TensorFlow 2.21 says so again and again, so that a loop behind IgnoreErrors never ends.
      EXPECT_EQ(Texts(Puller(IgnoreErrorsDataset(dataset), threads).Rest()), kept);
    }
  }
}

TEST(StagesTest, AnErrorIsThatOfItsElement) {
  const auto fails_at_two =
      FunctionOf([](std::span<const Tensor> args) -> Result<std::vector<Tensor>> {
        if (args[0].scalar<int64_t>() == 2) return InvalidArgument("two");
        return std::vector<Tensor>{args[0]};
      });
  for (const int64_t calls : {1, 4}) {
    for (const int threads : {0, 2}) {
      const DatasetPtr mapped = MapDataset(RangeOf(5), fails_at_two, IntSpec(), {.calls = calls});
      Puller puller(mapped, threads);
      EXPECT_EQ(Texts(puller.Rest(2)), (Lines{"0", "1"}));
      EXPECT_EQ(puller.Next().status().message(), "two");
      EXPECT_EQ(Texts(puller.Rest()), (Lines{"3", "4"}));
      EXPECT_EQ(Texts(Puller(IgnoreErrorsDataset(mapped), threads).Rest()),
                (Lines{"0", "1", "3", "4"}));
      Puller ahead(PrefetchDataset(mapped, 3), threads);
      EXPECT_EQ(Texts(ahead.Rest(2)), (Lines{"0", "1"}));
      EXPECT_EQ(ahead.Next().status().message(), "two");
      EXPECT_EQ(Texts(ahead.Rest()), (Lines{"3", "4"}));
    }
  }
}

// What one of the functions waits for, another step could bring: here, another thread.
TEST(StagesTest, FunctionsThatWaitHoldNoThread) {
  // Outlive the threads that wake them.
  std::vector<std::unique_ptr<Puller>> pullers;
  ThreadPool others({.threads = 1});
  const auto later = IntFunction([](int64_t x) { return x + 100; }, &others);
  for (const int threads : {0, 1, 2}) {
    for (const int64_t calls : {1, 3}) {
      const DatasetPtr mapped = MapDataset(RangeOf(50), later, IntSpec(), {.calls = calls});
      pullers.push_back(std::make_unique<Puller>(PrefetchDataset(mapped, 2), threads));
      const std::vector<Element> elements = pullers.back()->Rest();
      ASSERT_EQ(elements.size(), 50u);
      EXPECT_EQ(Text(elements[49]), "149");
    }
  }
}

TEST(StagesTest, AShuffleGivesAllElementsOnce) {
  for (const int64_t buffer : {int64_t{1}, int64_t{5}, int64_t{100}, kWholeInput}) {
    Puller puller(*ShuffleDataset(RangeOf(40), {.buffer = buffer, .seeds = SeedsOf(3, true)}), 0);
    Lines texts = Texts(puller.Rest());
    EXPECT_EQ(texts == Texts(Puller(RangeOf(40), 0).Rest()), buffer == 1);
    std::sort(texts.begin(), texts.end());
    Lines sorted = Texts(Puller(RangeOf(40), 0).Rest());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(texts, sorted);
  }
}

TEST(StagesTest, EveryRepetitionIsShuffledAnew) {
  const DatasetPtr again = *ShuffleDataset(RangeOf(20), {.buffer = 20, .seeds = SeedsOf(3, true)});
  const DatasetPtr same = *ShuffleDataset(RangeOf(20), {.buffer = 20, .seeds = SeedsOf(3, false)});
  EXPECT_NE(Texts(Puller(again, 0).Rest()), Texts(Puller(again, 0).Rest()));
  EXPECT_EQ(Texts(Puller(same, 0).Rest()), Texts(Puller(same, 0).Rest()));
}

TEST(StagesTest, NothingWithoutEndIsNothing) {
  EXPECT_TRUE(Puller(RepeatDataset(RangeOf(0), -1), 0).Rest().empty());
  const auto seeds = SeedsOf(1, true);
  EXPECT_TRUE(Puller(*ShuffleDataset(RangeOf(0), {.buffer = 3, .count = -1, .seeds = seeds}), 0)
                  .Rest()
                  .empty());
}

TEST(StagesTest, WhatNeverGivesAnElementCanBeCancelled) {
  const auto never = FunctionOf([](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
    return std::vector<Tensor>{Tensor::Scalar(false)};
  });
  for (const int threads : {0, 2}) {
    Puller puller(FilterDataset(RepeatDataset(RangeOf(3), -1), never), threads);
    CancellationManager step;
    std::thread canceller([&] { step.Cancel(Cancelled("enough")); });
    Element element;
    const Result<Poll> poll = puller.Do(
        [&](const Poller& poller, Stage& stage) { return stage.Next(poller, &element); }, &step);
    canceller.join();
    EXPECT_EQ(poll.status().message(), "enough");
  }
}

// Each element goes to one step, whoever is cancelled meanwhile.
TEST(StagesTest, ManyStepsShareAnIterator) {
  Puller puller(PrefetchDataset(RangeOf(2000), 4), 2);
  std::atomic<int64_t> sum{0}, count{0};
  std::vector<std::thread> steps;
  for (int i = 0; i < 4; ++i) {
    steps.emplace_back([&] {
      while (true) {
        const Result<std::optional<Element>> next = puller.Next();
        if (!next.ok() || !next->has_value()) break;
        sum += (**next)[0].scalar<int64_t>();
        ++count;
      }
    });
  }
  for (std::thread& step : steps) step.join();
  EXPECT_EQ(count, 2000);
  EXPECT_EQ(sum, 2000 * 1999 / 2);
}

TEST(StagesTest, PipelinesAreBoundedInLength) {
  DatasetPtr dataset = RangeOf(3);
  for (int i = 0; i < 1000; ++i) dataset = SkipDataset(dataset, 0);
  EXPECT_TRUE(TensorOf(dataset).ok());
  EXPECT_EQ(Puller(dataset, 0).Rest().size(), 3u);
  for (int i = 0; i < 2000; ++i) dataset = SkipDataset(dataset, 0);
  EXPECT_EQ(TensorOf(dataset).status().code(), Code::kInvalidArgument);
}

// Plain, with elements in advance, and repeated.
TEST(StagesTest, FunctionsThatMakeDatasetsOfThemselvesAreBounded) {
  for (const int64_t buffer : {0, 2}) {
    for (const bool repeats : {false, true}) {
      std::weak_ptr<ElementFunction> itself;
      const auto function = std::make_shared<ElementFunction>();
      const auto make = [&](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        ASSIGN_OR_RETURN(DatasetPtr inner, InterleaveDataset(RangeOf(1), itself.lock(), IntSpec(),
                                                             {.buffer = buffer}));
        if (repeats) inner = RepeatDataset(inner, 2);
        ASSIGN_OR_RETURN(Tensor tensor, TensorOf(std::move(inner)));
        return std::vector<Tensor>{std::move(tensor)};
      };
      function->function = std::make_shared<TestFunction>(make, nullptr);
      itself = function;
      Puller puller(*InterleaveDataset(RangeOf(1), function, IntSpec(), {.buffer = buffer}), 2);
      EXPECT_EQ(puller.Next().status().code(), Code::kResourceExhausted);
    }
  }
}

TEST(StagesTest, DatasetsInsideOfTensorsCountAsThoseBefore) {
  Result<Tensor> last = TensorOf(RangeOf(1));
  int made = 0;
  for (; last.ok() && made < 10000; ++made) {
    last = TensorOf(OneElementDataset({*last}, {{DType::kVariant}, {Shape()}}), {{*last}});
  }
  EXPECT_EQ(last.status().code(), Code::kInvalidArgument);
  EXPECT_LT(made, 3000);
}

TEST(StagesTest, AnExceptionInTheBackgroundIsAnError) {
  const auto throws = FunctionOf(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> { throw std::bad_alloc(); });
  for (const int64_t calls : {1, 3}) {
    Puller puller(PrefetchDataset(MapDataset(RangeOf(3), throws, IntSpec(), {.calls = calls}), 2),
                  2);
    EXPECT_EQ(puller.Next().status().code(), Code::kResourceExhausted);
  }
}

TEST(StagesTest, CardinalitiesAreWhatIsGiven) {
  for (const Kind& kind : Kinds()) {
    const int64_t said = kind.dataset->Cardinality();
    if (said < 0) continue;
    EXPECT_EQ(static_cast<int64_t>(Puller(kind.dataset, 0).Rest().size()), said) << kind.name;
  }
}

TEST(StagesTest, BatchesSayWhichShapesDiffer) {
  const DatasetPtr two =
      ConcatenateDataset(OneElementDataset({Tensor::Vector<int64_t>({1, 2})}, Vectors()),
                         OneElementDataset({Tensor::Vector<int64_t>({1})}, Vectors()), Vectors());
  Puller batches(*BatchDataset(two, 2, {}, {{DType::kInt64}, {PartialShape{-1, -1}}}), 0);
  EXPECT_EQ(batches.Next().status().message(),
            "Cannot batch tensors with different shapes in component 0. First element had shape "
            "[2] and element 1 had shape [1].");
  const Element value = {Tensor::Scalar(int64_t{7})};
  Puller padded(*PaddedBatchDataset(two, 2, {}, {PartialShape{3}}, value,
                                    {{DType::kInt64}, {PartialShape{-1, 3}}}),
                0);
  EXPECT_EQ(Texts(padded.Rest()), (Lines{"1 2 7 1 7 7"}));
  Puller small(*PaddedBatchDataset(two, 2, {}, {PartialShape{1}}, value,
                                   {{DType::kInt64}, {PartialShape{-1, 1}}}),
               0);
  EXPECT_EQ(small.Next().status().code(), Code::kDataLoss);
}

TEST(StagesTest, SparseBatchesFitTheirRows) {
  const DatasetPtr rows = *BatchDataset(RangeOf(5), 3, {}, Vectors());
  const auto batches = [&](PartialShape row) {
    return MapDataset(
        *SparseBatchDataset(rows, 2, std::move(row), {{DType::kVariant}, {PartialShape{3}}}),
        Held(), Vectors(), {});
  };
  EXPECT_EQ(Texts(Puller(batches(PartialShape{4}), 0).Rest()),
            (Lines{"0 0 0 1 0 2 1 0 1 1 0 1 2 3 4 2 4"}));
  EXPECT_EQ(Puller(batches(PartialShape{2}), 0).Next().status().code(), Code::kDataLoss);
  EXPECT_EQ(Puller(batches(PartialShape{4, 4}), 0).Next().status().code(), Code::kInvalidArgument);
}

TEST(StagesTest, WindowsAreDatasets) {
  Puller windows(
      *WindowDataset(RangeOf(10), 3, 2, 2, false, {{DType::kVariant}, {PartialShape(Shape())}}), 0);
  Lines lines;
  for (const Element& window : windows.Rest()) {
    std::string line;
    for (const std::string& text : Texts(Puller(*DatasetOf(window[0]), 0).Rest())) {
      line += text + " ";
    }
    lines.push_back(line);
  }
  EXPECT_EQ(lines, (Lines{"0 2 4 ", "2 4 6 ", "4 6 8 ", "6 8 ", "8 "}));
}

}  // namespace
}  // namespace thalweg
