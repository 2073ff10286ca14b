// SPDX-License-Identifier: Apache-2.0
// Files are as TensorFlow 2.21 writes them, but for how well they are compressed.
#include "thalweg/base/file_system.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/record_framing.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

using namespace std::string_literals;

AttrMap DumpTo(const std::string& directory, DType dtype, bool enabled = true) {
  return {{"T", dtype},         {"log_dir_path", directory}, {"file_name", "file"},
          {"enabled", enabled}, {"func_name", "fn"},         {"node_name", "nn"}};
}

// What is in a whole zlib stream of stored blocks.
std::string Unzipped(const std::string& file) {
  std::string data;
  EXPECT_TRUE(file.starts_with("\x78\x01")) << file;
  size_t at = 2;
  for (bool ended = false; !ended && at + 5 <= file.size();) {
    ended = file[at] == 1;
    const size_t count =
        static_cast<uint8_t>(file[at + 1]) + size_t{256} * static_cast<uint8_t>(file[at + 2]);
    data += file.substr(at + 5, count);
    at += 5 + count;
  }
  EXPECT_EQ(file.size(), at + 4) << "the checksum ends the file";
  return data;
}

std::string Dumped(const TemporaryDirectory& directory) {
  PosixFileSystem fs;
  const Result<std::string> file = ReadFile(fs, directory.path() + "/a/file");
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? Unzipped(*file) : "";
}

TEST(DumpTensorTest, ARecordAndWhoseItIs) {
  const TemporaryDirectory directory;
  {
    KernelCall call("DumpTensor", {Tensor::Vector<float>({1, 2})},
                    DumpTo(directory.path() + "/a", DType::kFloat));
    const Status ran = call.Run();
    ASSERT_TRUE(ran.ok()) << ran.ToString();
  }
  EXPECT_EQ(
      Dumped(directory),
      FrameRecord("\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\x00\x00\x80\x3f\x00\x00\x00\x40"s));
  PosixFileSystem fs;
  EXPECT_EQ(*ReadFile(fs, directory.path() + "/a/quant_unit.pb"), "\x12\x02nn\x1a\x02\x66n");
}

TEST(DumpTensorTest, TextsAndNothing) {
  const TemporaryDirectory directory;
  const Tensor texts = Tensor::Vector<std::string>({"a", "bc"});
  {
    KernelCall call("DumpTensor", {texts}, DumpTo(directory.path() + "/a", DType::kString));
    const Status ran = call.Run();
    ASSERT_TRUE(ran.ok()) << ran.ToString();
  }
  EXPECT_EQ(Dumped(directory),
            FrameRecord("\x08\x07\x12\x04\x12\x02\x08\x02\x22\x05\x01\x02\x61\x62\x63"s));
  {
    KernelCall call("DumpTensor", {texts},
                    DumpTo(directory.path() + "/a", DType::kString, /*enabled=*/false));
    const Status ran = call.Run();
    ASSERT_TRUE(ran.ok()) << ran.ToString();
  }
  EXPECT_EQ(Dumped(directory), "");
}

TEST(DumpTensorTest, Refusals) {
  const TemporaryDirectory directory;
  const Tensor x = Tensor::Scalar(1.0f);
  AttrMap attrs = DumpTo(directory.path(), DType::kFloat);
  attrs.Set("file_name", "not/there");
  ExpectError("DumpTensor", {x}, attrs, Code::kNotFound, "not/there");
  ExpectError("DumpTensor", {x}, DumpTo("/proc/nowhere", DType::kFloat), Code::kNotFound,
              "/proc/nowhere");
}

}  // namespace
}  // namespace thalweg
