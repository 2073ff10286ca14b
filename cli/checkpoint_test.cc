// SPDX-License-Identifier: Apache-2.0
// `thalweg checkpoint` on what both releases wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointCommandTest : public CommandFolder {
 protected:
  static std::string Typed() { return Golden("checkpoints/2.21/typed"); }
};

TEST_F(CheckpointCommandTest, ListsByPrefixFileAndFolder) {
  ASSERT_EQ(Run("checkpoint ls " + Typed()), 0) << output;
  EXPECT_THAT(output, HasSubstr("format V2): 20 tensors, 60366 elements, 241 kB\n"));
  EXPECT_THAT(output, HasSubstr("\n  f32/matrix                  float32     [5,7]         140"));
  const std::string listed = output;
  for (const char* file : {".data-00000-of-00001", ".index", ".meta"}) {
    ASSERT_EQ(Run("checkpoint ls " + Typed() + file), 0) << output;
    EXPECT_EQ(output, listed);
  }
  ASSERT_EQ(Run("checkpoint ls " + Golden("checkpoints/1.15/partitioned")), 0) << output;
  EXPECT_THAT(output, HasSubstr("partitioned/model-3 (format V2)"));
  ASSERT_EQ(Run("checkpoint ls " + Golden("checkpoints/1.15/v1/model.ckpt")), 0) << output;
  EXPECT_THAT(output, HasSubstr("(format V1)"));
  ASSERT_EQ(Run("checkpoint ls --json " + Typed() + " 'f32/s*'"), 0) << output;
  EXPECT_THAT(output, HasSubstr("{\"name\":\"f32/scalar\",\"dtype\":\"float32\",\"shape\":[],"
                                "\"bytes\":4,\"slices\":0}"));
  EXPECT_THAT(output, Not(HasSubstr("i64/vector")));
}

TEST_F(CheckpointCommandTest, ShowsAndExtractsValues) {
  ASSERT_EQ(Run("checkpoint show " + Typed() + " f32/special string/matrix"), 0) << output;
  EXPECT_THAT(output, HasSubstr("nans 1, infinities 2\n"));
  EXPECT_THAT(output, HasSubstr("[:] Infinity -Infinity NaN 0 1e-45\n"));
  EXPECT_THAT(output, HasSubstr("[0,:] \"\" \"a\" \"two words\"\n"));
  ASSERT_EQ(Run("checkpoint show --limit 1 " + Typed() + " f32/matrix"), 0) << output;
  EXPECT_THAT(output, HasSubstr("... 1 of 35 values"));
  EXPECT_EQ(Run("checkpoint show " + Typed() + " 'nothing*'"), 1);
  EXPECT_THAT(output, HasSubstr("no tensor is called 'nothing*'"));
  const std::string write = "checkpoint show " + Typed() + " f32/scalar --out " + Path("o.npz");
  ASSERT_EQ(Run(write), 0) << output;
  const tw::Tensor scalar = tw::Tensor::Scalar<float>(3.25f);
  EXPECT_THAT(ReadFile(Path("o.npz")), HasSubstr(NpyOf(scalar, "f32/scalar")));
  EXPECT_EQ(Run(write), 1);
  EXPECT_THAT(output, HasSubstr("the file is there already; --force replaces it"));
  EXPECT_EQ(Run(write + " --force"), 0) << output;
}

// The temporary file is a pipe: the command is stopped while it writes.
TEST_F(CheckpointCommandTest, NothingIsLeftOfWhatIsStopped) {
  WriteFile(
      Path("stop.sh"),
      "cd " + Path("") +
          "; mkfifo begun\n"
          "sh -c 'mkfifo o.npz.tmp$$; echo > begun; exec \"$0\" checkpoint show \"$1\" \"*\" --out "
          "o.npz' " THALWEG_COMMAND " " +
          Golden("checkpoints/1.15/many") +
          " 2> told & made=$!\n"
          "read x < begun; exec 3< o.npz.tmp$made; kill -TERM $made; cat <&3 > all\n"
          "wait $made; echo status $?; ls\n");
  EXPECT_EQ(RunShell("sh " + Path("stop.sh")), 0);
  EXPECT_THAT(output, EndsWith("status 143\nall\nbegun\nstop.sh\ntold\n"));
}

TEST_F(CheckpointCommandTest, DifferencesAndDamageAreStatusOne) {
  EXPECT_EQ(Run("checkpoint diff " + Typed() + " " + Golden("checkpoints/1.15/typed")), 0)
      << output;
  EXPECT_EQ(output,
            "20 tensors equal, 0 only in the first, 0 only in the second, 0 of another kind, "
            "0 with other values\n");
  EXPECT_EQ(Run("checkpoint diff " + Typed() + " " + Golden("checkpoints/2.21/v1/typed.ckpt")), 1);
  EXPECT_THAT(output, HasSubstr("- bf16/vector  bfloat16 [6]\n"));
  EXPECT_THAT(output, EndsWith("thalweg: the checkpoints differ\n"));
  EXPECT_EQ(Run("checkpoint verify " + Golden("checkpoints/1.15/many")), 0) << output;
  EXPECT_EQ(output, "2 files, 374 kB, 4500 tensors, 4504 checksums: all well\n");
  WriteFile(Path("m.index"), ReadFile(Typed() + ".index"));
  std::string data = ReadFile(Typed() + ".data-00000-of-00001");
  data[100] ^= 1;
  WriteFile(Path("m.data-00000-of-00001"), data);
  EXPECT_EQ(Run("checkpoint verify " + Path("m")), 1);
  EXPECT_THAT(output, StartsWith(Path("m.data-00000-of-00001") + ", byte "));
  EXPECT_THAT(output, HasSubstr(": the checksum of tensor '"));
  EXPECT_THAT(output, HasSubstr(": expected crc32c "));
  EXPECT_THAT(output, EndsWith("thalweg: damaged: 1 place\n"));
  EXPECT_EQ(Run("checkpoint verify --json " + Path("m")), 1);
  EXPECT_THAT(output, HasSubstr("\"damages\":1"));
  EXPECT_EQ(Run("checkpoint verify " + Path("none")), 1);
  EXPECT_EQ(Run("checkpoint verify"), 2);
  EXPECT_EQ(Run("checkpoint"), 2);
}

}  // namespace
}  // namespace cli
