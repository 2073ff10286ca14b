// SPDX-License-Identifier: Apache-2.0
#include "thalweg/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::atomic<bool> is_folding{false};

// A node that is folded, for as long as it may.
Status FoldForEver(Context& ctx) {
  is_folding = true;
  while (!ctx.step().cancellation->IsCancelled()) std::this_thread::yield();
  return Cancelled("given up");
}

constexpr char kEndless[] = R"(
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_DOUBLE } }
  attr { key: "value" value { tensor { dtype: DT_DOUBLE tensor_shape {} double_val: 1 } } } }
node { name: "y" op: "Neg" input: "c" attr { key: "T" value { type: DT_DOUBLE } } }
)";

TEST(ModelPlansTest, WhoWaitsForACompilationStopsAtHisOwnEnd) {
  const TemporaryDirectory directory;
  PosixFileSystem fs;
  const std::string path = directory.Path("endless.pbtxt");
  ASSERT_TRUE(WriteFileAtomically(fs, path, kEndless).ok());
  SessionFixture f;
  f.environment->kernels().AddFunction<FoldForEver>("Neg", kCpu, {{"T", DType::kDouble}});
  const std::shared_ptr<Model> model = *Model::Load(f.environment, path, {});
  CancellationManager first;
  Status ended;
  std::thread compiling([&] { ended = model->Prepare(0, {.cancellation = &first}); });
  while (!is_folding) std::this_thread::yield();
  const Status late = model->Prepare(0, {.timeout = std::chrono::milliseconds(1)});
  first.Cancel(Cancelled("enough"));
  compiling.join();
  EXPECT_EQ(late.code(), Code::kDeadlineExceeded) << late.ToString();
  EXPECT_THAT(std::string(late.message()), StartsWith(path + ": signature 'serving_default': "));
  EXPECT_EQ(ended.code(), Code::kCancelled) << ended.ToString();
  EXPECT_THAT(std::string(ended.message()), HasSubstr("enough"));
}

}  // namespace
}  // namespace thalweg
