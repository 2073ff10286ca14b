// SPDX-License-Identifier: Apache-2.0
// What the fuzzer of checkpoints makes of its corpus must get past the checksums, or it would test
// nothing else.
#include <gtest/gtest.h>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/io/bundle_reader.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/test_forged_bundle.h"

namespace thalweg {
namespace {

class ForgedCorpusTest : public testing::TestWithParam<const char*> {
 protected:
  void Write(const std::string& path, std::string_view bytes) {
    auto file = *fs_.OpenForWriting(path);
    ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  }
  // How many tensors of the bundle can be read.
  size_t CountReadable(const ForgedBundle& bundle, Status* why_not) {
    Write(BundleIndexPath(prefix_), bundle.index);
    for (int shards : {1, 2, 3}) {
      for (int s = 0; s < shards; ++s) Write(BundleDataPath(prefix_, s, shards), bundle.data);
    }
    Result<std::unique_ptr<BundleReader>> reader = BundleReader::Open(fs_, prefix_);
    *why_not = reader.status();
    if (!reader.ok()) return 0;
    size_t readable = 0;
    for (const std::string& name : (*reader)->Names()) {
      const Result<Tensor> value = (*reader)->Read(name, *allocator_);
      readable += value.ok() ? 1 : 0;
      if (!value.ok()) *why_not = value.status();
    }
    return readable;
  }
  std::string Input() {
    return *ReadFile(fs_, std::string(THALWEG_BUNDLE_CORPUS) + "/" + GetParam());
  }

  PosixFileSystem fs_;
  AllocatorPtr allocator_ = MakeCpuAllocator();
  TemporaryDirectory directory_;
  const std::string prefix_ = directory_.Path("c");
};

TEST_P(ForgedCorpusTest, HasTensorsThatCanBeRead) {
  Status why_not;
  EXPECT_GT(CountReadable(ForgeBundle(Input()), &why_not), 0u) << why_not.ToString();
}

TEST_P(ForgedCorpusTest, ChangedDataGetsPastTheChecksums) {
  std::string input = Input();
  if ((input[0] & 3) == 0) input[0] = 3;
  Status why_not;
  const size_t before = CountReadable(ForgeBundle(input), &why_not);
  input.back() = static_cast<char>(input.back() ^ 1);
  EXPECT_EQ(CountReadable(ForgeBundle(input), &why_not), before) << why_not.ToString();
}

INSTANTIATE_TEST_SUITE_P(Corpus, ForgedCorpusTest,
                         testing::Values("object_file", "object_forged", "object_rows",
                                         "partitioned_file", "partitioned_forged",
                                         "partitioned_rows", "sharded_block", "sharded_file",
                                         "sharded_forged", "sharded_rows"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace thalweg
