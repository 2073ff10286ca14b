// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/case_scaling.h"

#include <algorithm>
#include <set>
#include <string>

#include "thalweg/graph/attr_value_proto.h"
#include "thalweg/proto/wire.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/testing/case_graph.h"

namespace thalweg {
namespace {

namespace av = pb::AttrValue;

constexpr int64_t kMostTimes = int64_t{1} << 22;
constexpr int64_t kFewElements = 16;  // of a tensor whose numbers may be sizes

int64_t BytesOf(const Tensor& value) {
  if (value.empty()) return 0;
  const auto bytes = static_cast<int64_t>(DTypeStride(value.dtype())) * value.num_elements();
  if (value.dtype() != DType::kString) return bytes;
  return bytes + static_cast<int64_t>(TextHeapBytes(value.flat<std::string>()));
}

int64_t BytesIn(Message& graph_def) {
  int64_t bytes = 0;
  for (const Message* node : ConstsOf(graph_def)) bytes += BytesOf(ValueOf(*node));
  return bytes;
}

// What of a graph is scaled.
struct Way {
  int64_t dim = 0;       // all dimensions of this size; 0: `only` says which
  bool numbers = false;  // with the numbers that are equal to it
  bool attrs = false;    // and attributes
  std::string only;      // this constant alone
  enum class Of { kFirst, kLast, kText, kNumber } of = Of::kFirst;
};

std::vector<int64_t> DimsOf(const Tensor& value) {
  const Shape shape = value.shape();
  return {shape.dims().begin(), shape.dims().end()};
}

class Scaler {
 public:
  Scaler(const Way& way, int64_t times, Message& graph_def)
      : way_(way), times_(times), graph_def_(graph_def) {}

  void Run() {
    for (Message* node : ConstsOf(graph_def_)) {
      const Tensor value = ValueOf(*node);
      if (value.empty()) continue;
      if (way_.dim == 0) {
        if (node->GetString(pb::NodeDef::kName) == way_.only) ScaleOnly(*node, value);
      } else {
        ScaleEqual(*node, value);
      }
    }
    for (Message* node : NodesOf(graph_def_)) {
      if (way_.attrs && node->GetString(pb::NodeDef::kOp) != "Const") ScaleAttrs(*node);
    }
  }

 private:
  int64_t Scaled(int64_t size) const { return size == way_.dim ? size * times_ : size; }

  void ScaleEqual(Message& node, const Tensor& value) {
    Tensor made = value;
    std::vector<int64_t> dims = DimsOf(value);
    for (int64_t& dim : dims) dim = Scaled(dim);
    if (way_.numbers && value.num_elements() <= kFewElements) {
      made = Reshaped(value, value.shape());
      ForEachType<Types<int32_t, int64_t>>([&]<class T>() {
        if (made.dtype() != kDTypeOf<T>) return;
        for (int64_t i = 0; i < made.num_elements(); ++i) {
          T& number = made.mutable_data<T>()[i];
          number = static_cast<T>(Scaled(number));
        }
      });
    }
    SetValue(node, Reshaped(made, Shape(Dims(dims))), graph_def_);
  }

  void ScaleOnly(Message& node, const Tensor& value) {
    std::vector<int64_t> dims = DimsOf(value);
    Tensor made = Reshaped(value, value.shape());
    if (way_.of == Way::Of::kFirst && dims.empty()) {
      dims = {times_};
    } else if (way_.of == Way::Of::kFirst) {
      dims.front() *= times_;
    } else if (way_.of == Way::Of::kLast && !dims.empty()) {
      dims.back() *= times_;
    } else if (way_.of == Way::Of::kText && value.dtype() == DType::kString) {
      for (int64_t i = 0; i < made.num_elements(); ++i) {
        const std::string& from = value.data<std::string>()[i];
        std::string& to = made.mutable_data<std::string>()[i];
        to.clear();
        for (int64_t j = 0; j < times_; ++j) to += from;
      }
    } else if (way_.of == Way::Of::kNumber) {
      ForEachType<Types<int32_t, int64_t>>([&]<class T>() {
        if (made.dtype() != kDTypeOf<T>) return;
        for (int64_t i = 0; i < made.num_elements(); ++i) {
          made.mutable_data<T>()[i] = static_cast<T>(made.data<T>()[i] * times_);
        }
      });
    }
    SetValue(node, Reshaped(made, Shape(Dims(dims))), graph_def_);
  }

  void ScaleAttrs(Message& node) {
    std::vector<std::string> names;
    for (const Message* entry : node.Messages(pb::NodeDef::kAttr)) {
      names.emplace_back(entry->GetString(pb::kMapKey));
    }
    for (const std::string& name : names) {
      const Result<AttrValue> value = AttrValueFromProto(*node.MapFind(pb::NodeDef::kAttr, name));
      if (!value.ok()) continue;
      const auto shape = [&](const PartialShape& from) {
        if (!from.known_rank()) return from;
        std::vector<int64_t> dims(from.dims().begin(), from.dims().end());
        for (int64_t& dim : dims) dim = Scaled(dim);
        return PartialShape(Dims(dims));
      };
      if (value->kind() == AttrValue::Kind::kInt) {
        SetAttr(node, name, Scaled(*value->Get<int64_t>()));
      } else if (value->kind() == AttrValue::Kind::kShape) {
        SetAttr(node, name, shape(*value->Get<PartialShape>()));
      } else if (value->kind() == AttrValue::Kind::kIntList) {
        std::vector<int64_t> ints = *value->Get<std::vector<int64_t>>();
        for (int64_t& i : ints) i = Scaled(i);
        SetAttr(node, name, ints);
      } else if (value->kind() == AttrValue::Kind::kShapeList) {
        std::vector<PartialShape> shapes = *value->Get<std::vector<PartialShape>>();
        for (PartialShape& one : shapes) one = shape(one);
        SetAttr(node, name, shapes);
      }
    }
  }

  const Way& way_;
  const int64_t times_;
  Message& graph_def_;
};

std::vector<Way> WaysOf(Message& graph_def) {
  std::vector<Way> ways;
  std::set<int64_t> dims;
  for (const Message* node : ConstsOf(graph_def)) {
    const Tensor value = ValueOf(*node);
    if (value.empty()) continue;
    for (const int64_t dim : DimsOf(value)) dims.insert(dim);
    Way way;
    way.only = node->GetString(pb::NodeDef::kName);
    std::set<Way::Of> of = {Way::Of::kFirst};
    if (value.rank() > 1) of.insert(Way::Of::kLast);
    if (value.dtype() == DType::kString) of.insert(Way::Of::kText);
    if (value.dtype() == DType::kInt32 || value.dtype() == DType::kInt64) {
      if (value.num_elements() <= kFewElements) of.insert(Way::Of::kNumber);
    }
    for (const Way::Of what : of) {
      way.of = what;
      ways.push_back(way);
    }
  }
  for (const int64_t dim : dims) {
    if (dim == 0) continue;
    for (const bool numbers : {false, true}) {
      for (const bool attrs : {false, true}) ways.push_back({dim, numbers, attrs, "", {}});
    }
  }
  return ways;
}

}  // namespace

int64_t BytesOfConsts(const Message& graph_def) { return BytesIn(*Clone(graph_def)); }

std::vector<OwnedMessage> ScaledCases(const Message& graph_def, int64_t bytes) {
  std::vector<OwnedMessage> scaled;
  std::set<std::string> seen;
  OwnedMessage original = Clone(graph_def);
  const int64_t before = BytesIn(*original);
  for (const Way& way : WaysOf(*original)) {
    for (int64_t times = 2; times <= kMostTimes; times *= 2) {
      OwnedMessage trial = Clone(graph_def);
      Scaler(way, times, *trial).Run();
      const int64_t now = BytesIn(*trial);
      const bool counts = way.dim == 0 && way.of == Way::Of::kNumber;
      if (!counts && now <= before) break;  // nothing to scale
      // A number is scaled to what is as large if it is a size of bytes.
      if (counts ? times < bytes / 4 : now < bytes) continue;
      if (seen.insert(*Serialize(*trial)).second) scaled.push_back(std::move(trial));
      break;
    }
  }
  return scaled;
}

}  // namespace thalweg
