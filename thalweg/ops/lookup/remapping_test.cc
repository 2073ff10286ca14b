// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/ops/lookup/test_tables.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

// Values and errors of TensorFlow 1.15.
class RemappingTest : public testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& text) const {
    std::string path = directory_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const TemporaryDirectory directory_;
};

class VocabularyTest : public RemappingTest {
 protected:
  std::vector<Tensor> Files(const std::string& now = "b\nx\na\nd\n",
                            const std::string& before = "a\nb\nc\nd\ne\n") const {
    return {Tensor::Scalar(File("new", now)), Tensor::Scalar(File("old", before))};
  }
  static AttrMap Attrs(int64_t offset, int64_t count, int64_t old_size = -1) {
    return {{"new_vocab_offset", offset}, {"num_new_vocab", count}, {"old_vocab_size", old_size}};
  }
  static void Expect(const std::vector<Tensor>& files, const AttrMap& attrs,
                     const std::vector<int64_t>& places, int32_t present) {
    ExpectOutputs("GenerateVocabRemapping", files, attrs,
                  {Tensor::Of<int64_t>(places, Shape{static_cast<int64_t>(places.size())}),
                   Tensor::Scalar(present)});
  }
};

TEST_F(VocabularyTest, Places) {
  Expect(Files(), Attrs(0, 4), {1, -1, 0, 3}, 3);
  Expect(Files(), Attrs(1, 2), {-1, 0}, 1);
  Expect(Files(), Attrs(0, 4, 2), {1, -1, 0, -1}, 2);
  Expect(Files(), Attrs(0, 0), {}, 0);
  Expect(Files("a\na\nb"), Attrs(0, 3), {0, 0, 1}, 3);
  Expect(Files("a\r\nb"), Attrs(0, 2), {0, 1}, 2);
}

TEST_F(VocabularyTest, ACancelledStepReadsNoMoreLines) {
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += std::to_string(i) + "\n";
  KernelCall call("GenerateVocabRemapping", Files(lines, lines), Attrs(0, 4));
  call.cancellation().Cancel();
  EXPECT_EQ(call.Run().code(), Code::kCancelled);
}

TEST_F(VocabularyTest, Refusals) {
  const auto refuse = [&](const std::vector<Tensor>& files, const AttrMap& attrs, Code code,
                          const char* why) {
    ExpectError("GenerateVocabRemapping", files, attrs, code, why);
  };
  refuse(Files(), Attrs(0, 5), Code::kInvalidArgument, "last new vocab entry's line");
  refuse(Files(), Attrs(3, 2), Code::kInvalidArgument, "last new vocab entry's line");
  refuse(Files(), Attrs(INT64_MAX, 1), Code::kInvalidArgument, "last new vocab entry's line");
  refuse(Files(), Attrs(0, 4, 9), Code::kInvalidArgument, "expected 9 but got 5");
  refuse(Files("a", "a\na\n"), Attrs(0, 1), Code::kFailedPrecondition, "Key a has 0");
  refuse(Files("a\n\nb"), Attrs(0, 1), Code::kInvalidArgument, "empty line found at position 2");
  refuse({Tensor::Scalar("/nowhere"), Tensor::Scalar("/nowhere")}, Attrs(0, 1), Code::kNotFound,
         "/nowhere");
}

class MatrixTest : public RemappingTest {
 protected:
  MatrixTest() {
    PosixFileSystem fs;
    auto writer = BundleWriter::Create(fs, directory_.path() + "/model");
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    std::vector<float> values(12);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    EXPECT_TRUE((*writer)->Add("m", Tensor::Of<float>(values, Shape{4, 3})).ok());
    EXPECT_TRUE((*writer)->Add("v", Tensor::Vector<float>({1, 2})).ok());
    EXPECT_TRUE((*writer)->Add("n", Tensor::Vector<double>({1, 2})).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
  }
  std::vector<Tensor> Inputs(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                             const std::vector<float>& values, const char* name = "m") const {
    const auto size = [](const auto& v) { return Shape{static_cast<int64_t>(v.size())}; };
    return {Tensor::Scalar(directory_.path() + "/model"), Tensor::Scalar(std::string(name)),
            Tensor::Of<int64_t>(rows, size(rows)), Tensor::Of<int64_t>(columns, size(columns)),
            Tensor::Of<float>(values, size(values))};
  }
  static AttrMap Attrs(int64_t rows, int64_t columns, int64_t most = -1) {
    return {{"num_rows", rows}, {"num_cols", columns}, {"max_rows_in_memory", most}};
  }
};

TEST_F(MatrixTest, RowsAndColumns) {
  for (const int64_t most : {-1, 0, 1, 2}) {
    ExpectOutputs("LoadAndRemapMatrix", Inputs({1, -1, 0}, {}, {9, 8, 7}), Attrs(3, 3, most),
                  {Numbers<float>({3, 4, 5, 9, 8, 7, 0, 1, 2}, Shape{3, 3})});
    ExpectOutputs("LoadAndRemapMatrix", Inputs({3, -1}, {0, -1, 1}, {1.5, 2.5, 3.5, 4.5}),
                  Attrs(2, 3, most), {Numbers<float>({9, 1.5, 10, 2.5, 3.5, 4.5}, Shape{2, 3})});
    ExpectOutputs("LoadAndRemapMatrix", Inputs({3, 0, 3}, {2}, {}), Attrs(3, 1, most),
                  {Numbers<float>({11, 2, 11}, Shape{3, 1})});
  }
  ExpectOutputs("LoadAndRemapMatrix", Inputs({}, {}, {}), Attrs(0, 3),
                {Numbers<float>({}, Shape{0, 3})});
}

TEST_F(MatrixTest, InitializingValuesOfAnyShape) {
  for (const Shape& shape : {Shape{3}, Shape{3, 1}, Shape{1, 3}}) {
    std::vector<Tensor> inputs = Inputs({1, -1, 0}, {}, {});
    inputs[4] = Tensor::Of<float>(std::vector<float>{9, 8, 7}, shape);
    ExpectOutputs("LoadAndRemapMatrix", inputs, Attrs(3, 3),
                  {Numbers<float>({3, 4, 5, 9, 8, 7, 0, 1, 2}, Shape{3, 3})});
  }
}

TEST_F(MatrixTest, Refusals) {
  const auto refuse = [&](const std::vector<Tensor>& inputs, const AttrMap& attrs, const char* why,
                          Code code = Code::kInvalidArgument) {
    ExpectError("LoadAndRemapMatrix", inputs, attrs, code, why);
  };
  refuse(Inputs({-1}, {}, {1}), Attrs(1, 3), "more missing values remain");
  refuse(Inputs({-1}, {}, {1, 2, 3, 4}), Attrs(1, 3), "only 3 elements were used");
  refuse(Inputs({0}, {}, {}), Attrs(2, 3), "instead of being equal to num_rows=2");
  refuse(Inputs({0}, {}, {}), Attrs(1, 2), "instead of being equal to num_cols=2");
  refuse(Inputs({0}, {0, 1}, {}), Attrs(1, 3), "col_remapping, but its size is 2");
  refuse(Inputs({7}, {}, {}), Attrs(1, 3), "row_remapping has 7");
  refuse(Inputs({0}, {3}, {}), Attrs(1, 1), "col_remapping has 3");
  refuse(Inputs({0}, {}, {}, "v"), Attrs(1, 3), "must be a matrix");
  refuse(Inputs({0}, {}, {}, "n"), Attrs(1, 3), "invalid type");
  refuse(Inputs({0}, {}, {}, "z"), Attrs(1, 3), "Key z not found", Code::kNotFound);
}

}  // namespace
}  // namespace thalweg
