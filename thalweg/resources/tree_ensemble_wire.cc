// SPDX-License-Identifier: Apache-2.0
// The TreeEnsemble message of TensorFlow's boosted trees, read into structures that grow and are
// walked fast.
#include <algorithm>
#include <bit>

#include "thalweg/proto/wire_fields.h"
#include "thalweg/resources/tree_ensemble.h"

namespace thalweg {
namespace {

// Calls field(reader, tag) for every field of a message; false where one of them is not as it must
// be, or the bytes end too early.
template <class F>
bool ReadFields(std::string_view bytes, const F& field) {
  WireReader reader(bytes);
  uint32_t tag;
  while (!reader.AtEnd()) {
    if (!reader.ReadTag(&tag) || !field(reader, tag)) return false;
  }
  return true;
}

constexpr uint32_t Varint(uint32_t number) { return WireTag(number, WireType::kVarint); }
constexpr uint32_t Fixed32(uint32_t number) { return WireTag(number, WireType::kFixed32); }
constexpr uint32_t Bytes(uint32_t number) { return WireTag(number, WireType::kLengthDelimited); }

bool ReadInt(WireReader& reader, int32_t* value) {
  uint64_t bits;
  if (!reader.ReadVarint(&bits)) return false;
  *value = static_cast<int32_t>(bits);
  return true;
}

bool ReadFloat(WireReader& reader, float* value) {
  uint32_t bits;
  if (!reader.ReadFixed32(&bits)) return false;
  *value = std::bit_cast<float>(bits);
  return true;
}

// One element of a repeated float, or several packed ones.
bool ReadFloats(WireReader& reader, uint32_t tag, std::vector<float>& values) {
  if (WireTypeOf(tag) == WireType::kFixed32) {
    float value;
    if (!ReadFloat(reader, &value)) return false;
    values.push_back(value);
    return true;
  }
  std::string_view packed;
  if (!reader.ReadBytes(&packed) || packed.size() % sizeof(float) != 0) return false;
  WireReader elements(packed);
  float value;
  while (ReadFloat(elements, &value)) values.push_back(value);
  return true;
}

bool ReadLeaf(std::string_view bytes, TreeLeaf& leaf) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    if (tag == Fixed32(3)) return ReadFloat(reader, &leaf.scalar);
    std::string_view vector;
    if (tag != Bytes(1) || !reader.ReadBytes(&vector)) return false;
    leaf.has_vector = true;
    return ReadFields(vector, [&](WireReader& values, uint32_t inner) {
      return WireFieldNumber(inner) == 1 && (inner == Bytes(1) || inner == Fixed32(1)) &&
             ReadFloats(values, inner, leaf.vector);
    });
  });
}

bool ReadSplit(std::string_view bytes, TreeNode& node) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    switch (tag) {
      case Varint(1):
        return ReadInt(reader, &node.feature_id);
      case Varint(2):
        return ReadInt(reader, &node.threshold);
      case Varint(3):
        return ReadInt(reader, &node.left_id);
      case Varint(4):
        return ReadInt(reader, &node.right_id);
      case Varint(5):
        return ReadInt(reader, &node.dimension_id);
      case Varint(6):
        return node.kind == TreeNode::Kind::kBucketized && ReadInt(reader, &node.default_direction);
      default:
        return false;
    }
  });
}

bool ReadNodeMetadata(std::string_view bytes, TreeNode& node) {
  node.has_metadata = true;
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    if (tag == Fixed32(1)) return ReadFloat(reader, &node.gain);
    std::string_view leaf;
    if (tag != Bytes(2) || !reader.ReadBytes(&leaf)) return false;
    node.has_original_leaf = true;
    return ReadLeaf(leaf, node.original_leaf);
  });
}

// The last of several kinds is what the node is.
void Become(TreeNode& node, TreeNode::Kind kind) {
  if (node.kind == kind) return;
  TreeNode other;
  other.kind = kind;
  other.has_metadata = node.has_metadata;
  other.gain = node.gain;
  other.has_original_leaf = node.has_original_leaf;
  other.original_leaf = std::move(node.original_leaf);
  node = std::move(other);
}

bool ReadNode(std::string_view bytes, TreeNode& node) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    std::string_view inner;
    switch (tag) {
      case Bytes(1):
        Become(node, TreeNode::Kind::kLeaf);
        return reader.ReadBytes(&inner) && ReadLeaf(inner, node.leaf);
      case Bytes(2):
      case Bytes(3):
        Become(node, tag == Bytes(2) ? TreeNode::Kind::kBucketized : TreeNode::Kind::kCategorical);
        return reader.ReadBytes(&inner) && ReadSplit(inner, node);
      case Bytes(777):
        return reader.ReadBytes(&inner) && ReadNodeMetadata(inner, node);
      default:
        return false;
    }
  });
}

bool ReadPruned(std::string_view bytes, PrunedNode& pruned) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    if (tag == Varint(1)) return ReadInt(reader, &pruned.new_id);
    return (tag == Bytes(2) || tag == Fixed32(2)) && ReadFloats(reader, tag, pruned.logit_change);
  });
}

bool ReadTreeMetadata(std::string_view bytes, TreeMetadata& metadata) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    if (tag == Varint(2)) return ReadInt(reader, &metadata.layers_grown);
    uint64_t value;
    if (tag == Varint(3)) {
      if (!reader.ReadVarint(&value)) return false;
      metadata.is_finalized = value != 0;
      return true;
    }
    std::string_view pruned;
    return tag == Bytes(4) && reader.ReadBytes(&pruned) &&
           ReadPruned(pruned, metadata.pruned.emplace_back());
  });
}

bool ReadGrowth(std::string_view bytes, TreeEnsemble& ensemble) {
  ensemble.has_growth = true;
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    uint64_t value;
    switch (tag) {
      case Varint(1):
      case Varint(2):
        if (!reader.ReadVarint(&value)) return false;
        (tag == Varint(1) ? ensemble.trees_attempted : ensemble.layers_attempted) =
            static_cast<int64_t>(value);
        return true;
      case Varint(3):
        return ReadInt(reader, &ensemble.last_layer_start);
      case Varint(4):
        return ReadInt(reader, &ensemble.last_layer_end);
      default:
        return false;
    }
  });
}

bool ReadEnsemble(std::string_view bytes, TreeEnsemble& ensemble) {
  return ReadFields(bytes, [&](WireReader& reader, uint32_t tag) {
    std::string_view inner;
    switch (tag) {
      case Bytes(1): {
        Tree& tree = ensemble.trees.emplace_back();
        return reader.ReadBytes(&inner) &&
               ReadFields(inner, [&](WireReader& nodes, uint32_t node_tag) {
                 std::string_view node;
                 return node_tag == Bytes(1) && nodes.ReadBytes(&node) &&
                        ReadNode(node, tree.nodes.emplace_back());
               });
      }
      case Bytes(2):
      case Fixed32(2):
        return ReadFloats(reader, tag, ensemble.weights);
      case Bytes(3):
        return reader.ReadBytes(&inner) &&
               ReadTreeMetadata(inner, ensemble.metadata.emplace_back());
      case Bytes(4):
        return reader.ReadBytes(&inner) && ReadGrowth(inner, ensemble);
      default:
        return false;
    }
  });
}

// What the structures of these bytes take at most: nodes and the like, as many as there are, in
// vectors that may have room for twice what is in them, and numbers.
Status ChargeFor(Allocator& allocator, std::string_view bytes, HeapCharge& charge) {
  size_t things = 0;
  const auto count = [&](WireReader& reader, uint32_t tag) {
    std::string_view inner;
    ++things;
    if (tag != Bytes(1) && tag != Bytes(3)) return reader.Skip(tag);
    return reader.ReadBytes(&inner) && ReadFields(inner, [&](WireReader& fields, uint32_t field) {
             ++things;
             return fields.Skip(field);
           });
  };
  ReadFields(bytes, count);  // up to what is wrong, which is said by who reads it
  constexpr size_t kLargest = std::max(sizeof(TreeNode), sizeof(Tree) + sizeof(TreeMetadata));
  return charge.Set(allocator, 2 * things * kLargest + 4 * bytes.size());
}

Status CheckTree(const Tree& tree, size_t index) {
  const auto bad = [&](size_t node, std::string_view why) {
    return InvalidArgument("node ", node, " of tree ", index, " of the tree ensemble ", why);
  };
  if (tree.nodes.empty()) return InvalidArgument("tree ", index, " of the tree ensemble is empty");
  std::vector<bool> has_parent(tree.nodes.size());
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    if (node.kind == TreeNode::Kind::kNone) return bad(i, "is neither a leaf nor a split");
    if (node.is_leaf()) continue;
    for (const int32_t child : {node.left_id, node.right_id}) {
      if (child <= static_cast<int64_t>(i) || child >= static_cast<int64_t>(tree.nodes.size())) {
        return bad(i, "has a child that does not lie behind it");
      }
      if (has_parent[static_cast<size_t>(child)]) return bad(i, "has a child that has a parent");
      has_parent[static_cast<size_t>(child)] = true;
    }
    if (node.feature_id < 0 || node.dimension_id < 0) return bad(i, "splits by a negative feature");
  }
  return OkStatus();
}

Status CheckEnsemble(const TreeEnsemble& ensemble) {
  const size_t trees = ensemble.trees.size();
  if (ensemble.weights.size() != trees) {
    return InvalidArgument("the tree ensemble has ", trees, " trees and ", ensemble.weights.size(),
                           " weights");
  }
  if (!ensemble.metadata.empty() && ensemble.metadata.size() != trees) {
    return InvalidArgument("the tree ensemble has ", trees, " trees and metadata of ",
                           ensemble.metadata.size());
  }
  for (size_t i = 0; i < trees; ++i) {
    RETURN_IF_ERROR(CheckTree(ensemble.trees[i], i));
    if (ensemble.metadata.empty()) continue;
    const int64_t nodes = static_cast<int64_t>(ensemble.trees[i].nodes.size());
    for (const PrunedNode& pruned : ensemble.metadata[i].pruned) {
      if (pruned.new_id < 0 || pruned.new_id >= nodes) {
        return InvalidArgument("metadata of tree ", i, " name node ", pruned.new_id, " of ", nodes);
      }
    }
  }
  return OkStatus();
}

void AppendFloat(std::string& out, uint32_t number, float value) {
  if (value == 0) return;
  AppendTag(out, number, WireType::kFixed32);
  AppendFixed32(out, std::bit_cast<uint32_t>(value));
}

void AppendFloats(std::string& out, uint32_t number, std::span<const float> values) {
  if (values.empty()) return;
  AppendTag(out, number, WireType::kLengthDelimited);
  AppendVarint(out, values.size() * sizeof(float));
  for (const float value : values) AppendFixed32(out, std::bit_cast<uint32_t>(value));
}

std::string LeafBytes(const TreeLeaf& leaf) {
  std::string out;
  if (leaf.has_vector) {
    std::string vector;
    AppendFloats(vector, 1, leaf.vector);
    AddWireText(1, vector, &out);
  }
  AppendFloat(out, 3, leaf.scalar);
  return out;
}

std::string NodeBytes(const TreeNode& node) {
  std::string out;
  if (node.is_leaf()) {
    AddWireText(1, LeafBytes(node.leaf), &out);
  } else {
    std::string split;
    AddWireInt(1, node.feature_id, &split);
    AddWireInt(2, node.threshold, &split);
    AddWireInt(3, node.left_id, &split);
    AddWireInt(4, node.right_id, &split);
    AddWireInt(5, node.dimension_id, &split);
    AddWireInt(6, node.default_direction, &split);
    AddWireText(node.kind == TreeNode::Kind::kBucketized ? 2 : 3, split, &out);
  }
  if (!node.has_metadata) return out;
  std::string metadata;
  AppendFloat(metadata, 1, node.gain);
  if (node.has_original_leaf) AddWireText(2, LeafBytes(node.original_leaf), &metadata);
  AddWireText(777, metadata, &out);
  return out;
}

std::string MetadataBytes(const TreeMetadata& metadata) {
  std::string out;
  AddWireInt(2, metadata.layers_grown, &out);
  AddWireNumber(3, metadata.is_finalized ? 1 : 0, &out);
  for (const PrunedNode& pruned : metadata.pruned) {
    std::string update;
    AddWireInt(1, pruned.new_id, &update);
    AppendFloats(update, 2, pruned.logit_change);
    AddWireText(4, update, &out);
  }
  return out;
}

}  // namespace

Result<TreeEnsemble> ParseTreeEnsemble(Allocator& allocator, HeapCharge& charge,
                                       std::string_view bytes) {
  TreeEnsemble ensemble;
  RETURN_IF_ERROR(ChargeFor(allocator, bytes, charge));
  if (!ReadEnsemble(bytes, ensemble)) {
    return InvalidArgument(
        "Unable to parse tree ensemble proto. It is damaged, or has fields that are not known");
  }
  RETURN_IF_ERROR(CheckEnsemble(ensemble));
  return ensemble;
}

std::string SerializeTreeEnsemble(const TreeEnsemble& ensemble) {
  std::string out;
  for (const Tree& tree : ensemble.trees) {
    std::string nodes;
    for (const TreeNode& node : tree.nodes) AddWireText(1, NodeBytes(node), &nodes);
    AddWireText(1, nodes, &out);
  }
  AppendFloats(out, 2, ensemble.weights);
  for (const TreeMetadata& metadata : ensemble.metadata) {
    AddWireText(3, MetadataBytes(metadata), &out);
  }
  if (!ensemble.has_growth) return out;
  std::string growth;
  AddWireInt(1, ensemble.trees_attempted, &growth);
  AddWireInt(2, ensemble.layers_attempted, &growth);
  AddWireInt(3, ensemble.last_layer_start, &growth);
  AddWireInt(4, ensemble.last_layer_end, &growth);
  AddWireText(4, growth, &out);
  return out;
}

}  // namespace thalweg
