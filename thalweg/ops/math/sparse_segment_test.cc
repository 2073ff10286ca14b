// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

const AttrMap kInt32 = {{"Tidx", DType::kInt32}, {"Tsegmentids", DType::kInt32}};
const AttrMap kInt64 = {{"Tidx", DType::kInt64}, {"Tsegmentids", DType::kInt64}};

double Divisor(const std::string& op, double count) {
  if (op.find("Mean") != std::string::npos) return count;
  return op.find("SqrtN") != std::string::npos ? std::sqrt(count) : 1;
}

// How many of the ids are this one.
double CountOf(const Array<double>& ids, double id) {
  return static_cast<double>(std::count(ids.values.begin(), ids.values.end(), id));
}

Shape WithRows(const Shape& shape, int64_t rows) {
  Dims dims = shape.dims();
  dims[0] = rows;
  return Shape(dims);
}

// to[to_rows[i]] += from[from_rows[i]] / the divisor of segment ids[i].
void AddRows(const std::string& op, const Array<double>& from, const Array<double>& from_rows,
             const Array<double>& to_rows, const Array<double>& ids, Array<double>& to) {
  int64_t inner = 1;
  for (int d = 1; d < from.shape.rank(); ++d) inner *= from.shape.dim(d);
  for (int64_t i = 0; i < ids.size(); ++i) {
    for (int64_t k = 0; k < inner; ++k) {
      to[static_cast<int64_t>(to_rows[i]) * inner + k] +=
          from[static_cast<int64_t>(from_rows[i]) * inner + k] / Divisor(op, CountOf(ids, ids[i]));
    }
  }
}

void RunForward(const std::string& op) {
  OpCase(op)
      .Reference([op](RefCall<double>& r) {
        const Array<double>& ids = r.in[2];
        const int64_t segments =
            ids.size() == 0 ? 0 : static_cast<int64_t>(ids[ids.size() - 1]) + 1;
        r.out = {Array<double>(WithRows(r.in[0].shape, segments))};
        AddRows(op, r.in[0], r.in[1], ids, ids, r.out[0]);
      })
      .ShapesFromValues("the last id says how many segments there are")
      .Try({In({5, 300}), In({6}, {0, 1, 3, 3, 4, 0}), In({6}, {0, 0, 2, 2, 2, 5})}, kInt32)
      .Try({In({5}), In({3}, {4, 0, 4}), In({3}, {1, 1, 1})}, kInt64)
      .Try({In({5, 2, 3}), In({3}, {4, 0, 4}), In({3}, {0, 1, 1})}, kInt32)
      .Try({In({5, 2}), In({0}), In({0})}, kInt32)
      .Bad({In({4}), In({2}, {0, 4}), In({2}, {0, 0})}, kInt32, Code::kInvalidArgument,
           "out of range")
      .Bad({In({4}), In({2}, {0, -1}), In({2}, {0, 0})}, kInt32, Code::kInvalidArgument,
           "out of range")
      .Bad({In({4}), In({2}, {0, 1}), In({2}, {-1, 0})}, kInt32, Code::kInvalidArgument,
           "out of range")
      .Bad({In({4}), In({2}, {0, 1}), In({2}, {1, 0})}, kInt32, Code::kInvalidArgument,
           "not increasing")
      .Bad({In({4}), In({2}, {0, 1}), In({1}, {0})}, kInt32, Code::kInvalidArgument, "same size")
      .Bad({In({4}), In({1}, {0}), In({1}, {2147483647})}, kInt32, Code::kInvalidArgument,
           "out of range")
      .Bad({In({}), In({1}, {0}), In({1}, {0})}, kInt32, Code::kInvalidArgument, "")
      .Run();
}

void RunCounted(const std::string& op) {
  OpCase(op + "WithNumSegments")
      .Reference([op](RefCall<double>& r) {
        r.out = {Array<double>(WithRows(r.in[0].shape, static_cast<int64_t>(r.in[3][0])))};
        AddRows(op, r.in[0], r.in[1], r.in[2], r.in[2], r.out[0]);
      })
      .Try({In({5, 3}), In({4}, {0, 1, 3, 3}), In({4}, {0, 0, 2, 2}), In({}, {5})}, kInt32)
      .Try({In({5, 3}), In({0}), In({0}), In({}, {2})}, kInt64)
      .Bad({In({5}), In({2}, {0, 1}), In({2}, {0, 2}), In({}, {2})}, kInt32, Code::kInvalidArgument,
           "< num_segments")
      .Bad({In({5}), In({0}), In({0}), In({}, {-1})}, kInt32, Code::kInvalidArgument, "negative")
      .Run();
}

void RunBackward(const std::string& op) {
  OpCase(op + "Grad")
      .Reference([op](RefCall<double>& r) {
        r.out = {Array<double>(WithRows(r.in[0].shape, static_cast<int64_t>(r.in[3][0])))};
        AddRows(op, r.in[0], r.in[2], r.in[1], r.in[2], r.out[0]);
      })
      .Try({In({3, 300}), In({4}, {3, 1, 3, 0}), In({4}, {0, 0, 2, 2}), In({}, {5})}, kInt32)
      .Try({In({3}), In({2}, {1, 1}), In({2}, {2, 0}), In({}, {2})}, kInt64)
      .Try({In({0, 3}), In({0}), In({0}), In({}, {2})}, kInt32)
      .Bad({In({3}), In({2}, {0, 5}), In({2}, {0, 0}), In({}, {5})}, kInt32, Code::kInvalidArgument,
           "indices")
      .Bad({In({3}), In({2}, {0, 1}), In({2}, {0, 3}), In({}, {5})}, kInt32, Code::kInvalidArgument,
           "segment_ids")
      .Bad({In({3}), In({2}, {0, 1}), In({2}, {0, 0}), In({}, {-1})}, kInt32,
           Code::kInvalidArgument, "negative")
      .Run();
}

void RunSparseBackward(const std::string& op) {
  OpCase(op + "GradV2")
      .Reference([op](RefCall<double>& r) {
        const std::set<double> unique(r.in[1].values.begin(), r.in[1].values.end());
        Array<double> places = r.in[1];
        for (double& place : places.values) {
          place = static_cast<double>(std::distance(unique.begin(), unique.find(place)));
        }
        const auto rows = static_cast<int64_t>(unique.size());
        r.out = {Array<double>(WithRows(r.in[0].shape, rows)),
                 Array<double>(Shape{rows}, {unique.begin(), unique.end()})};
        AddRows(op, r.in[0], r.in[2], places, r.in[2], r.out[0]);
      })
      .ShapesFromValues("the number of rows is that of different indices")
      .Try({In({3, 7}), In({4}, {3, 1, 3, 0}), In({4}, {0, 0, 2, 2}), In({}, {5})}, kInt32)
      .Try({In({3}), In({2}, {1, 1}), In({2}, {2, 0}), In({}, {2})}, kInt64)
      .Try({In({0, 3}), In({0}), In({0}), In({}, {2})}, kInt32)
      .Bad({In({3}), In({2}, {0, 5}), In({2}, {0, 0}), In({}, {5})}, kInt32, Code::kInvalidArgument,
           "indices")
      .Run();
}

// What TensorFlow says too, before anything as large is made.
TEST(SparseSegmentTest, HugeIds) {
  for (const char* op : {"SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum"}) {
    for (const int64_t id : {int64_t{2147483647}, int64_t{1} << 40, int64_t{1} << 62}) {
      const auto got = RunOp(op, {Tensor::Vector<float>({1, 2}), Tensor::Vector<int32_t>({0, 1}),
                                  Tensor::Vector<int64_t>({0, id})});
      EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << op << got.status().ToString();
    }
  }
}

TEST(SparseSegmentTest, Segments) {
  for (const char* op : {"SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum"}) {
    RunForward(op);
    RunCounted(op);
  }
}

TEST(SparseSegmentTest, Gradients) {
  for (const char* op : {"SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum"}) {
    RunBackward(op);
    RunSparseBackward(op);
  }
}

TEST(SparseSegmentTest, SparseGradients) {
  AttrMap attrs = kInt32;
  attrs.Set("sparse_gradient", true);
  OpCase("SparseSegmentMean")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(Shape{2, 3})};
        AddRows("Mean", r.in[0], r.in[1], r.in[2], r.in[2], r.out[0]);
      })
      .ShapesFromValues("the last id says how many segments there are")
      .Try({In({5, 3}), In({4}, {0, 3, 3, 1}), In({4}, {0, 0, 0, 1})}, attrs)
      .Run();
}

}  // namespace
}  // namespace thalweg
