// SPDX-License-Identifier: Apache-2.0
// A tour of input pipelines: pipelines DIGITS_CSV TEXT. Python's give the same, element for
// element.
#include <thalweg/dataset.h>
#include <thalweg/ops.h>

#include <cstdio>
#include <string>

namespace ops = tw::ops;

// The first numbers of a dataset of int64s, batches as one after the other.
static void Show(const char* what, const tw::Dataset& dataset) {
  std::printf("%s:", what);
  for (const tw::Tensors& element : dataset.Take(12).Elements()) {
    for (int64_t i = 0; i < element[0].num_elements(); ++i) {
      std::printf(" %lld", static_cast<long long>(element[0].data<int64_t>()[i]));
    }
  }
  std::printf("\n");
}

int main(int argc, char** argv) {
  const std::string digits = argc > 1 ? argv[1] : DIGITS_FOLDER "/digits.csv";
  const std::string text = argc > 2 ? argv[2] : LICENSE_FILE;
  const tw::Environment environment = tw::Environment::Create().OrThrow();
  tw::Graph g(environment);
  const tw::Dataset numbers = tw::Dataset::Range(g, 10);

  // In random order, another one each time; the order depends on the seed alone.
  Show("shuffled twice", numbers.Shuffle(4, 7).Repeat(2).Batch(5));

  // Functions of elements: what they read from outside, `ten`, is passed to them.
  const tw::Output ten = g.Scalar<int64_t>(10);
  const auto is_odd = [&](tw::Output x) {
    return ops::Equal(ops::FloorMod(x, g.Scalar<int64_t>(2)), g.Scalar<int64_t>(1));
  };
  Show("odd, times ten", numbers.Filter(is_odd).Map([&](tw::Output x) { return x * ten; }, 2));

  // Datasets of elements, two of them in turn.
  const auto counted = [&](tw::Output x) {
    return tw::Dataset::Range(g, x).Map([=](tw::Output y) { return x * ten + y; });
  };
  Show("interleaved", numbers.Take(5).Interleave(counted, 2));

  // Rows of different lengths, filled up.
  const auto row = [&](tw::Output x) { return ops::Fill(ops::ExpandDims(x, g.Scalar(0)), x); };
  Show("padded", numbers.Skip(1).Map(row).PaddedBatch(3).Take(1));

  // Lines of a file: how long those are that are not empty.
  const auto length = [&](tw::Output line) {
    return ops::Cast(ops::StringLength(line), tw::kInt64);
  };
  const auto is_some = [&](tw::Output n) { return ops::Greater(n, g.Scalar<int64_t>(0)); };
  const tw::Dataset lengths = tw::Dataset::TextLines(g.Strings({text})).Map(length).Filter(is_some);
  Show("lengths of lines", lengths);

  // Two fields of each record: the digit, and its darkest pixel's neighbor.
  tw::CsvOptions columns;
  columns.select_columns = {27, 64};
  const tw::Dataset records =
      tw::Dataset::Csv(g.Strings({digits}), {tw::kInt64, tw::kInt64}, columns);
  Show("gray", records.Shuffle(100, 3));
  const auto label = [](tw::Output, tw::Output digit) { return digit; };
  Show("digits", records.Map(label).Batch(4).Take(2));

  // An iterator is a part of a graph. Where it stands can be kept.
  const tw::Iterator iterator = numbers.Shuffle(10, 1).Cache().MakeInitializableIterator();
  const tw::Output next = iterator.GetNext()[0];
  tw::Session session = tw::Session::Create(g).OrThrow();
  session.Run({}, {}, {iterator.initializer()}).OrThrow();
  session.Run({}, {next}).OrThrow();
  const std::string place = iterator.Save(session).OrThrow();
  for (int i = 0; i < 2; ++i) {
    if (i == 1) iterator.Restore(session, place).OrThrow();
    const tw::Tensor second = session.Run({}, {next}).OrThrow()[0];
    std::printf("second: %lld\n", static_cast<long long>(second.scalar<int64_t>()));
  }
  return 0;
}
