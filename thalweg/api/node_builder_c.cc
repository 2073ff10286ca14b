// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/base/first_error.h"
#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

void Fail(TwNodeBuilder* builder, Status status) {
  KeepFirstError(std::move(status), &builder->status);
}

// Runs `add`, which returns a Status; its error is the builder's, reported by finish.
template <class Add>
void Part(TwNodeBuilder* builder, const Add& add) {
  if (builder == nullptr) return;
  try {
    Fail(builder, add());
  } catch (const std::exception&) {
    Fail(builder, ResourceExhausted("out of memory"));
  }
}

// `value()` is the attribute, or why there is none.
template <class Value>
void SetAttr(TwNodeBuilder* builder, const char* attr, const Value& value) {
  Part(builder, [&]() -> Status {
    if (attr == nullptr) return InvalidArgument("an attribute without a name");
    Result<AttrValue> made = value();
    if (!made.ok()) return made.status().WithContext(StrCat("attribute '", attr, "'"));
    builder->spec.attrs.Set(attr, *std::move(made));
    return OkStatus();
  });
}

// A list of n elements that `element(i)` gives.
template <class T, class Element>
Result<AttrValue> ListOf(const void* array, int32_t n, const Element& element) {
  RETURN_IF_ERROR(CheckArray(array, n, "element"));
  std::vector<T> list;
  for (int32_t i = 0; i < n; ++i) {
    ASSIGN_OR_RETURN(T value, element(i));
    list.push_back(std::move(value));
  }
  return AttrValue(std::move(list));
}

// In the body of a function: what stands for inputs from outside.
Status TakeInside(TwNodeBuilder& builder) {
  for (size_t i = 0; i < builder.spec.inputs.size(); ++i) {
    Result<Output> inside = builder.function->Inside(builder.spec.inputs[i]);
    if (!inside.ok()) {
      return inside.status().WithContext(
          StrCat(builder.spec.op, " '", builder.spec.name, "': input ", i));
    }
    builder.spec.inputs[i] = *inside;
  }
  return OkStatus();
}

Result<std::string> TextOf(const char* text, size_t size) {
  if (text == nullptr && size > 0) return InvalidArgument("the text is NULL");
  return text == nullptr ? std::string() : std::string(text, size);
}

}  // namespace

extern "C" {

TwNodeBuilder* tw_node_builder_new(TwGraph* graph, const char* op, const char* name) {
  if (graph == nullptr) return nullptr;
  return Quietly<TwNodeBuilder*>(nullptr, [&] {
    auto builder = std::make_unique<TwNodeBuilder>();
    builder->graph = graph->graph.get();
    builder->function = graph->function.get();
    builder->spec.op = op == nullptr ? "" : op;
    builder->spec.name = name == nullptr ? "" : name;
    return builder.release();
  });
}

void tw_node_builder_free(TwNodeBuilder* builder) { delete builder; }

void tw_node_builder_input(TwNodeBuilder* builder, TwOutput input) {
  Part(builder, [&] {
    builder->spec.inputs.push_back(Unwrap(input));
    return OkStatus();
  });
}
void tw_node_builder_control(TwNodeBuilder* builder, TwNode* before) {
  Part(builder, [&]() -> Status {
    if (before == nullptr) return InvalidArgument("a control input is no node");
    builder->spec.control_inputs.push_back(Unwrap(before));
    return OkStatus();
  });
}
void tw_node_builder_device(TwNodeBuilder* builder, const char* device) {
  Part(builder, [&] {
    builder->spec.device = device == nullptr ? "" : device;
    return OkStatus();
  });
}
void tw_node_builder_site(TwNodeBuilder* builder, const char* site) {
  Part(builder, [&] {
    builder->spec.site = site == nullptr ? 0 : builder->graph->InternSite(site);
    return OkStatus();
  });
}

void tw_node_builder_attr_int(TwNodeBuilder* builder, const char* attr, int64_t value) {
  SetAttr(builder, attr, [&] { return AttrValue(value); });
}
void tw_node_builder_attr_float(TwNodeBuilder* builder, const char* attr, float value) {
  SetAttr(builder, attr, [&] { return AttrValue(value); });
}
void tw_node_builder_attr_bool(TwNodeBuilder* builder, const char* attr, int32_t value) {
  SetAttr(builder, attr, [&] { return AttrValue(value != 0); });
}
void tw_node_builder_attr_type(TwNodeBuilder* builder, const char* attr, TwDataType value) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    ASSIGN_OR_RETURN(const DType dtype, CheckedDType(value));
    return AttrValue(dtype);
  });
}
void tw_node_builder_attr_string(TwNodeBuilder* builder, const char* attr, const char* text,
                                 size_t size) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    ASSIGN_OR_RETURN(std::string value, TextOf(text, size));
    return AttrValue(std::move(value));
  });
}
void tw_node_builder_attr_shape(TwNodeBuilder* builder, const char* attr, const int64_t* dims,
                                int32_t rank) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    if (rank < 0) return AttrValue(PartialShape());
    RETURN_IF_ERROR(CheckArray(dims, rank, "dimension"));
    ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make({dims, static_cast<size_t>(rank)}));
    return AttrValue(std::move(shape));
  });
}
void tw_node_builder_attr_tensor(TwNodeBuilder* builder, const char* attr, const TwTensor* value) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    RETURN_IF_ERROR(RequireAll({{"the tensor", value}}));
    return AttrValue(value->tensor);
  });
}
void tw_node_builder_attr_int_list(TwNodeBuilder* builder, const char* attr, const int64_t* values,
                                   int32_t n) {
  SetAttr(builder, attr, [&] {
    return ListOf<int64_t>(values, n, [&](int32_t i) { return Result<int64_t>(values[i]); });
  });
}
void tw_node_builder_attr_float_list(TwNodeBuilder* builder, const char* attr, const float* values,
                                     int32_t n) {
  SetAttr(builder, attr, [&] {
    return ListOf<float>(values, n, [&](int32_t i) { return Result<float>(values[i]); });
  });
}
void tw_node_builder_attr_type_list(TwNodeBuilder* builder, const char* attr,
                                    const TwDataType* values, int32_t n) {
  SetAttr(builder, attr, [&] {
    return ListOf<DType>(values, n, [&](int32_t i) { return CheckedDType(values[i]); });
  });
}
void tw_node_builder_attr_string_list(TwNodeBuilder* builder, const char* attr,
                                      const char* const* texts, const size_t* sizes, int32_t n) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    RETURN_IF_ERROR(CheckArray(sizes, n, "size"));
    return ListOf<std::string>(texts, n, [&](int32_t i) { return TextOf(texts[i], sizes[i]); });
  });
}
void tw_node_builder_attr_shape_list(TwNodeBuilder* builder, const char* attr, const int64_t* dims,
                                     const int32_t* ranks, int32_t n) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    const int64_t* next = dims;
    return ListOf<PartialShape>(ranks, n, [&](int32_t i) -> Result<PartialShape> {
      if (ranks[i] < 0) return PartialShape();
      RETURN_IF_ERROR(CheckArray(next, ranks[i], "dimension"));
      const int64_t* const own = next;
      if (ranks[i] > 0) next += ranks[i];
      return PartialShape::Make({own, static_cast<size_t>(ranks[i])});
    });
  });
}
void tw_node_builder_attr_function(TwNodeBuilder* builder, const char* attr, const char* function) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    RETURN_IF_ERROR(RequireAll({{"the function's name", function}}));
    return AttrValue(FunctionRef{function, {}});
  });
}
void tw_node_builder_attr_proto(TwNodeBuilder* builder, const char* attr, const void* data,
                                size_t size) {
  SetAttr(builder, attr, [&]() -> Result<AttrValue> {
    if (data == nullptr && size > 0) return InvalidArgument("the message is NULL");
    const std::string_view bytes(static_cast<const char*>(data), size);
    ASSIGN_OR_RETURN(const OwnedMessage message,
                     ParseMessage(pb::AttrValue::Descriptor(), bytes, {.borrow = true}));
    return AttrValueFromProto(*message);
  });
}

TwNode* tw_node_builder_finish(TwNodeBuilder* builder, TwStatus* status) {
  const std::unique_ptr<TwNodeBuilder> owned(builder);
  return GuardPointer<TwNode>(status, [&]() -> Result<TwNode*> {
    RETURN_IF_ERROR(RequireAll({{"the node builder", builder}}));
    if (!owned->status.ok()) {
      return owned->status.WithContext(StrCat(owned->spec.op, " '", owned->spec.name, "'"));
    }
    if (owned->function != nullptr) RETURN_IF_ERROR(TakeInside(*owned));
    ASSIGN_OR_RETURN(Node * node, owned->graph->AddNode(std::move(owned->spec)));
    return Wrap(node);
  });
}

}  // extern "C"
