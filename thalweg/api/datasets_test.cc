// SPDX-License-Identifier: Apache-2.0
// Input pipelines from C++. What the stages give is compared with the same pipelines of Python in
// tests/test_pipelines_from_cpp.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/dataset.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DatasetsTest : public ::testing::Test {
 protected:
  // All numbers of the first component.
  static std::vector<int64_t> Numbers(const tw::Dataset& dataset) {
    std::vector<int64_t> numbers;
    for (const tw::Tensors& element : dataset.Elements()) {
      const int64_t* const values = element[0].data<int64_t>();
      numbers.insert(numbers.end(), values, values + element[0].num_elements());
    }
    return numbers;
  }
  static std::vector<std::string> Texts(const tw::Dataset& dataset) {
    std::vector<std::string> texts;
    for (const tw::Tensors& element : dataset.Elements()) texts.push_back(element[0].string());
    return texts;
  }
  tw::Dataset Range(int64_t n) { return tw::Dataset::Range(graph_, n); }
  tw::Output Number(int64_t n) { return graph_.Scalar(n); }
  std::string File(const std::string& name, const std::string& bytes) {
    std::string path = directory_.Path(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // What building `build` throws.
  template <class F>
  static std::string Thrown(const F& build, TwCode code = tw::kInvalidArgument) {
    try {
      build();
    } catch (const tw::Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.message();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  thalweg::TemporaryDirectory directory_;
  tw::Environment environment_ = tw::Environment::Create({.threads = 1}).OrThrow();
  tw::Graph graph_{environment_};
};

TEST_F(DatasetsTest, NumbersCountUpAndDown) {
  EXPECT_THAT(Numbers(Range(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(Numbers(tw::Dataset::Range(graph_, 10, 4, -3)), ElementsAre(10, 7));
}

TEST_F(DatasetsTest, TensorsAndTheirRows) {
  const tw::Output rows = graph_.Const<int64_t>({1, 2, 3, 4, 5, 6}, {3, 2});
  const tw::Output more = graph_.Const<float>({.5, 1.5, 2.5}, {3});
  const tw::Dataset whole = tw::Dataset::FromTensors({rows, more});
  EXPECT_THAT(Numbers(whole), ElementsAre(1, 2, 3, 4, 5, 6));
  const tw::Dataset slices = tw::Dataset::FromTensorSlices({rows, more});
  ASSERT_EQ(slices.elements().size(), 2u);
  EXPECT_THAT(slices.elements()[0].shape, ElementsAre(2));
  EXPECT_EQ(slices.elements()[1].rank(), 0);
  std::vector<float> seen;
  for (const tw::Tensors& row : slices.Elements()) seen.push_back(row[1].scalar<float>());
  EXPECT_THAT(seen, ElementsAre(.5, 1.5, 2.5));
}

TEST_F(DatasetsTest, WhichElements) {
  EXPECT_THAT(Numbers(Range(5).Take(2)), ElementsAre(0, 1));
  EXPECT_THAT(Numbers(Range(5).Skip(3)), ElementsAre(3, 4));
  EXPECT_THAT(Numbers(Range(2).Repeat(2)), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(Numbers(Range(3).Repeat().Take(4)), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(Numbers(Range(7).Shard(3, 1)), ElementsAre(1, 4));
  EXPECT_THAT(Numbers(Range(2).Concatenate(Range(1))), ElementsAre(0, 1, 0));
  const auto is_small = [&](tw::Output x) { return graph_.Op("Less", {x, Number(2)}); };
  EXPECT_THAT(Numbers(Range(5).Filter(is_small)), ElementsAre(0, 1));
}

TEST_F(DatasetsTest, SeveralBesideEachOther) {
  const tw::Dataset both = tw::Dataset::Zip({Range(3), Range(5).Skip(2)}).Enumerate(10);
  ASSERT_EQ(both.elements().size(), 3u);
  const auto sum = [](tw::Output n, tw::Output a, tw::Output b) { return n + a * b; };
  EXPECT_THAT(Numbers(both.Map(sum)), ElementsAre(10, 14, 20));
}

TEST_F(DatasetsTest, MapReadsWhatIsOutside) {
  const tw::Output two = Number(2);
  const auto twice = [&](tw::Output x) { return x * two; };
  EXPECT_THAT(Numbers(Range(4).Map(twice)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(4).Map(twice, 2)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(4).Map(twice, tw::kAutotune)), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(Numbers(Range(4).Map(twice, Number(3))), ElementsAre(0, 2, 4, 6));
  // A function of all components, with several results.
  const tw::Dataset pairs = Range(3).Map([&](const tw::Outputs& x) {
    return tw::Outputs{x[0] + two, graph_.Op("Cast", {x[0]}, {{"DstT", tw::kFloat}})};
  });
  ASSERT_EQ(pairs.elements().size(), 2u);
  EXPECT_EQ(pairs.elements()[1].dtype, tw::kFloat);
  EXPECT_THAT(Numbers(pairs), ElementsAre(2, 3, 4));
}

TEST_F(DatasetsTest, DatasetsOfElements) {
  const auto count = [&](tw::Output x) { return tw::Dataset::Range(graph_, x); };
  EXPECT_THAT(Numbers(Range(4).FlatMap(count)), ElementsAre(0, 0, 1, 0, 1, 2));
  // The inner function reads the argument of the outer one.
  const auto tens = [&](tw::Output x) {
    return tw::Dataset::Range(graph_, x).Map([&](tw::Output y) { return y + x * Number(10); });
  };
  const std::vector<int64_t> in_turn = {10, 20, 21, 30, 31, 40, 41, 32, 42, 43, 50, 51, 52, 53, 54};
  EXPECT_EQ(Numbers(Range(6).Interleave(tens, 3, 2)), in_turn);
  EXPECT_EQ(Numbers(Range(6).Interleave(tens, 3, 2, 2)), in_turn);
}

TEST_F(DatasetsTest, ShufflesAsPythonDoes) {
  EXPECT_THAT(Numbers(Range(10).Shuffle(4, 7).Repeat(2)),
              ElementsAre(0, 4, 2, 3, 5, 6, 1, 8, 7, 9, 1, 3, 0, 4, 6, 5, 7, 8, 9, 2));
  EXPECT_THAT(Numbers(Range(4).Shuffle(4, 7, false).Repeat(2)).size(), 8u);
  std::vector<int64_t> any = Numbers(Range(20).Shuffle(20));
  std::sort(any.begin(), any.end());
  EXPECT_EQ(any, Numbers(Range(20)));
}

TEST_F(DatasetsTest, Batches) {
  const tw::Dataset open = Range(5).Batch(2);
  EXPECT_THAT(open.elements()[0].shape, ElementsAre(-1));
  EXPECT_THAT(Numbers(open), ElementsAre(0, 1, 2, 3, 4));
  const tw::Dataset whole = Range(5).Batch(2, true);
  EXPECT_THAT(whole.elements()[0].shape, ElementsAre(2));
  EXPECT_THAT(Numbers(whole), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Numbers(whole.Unbatch()), ElementsAre(0, 1, 2, 3));
}

TEST_F(DatasetsTest, PaddedBatches) {
  const tw::Dataset rows = Range(4).Map([&](tw::Output x) {
    return graph_.Op("Fill", {graph_.Op("Reshape", {x, graph_.Const<int32_t>({1}, {1})}), x});
  });
  EXPECT_THAT(Numbers(rows.PaddedBatch(2)), ElementsAre(0, 1, 2, 2, 0, 3, 3, 3));
  EXPECT_THAT(Numbers(rows.PaddedBatch(3, {{2}}, {Number(-1)}, true).Take(1)),
              ElementsAre(-1, -1, 1, -1, 2, 2));
  EXPECT_THAT(Thrown([&] {
                rows.PaddedBatch(2, {{1}, {2}});
              }),
              HasSubstr("PaddedBatch: an element has 1 components, got 2 shapes and 0 values"));
}

TEST_F(DatasetsTest, Windows) {
  const auto in_one = [&](tw::Output window) {
    return tw::Dataset(window, {{tw::kInt64}}).Batch(3);
  };
  EXPECT_THAT(Numbers(Range(7).Window(3, 2, 1, true).FlatMap(in_one)),
              ElementsAre(0, 1, 2, 2, 3, 4, 4, 5, 6));
}

TEST_F(DatasetsTest, ReducesToOneValue) {
  const tw::Outputs sum = Range(5).Reduce(
      {Number(100)}, [](tw::Output state, tw::Output element) { return state + element; });
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_EQ(session.Run({}, sum).OrThrow()[0].scalar<int64_t>(), 110);
}

TEST_F(DatasetsTest, KeptAndMadeInAdvance) {
  const tw::Dataset random = Range(3).Map([&](tw::Output) {
    return graph_.Op("RandomUniformInt",
                     {graph_.Const(tw::Tensor::Of<int32_t>(std::vector<int32_t>(), {0})), Number(0),
                      Number(1 << 30)});
  });
  const std::vector<int64_t> twice = Numbers(random.Cache().Repeat(2).Prefetch(2));
  ASSERT_EQ(twice.size(), 6u);
  EXPECT_EQ(twice[0], twice[3]);
  EXPECT_NE(twice[0], twice[1]);
}

TEST_F(DatasetsTest, LinesRecordsAndPiecesOfFiles) {
  const std::string a = File("a.txt", "one\ntwo\n"), b = File("b.txt", "three");
  EXPECT_THAT(Texts(tw::Dataset::TextLines(graph_.Strings({a, b}))),
              ElementsAre("one", "two", "three"));
  const std::string pattern = directory_.Path("*.txt");
  EXPECT_THAT(Texts(tw::Dataset::ListFiles(graph_, pattern, false)), ElementsAre(a, b));
  const auto lines = [](tw::Output file) { return tw::Dataset::TextLines(file); };
  EXPECT_THAT(Texts(tw::Dataset::ListFiles(graph_, pattern, false).Interleave(lines, 2)),
              ElementsAre("one", "three", "two"));
  EXPECT_THAT(Texts(tw::Dataset::ListFiles(graph_, pattern, true, 3)).size(), 2u);
  const std::string pieces = File("f.bin", "HHabcdF");
  EXPECT_THAT(Texts(tw::Dataset::FixedLengthRecords(graph_.Strings({pieces}), 2, 2, 1)),
              ElementsAre("ab", "cd"));
  TwBuffer* const record = tw_record_frame("abc", 3, nullptr);
  const std::string framed(static_cast<const char*>(tw_buffer_data(record)),
                           tw_buffer_size(record));
  tw_buffer_free(record);
  EXPECT_THAT(Texts(tw::Dataset::TFRecords(graph_.Strings({File("r.tfrecord", framed + framed)}))),
              ElementsAre("abc", "abc"));
}

TEST_F(DatasetsTest, RecordsOfCsvFiles) {
  const std::string file = File("t.csv", "a;b;c\n1;x;2.5\n2;;NA\n");
  tw::CsvOptions options;
  options.header = true;
  options.delimiter = ';';
  options.missing = "NA";
  const tw::Dataset rows =
      tw::Dataset::Csv(graph_.Strings({file}),
                       {tw::kInt64, tw::Tensor::String("none"), tw::Tensor::Scalar(7.0f)}, options);
  EXPECT_THAT(Numbers(rows), ElementsAre(1, 2));
  std::string said;
  for (const tw::Tensors& row : rows.Elements()) {
    said += row[1].string() + " " + std::to_string(row[2].scalar<float>()) + ", ";
  }
  EXPECT_EQ(said, "x 2.500000, none 7.000000, ");
  options.select_columns = {2};
  const tw::Dataset third = tw::Dataset::Csv(graph_.Strings({file}), {tw::kFloat}, options);
  EXPECT_THAT(third.elements().size(), 1u);
}

TEST_F(DatasetsTest, AnIteratorGivesInputsOfAGraph) {
  const tw::Iterator once = Range(2).MakeOneShotIterator();
  const tw::Output y = once.GetNext()[0] * Number(10);
  EXPECT_EQ(once.initializer(), nullptr);
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_EQ(session.Run({}, {y}).OrThrow()[0].scalar<int64_t>(), 0);
  EXPECT_EQ(session.Run({}, {y}).OrThrow()[0].scalar<int64_t>(), 10);
  EXPECT_EQ(session.Run({}, {y}).status().code(), tw::kOutOfRange);
  int left = 0;
  for (const tw::Tensors& element : tw::Elements(once, session, {})) left += !element.empty();
  EXPECT_EQ(left, 0);
}

TEST_F(DatasetsTest, AnIteratorBeginsWithWhatItIsFed) {
  const tw::Output n = graph_.Placeholder("n", tw::kInt64, {});
  const tw::Dataset counted = tw::Dataset::Range(graph_, n);
  const tw::Iterator again = counted.MakeInitializableIterator();
  const tw::Output next = again.GetNext()[0];
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  EXPECT_EQ(session.Run({}, {next}).status().code(), tw::kFailedPrecondition);
  for (const int64_t limit : {1, 2}) {
    session.Run({{n, tw::Tensor::Scalar(limit)}}, {}, {again.initializer()}).OrThrow();
    for (int64_t i = 0; i < limit; ++i) {
      EXPECT_EQ(session.Run({}, {next}).OrThrow()[0].scalar<int64_t>(), i);
    }
    EXPECT_FALSE(session.Run({}, {next}).ok());
  }
  int64_t count = 0;
  for (const tw::Tensors& element :
       counted.Elements(session, {{n, tw::Tensor::Scalar<int64_t>(5)}})) {
    EXPECT_EQ(element[0].scalar<int64_t>(), count++);
  }
  EXPECT_EQ(count, 5);
  EXPECT_THAT(Thrown([&] { counted.MakeOneShotIterator(); }, tw::kFailedPrecondition),
              HasSubstr("depends on Placeholder 'n', which only a session has: make an "
                        "initializable iterator (created at "));
}

TEST_F(DatasetsTest, OneIteratorTakesSeveralDatasets) {
  const tw::Iterator either = tw::Iterator::FromStructure(graph_, {{tw::kInt64}});
  const tw::Node first = either.MakeInitializer(Range(1).variant());
  const tw::Node second = either.MakeInitializer(Range(9).Skip(8).variant());
  const tw::Output text = graph_.Placeholder("text", tw::kString, {});
  const tw::Output named = tw::Iterator::FromStringHandle(text, {{tw::kInt64}}).GetNext()[0];
  const tw::Output handle = either.StringHandle();
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  session.Run({}, {}, {first}).OrThrow();
  const tw::Tensor name = session.Run({}, {handle}).OrThrow()[0];
  EXPECT_EQ(session.Run({{text, name}}, {named}).OrThrow()[0].scalar<int64_t>(), 0);
  session.Run({}, {}, {second}).OrThrow();
  EXPECT_EQ(session.Run({{text, name}}, {named}).OrThrow()[0].scalar<int64_t>(), 8);
}

TEST_F(DatasetsTest, AnIteratorGoesOnWhereItStood) {
  const tw::Iterator rows = Range(6).Shuffle(3, 5).MakeInitializableIterator();
  const tw::Output next = rows.GetNext()[0];
  std::string place;
  std::vector<int64_t> rest, again;
  const auto take = [&](tw::Session& session, std::vector<int64_t>* into) {
    for (tw::Result<tw::Tensors> row = session.Run({}, {next}); row.ok();
         row = session.Run({}, {next})) {
      into->push_back(row.value()[0].scalar<int64_t>());
    }
  };
  {
    tw::Session session = tw::Session::Create(graph_).OrThrow();
    session.Run({}, {}, {rows.initializer()}).OrThrow();
    session.Run({}, {next}).OrThrow();
    place = rows.Save(session).OrThrow();
    take(session, &rest);
  }
  tw::Session session = tw::Session::Create(graph_).OrThrow();
  session.Run({}, {}, {rows.initializer()}).OrThrow();
  rows.Restore(session, place).OrThrow();
  take(session, &again);
  EXPECT_EQ(rest.size(), 5u);
  EXPECT_EQ(again, rest);
  EXPECT_EQ(rows.Restore(session, "no state").code(), tw::kInvalidArgument);
}

TEST_F(DatasetsTest, StagesThatCannotBeSayWhichAndWhere) {
  const std::string here = "datasets_test.cc:";
  const std::string no_op =
      Thrown([&] { Range(1).Apply("NoSuchDataset", {}, {{tw::kInt64}}); }, tw::kNotFound);
  EXPECT_THAT(no_op, HasSubstr("NoSuchDataset: "));
  EXPECT_THAT(no_op, HasSubstr(here));
}

TEST_F(DatasetsTest, FunctionsThatDoNotFitAreRefused) {
  const tw::Dataset pairs = tw::Dataset::Zip({Range(1), Range(1)});
  EXPECT_THAT(Thrown([&] { pairs.Map([](tw::Output x) { return x; }); }),
              HasSubstr("Map: the function takes 1 components, an element has 2 (created at "));
  EXPECT_THAT(Thrown([&] { Range(1).Filter([](tw::Output x) { return x; }); }),
              HasSubstr("Filter: the function must give one bool scalar (created at "));
  EXPECT_THAT(Thrown([&] { Range(1).Concatenate(pairs); }),
              HasSubstr("Concatenate: the elements of both must have the same types"));
  EXPECT_THAT(Thrown([&] { Range(1).Unbatch(); }), HasSubstr("component 0 is a scalar"));
  EXPECT_THAT(Thrown([&] { tw::Dataset::Zip({}); }), HasSubstr("Zip: no datasets"));
  // The graph is as it was.
  EXPECT_THAT(Numbers(Range(1)), ElementsAre(0));
  const std::string wrong_op =
      Thrown([&] { Range(1).Map([&](tw::Output x) { return x + graph_.Scalar(1.0f); }); });
  EXPECT_THAT(wrong_op, HasSubstr("Map: "));
  EXPECT_THAT(wrong_op, HasSubstr("datasets_test.cc:"));
}

TEST_F(DatasetsTest, AnElementThatCannotBeMadeIsThrownByTheLoop) {
  const int line = __LINE__ + 1;
  const tw::Dataset missing = tw::Dataset::TextLines(graph_.Strings({"/no/such/file"}));
  const std::string said = Thrown([&] { Texts(missing); }, tw::kNotFound);
  EXPECT_THAT(said, HasSubstr("/no/such/file"));
  EXPECT_THAT(said, HasSubstr("[[TextLineDataset '"));
  EXPECT_THAT(said, HasSubstr("datasets_test.cc:" + std::to_string(line)));
  EXPECT_THAT(Texts(missing.IgnoreErrors()), IsEmpty());
  EXPECT_THAT(Thrown([&] { Texts(tw::Dataset::ListFiles(graph_, "/no/such/*")); }),
              HasSubstr("No files matched pattern: /no/such/*"));
}

TEST_F(DatasetsTest, AnErrorOfAnElementNamesItAndItsStage) {
  const std::string bad = File("bad.jpg", "no picture");
  const tw::Dataset pictures =
      tw::Dataset::FromTensorSlices({graph_.Strings({bad})}).Map([&](tw::Output name) {
        return graph_.Op("DecodeJpeg", {graph_.Op("ReadFile", {name})});
      });
  const auto element_of = [&](const tw::Dataset& dataset) {
    return Thrown([&] {
      for (const tw::Tensors& element : dataset.Elements()) (void)element;
    });
  };
  for (const int parallel : {0, 2}) {
    const tw::Dataset numbered =
        pictures.Enumerate(7).Map([&](tw::Output n, tw::Output) { return n; }, parallel);
    const std::string said = element_of(numbered);
    EXPECT_THAT(said, HasSubstr("[[MapDataset 'MapDataset"));
    EXPECT_THAT(said, HasSubstr("; element: '" + bad + "']] (created at "));
    EXPECT_THAT(said, HasSubstr("datasets_test.cc:"));
  }
  // What is no text is not shown.
  const std::string bytes = element_of(
      tw::Dataset::FromTensors({graph_.Const(tw::Tensor::String(std::string("\0\xff", 2)))})
          .Map([&](tw::Output x) { return graph_.Op("DecodeJpeg", {x}); }));
  EXPECT_THAT(bytes, HasSubstr("; element: a string of 2 bytes]]"));
}

}  // namespace
