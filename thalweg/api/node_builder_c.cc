// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

void Fail(TwNodeBuilder* builder, const char* attr, Status status) {
  if (builder->status.ok()) builder->status = status.WithContext(StrCat("attribute '", attr, "'"));
}

}  // namespace

extern "C" {

TwNodeBuilder* tw_node_builder_new(TwGraph* graph, const char* op, const char* name) {
  auto builder = std::make_unique<TwNodeBuilder>();
  builder->graph = graph->graph.get();
  builder->spec.op = op;
  builder->spec.name = name == nullptr ? "" : name;
  return builder.release();
}

void tw_node_builder_free(TwNodeBuilder* builder) { delete builder; }

void tw_node_builder_input(TwNodeBuilder* builder, TwOutput input) {
  builder->spec.inputs.push_back(Unwrap(input));
}
void tw_node_builder_control(TwNodeBuilder* builder, TwNode* before) {
  if (before == nullptr) {
    builder->status = InvalidArgument("a control input is no node");
    return;
  }
  builder->spec.control_inputs.push_back(Unwrap(before));
}
void tw_node_builder_device(TwNodeBuilder* builder, const char* device) {
  builder->spec.device = device;
}
void tw_node_builder_site(TwNodeBuilder* builder, const char* site) {
  builder->spec.site = builder->graph->InternSite(site);
}

void tw_node_builder_attr_int(TwNodeBuilder* builder, const char* attr, int64_t value) {
  builder->spec.attrs.Set(attr, value);
}
void tw_node_builder_attr_float(TwNodeBuilder* builder, const char* attr, float value) {
  builder->spec.attrs.Set(attr, value);
}
void tw_node_builder_attr_bool(TwNodeBuilder* builder, const char* attr, int32_t value) {
  builder->spec.attrs.Set(attr, value != 0);
}
void tw_node_builder_attr_type(TwNodeBuilder* builder, const char* attr, TwDataType value) {
  const Result<DType> dtype = CheckedDType(value);
  if (!dtype.ok()) return Fail(builder, attr, dtype.status());
  builder->spec.attrs.Set(attr, *dtype);
}
void tw_node_builder_attr_string(TwNodeBuilder* builder, const char* attr, const char* text,
                                 size_t size) {
  builder->spec.attrs.Set(attr, std::string(text, size));
}
void tw_node_builder_attr_shape(TwNodeBuilder* builder, const char* attr, const int64_t* dims,
                                int32_t rank) {
  if (rank < 0) {
    builder->spec.attrs.Set(attr, PartialShape());
    return;
  }
  Result<PartialShape> shape = PartialShape::Make({dims, static_cast<size_t>(rank)});
  if (!shape.ok()) return Fail(builder, attr, shape.status());
  builder->spec.attrs.Set(attr, *std::move(shape));
}
void tw_node_builder_attr_tensor(TwNodeBuilder* builder, const char* attr, const TwTensor* value) {
  builder->spec.attrs.Set(attr, value->tensor);
}
void tw_node_builder_attr_int_list(TwNodeBuilder* builder, const char* attr, const int64_t* values,
                                   int32_t n) {
  builder->spec.attrs.Set(attr, std::vector<int64_t>(values, values + n));
}
void tw_node_builder_attr_float_list(TwNodeBuilder* builder, const char* attr, const float* values,
                                     int32_t n) {
  builder->spec.attrs.Set(attr, std::vector<float>(values, values + n));
}
void tw_node_builder_attr_type_list(TwNodeBuilder* builder, const char* attr,
                                    const TwDataType* values, int32_t n) {
  std::vector<DType> dtypes;
  for (int32_t i = 0; i < n; ++i) {
    const Result<DType> dtype = CheckedDType(values[i]);
    if (!dtype.ok()) return Fail(builder, attr, dtype.status());
    dtypes.push_back(*dtype);
  }
  builder->spec.attrs.Set(attr, std::move(dtypes));
}
void tw_node_builder_attr_string_list(TwNodeBuilder* builder, const char* attr,
                                      const char* const* texts, const size_t* sizes, int32_t n) {
  std::vector<std::string> strings;
  for (int32_t i = 0; i < n; ++i) strings.emplace_back(texts[i], sizes[i]);
  builder->spec.attrs.Set(attr, std::move(strings));
}

TwNode* tw_node_builder_finish(TwNodeBuilder* builder, TwStatus* status) {
  const std::unique_ptr<TwNodeBuilder> owned(builder);
  return GuardPointer<TwNode>(status, [&]() -> Result<TwNode*> {
    if (!owned->status.ok()) {
      return owned->status.WithContext(StrCat(owned->spec.op, " '", owned->spec.name, "'"));
    }
    ASSIGN_OR_RETURN(Node * node, owned->graph->AddNode(std::move(owned->spec)));
    return Wrap(node);
  });
}

}  // extern "C"
