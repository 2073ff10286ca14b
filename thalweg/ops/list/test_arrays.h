// SPDX-License-Identifier: Apache-2.0
// ArrayGraph: a graph of operations on TensorArrays, for the tests of this family.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/testing/graph_runner.h"
#include "thalweg/testing/registries.h"

namespace thalweg {

class ArrayGraph {
 public:
  struct Array {
    Output handle;
    Output flow;
  };

  explicit ArrayGraph(std::string version = "V3")
      : graph(AllRegistries().ops),
        b(&graph),
        version_(std::move(version)),
        machine_(compute::BestIsaLevel(), false),
        runner_(*AllRegistries().kernels, machine_) {}

  Array Make(int32_t size, AttrMap attrs = {}) {
    if (attrs.Find("dtype") == nullptr) attrs.Set("dtype", DType::kFloat);
    Node* const made =
        b.OpNode(StrCat("TensorArray", version_), {b.Const(Tensor::Scalar(size))}, attrs);
    return {{made, 0}, version_ == "V3" ? Output{made, 1} : b.Const(Tensor::Scalar(0.0f))};
  }
  Array Write(const Array& array, int32_t index, const Tensor& value) {
    return {array.handle,
            b.Op(StrCat("TensorArrayWrite", version_),
                 {array.handle, b.Const(Tensor::Scalar(index)), b.Const(value), array.flow})};
  }
  Output Read(const Array& array, int32_t index, DType dtype = DType::kFloat) {
    return b.Op(StrCat("TensorArrayRead", version_),
                {array.handle, b.Const(Tensor::Scalar(index)), array.flow}, {{"dtype", dtype}});
  }
  Output Size(const Array& array) {
    return b.Op(StrCat("TensorArraySize", version_), {array.handle, array.flow});
  }
  // A gradient array of version 3.
  Array Gradient(const Array& array, const std::string& source) {
    Node* const made =
        b.OpNode("TensorArrayGradV3", {array.handle, array.flow}, {{"source", source}});
    return {{made, 0}, {made, 1}};
  }

  Result<std::vector<Tensor>> Run(const std::vector<Output>& fetches) {
    RETURN_IF_ERROR(b.status());
    return runner_.Run({}, fetches);
  }
  void ExpectValue(const Output& output, const Tensor& value) {
    const Result<std::vector<Tensor>> got = Run({output});
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ((*got)[0].shape(), value.shape());
    EXPECT_EQ((*got)[0].ToString(), value.ToString());
  }
  void ExpectError(const Output& output, Code code, std::string_view part) {
    const Status status = Run({output}).status();
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.ToString();
  }

  Graph graph;
  GraphBuilder b;

 private:
  const std::string version_;
  TestMachine machine_;
  GraphRunner runner_;
};

}  // namespace thalweg
