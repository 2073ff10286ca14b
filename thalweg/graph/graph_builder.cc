// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/graph_builder.h"

#include "thalweg/base/first_error.h"

namespace thalweg {
namespace {

constexpr std::string_view kClass = "_class";

template <class T>
Tensor ConvertedScalar(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return Tensor::Scalar(T(static_cast<float>(value)));
  } else {
    return Tensor::Scalar(static_cast<T>(value));
  }
}

// Whether `value` can be converted to T without undefined behavior.
template <class T>
bool Fits(double value) {
  if constexpr (std::is_integral_v<T>) {
    return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
           value < static_cast<double>(std::numeric_limits<T>::max()) + 1.0;
  } else {
    return true;
  }
}

}  // namespace

GraphBuilder::GraphBuilder(Graph* graph) : graph_(graph), status_(std::make_shared<Status>()) {}

GraphBuilder GraphBuilder::Scope(std::string_view name) const {
  GraphBuilder copy = *this;
  copy.prefix_ = graph_->UniqueScope(StrCat(prefix_, name)) + "/";
  return copy;
}

GraphBuilder GraphBuilder::WithControls(std::vector<Node*> before) const {
  GraphBuilder copy = *this;
  copy.controls_.insert(copy.controls_.end(), before.begin(), before.end());
  return copy;
}

GraphBuilder GraphBuilder::WithDevice(std::string device) const {
  GraphBuilder copy = *this;
  copy.device_ = std::move(device);
  return copy;
}

GraphBuilder GraphBuilder::ColocatedWith(const Node& node) const {
  GraphBuilder copy = *this;
  copy.colocate_ = StrCat("loc:@", node.name());
  return copy;
}

GraphBuilder GraphBuilder::WithSite(uint32_t site) const {
  GraphBuilder copy = *this;
  copy.site_ = site;
  return copy;
}

Output GraphBuilder::Op(std::string_view op, std::vector<Output> inputs, AttrMap attrs,
                        std::string_view name) {
  Node* node = OpNode(op, std::move(inputs), std::move(attrs), name);
  if (node == nullptr) return {};
  if (node->num_outputs() == 0) {
    Fail(InvalidArgument(node->Label(), " has no output; use OpNode"));
    return {};
  }
  return {node, 0};
}

Node* GraphBuilder::OpNode(std::string_view op, std::vector<Output> inputs, AttrMap attrs,
                           std::string_view name) {
  if (!ok()) return nullptr;
  if (!colocate_.empty() && attrs.Find(kClass) == nullptr) {
    attrs.Set(kClass, std::vector<std::string>{colocate_});
  }
  NodeSpec spec;
  spec.name = StrCat(prefix_, name.empty() ? op : name);
  spec.op = op;
  spec.inputs = std::move(inputs);
  spec.control_inputs = controls_;
  spec.attrs = std::move(attrs);
  spec.device = device_;
  spec.site = site_;
  spec.make_unique = true;
  Result<Node*> node = graph_->AddNode(std::move(spec));
  if (!node.ok()) {
    Fail(node.status());
    return nullptr;
  }
  return *node;
}

Output GraphBuilder::Const(const Tensor& value, std::string_view name) {
  if (value.empty() || value.is_reference()) {
    Fail(InvalidArgument("constant '", prefix_, name, "' has no value"));
    return {};
  }
  return Op("Const", {}, {{"dtype", value.dtype()}, {"value", value}}, name);
}

Output GraphBuilder::ScalarConst(DType dtype, double value, std::string_view name) {
  Tensor tensor;
  bool fits = true;
  ForEachType<PodTypes>([&]<class T>() {
    if (dtype != kDTypeOf<T>) return;
    fits = Fits<T>(value);
    if (fits) tensor = ConvertedScalar<T>(value);
  });
  if (tensor.empty()) {
    Fail(InvalidArgument("no constant ", value, " of type ", dtype, ": ",
                         fits ? "the type is no number" : "the value does not fit"));
    return {};
  }
  return Const(tensor, name);
}

Node* GraphBuilder::Group(const std::vector<Node*>& nodes, std::string_view name) {
  return WithControls(nodes).OpNode("NoOp", {}, {}, name);
}

void GraphBuilder::Fail(Status status) const { KeepFirstError(std::move(status), status_.get()); }

}  // namespace thalweg
