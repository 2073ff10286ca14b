// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/channels_last.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

constexpr std::array<int32_t, 4> kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

// How an operation that knows of data_format takes its operands.
struct Layer {
  bool starts = false;      // a part of the graph; others join one
  std::vector<int> images;  // inputs
  int sizes = -1;           // an input that is the shape of an image
  bool makes_image = true;  // output 0
};

const Layer* LayerOf(const Node& node) {
  static const std::unordered_map<std::string_view, Layer> kLayers = {
      {"AvgPool", {false, {0}}},
      {"AvgPoolGrad", {false, {1}, 0}},
      {"BiasAdd", {false, {0}}},
      {"BiasAddGrad", {false, {0}, -1, false}},
      {"Conv2D", {true, {0}}},
      {"Conv2DBackpropFilter", {true, {0, 2}, -1, false}},
      {"Conv2DBackpropInput", {true, {2}, 0}},
      {"DepthwiseConv2dNative", {true, {0}}},
      {"DepthwiseConv2dNativeBackpropFilter", {true, {0, 2}, -1, false}},
      {"DepthwiseConv2dNativeBackpropInput", {true, {2}, 0}},
      {"FusedBatchNorm", {false, {0}}},
      {"FusedBatchNormGrad", {false, {0, 1}}},
      {"FusedBatchNormGradV2", {false, {0, 1}}},
      {"FusedBatchNormGradV3", {false, {0, 1}}},
      {"FusedBatchNormV2", {false, {0}}},
      {"FusedBatchNormV3", {false, {0}}},
      {"MaxPool", {false, {0}}},
      {"MaxPoolGrad", {false, {0, 1, 2}}},
  };
  const auto found = kLayers.find(node.op_name());
  if (found == kLayers.end()) return nullptr;
  const AttrValue* format = node.FindAttr("data_format");
  return format != nullptr && *format == AttrValue(std::string("NCHW")) ? &found->second : nullptr;
}

// The same whatever the order of the dimensions, which all operands of rank 4 share.
bool IsElementwise(const Node& node) {
  static const std::unordered_set<std::string_view> kOps = {"Abs",
                                                            "Add",
                                                            "AddN",
                                                            "AddV2",
                                                            "Cast",
                                                            "Elu",
                                                            "EluGrad",
                                                            "Exp",
                                                            "Identity",
                                                            "LeakyRelu",
                                                            "LeakyReluGrad",
                                                            "Log",
                                                            "Maximum",
                                                            "Minimum",
                                                            "Mul",
                                                            "Neg",
                                                            "RealDiv",
                                                            "Relu",
                                                            "Relu6",
                                                            "Relu6Grad",
                                                            "ReluGrad",
                                                            "Rsqrt",
                                                            "Selu",
                                                            "SeluGrad",
                                                            "Sigmoid",
                                                            "SigmoidGrad",
                                                            "Softplus",
                                                            "SoftplusGrad",
                                                            "Sqrt",
                                                            "Square",
                                                            "SquaredDifference",
                                                            "StopGradient",
                                                            "Sub",
                                                            "Tanh",
                                                            "TanhGrad",
                                                            "ZerosLike"};
  return kOps.count(node.op_name()) != 0 && node.num_outputs() == 1 && !node.output_is_ref(0);
}

int RankOf(const Output& output) {
  return output.shape().known_rank() ? output.shape().rank() : -1;
}

class Rewriter {
 public:
  explicit Rewriter(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    const auto starts = [](const Node* node) {
      const Layer* layer = LayerOf(*node);
      return layer != nullptr && layer->starts && ImagesKnown(*node, *layer);
    };
    if (std::none_of(nodes.begin(), nodes.end(), starts)) return step_;
    in_loops_ = std::any_of(nodes.begin(), nodes.end(),
                            [](const Node* node) { return node->op_name() == "Enter"; });
    for (const Node* node : nodes) RETURN_IF_ERROR(Take(*node));
    for (const Output& fetch : step_.fetches) RETURN_IF_ERROR(MakeFirst(fetch, *fetch.node));
    return copier_.Finish();
  }

 private:
  static bool ImagesKnown(const Node& node, const Layer& layer) {
    return std::all_of(layer.images.begin(), layer.images.end(), [&](int i) {
      return node.input(i).node != nullptr && !node.input_is_ref(i) && RankOf(node.input(i)) == 4;
    });
  }

  bool IsLast(const Output& old) const { return made_last_.count(old) != 0; }

  bool Joins(const Node& node, const Layer& layer) const {
    if (!ImagesKnown(node, layer)) return false;
    return layer.starts || std::any_of(layer.images.begin(), layer.images.end(),
                                       [&](int i) { return IsLast(node.input(i)); });
  }

  bool JoinsElementwise(const Node& node) const {
    bool any = false;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output& input = node.input(i);
      if (input.node == nullptr || node.input_is_ref(i)) return false;
      const int rank = RankOf(input);
      if (rank != 0 && rank != 4) return false;
      any |= rank == 4 && IsLast(input);
    }
    return any;
  }

  Status Take(const Node& node) {
    const Layer* layer = LayerOf(node);
    if (layer != nullptr && Joins(node, *layer)) return MakeLayer(node, *layer);
    if (IsElementwise(node) && JoinsElementwise(node)) return MakeElementwise(node);
    if (node.op_name() == "Shape" && IsLast(node.input(0))) return MakeShape(node);
    for (const Output& input : node.inputs()) {
      if (input.node != nullptr) RETURN_IF_ERROR(MakeFirst(input, node));
    }
    copier_.Copy(node);
    return OkStatus();
  }

  // What `node` is to be, with its inputs yet to come.
  NodeSpec SpecOf(const Node& node) const {
    NodeSpec spec;
    spec.name = node.name();
    spec.op = node.op_name();
    spec.attrs = node.attrs();
    spec.device = node.device();
    for (const Node* before : node.control_inputs()) {
      Node* const now = copier_.Map(before);
      auto& controls = spec.control_inputs;
      if (now != nullptr && std::find(controls.begin(), controls.end(), now) == controls.end()) {
        controls.push_back(now);
      }
    }
    return spec;
  }

  Result<Node*> Add(const Node& old, NodeSpec spec) {
    spec.site = copier_.graph().InternSite(old.graph().Site(old.site()));
    return copier_.graph().AddNode(std::move(spec));
  }

  // `made` is what has become of `old`; its first output is channels-last.
  void Adopt(const Node& old, Node* made, bool makes_image) {
    copier_.Replace(old, made);
    copier_.SetOrigin(*made, step_.Origin(old));
    if (makes_image) made_last_[Output{const_cast<Node*>(&old), 0}] = Output{made, 0};
  }

  Status MakeLayer(const Node& node, const Layer& layer) {
    NodeSpec spec = SpecOf(node);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const bool image =
          std::find(layer.images.begin(), layer.images.end(), i) != layer.images.end();
      Output now;
      if (image) {
        ASSIGN_OR_RETURN(now, LastOf(node.input(i), node));
      } else {
        RETURN_IF_ERROR(MakeFirst(node.input(i), node));
        now = copier_.Map(node.input(i));
      }
      if (i == layer.sizes) {
        ASSIGN_OR_RETURN(now, PermuteSizes(now, true, node));
      }
      spec.inputs.push_back(now);
    }
    spec.attrs.Set("data_format", std::string("NHWC"));
    for (const char* name : {"strides", "dilations", "ksize", "explicit_paddings"}) {
      const AttrValue* value = node.FindAttr(name);
      if (value == nullptr) continue;
      ASSIGN_OR_RETURN(const auto list, value->Get<std::vector<int64_t>>());
      const size_t each = list.size() / 4;  // two numbers of padding for a dimension
      std::vector<int64_t> moved;
      for (int dim : kToLast) {
        for (size_t k = 0; k < each; ++k)
          moved.push_back(list[static_cast<size_t>(dim) * each + k]);
      }
      spec.attrs.Set(name, moved);
    }
    ASSIGN_OR_RETURN(Node * made, Add(node, std::move(spec)));
    Adopt(node, made, layer.makes_image);
    return OkStatus();
  }

  Status MakeElementwise(const Node& node) {
    NodeSpec spec = SpecOf(node);
    for (const Output& input : node.inputs()) {
      Output now = copier_.Map(input);
      if (RankOf(input) == 4) {
        ASSIGN_OR_RETURN(now, LastOf(input, node));
      }
      spec.inputs.push_back(now);
    }
    ASSIGN_OR_RETURN(Node * made, Add(node, std::move(spec)));
    Adopt(node, made, true);
    return OkStatus();
  }

  // The shape of an image: no image need be made for it.
  Status MakeShape(const Node& node) {
    NodeSpec spec = SpecOf(node);
    spec.name = copier_.graph().UniqueName(node.name() + "/channels_last");
    spec.inputs = {made_last_.at(node.input(0))};
    ASSIGN_OR_RETURN(Node * shape, Add(node, std::move(spec)));
    ASSIGN_OR_RETURN(const Output sizes, PermuteSizes(Output{shape, 0}, false, node));
    Adopt(node, sizes.node, false);
    return OkStatus();
  }

  // The sizes of an image, four or the spatial two, for `reader`, in the other order.
  Result<Output> PermuteSizes(const Output& sizes, bool to_last, const Node& reader) {
    NodeSpec spec;
    spec.name = copier_.graph().UniqueName(reader.name() + "/sizes");
    spec.device = reader.device();
    const AttrValue* value =
        sizes.node->op_name() == "Const" ? sizes.node->FindAttr("value") : nullptr;
    const Tensor* known = to_last && value != nullptr ? value->GetIf<Tensor>() : nullptr;
    if (known != nullptr && known->dtype() == DType::kInt32 && known->num_elements() == 4) {
      std::vector<int32_t> moved;
      for (int dim : kToLast) moved.push_back(known->data<int32_t>()[dim]);
      spec.op = "Const";
      spec.attrs = {{"dtype", DType::kInt32}, {"value", Tensor::Of<int32_t>(moved, Shape{4})}};
      spec.control_inputs = sizes.node->control_inputs();
    } else {
      spec.op = "DataFormatVecPermute";
      spec.inputs = {sizes};
      spec.attrs.Set("src_format", std::string(to_last ? "NCHW" : "NHWC"));
      spec.attrs.Set("dst_format", std::string(to_last ? "NHWC" : "NCHW"));
    }
    ASSIGN_OR_RETURN(Node * made, Add(reader, std::move(spec)));
    return Output{made, 0};
  }

  // The old image, channels-last, for `reader`.
  Result<Output> LastOf(const Output& old, const Node& reader) {
    const auto found = made_last_.find(old);
    if (found != made_last_.end()) return found->second;
    Output& last = transposed_[old];
    if (last.node == nullptr) {
      ASSIGN_OR_RETURN(last, Transpose(copier_.Map(old), kToLast, "channels_last", reader));
    }
    return last;
  }

  // Sees to it that the old output can be had in its own order.
  Status MakeFirst(const Output& old, const Node& reader) {
    const auto found = made_last_.find(old);
    if (found == made_last_.end() || !first_made_.insert(old).second) return OkStatus();
    ASSIGN_OR_RETURN(const Output first,
                     Transpose(found->second, kToFirst, "channels_first", reader));
    copier_.Redirect(old, first);
    return OkStatus();
  }

  Result<Output> Transpose(const Output& image, const std::array<int32_t, 4>& order,
                           std::string_view what, const Node& reader) {
    Graph& graph = copier_.graph();
    NodeSpec perm;
    perm.op = "Const";
    perm.name = graph.UniqueName(StrCat(image.node->name(), "/", what, "/perm"));
    perm.attrs = {{"dtype", DType::kInt32},
                  {"value", Tensor::Of<int32_t>({order.begin(), order.end()}, Shape{4})}};
    perm.device = reader.device();
    // In the loop where the image is: a constant by itself is outside.
    if (in_loops_ && !IsPlaceholder(*image.node)) perm.control_inputs = {image.node};
    ASSIGN_OR_RETURN(Node * dims, Add(reader, std::move(perm)));
    NodeSpec spec;
    spec.op = "Transpose";
    spec.name = graph.UniqueName(StrCat(image.node->name(), "/", what));
    spec.inputs = {image, {dims, 0}};
    spec.device = reader.device();
    ASSIGN_OR_RETURN(Node * made, Add(reader, std::move(spec)));
    return Output{made, 0};
  }

  const StepGraph& step_;
  GraphCopier copier_;
  bool in_loops_ = false;
  // By old output: images that are made channels-last; those that are so by a Transpose.
  std::unordered_map<Output, Output, OutputHash> made_last_, transposed_;
  std::unordered_set<Output, OutputHash> first_made_;  // of made_last_: transposed back
};

}  // namespace

Result<StepGraph> ChannelsLast(const StepGraph& step) { return Rewriter(step).Run(); }

}  // namespace thalweg
