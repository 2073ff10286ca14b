// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: attributes of nodes, each made of the C++ type that it has.
// A part of thalweg.h, which programs include.
//
//   tw::Output y = g.Op("MatMul", {x, w}, {{"transpose_b", true}});
//
// Ownership: holds a copy of its value.
// Threads: any.
// Errors: what does not fit the operation is the error of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/output.h"
#include "thalweg/tensor.h"

namespace tw {

// The value of one attribute.
class Attr {
 public:
  // NOLINTBEGIN(google-explicit-constructor): attributes are written as {"transpose_b", true}
  Attr(const char* name, bool v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_bool(b, n.c_str(), v); }) {}
  Attr(const char* name, int v) : Attr(name, static_cast<int64_t>(v)) {}
  Attr(const char* name, int64_t v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_int(b, n.c_str(), v); }) {}
  Attr(const char* name, float v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_float(b, n.c_str(), v); }) {}
  Attr(const char* name, double v) : Attr(name, static_cast<float>(v)) {}
  Attr(const char* name, DataType v)
      : set_([n = S(name), v](TwNodeBuilder* b) { tw_node_builder_attr_type(b, n.c_str(), v); }) {}
  Attr(const char* name, const char* v) : Attr(name, std::string(v)) {}
  Attr(const char* name, const std::string& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_string(b, n.c_str(), v.data(), v.size());
        }) {}
  Attr(const char* name, const Tensor& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_tensor(b, n.c_str(), v.c());
        }) {}
  Attr(const char* name, const std::vector<int64_t>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_int_list(b, n.c_str(), v.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<float>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          tw_node_builder_attr_float_list(b, n.c_str(), v.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<DataType>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          const std::vector<TwDataType> all(v.begin(), v.end());
          tw_node_builder_attr_type_list(b, n.c_str(), all.data(), static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const std::vector<std::string>& v)
      : set_([n = S(name), v](TwNodeBuilder* b) {
          std::vector<const char*> texts;
          std::vector<size_t> sizes;
          for (const std::string& text : v)
            texts.push_back(text.data()), sizes.push_back(text.size());
          tw_node_builder_attr_string_list(b, n.c_str(), texts.data(), sizes.data(),
                                           static_cast<int32_t>(v.size()));
        }) {}
  Attr(const char* name, const Function& v)
      : set_([n = S(name), f = v.name](TwNodeBuilder* b) {
          tw_node_builder_attr_function(b, n.c_str(), f.c_str());
        }) {}
  // NOLINTEND
  // The types and the shapes of tensors, as lists.
  static Attr Types(const char* name, const std::vector<TensorSpec>& specs) {
    std::vector<DataType> types;
    for (const TensorSpec& spec : specs) types.push_back(spec.dtype);
    return {name, types};
  }
  static Attr Shapes(const char* name, const std::vector<TensorSpec>& specs) {
    std::vector<int64_t> dims;
    std::vector<int32_t> ranks;
    for (const TensorSpec& spec : specs) {
      ranks.push_back(spec.rank());
      if (spec.ranked) dims.insert(dims.end(), spec.shape.begin(), spec.shape.end());
    }
    return Attr([n = S(name), dims, ranks](TwNodeBuilder* b) {
      tw_node_builder_attr_shape_list(b, n.c_str(), dims.data(), ranks.data(),
                                      static_cast<int32_t>(ranks.size()));
    });
  }
  // A shape; -1 for an unknown dimension.
  static Attr Shape(const char* name, const std::vector<int64_t>& dims) {
    return Attr([n = S(name), dims](TwNodeBuilder* b) {
      tw_node_builder_attr_shape(b, n.c_str(), dims.data(), static_cast<int32_t>(dims.size()));
    });
  }
  void Set(TwNodeBuilder* builder) const { set_(builder); }

 private:
  using S = std::string;
  explicit Attr(std::function<void(TwNodeBuilder*)> set) : set_(std::move(set)) {}
  std::function<void(TwNodeBuilder*)> set_;
};

}  // namespace tw
