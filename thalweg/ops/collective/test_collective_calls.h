// SPDX-License-Identifier: Apache-2.0
// For the tests of this family: one step over several devices, whose nodes are called one by one.
//
//   CollectiveStep step(2);
//   auto first = step.Start(0, "CollectiveReduce", {x}, Keys(2, {{"merge_op", "Add"}, ...}));
//   EXPECT_FALSE(first->ended());
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/ops/collective/collective_kernel.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {

// A member, cancelled at its end if it still waits then.
class MemberCall final : public KernelCall {
 public:
  using KernelCall::KernelCall;
  ~MemberCall() {
    if (!ended()) cancellation().Cancel();
  }
};
using StartedMember = std::unique_ptr<MemberCall>;

class CollectiveStep {
 public:
  explicit CollectiveStep(int devices) {
    for (int i = 0; i < devices; ++i) {
      devices_.push_back(std::make_unique<TestDevice>(
          "/job:localhost/replica:0/task:0/device:CPU:" + std::to_string(i)));
    }
  }
  // Calls the node of one device.
  StartedMember Start(size_t device, std::string_view op, std::vector<Tensor> inputs, AttrMap attrs,
                      uint64_t tag = 0, const RefPtr<CollectiveTimer>& timer = {}) {
    auto call = std::make_unique<MemberCall>(op, std::move(inputs), std::move(attrs));
    call->step().device = devices_[device].get();
    call->step().allocator = &devices_[device]->allocator();
    call->step().step_resources = &resources_;
    if (timer) {
      EXPECT_TRUE(call->step().resources->Create("", kCollectiveTimer, timer).ok());
    }
    (void)call->Run(tag);
    return call;
  }

 private:
  std::vector<std::unique_ptr<TestDevice>> devices_;
  ResourceManager resources_;
};

// Attributes of a first version, in group 1, instance 7.
inline AttrMap Keys(int64_t size, AttrMap more = {}) {
  more.Set("group_size", size);
  more.Set("group_key", 1);
  more.Set("instance_key", 7);
  return more;
}

inline AttrMap Merge(const char* merge, const char* final_op, AttrMap more = {}) {
  more.Set("merge_op", merge);
  more.Set("final_op", final_op);
  return more;
}

inline AttrMap ReduceAttrs(int64_t size, const char* merge = "Add", const char* final_op = "Id") {
  return Keys(size, Merge(merge, final_op, {{"subdiv_offsets", std::vector<int64_t>{0}}}));
}

// Inputs of a second version.
inline std::vector<Tensor> WithKeys(std::vector<Tensor> inputs, int32_t size, int32_t group = 1,
                                    int32_t instance = 7) {
  for (const int32_t key : {size, group, instance}) inputs.push_back(Tensor::Scalar(key));
  return inputs;
}

// The inputs of an operation whose keys come first.
inline std::vector<Tensor> WithKeysFirst(int32_t size, std::vector<Tensor> more) {
  std::vector<Tensor> inputs = WithKeys({}, size);
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

template <class T>
void ExpectResult(const StartedMember& member, const Tensor& expected) {
  ASSERT_TRUE(member->ended());
  ASSERT_TRUE(member->status().ok()) << member->status().ToString();
  EXPECT_EQ(member->output(0).shape(), expected.shape());
  const auto got = member->output(0).template flat<T>(), want = expected.template flat<T>();
  EXPECT_EQ(std::vector<T>(got.begin(), got.end()), std::vector<T>(want.begin(), want.end()));
}

inline void ExpectError(const StartedMember& member, Code code, std::string_view part) {
  ASSERT_TRUE(member->ended());
  EXPECT_EQ(member->status().code(), code) << member->status().ToString();
  EXPECT_NE(member->status().message().find(part), std::string::npos)
      << member->status().ToString();
}

}  // namespace thalweg
