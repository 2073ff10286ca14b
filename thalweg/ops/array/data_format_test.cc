// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

AttrMap Formats(const std::string& from, const std::string& to) {
  return {{"src_format", from}, {"dst_format", to}};
}

// A recorded table: x and what must come out.
void Check(const std::string& op, const In& x, const AttrMap& attrs,
           const std::vector<double>& expected) {
  OpCase(op)
      .Reference([&](RefCall<double>& r) { r.out = {Array<double>(x.shape, expected)}; })
      .Try({x}, attrs)
      .Trivial("some formats keep the order")
      .Run();
}

TEST(DataFormatTest, MapsNumbersOfDimensions) {
  Check("DataFormatDimMap", In({6}, {-4, -1, 0, 1, 2, 3}), Formats("NHWC", "NCHW"),
        {0, 1, 0, 2, 3, 1});
  Check("DataFormatDimMap", In({3}, {-5, 1, 4}), Formats("NDHWC", "NCDHW"), {0, 2, 1});
  Check("DataFormatDimMap", In({}, {1}), Formats("NHWC", "HWNC"), {0});
}

TEST(DataFormatTest, PermutesVectors) {
  const std::string op = "DataFormatVecPermute";
  Check(op, In({4}, {1, 2, 3, 4}), Formats("NHWC", "NCHW"), {1, 4, 2, 3});
  Check(op, In({4}, {1, 2, 3, 4}), Formats("HWIO", "OIHW"), {4, 3, 1, 2});
  Check(op, In({2}, {1, 2}), Formats("NHWC", "NCHW"), {1, 2});
  Check(op, In({2}, {1, 2}), Formats("NHWC", "WHCN"), {2, 1});
  Check(op, In({5}, {1, 2, 3, 4, 5}), Formats("NDHWC", "NCDHW"), {1, 5, 2, 3, 4});
  Check(op, In({3}, {1, 2, 3}), Formats("NDHWC", "NCWHD"), {3, 2, 1});
  Check(op, In({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), Formats("NHWC", "NCHW"),
        {1, 2, 7, 8, 3, 4, 5, 6});
}

TEST(DataFormatTest, Refusals) {
  const auto refuse = [](const std::string& op, const In& x, const AttrMap& attrs,
                         const std::string& words) {
    OpCase(op)
        .Reference([](RefCall<double>& r) { r.out = {r.in[0]}; })
        .Try({In({2}, {0, 1})}, Formats("NHWC", "NHWC"))
        .Trivial("the same format")
        .Bad({x}, attrs, Code::kInvalidArgument, words)
        .Run();
  };
  for (const std::string op : {"DataFormatDimMap", "DataFormatVecPermute"}) {
    refuse(op, In({2}, {0, 1}), Formats("NHWC", "NCHX"), "determine a permutation");
    refuse(op, In({2}, {0, 1}), Formats("NHHC", "NHHC"), "determine a permutation");
    refuse(op, In({2}, {0, 1}), Formats("HWC", "CHW"), "length 4 or 5");
  }
  refuse("DataFormatDimMap", In({1}, {4}), Formats("NHWC", "NCHW"),
         "x in the range [-4, 4), but got 4");
  refuse("DataFormatVecPermute", In({3}, {1, 2, 3}), Formats("NHWC", "NCHW"), "size 2 or 4");
  refuse("DataFormatVecPermute", In({2, 3}), Formats("NHWC", "NCHW"), "Second dimension");
  refuse("DataFormatVecPermute", In({2}), Formats("HWIO", "OIXW"), "permutation");
  refuse("DataFormatVecPermute", In({2}), Formats("ABCD", "BACD"), "spatial dimensions");
  refuse("DataFormatVecPermute", In({2, 2, 1}), Formats("NHWC", "NCHW"), "vector or 2D");
}

}  // namespace
}  // namespace thalweg
