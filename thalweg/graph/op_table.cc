// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_table.h"

#include <cstring>

#include "thalweg/base/check.h"

namespace thalweg {
namespace {

// Reads one record. The bytes are ours: what does not fit is a bug of gen_ops.py.
class RecordReader {
 public:
  explicit RecordReader(uint32_t index)
      : next_(kOpRecords + kOpOffsets[index]), end_(kOpRecords + kOpOffsets[index + 1]) {}

  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      CHECK(next_ < end_ && shift < 64);
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }
  int64_t Signed() {
    const uint64_t bits = Number();
    return static_cast<int64_t>(bits >> 1) ^ -static_cast<int64_t>(bits & 1);
  }
  std::string_view Text() {
    const uint64_t size = Number();
    CHECK(size <= static_cast<uint64_t>(end_ - next_));
    std::string_view text(next_, size);
    next_ += size;
    return text;
  }
  float Float() {
    CHECK(end_ - next_ >= 4);
    float value = 0;
    std::memcpy(&value, next_, 4);
    next_ += 4;
    return value;
  }
  DType Type() { return static_cast<DType>(Number()); }
  PartialShape Shape() {
    const uint64_t rank = Number();
    if (rank == 0) return PartialShape::Unknown();
    PartialShape shape = PartialShape::OfRank(static_cast<int>(rank) - 1);
    for (int i = 0; i < shape.rank(); ++i) shape.set_dim(i, Signed());
    return shape;
  }

 private:
  const char* next_;
  const char* end_;
};

Tensor ReadTensor(RecordReader& in) {
  const DType dtype = in.Type();
  Result<Tensor> tensor = Tensor::AllocateHost(dtype, in.Shape().ToShape());
  CHECK(tensor.ok() && (dtype == DType::kUint8 || dtype == DType::kInt32));
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    const int64_t value = in.Signed();
    if (dtype == DType::kUint8) {
      tensor->mutable_data<uint8_t>()[i] = static_cast<uint8_t>(value);
    } else {
      tensor->mutable_data<int32_t>()[i] = static_cast<int32_t>(value);
    }
  }
  return *std::move(tensor);
}

template <class T, class Read>
AttrValue ReadList(RecordReader& in, const Read& read) {
  const uint64_t size = in.Number();
  std::vector<T> values;
  for (uint64_t i = 0; i < size; ++i) values.push_back(read());
  return AttrValue(std::move(values));
}

AttrValue ReadDefault(RecordReader& in, AttrValue::Kind kind) {
  using Kind = AttrValue::Kind;
  switch (kind) {
    case Kind::kString:
      return in.Text();
    case Kind::kInt:
      return in.Signed();
    case Kind::kFloat:
      return in.Float();
    case Kind::kBool:
      return in.Number() != 0;
    case Kind::kType:
      return in.Type();
    case Kind::kShape:
      return in.Shape();
    case Kind::kTensor:
      return ReadTensor(in);
    case Kind::kStringList:
      return ReadList<std::string>(in, [&] { return std::string(in.Text()); });
    case Kind::kIntList:
      return ReadList<int64_t>(in, [&] { return in.Signed(); });
    case Kind::kFloatList:
      return ReadList<float>(in, [&] { return in.Float(); });
    case Kind::kBoolList:
      return ReadList<bool>(in, [&] { return in.Number() != 0; });
    case Kind::kTypeList:
      return ReadList<DType>(in, [&] { return in.Type(); });
    case Kind::kShapeList:
      return ReadList<PartialShape>(in, [&] { return in.Shape(); });
    case Kind::kTensorList:
      return ReadList<Tensor>(in, [&] { return ReadTensor(in); });
    case Kind::kFunctionList:
      return ReadList<FunctionRef>(in, [&] { return FunctionRef{std::string(in.Text()), {}}; });
    default:
      CHECK(!"a default of a kind that gen_ops.py does not write");
      return {};
  }
}

ArgDef ReadArg(RecordReader& in) {
  ArgDef arg;
  arg.name = in.Text();
  arg.type = in.Type();
  arg.type_attr = in.Text();
  arg.number_attr = in.Text();
  arg.type_list_attr = in.Text();
  arg.is_ref = in.Number() != 0;
  return arg;
}

AttrDef ReadAttr(RecordReader& in) {
  AttrDef attr;
  attr.name = in.Text();
  attr.kind = static_cast<AttrValue::Kind>(in.Number());
  const uint64_t bits = in.Number();
  if ((bits & 2) != 0) {
    attr.has_minimum = true;
    attr.minimum = in.Signed();
  }
  if ((bits & 1) != 0) attr.default_value = ReadDefault(in, attr.kind);
  if ((bits & 4) != 0) {
    const bool types =
        attr.kind == AttrValue::Kind::kType || attr.kind == AttrValue::Kind::kTypeList;
    for (uint64_t left = in.Number(); left > 0; --left) {
      if (types) {
        attr.allowed_types.push_back(in.Type());
      } else {
        attr.allowed_strings.emplace_back(in.Text());
      }
    }
  }
  attr.newer_than_1_15 = (bits & 8) != 0;
  return attr;
}

OpDef ReadRecord(uint32_t index) {
  RecordReader in(index);
  OpDef def;
  def.name = in.Text();
  const uint64_t flags = in.Number();
  def.is_stateful = (flags & 1) != 0;
  def.is_commutative = (flags & 2) != 0;
  def.is_aggregate = (flags & 4) != 0;
  def.allows_uninitialized_input = (flags & 8) != 0;
  for (uint64_t left = in.Number(); left > 0; --left) def.inputs.push_back(ReadArg(in));
  for (uint64_t left = in.Number(); left > 0; --left) def.outputs.push_back(ReadArg(in));
  for (uint64_t left = in.Number(); left > 0; --left) def.attrs.push_back(ReadAttr(in));
  return def;
}

}  // namespace

std::string_view OpTableName(uint32_t index) { return RecordReader(index).Text(); }

std::optional<OpDef> ReadOpTable(std::string_view name) {
  uint32_t low = 0;
  for (uint32_t high = kOpCount; low < high;) {
    const uint32_t middle = low + (high - low) / 2;
    if (OpTableName(middle) < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == kOpCount || OpTableName(low) != name) return std::nullopt;
  return ReadRecord(low);
}

}  // namespace thalweg
