// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

// Its function belongs to a session: python/tests/test_data.py.
TEST(OneShotIteratorTest, NeedsASession) {
  AttrMap attrs = IntAttrs();
  attrs.Set("dataset_factory", FunctionRef{"f", {}});
  KernelCall call("OneShotIterator", {}, attrs);
  const Status status = call.Run();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.ToString();
  EXPECT_EQ(status.message(), "a dataset's function runs only in a session");
}

}  // namespace
}  // namespace thalweg
