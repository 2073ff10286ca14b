// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "thalweg/passes/graph_copier.h"

namespace thalweg {
namespace {

// y = scale * x + shift, for each channel.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;  // empty: zeros
};

// A layer whose results one or several affine nodes change.
struct Folded {
  const Node* layer = nullptr;     // the convolution or product
  std::vector<const Node*> parts;  // it and what comes behind it; the last one's place is taken
  Affine affine;                   // of all that comes behind the layer, its own bias included
};

// Where a layer's weights have its channels: in `count` dimensions from `first` on.
struct WeightLayout {
  int first = 0;
  int count = 1;
};

std::optional<WeightLayout> LayoutOf(const Node& layer) {
  const std::string& op = layer.op_name();
  if (op == "Conv2D") return WeightLayout{3, 1};
  if (op == "Conv3D") return WeightLayout{4, 1};
  if (op == "DepthwiseConv2dNative") return WeightLayout{2, 2};
  if (op == "MatMul") {
    const Result<bool> transposed = layer.Attr<bool>("transpose_b");
    if (transposed.ok()) return WeightLayout{*transposed ? 0 : 1, 1};
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) { return dtype == DType::kFloat || dtype == DType::kDouble; }

bool HasChannelsLast(const Node& node) {
  const AttrValue* const format = node.FindAttr("data_format");
  const std::string* const text = format == nullptr ? nullptr : format->GetIf<std::string>();
  return text == nullptr || *text == "NHWC" || *text == "NDHWC";
}

// The value of a constant; empty for everything else.
Tensor ConstantOf(const Output& output) {
  if (output.node == nullptr || output.node->op_name() != "Const") return Tensor();
  if (!output.node->control_inputs().empty()) return Tensor();  // of a loop or a branch
  Result<Tensor> value = output.node->Attr<Tensor>("value");
  return value.ok() && IsFloat(value->dtype()) ? *std::move(value) : Tensor();
}

std::vector<double> Numbers(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat) {
    const auto flat = tensor.flat<float>();
    return {flat.begin(), flat.end()};
  }
  const auto flat = tensor.flat<double>();
  return {flat.begin(), flat.end()};
}

Result<Tensor> TensorOf(const std::vector<double>& numbers, DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor made, Tensor::AllocateHost(dtype, shape));
  if (dtype == DType::kFloat) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      made.mutable_data<float>()[i] = static_cast<float>(numbers[i]);
    }
  } else {
    std::copy(numbers.begin(), numbers.end(), made.mutable_data<double>());
  }
  return made;
}

// A constant as one number for each of `channels`; none where it is shaped otherwise. `rank`: of
// what it meets; `axis`: the channels' place there.
std::optional<std::vector<double>> PerChannel(const Tensor& value, int64_t channels, int rank,
                                              int axis) {
  if (value.empty()) return std::nullopt;
  if (value.num_elements() == 1 && value.rank() <= rank) {
    return std::vector<double>(static_cast<size_t>(channels), Numbers(value)[0]);
  }
  const int offset = rank - value.rank();
  if (offset < 0 || value.num_elements() != channels) return std::nullopt;
  const int at = axis - offset;
  if (at < 0 || value.dim(at) != channels) return std::nullopt;
  return Numbers(value);
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(const StepGraph& step) : step_(step), copier_(step) {}

  Result<StepGraph> Run() {
    const std::vector<Node*> nodes = step_.graph->Nodes();
    CountReaders(nodes);
    for (const Node* node : nodes) {
      RETURN_IF_ERROR(step_.Visit(*node));
      Look(*node);
    }
    if (folded_.empty()) return step_;
    for (const Node* node : nodes) {
      const auto folded = folded_.find(node);
      if (folded != folded_.end()) {
        RETURN_IF_ERROR(Make(folded->second));
      } else if (absorbed_.count(node) == 0) {
        copier_.Copy(*node);
      }
    }
    return copier_.Finish();
  }

 private:
  void CountReaders(const std::vector<Node*>& nodes) {
    uses_.resize(nodes.size());
    more_is_read_.resize(nodes.size());
    for (const Node* node : nodes) {
      for (const Output& input : node->inputs()) See(input, 1);
      // Who waits for a node, or fetches it, sees it.
      for (const Node* before : node->control_inputs()) {
        uses_[static_cast<size_t>(before->id())] += 2;
      }
    }
    for (const Output& fetch : step_.fetches) See(fetch, 2);
    for (const Node* target : step_.targets) uses_[static_cast<size_t>(target->id())] += 2;
  }

  void See(const Output& output, int times) {
    const auto id = static_cast<size_t>(output.node->id());
    uses_[id] += times;
    if (output.index > 0) more_is_read_[id] = true;
  }

  bool IsReadOnce(const Node& node) const {
    return uses_[static_cast<size_t>(node.id())] == 1 && node.control_inputs().empty();
  }

  // What `input` is as a layer, with what was folded into it so far; none for anything else, and
  // where others read it too.
  std::optional<Folded> LayerAt(const Output& input) const {
    if (input.node == nullptr || input.index != 0 || !IsReadOnce(*input.node)) return std::nullopt;
    const Node& node = *input.node;
    if (const auto known = folded_.find(&node); known != folded_.end()) return known->second;
    const std::string& op = node.op_name();
    if (op == "BiasAdd" || op == "Add" || op == "AddV2") return WithBias(node);
    return Plain(node);
  }

  // A layer with constant weights and as many channels as its bias or normalization has.
  std::optional<Folded> Plain(const Node& node) const {
    const std::optional<WeightLayout> layout = LayoutOf(node);
    if (!layout.has_value() || !IsFloat(node.output_type(0))) return std::nullopt;
    const Tensor weights = ConstantOf(node.input(1));
    if (weights.empty() || weights.rank() != RankOf(node)) return std::nullopt;
    int64_t channels = 1;
    for (int i = 0; i < layout->count; ++i) channels *= weights.dim(layout->first + i);
    return Folded{&node, {&node}, {std::vector<double>(static_cast<size_t>(channels), 1), {}}};
  }

  // Where the channels of a layer's results stand, and of how many dimensions.
  static int RankOf(const Node& layer) {
    if (layer.op_name() == "MatMul") return 2;
    return layer.op_name() == "Conv3D" ? 5 : 4;
  }
  static int AxisOf(const Node& layer) { return HasChannelsLast(layer) ? RankOf(layer) - 1 : 1; }

  std::optional<std::vector<double>> OfChannels(const Output& constant,
                                                const Folded& folded) const {
    return PerChannel(ConstantOf(constant), static_cast<int64_t>(folded.affine.scale.size()),
                      RankOf(*folded.layer), AxisOf(*folded.layer));
  }

  std::optional<Folded> WithBias(const Node& add) const {
    const int side = ConstantOf(add.input(0)).empty() ? 0 : 1;
    const Output& layer = add.input(side);
    if (layer.node == nullptr || layer.index != 0 || !IsReadOnce(*layer.node)) return std::nullopt;
    const auto known = folded_.find(layer.node);
    std::optional<Folded> found = known == folded_.end() ? Plain(*layer.node) : known->second;
    if (!found.has_value()) return std::nullopt;
    const Output& constant = add.input(1 - side);
    std::optional<std::vector<double>> bias;
    if (add.op_name() == "BiasAdd") {
      if (HasChannelsLast(add) != HasChannelsLast(*found->layer)) return std::nullopt;
      const Tensor value = ConstantOf(constant);
      if (!value.empty() &&
          value.num_elements() == static_cast<int64_t>(found->affine.scale.size())) {
        bias = Numbers(value);
      }
    } else {
      bias = OfChannels(constant, *found);
    }
    if (!bias.has_value()) return std::nullopt;
    Shift(*bias, &found->affine);
    found->parts.push_back(&add);
    return found;
  }

  static void Shift(const std::vector<double>& by, Affine* affine) {
    if (affine->shift.empty()) affine->shift.resize(by.size());
    for (size_t i = 0; i < by.size(); ++i) affine->shift[i] += by[i];
  }

  static void Scale(const std::vector<double>& by, Affine* affine) {
    for (size_t i = 0; i < by.size(); ++i) {
      affine->scale[i] *= by[i];
      if (!affine->shift.empty()) affine->shift[i] *= by[i];
    }
  }

  void Look(const Node& node) {
    const std::string& op = node.op_name();
    if (!node.control_inputs().empty()) return;
    if (op == "Mul") {
      LookProduct(node);
    } else if (op == "FusedBatchNorm" || op == "FusedBatchNormV2" || op == "FusedBatchNormV3") {
      LookNorm(node);
    } else if (op == "BiasAdd" || op == "Add" || op == "AddV2" || op == "Sub") {
      LookSum(node);
    }
  }

  void LookProduct(const Node& node) {
    const int side = ConstantOf(node.input(0)).empty() ? 0 : 1;
    std::optional<Folded> found = LayerAt(node.input(side));
    if (!found.has_value()) return;
    const auto scale = OfChannels(node.input(1 - side), *found);
    if (!scale.has_value()) return;
    Scale(*scale, &found->affine);
    Take(node, *std::move(found));
  }

  // What is added behind a product that was folded; a sum alone gains nothing.
  void LookSum(const Node& node) {
    const bool is_minus = node.op_name() == "Sub";
    const int side = is_minus || ConstantOf(node.input(0)).empty() ? 0 : 1;
    const Output& layer = node.input(side);
    if (layer.node == nullptr || layer.index != 0 || folded_.count(layer.node) == 0) return;
    if (!is_minus) {
      std::optional<Folded> found = WithBias(node);
      if (found.has_value()) Take(node, *std::move(found));
      return;
    }
    std::optional<Folded> found = LayerAt(layer);
    if (!found.has_value()) return;
    auto by = OfChannels(node.input(1), *found);
    if (!by.has_value()) return;
    for (double& number : *by) number = -number;
    Shift(*by, &found->affine);
    Take(node, *std::move(found));
  }

  void LookNorm(const Node& node) {
    const Result<bool> is_training = node.Attr<bool>("is_training");
    const Result<float> epsilon = node.Attr<float>("epsilon");
    if (!is_training.ok() || *is_training || !epsilon.ok() ||
        more_is_read_[static_cast<size_t>(node.id())]) {
      return;
    }
    std::optional<Folded> found = LayerAt(node.input(0));
    if (!found.has_value() || HasChannelsLast(node) != HasChannelsLast(*found->layer)) return;
    const auto channels = static_cast<int64_t>(found->affine.scale.size());
    std::vector<double> parts[4];  // scale, offset, mean, variance
    for (int i = 0; i < 4; ++i) {
      const Tensor value = ConstantOf(node.input(i + 1));
      if (value.empty() || value.num_elements() != channels) return;
      parts[i] = Numbers(value);
    }
    std::vector<double> scale(parts[0].size()), shift(parts[0].size());
    for (size_t i = 0; i < scale.size(); ++i) {
      scale[i] = parts[0][i] / std::sqrt(parts[3][i] + static_cast<double>(*epsilon));
      shift[i] = parts[1][i] - parts[2][i] * scale[i];
    }
    Scale(scale, &found->affine);
    Shift(shift, &found->affine);
    Take(node, *std::move(found));
  }

  void Take(const Node& node, Folded folded) {
    if (folded.parts.back() != &node) folded.parts.push_back(&node);
    for (const Node* part : folded.parts) {
      absorbed_.insert(part);
      folded_.erase(part);
    }
    folded_[&node] = std::move(folded);
  }

  // What has another value than before has another name, but for the last, whose value is its own.
  Status Make(const Folded& folded) {
    const Node& layer = *folded.layer;
    const Node& last = *folded.parts.back();
    const DType dtype = layer.output_type(0);
    const Tensor weights = ConstantOf(layer.input(1));
    const bool has_bias = !folded.affine.shift.empty();
    ASSIGN_OR_RETURN(const Tensor scaled,
                     TensorOf(ScaledWeights(folded, weights), dtype, weights.shape()));
    ASSIGN_OR_RETURN(const Output filter,
                     Constant(last, StrCat(layer.name(), "/folded_weights"), scaled));
    ASSIGN_OR_RETURN(Node * made,
                     Add({.name = has_bias ? StrCat(layer.name(), "/folded") : last.name(),
                          .op = layer.op_name(),
                          .inputs = {copier_.Map(layer.input(0)), filter},
                          .attrs = layer.attrs()},
                         layer));
    if (has_bias) {
      ASSIGN_OR_RETURN(const Tensor shift,
                       TensorOf(folded.affine.shift, dtype,
                                Shape{static_cast<int64_t>(folded.affine.shift.size())}));
      ASSIGN_OR_RETURN(const Output bias,
                       Constant(last, StrCat(layer.name(), "/folded_bias"), shift));
      NodeSpec add{.name = last.name(), .op = "BiasAdd", .inputs = {{made, 0}, bias}};
      // BiasAdd calls channels first so for images of any rank.
      if (!HasChannelsLast(layer)) add.attrs.Set("data_format", "NCHW");
      ASSIGN_OR_RETURN(made, Add(std::move(add), last));
    }
    copier_.Replace(last, made);
    return OkStatus();
  }

  Result<Node*> Add(NodeSpec spec, const Node& origin) {
    spec.make_unique = true;
    return copier_.Make(origin, std::move(spec));
  }

  Result<Output> Constant(const Node& origin, std::string name, const Tensor& value) {
    ASSIGN_OR_RETURN(Node * made, Add({.name = std::move(name),
                                       .op = "Const",
                                       .attrs = {{"dtype", value.dtype()}, {"value", value}}},
                                      origin));
    return Output{made, 0};
  }

  // Each weight times its channel's number.
  static std::vector<double> ScaledWeights(const Folded& folded, const Tensor& weights) {
    std::vector<double> numbers = Numbers(weights);
    const WeightLayout layout = *LayoutOf(*folded.layer);
    const size_t channels = folded.affine.scale.size();
    size_t inner = 1;  // elements of one channel that lie side by side
    for (int d = layout.first + layout.count; d < weights.rank(); ++d) {
      inner *= static_cast<size_t>(weights.dim(d));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] *= folded.affine.scale[i / inner % channels];
    }
    return numbers;
  }

  const StepGraph& step_;
  GraphCopier copier_;
  std::vector<int> uses_;                 // by id
  std::vector<bool> more_is_read_;        // by id: outputs behind the first
  std::map<const Node*, Folded> folded_;  // by their last node
  std::unordered_set<const Node*> absorbed_;
};

}  // namespace

Result<StepGraph> FoldBatchNorms(const StepGraph& step) { return BatchNormFolder(step).Run(); }

}  // namespace thalweg
