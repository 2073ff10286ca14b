// SPDX-License-Identifier: Apache-2.0
// The bytes of strings count against the memory limit: those that kernels make while a step runs,
// before they are made where a few bytes of input make many, and those of a graph's constants.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "thalweg/api/registries.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/session/session.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;
constexpr int64_t kLimit = 64 * kMegabyte;

class TextMemoryTest : public ::testing::Test {
 protected:
  TextMemoryTest()
      : environment_(
            *Environment::Create({.threads = 1, .memory_limit = kLimit}, MakeRegistries())),
        graph_(std::make_shared<Graph>(environment_->shared_ops())),
        b_(graph_.get()),
        session_(*MakeLocalSession(environment_, graph_)) {}

  int64_t InUse() const { return environment_->allocator()->Stats().bytes_in_use; }

  // A feed, so that nothing is folded.
  Output Feed(const Tensor& value) {
    signature_.feeds.push_back(b_.Op("Placeholder", {}, {{"dtype", value.dtype()}}));
    values_.push_back(value);
    return signature_.feeds.back();
  }
  Output Text(size_t length) { return Feed(Tensor::Scalar(std::string(length, 'x'))); }
  Output Texts(int64_t n, size_t length) {
    return Feed(Tensor::Of<std::string>(
        std::vector<std::string>(static_cast<size_t>(n), std::string(length, 'x')), Shape{n}));
  }
  Output Ints(std::vector<int32_t> values) {
    const auto n = static_cast<int64_t>(values.size());
    return Feed(Tensor::Of<int32_t>(values, Shape{n}));
  }
  Output Int(int32_t value) { return Feed(Tensor::Scalar(value)); }
  Output Zeros(int64_t n) { return Ints(std::vector<int32_t>(static_cast<size_t>(n))); }

  Status Run(Output fetch) {
    RETURN_IF_ERROR(b_.status());
    signature_.fetches = {fetch};
    Tensor out;
    return session_->Run(RunOptions(), signature_, values_, {&out, 1});
  }

  // Far more than the limit was asked for, and nothing like it was taken.
  void ExpectRefused(Output fetch) {
    ASSERT_TRUE(b_.ok()) << b_.status().ToString();
    const std::string name = fetch.node->name();
    ResetPeak();
    const int64_t before = PeakKilobytes(), in_use = InUse();
    const Status status = Run(fetch);
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << name << ": " << status.ToString();
    const std::string message(status.message());
    EXPECT_NE(message.find("bytes asked for"), std::string::npos) << message;
    EXPECT_NE(message.find(StrCat("of ", kLimit, " in use")), std::string::npos) << message;
    EXPECT_NE(message.find(StrCat("'", name, "'")), std::string::npos) << message;
    if (!kSanitized) {
      EXPECT_LT(PeakKilobytes() - before, 2 * kLimit / 1024) << name;
    }
    EXPECT_LE(InUse(), in_use + kMegabyte) << name;
    ExpectWorks();
  }
  // What fits still runs.
  void ExpectWorks() {
    const Output dims = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}});
    const Output some = b_.Op("Fill", {dims, b_.Const(Tensor::Scalar("0123456789abcdef"))});
    const Tensor thousand = Tensor::Vector<int32_t>({1000});
    Tensor out;
    const Signature signature{{dims}, {some}, {}};
    const Status status = session_->Run(RunOptions(), signature, {&thousand, 1}, {&out, 1});
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(out.data<std::string>()[999], "0123456789abcdef");
  }

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Graph> graph_;
  GraphBuilder b_;
  std::unique_ptr<Session> session_;
  Signature signature_;
  std::vector<Tensor> values_;

 private:
  static void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }
  static int64_t PeakKilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      long long kilobytes = 0;
      if (std::sscanf(line.c_str(), "VmHWM: %lld", &kilobytes) == 1) return kilobytes;
    }
    return 0;
  }
};

constexpr size_t kLong = 1 << 20;  // a thousand of these are 16 times the limit
constexpr int kMany = 1000;

TEST_F(TextMemoryTest, Fill) { ExpectRefused(b_.Op("Fill", {Ints({kMany}), Text(kLong)})); }

TEST_F(TextMemoryTest, FillOfMoreThanTheAddressSpace) {
  ExpectRefused(b_.Op("Fill", {Ints({kMany * kMany}), Text(16 * kLong)}));
}

TEST_F(TextMemoryTest, Tile) { ExpectRefused(b_.Op("Tile", {Texts(2, kLong), Ints({kMany})})); }

TEST_F(TextMemoryTest, BroadcastTo) {
  ExpectRefused(b_.Op("BroadcastTo", {Texts(1, kLong), Ints({4, kMany})}));
}

TEST_F(TextMemoryTest, Pad) {
  const Output paddings = Feed(*Tensor::Vector<int32_t>({0, kMany}).Reshaped(Shape{1, 2}));
  ExpectRefused(b_.Op("PadV2", {Texts(1, 20), paddings, Text(kLong)}));
}

TEST_F(TextMemoryTest, MirrorPad) {
  // Three times as long in each dimension.
  Tensor x =
      *Tensor::Of<std::string>(std::vector<std::string>(64, std::string(kLong / 4, 'x')), Shape{64})
           .Reshaped(Shape{2, 2, 2, 2, 2, 2});
  std::vector<int32_t> twos(12, 2);
  const Output paddings = Feed(Tensor::Of<int32_t>(twos, Shape{6, 2}));
  ExpectRefused(b_.Op("MirrorPad", {Feed(x), paddings}, {{"mode", "SYMMETRIC"}}));
}

TEST_F(TextMemoryTest, Gather) {
  ExpectRefused(b_.Op("GatherV2", {Texts(2, kLong), Zeros(kMany), Int(0)}));
}

TEST_F(TextMemoryTest, GatherNd) {
  const Output rows =
      Feed(*Tensor::Of<int32_t>(std::vector<int32_t>(kMany), Shape{kMany}).Reshaped({kMany, 1}));
  ExpectRefused(b_.Op("GatherNd", {Texts(2, kLong), rows}));
}

TEST_F(TextMemoryTest, OneHot) {
  ExpectRefused(b_.Op("OneHot", {Zeros(10), Int(kMany), Text(20), Text(kLong)}));
}

TEST_F(TextMemoryTest, Select) {
  const Output mask = b_.Op("Cast", {Zeros(kMany)}, {{"DstT", DType::kBool}});
  ExpectRefused(b_.Op("SelectV2", {mask, Text(20), Text(kLong)}));
}

TEST_F(TextMemoryTest, SparseToDense) {
  ExpectRefused(b_.Op("SparseToDense", {Zeros(1), Ints({kMany}), Texts(1, 20), Text(kLong)}));
}

TEST_F(TextMemoryTest, MatrixDiag) {
  ExpectRefused(b_.Op("MatrixDiagV2", {Texts(40, 20), Int(0), Int(40), Int(40), Text(kLong)}));
}

TEST_F(TextMemoryTest, ConcatAndPack) {
  const Output one = Texts(1, kLong);
  const std::vector<Output> all(kMany, one);
  std::vector<Output> values = all;
  values.push_back(Int(0));
  ExpectRefused(b_.Op("Pack", all));
  ExpectRefused(b_.Op("ConcatV2", values));
}

TEST_F(TextMemoryTest, StringJoin) {
  ExpectRefused(b_.Op("StringJoin", std::vector<Output>(kMany, Texts(2, kLong))));
}

TEST_F(TextMemoryTest, ReduceJoin) {
  ExpectRefused(
      b_.Op("ReduceJoin", {Texts(kMany, 1), Int(0)}, {{"separator", std::string(kLong, ',')}}));
}

TEST_F(TextMemoryTest, UnsortedSegmentJoin) {
  ExpectRefused(b_.Op("UnsortedSegmentJoin", {Texts(kMany, 1), Zeros(kMany), Int(1)},
                      {{"separator", std::string(kLong, ',')}}));
}

TEST_F(TextMemoryTest, AddOfStrings) {
  ExpectRefused(b_.Op("Add", {Texts(kMany, 1), Text(kLong)}));
}

TEST_F(TextMemoryTest, AsString) {
  ExpectRefused(b_.Op("AsString", {Zeros(10 * kMany)}, {{"width", int64_t{60000}}}));
}

TEST_F(TextMemoryTest, Substr) {
  const Output lengths = Ints(std::vector<int32_t>(kMany, kLong));
  ExpectRefused(b_.Op("Substr", {Text(kLong), Zeros(kMany), lengths}));
}

TEST_F(TextMemoryTest, StringNGrams) {
  const Output splits = Feed(Tensor::Vector<int64_t>({0, kMany}));
  ExpectRefused(b_.Op("StringNGrams", {Texts(kMany, 1), splits},
                      {{"separator", std::string(kLong, ',')},
                       {"ngram_widths", std::vector<int64_t>{2}},
                       {"left_pad", ""},
                       {"right_pad", ""},
                       {"pad_width", int64_t{0}},
                       {"preserve_short_sequences", false}}));
}

TEST_F(TextMemoryTest, RegexReplaceOfOneString) {
  ExpectRefused(b_.Op("RegexReplace", {Text(kMany), Text(1), Text(kLong)}));
}

TEST_F(TextMemoryTest, RaggedAndSparseFill) {
  const Output where = Feed(*Tensor::Vector<int64_t>({0, 0}).Reshaped(Shape{1, 2}));
  const Output shape = Feed(Tensor::Vector<int64_t>({kMany, 1}));
  ExpectRefused(b_.Op("SparseFillEmptyRows", {where, Texts(1, 20), shape, Text(kLong)}));
}

TEST_F(TextMemoryTest, TensorListStack) {
  const Output shape = Ints({});
  Output list = b_.Op("TensorListReserve", {shape, Int(100)},
                      {{"element_dtype", DType::kString}, {"shape_type", DType::kInt32}});
  const Output element = Text(kLong);
  for (int i = 0; i < 100; ++i) list = b_.Op("TensorListSetItem", {list, Int(i), element});
  ExpectRefused(b_.Op("TensorListStack", {list, shape}, {{"element_dtype", DType::kString}}));
}

TEST_F(TextMemoryTest, LookupsOfALongDefault) {
  const Output table =
      b_.Op("HashTableV2", {}, {{"key_dtype", DType::kInt32}, {"value_dtype", DType::kString}});
  const Output made =
      b_.WithControls({b_.OpNode("LookupTableImportV2", {table, Ints({-1}), Texts(1, 20)})})
          .Op("Identity", {Zeros(kMany)});
  ExpectRefused(b_.Op("LookupTableFindV2", {table, made, Text(kLong)}));
}

TEST_F(TextMemoryTest, FilesThatAreRead) {
  const TemporaryDirectory folder;
  const std::string path = folder.Path("lines");
  const auto write = [&](int64_t megabytes) {
    std::ofstream file(path, std::ios::binary);
    const std::string line = std::string(1023, 'x') + "\n";
    for (int64_t i = 0; i < megabytes * 1024; ++i) file << line;
  };
  write(2 * kLimit / kMegabyte);
  const Output name = Feed(Tensor::Scalar(path));
  ExpectRefused(b_.Op("ReadFile", {name}));
  const Output table =
      b_.Op("HashTableV2", {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
  Node* const fill = b_.OpNode("InitializeTableFromTextFileV2", {table, name},
                               {{"key_index", int64_t{-2}}, {"value_index", int64_t{-1}}});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  signature_.fetches.clear();
  signature_.targets = {fill};
  const Status status = session_->Run(RunOptions(), signature_, values_, {});
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_NE(status.message().find(path), std::string_view::npos) << status.ToString();
}

// A table keeps more than the tensors that it was made from, and longer.
TEST_F(TextMemoryTest, RowsOfATable) {
  for (const char* kind : {"MutableHashTableV2", "MutableDenseHashTableV2"}) {
    std::vector<Output> inputs;
    if (kind == std::string("MutableDenseHashTableV2")) {
      inputs = {b_.Const(Tensor::Scalar<int64_t>(-1)), b_.Const(Tensor::Scalar<int64_t>(-2))};
    }
    const Output table =
        b_.Op(kind, inputs, {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kInt64}});
    const Output keys = b_.Op("Placeholder", {}, {{"dtype", DType::kInt64}});
    Node* const insert = b_.OpNode("LookupTableInsertV2", {table, keys, keys});
    Node* const remove = b_.OpNode("LookupTableRemoveV2", {table, keys});
    ASSERT_TRUE(b_.ok()) << b_.status().ToString();
    constexpr int64_t kRows = 50'000;
    const auto rows = [&](int64_t from) {
      std::vector<int64_t> all;
      for (int64_t i = 0; i < kRows; ++i) all.push_back(from + i);
      return Tensor::Of<int64_t>(all, Shape{kRows});
    };
    const int64_t before = InUse();
    int64_t done = 0;
    Status status;
    for (; status.ok() && done < 100; ++done) {
      const Tensor some = rows(done * kRows);
      status = session_->Run(RunOptions(), {{keys}, {}, {insert}}, {&some, 1}, {});
    }
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << kind << ": " << status.ToString();
    EXPECT_GT(done, 5) << kind;
    EXPECT_GT(InUse() - before, kLimit / 2) << kind;
    // What was refused is not there, what was there can be removed, and then gives its memory back.
    for (int64_t i = 0; i < done; ++i) {
      const Tensor some = rows(i * kRows);
      ASSERT_TRUE(session_->Run(RunOptions(), {{keys}, {}, {remove}}, {&some, 1}, {}).ok());
    }
    ExpectWorks();
    if (inputs.empty()) {
      EXPECT_LE(InUse() - before, kMegabyte);
    }
  }
}

// Each place of a list, an array, a queue or a stack is a handle, also where nothing was put yet.
TEST_F(TextMemoryTest, PlacesOfContainers) {
  const Output many = Int(40'000'000), few = Int(4'000'000);
  ExpectRefused(b_.Op("TensorListReserve", {Ints({}), many},
                      {{"element_dtype", DType::kInt32}, {"shape_type", DType::kInt32}}));
  const Output values =
      b_.Op("Fill", {b_.Op("Reshape", {few, b_.Const(Tensor::Vector<int32_t>({1}))}), Int(1)});
  ExpectRefused(b_.Op("TensorListFromTensor", {values, Ints({})},
                      {{"element_dtype", DType::kInt32}, {"shape_type", DType::kInt32}}));
}

// No kernel here makes more than it was given: their sum counts.
TEST_F(TextMemoryTest, AChainOfCopiesCounts) {
  std::vector<Output> kept;
  const Output first = Texts(10, kLong);
  for (int i = 0; i < 12; ++i) kept.push_back(b_.Op("StringJoin", {first, Text(1)}));
  const Status status = Run(b_.Op("IdentityN", kept));
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_LE(InUse(), 11 * kMegabyte);  // the fed strings
  ExpectWorks();
}

TEST_F(TextMemoryTest, StringsOfAVariableAreCountedAgainWhenTheyChange) {
  const Output variable =
      b_.Op("VarHandleOp", {}, {{"dtype", DType::kString}, {"shape", Shape{kMany}}});
  Node* const assign = b_.OpNode("AssignVariableOp", {variable, Texts(kMany, 1)});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  signature_.targets = {assign};
  ASSERT_TRUE(session_->Run(RunOptions(), signature_, values_, {}).ok());
  std::vector<int32_t> all;
  for (int i = 0; i < kMany; ++i) all.push_back(i);
  Node* const update =
      b_.OpNode("ResourceScatterUpdate", {variable, Ints(all), Text(kLong)}, {}, "update");
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  signature_.targets = {update};
  const Status status = session_->Run(RunOptions(), signature_, values_, {});
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  signature_ = {};
  values_.clear();
  Node* const few = b_.OpNode("ResourceScatterUpdate", {variable, Ints({1, 2}), Text(kLong)});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  signature_.targets = {few};
  const int64_t before = InUse();
  ASSERT_TRUE(session_->Run(RunOptions(), signature_, values_, {}).ok());
  EXPECT_GE(InUse() - before, 2 * kMegabyte);
  ExpectWorks();
}

TEST_F(TextMemoryTest, ConstantsCountAtImport) {
  std::string bytes;
  {
    Graph source(environment_->shared_ops());
    GraphBuilder b(&source);
    b.Const(Tensor::Scalar(std::string(40 * kMegabyte, 'x')), "long");
    Result<std::string> exported = ExportGraphDefBytes(source);
    ASSERT_TRUE(exported.ok());
    bytes = *std::move(exported);
  }
  ImportOptions options;
  options.allocator = environment_->allocator().get();
  const int64_t before = InUse();
  ASSERT_TRUE(ImportGraphDefBytes(bytes, *graph_, options).ok());
  EXPECT_GE(InUse() - before, 40 * kMegabyte);
  options.prefix = "again";
  const Status status = ImportGraphDefBytes(bytes, *graph_, options).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_NE(status.message().find("long"), std::string_view::npos) << status.ToString();
  ExpectWorks();
}

}  // namespace
}  // namespace thalweg
