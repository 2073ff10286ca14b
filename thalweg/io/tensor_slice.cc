// SPDX-License-Identifier: Apache-2.0
#include "thalweg/io/tensor_slice.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "thalweg/proto/messages.h"

namespace thalweg {
namespace {

bool ParseInt(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 0;
}

std::string_view TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

// Length byte, then the number's significant bytes, high ones first: sorts as the numbers do.
void AppendOrdered(std::string& out, uint64_t value) {
  const int length = (std::bit_width(value) + 7) / 8;
  out.push_back(static_cast<char>(length));
  for (int i = length - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// 0x00 and 0xff are escaped, 0x00 0x01 ends the string.
void AppendOrdered(std::string& out, std::string_view text) {
  for (char c : text) {
    out.push_back(c);
    if (c == '\0') out.push_back('\xff');
    if (c == '\xff') out.push_back('\0');
  }
  out.push_back('\0');
  out.push_back('\x01');
}

// 1 to 10 bytes: the leading bits tell sign and length, the rest is the two's complement number.
void AppendOrderedSigned(std::string& out, int64_t value) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int length = std::bit_width(magnitude) / 7 + 1;
  char bytes[10];
  const char sign = value < 0 ? '\xff' : '\0';
  bytes[0] = bytes[1] = sign;
  for (int i = 0; i < 8; ++i)
    bytes[2 + i] = static_cast<char>(static_cast<uint64_t>(value) >> (56 - 8 * i));
  char* first = bytes + 10 - length;
  // `length` one bits at the top (of two bytes) are flipped.
  const uint32_t header =
      length >= 9 ? 0xff00u | (length == 9 ? 0x80u : 0xc0u) : (0xff00u << (8 - length)) & 0xff00u;
  first[0] = static_cast<char>(first[0] ^ static_cast<char>(header >> 8));
  if (length > 1) first[1] = static_cast<char>(first[1] ^ static_cast<char>(header & 0xff));
  out.append(first, static_cast<size_t>(length));
}

}  // namespace

Result<TensorSlice> TensorSlice::Parse(std::string_view text) {
  TensorSlice slice;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = TakeUntil(rest, ':');
    Extent extent;
    if (part != "-") {
      std::string_view numbers = part;
      const std::string_view start = TakeUntil(numbers, ',');
      if (!ParseInt(start, &extent.start) || !ParseInt(numbers, &extent.length)) {
        return InvalidArgument("expected '-' or 'start,length' in slice '", text, "', got '", part,
                               "'");
      }
    }
    slice.extents.push_back(extent);
  }
  return slice;
}

Result<TensorSlice> TensorSlice::FromProto(const Message& proto) {
  TensorSlice slice;
  for (const Message* part : proto.Messages(pb::TensorSliceProto::kExtent)) {
    Extent extent;
    extent.start = part->GetInt(pb::TensorSliceProto::Extent::kStart);
    if (part->Has(pb::TensorSliceProto::Extent::kLength)) {
      extent.length = part->GetInt(pb::TensorSliceProto::Extent::kLength);
      if (extent.length < 0)
        return InvalidArgument("a slice has a negative length: ", extent.length);
    }
    if (extent.start < 0) return InvalidArgument("a slice has a negative start: ", extent.start);
    slice.extents.push_back(extent);
  }
  return slice;
}

void TensorSlice::ToProto(Message* proto) const {
  for (const Extent& extent : extents) {
    Message* part = proto->Add(pb::TensorSliceProto::kExtent);
    if (extent.length == kWhole) continue;
    part->SetInt(pb::TensorSliceProto::Extent::kStart, extent.start);
    part->SetInt(pb::TensorSliceProto::Extent::kLength, extent.length);
  }
}

std::string TensorSlice::ToString() const {
  std::string out;
  for (const Extent& extent : extents) {
    if (!out.empty()) out.push_back(':');
    out += extent.length == kWhole ? "-" : StrCat(extent.start, ",", extent.length);
  }
  return out;
}

bool TensorSlice::IsWhole() const {
  return std::all_of(extents.begin(), extents.end(),
                     [](const Extent& e) { return e.length == kWhole; });
}

Result<TensorSlice> TensorSlice::Resolve(const Shape& shape) const {
  if (static_cast<int>(extents.size()) != shape.rank()) {
    return InvalidArgument("slice '", ToString(), "' has ", extents.size(),
                           " dimensions, the tensor's shape is ", shape);
  }
  TensorSlice resolved = *this;
  for (int i = 0; i < shape.rank(); ++i) {
    Extent& extent = resolved.extents[static_cast<size_t>(i)];
    if (extent.length == kWhole) {
      extent = {0, shape.dim(i)};
    } else if (extent.start > shape.dim(i) || extent.length > shape.dim(i) - extent.start) {
      return InvalidArgument("slice '", ToString(), "' reaches beyond shape ", shape);
    }
  }
  return resolved;
}

Result<Shape> TensorSlice::SliceShape(const Shape& shape) const {
  ASSIGN_OR_RETURN(const TensorSlice resolved, Resolve(shape));
  Dims dims;
  for (const Extent& extent : resolved.extents) dims.push_back(extent.length);
  return Shape(std::move(dims));
}

bool Intersect(const TensorSlice& a, const TensorSlice& b, TensorSlice* common) {
  common->extents.resize(a.extents.size());
  for (size_t i = 0; i < a.extents.size(); ++i) {
    const int64_t start = std::max(a.extents[i].start, b.extents[i].start);
    const int64_t end = std::min(a.extents[i].start + a.extents[i].length,
                                 b.extents[i].start + b.extents[i].length);
    if (start >= end) return false;
    common->extents[i] = {start, end - start};
  }
  return true;
}

Status ParseShapeAndSlice(std::string_view text, Shape* shape, TensorSlice* slice) {
  Dims dims;
  std::string_view rest = text;
  while (rest.find(' ') != std::string_view::npos) {
    const std::string_view part = TakeUntil(rest, ' ');
    int64_t dim = 0;
    if (!ParseInt(part, &dim)) {
      return InvalidArgument("expected 'dim dim ... slice' for a slice of a tensor, got '", text,
                             "'");
    }
    dims.push_back(dim);
  }
  ASSIGN_OR_RETURN(*shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(*slice, TensorSlice::Parse(rest));
  return slice->Resolve(*shape).status();
}

std::string SliceKey(std::string_view name, const TensorSlice& slice) {
  std::string key;
  AppendOrdered(key, uint64_t{0});
  AppendOrdered(key, name);
  AppendOrdered(key, slice.extents.size());
  for (const TensorSlice::Extent& extent : slice.extents) {
    AppendOrderedSigned(key, extent.start);
    AppendOrderedSigned(key, extent.length);
  }
  return key;
}

}  // namespace thalweg
