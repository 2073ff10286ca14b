// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace cli {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};

struct NpyType {
  const char* descr;
  tw::DataType dtype;
};
constexpr NpyType kTypes[] = {
    {"<f4", tw::kFloat},     {"<f8", tw::kDouble},     {"<f2", tw::kHalf},   {"|i1", tw::kInt8},
    {"<i2", tw::kInt16},     {"<i4", tw::kInt32},      {"<i8", tw::kInt64},  {"|u1", tw::kUint8},
    {"<u2", tw::kUint16},    {"<u4", tw::kUint32},     {"<u8", tw::kUint64}, {"|b1", tw::kBool},
    {"<c8", tw::kComplex64}, {"<c16", tw::kComplex128}};

[[noreturn]] void Fail(const std::string& name, const std::string& why) {
  throw FileError(name + ": " + why);
}

// What follows 'key': in the header's dictionary.
std::string_view ValueOf(std::string_view header, const std::string& key, const std::string& name) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) Fail(name, "the .npy header lacks '" + key + "'");
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::vector<int64_t> ParseShape(std::string_view text, const std::string& name) {
  const size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) {
    Fail(name, "the shape in the .npy header is no tuple");
  }
  std::vector<int64_t> shape;
  int64_t number = -1;
  for (char c : text.substr(1, end - 1)) {
    if (c >= '0' && c <= '9') {
      if (number > (int64_t{1} << 56)) Fail(name, "a dimension in the .npy header is too large");
      number = std::max<int64_t>(number, 0) * 10 + (c - '0');
    } else if (c == ',' && number >= 0) {
      shape.push_back(number);
      number = -1;
    } else if (c != ' ') {
      Fail(name, "the shape in the .npy header is no tuple of numbers");
    }
  }
  if (number >= 0) shape.push_back(number);
  return shape;
}

void PutNumber(std::string* to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

// The part that a member's two headers in a zip archive share: version 2.0, stored, 1980-01-01.
std::string ZipFields(const std::string& name, const std::string& bytes) {
  std::string fields;
  PutNumber(&fields, 20, 2);
  PutNumber(&fields, 0, 2);
  PutNumber(&fields, 0, 2);
  PutNumber(&fields, 0x00210000, 4);
  PutNumber(&fields, Crc32(bytes), 4);
  PutNumber(&fields, bytes.size(), 4);
  PutNumber(&fields, bytes.size(), 4);
  PutNumber(&fields, name.size(), 2);
  PutNumber(&fields, 0, 2);
  return fields;
}

// "|S5" and "<U3": texts of so many bytes or code points, filled up with zeros.
struct TextType {
  char kind = 0;
  size_t width = 0;  // in bytes
};

std::optional<TextType> ParseTextType(std::string_view descr) {
  if (descr.size() < 5 || (descr.substr(1, 2) != "|S" && descr.substr(1, 2) != "<U")) {
    return std::nullopt;
  }
  TextType type{descr[2]};
  for (const char c : descr.substr(3, descr.size() - 4)) {
    if (c < '0' || c > '9' || type.width > (size_t{1} << 30)) return std::nullopt;
    type.width = type.width * 10 + static_cast<size_t>(c - '0');
  }
  if (type.kind == 'U') type.width *= 4;
  return type;
}

void PutUtf8(std::string* to, uint32_t code) {
  const auto put = [&](uint32_t byte) { to->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | (code >> 18 & 0x07));
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  if (code >= 0x80) put(0x80 | (code & 0x3f));
}

std::string TextOf(std::string_view bytes, char kind) {
  std::string text;
  if (kind == 'S') {
    text = bytes;
  } else {
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      uint32_t code = 0;
      std::memcpy(&code, bytes.data() + i, sizeof code);
      PutUtf8(&text, code);
    }
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

[[noreturn]] void FailForSize(const std::string& name, size_t expected, size_t found) {
  Fail(name, "the shape needs " + std::to_string(expected) + " bytes, the file has " +
                 std::to_string(found));
}

// Uninitialized, or of empty texts; no larger than the file says.
tw::Tensor NewTensor(tw::DataType dtype, const std::vector<int64_t>& shape,
                     const std::string& name) {
  try {
    return tw::Tensor::New(dtype, shape).OrThrow();
  } catch (const tw::Error& e) {
    Fail(name, e.what());
  }
}

tw::Tensor ParseTexts(std::string_view bytes, const TextType& type,
                      const std::vector<int64_t>& shape, const std::string& name) {
  size_t count = 1;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(count, static_cast<size_t>(size), &count)) count = SIZE_MAX;
  }
  size_t expected = 0;
  if (__builtin_mul_overflow(count, type.width, &expected)) expected = SIZE_MAX;
  // Empty texts take no bytes, so that a shape could claim any number of them.
  if (expected != bytes.size() || (type.width == 0 && count > 0)) {
    FailForSize(name, expected, bytes.size());
  }
  tw::Tensor tensor = NewTensor(tw::kString, shape, name);
  for (size_t i = 0; i < count; ++i) {
    const std::string text = TextOf(bytes.substr(i * type.width, type.width), type.kind);
    tw_tensor_set_string(tensor.c(), static_cast<int64_t>(i), text.data(), text.size());
  }
  return tensor;
}

// Texts of one width, the longest one's.
std::string TextBytes(const tw::Tensor& tensor, size_t width) {
  std::string bytes;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    std::string text = tensor.string(i);
    text.resize(width);
    bytes += text;
  }
  return bytes;
}

size_t WidestText(const tw::Tensor& tensor) {
  size_t width = 1;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    width = std::max(width, tensor.string(i).size());
  }
  return width;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) Fail(path, "cannot be opened");
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) Fail(path, "cannot be read");
  return bytes;
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) Fail(path, "cannot be written");
}

tw::Tensor ParseNpy(const std::string& bytes, const std::string& name) {
  std::string_view rest = bytes;
  if (rest.size() < 12 || rest.substr(0, 6) != kMagic) Fail(name, "is no .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(rest[i])); };
  const bool wide = byte(6) >= 2;  // the header's length takes 4 bytes
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  rest.remove_prefix(wide ? 12 : 10);
  if (length > rest.size()) Fail(name, "the .npy header is cut off");
  const std::string_view header = rest.substr(0, length);
  rest.remove_prefix(length);
  std::string_view descr = ValueOf(header, "descr", name);
  descr = descr.substr(0, descr.find(','));
  const std::optional<TextType> text_type = ParseTextType(descr);
  const NpyType* type = nullptr;
  for (const NpyType& known : kTypes) {
    if (descr == "'" + std::string(known.descr) + "'") type = &known;
  }
  if (type == nullptr && !text_type)
    Fail(name, "elements of type " + std::string(descr) + " are not supported");
  if (!ValueOf(header, "fortran_order", name).starts_with("False")) {
    Fail(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  }
  const std::vector<int64_t> shape = ParseShape(ValueOf(header, "shape", name), name);
  if (text_type) return ParseTexts(rest, *text_type, shape, name);
  tw::Tensor tensor = NewTensor(type->dtype, shape, name);
  const size_t expected = tw_tensor_bytes(tensor.c());
  if (rest.size() != expected) FailForSize(name, expected, rest.size());
  if (expected > 0) std::memcpy(tw_tensor_data(tensor.c()), rest.data(), expected);
  return tensor;
}

tw::Tensor ReadNpy(const std::string& path) { return ParseNpy(ReadFile(path), path); }

std::string NpyOf(const tw::Tensor& tensor, const std::string& name) {
  const bool is_text = tensor.dtype() == tw::kString;
  const size_t width = is_text ? WidestText(tensor) : 0;
  std::string descr = is_text ? "|S" + std::to_string(width) : "";
  for (const NpyType& known : kTypes) {
    if (known.dtype == tensor.dtype()) descr = known.descr;
  }
  if (descr.empty()) Fail(name, "NumPy's files have no type for its elements");
  std::string shape;
  for (int64_t d : tensor.shape()) shape += std::to_string(d) + ", ";
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');  // the data begins aligned
  header.back() = '\n';
  std::string bytes(kMagic);
  PutNumber(&bytes, 1, 2);  // version 1.0
  PutNumber(&bytes, header.size(), 2);
  bytes += header;
  if (is_text) return bytes + TextBytes(tensor, width);
  const size_t size = tw_tensor_bytes(tensor.c());
  if (size > 0) bytes.append(static_cast<const char*>(tw_tensor_data(tensor.c())), size);
  return bytes;
}

bool HasNpyType(TwDataType dtype) {
  const auto is_it = [&](const NpyType& known) { return known.dtype == dtype; };
  return dtype == tw::kString || std::any_of(std::begin(kTypes), std::end(kTypes), is_it);
}

// The central directory at the end says where members lie; NumPy adds nothing between them.
NamedArrays ReadNpz(const std::string& path) {
  const std::string bytes = ReadFile(path);
  const size_t end = bytes.rfind("PK\x05\x06");
  if (!bytes.starts_with("PK") || end == std::string::npos || bytes.size() - end < 22) {
    Fail(path, "is no .npz archive, or is cut off");
  }
  const auto number = [&](size_t at, size_t width) {
    if (at + width > bytes.size()) Fail(path, "the archive is damaged");
    size_t value = 0;
    for (size_t i = 0; i < width; ++i) {
      value |= static_cast<size_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
    }
    return value;
  };
  const auto part = [&](size_t at, size_t size) {
    if (at > bytes.size() || size > bytes.size() - at) Fail(path, "the archive is damaged");
    return bytes.substr(at, size);
  };
  NamedArrays arrays;
  size_t at = number(end + 16, 4);
  for (size_t left = number(end + 10, 2); left > 0; --left) {
    if (part(at, 4) != "PK\x01\x02") Fail(path, "the archive is damaged");
    const size_t size = number(at + 24, 4), name_size = number(at + 28, 2);
    std::string name = part(at + 46, name_size);
    if (number(at + 10, 2) != 0) {
      Fail(path, "'" + name + "' is compressed; save it with numpy.savez");
    }
    const size_t local = number(at + 42, 4);
    const size_t data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    at += 46 + name_size + number(at + 30, 2) + number(at + 32, 2);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    tw::Tensor array = ParseNpy(part(data, size), path + ": '" + name + "'");
    arrays.emplace_back(std::move(name), std::move(array));
  }
  return arrays;
}

void WriteNpz(const std::string& path, const NamedArrays& arrays) {
  constexpr size_t kMost = 0xffffffff;
  std::string archive, directory;
  for (const auto& [key, tensor] : arrays) {
    const std::string name = key + ".npy", bytes = NpyOf(tensor, key);
    const size_t offset = archive.size();
    if (bytes.size() + offset + name.size() + 64 > kMost) Fail(path, "would exceed 4 GB");
    const std::string fields = ZipFields(name, bytes);
    archive += "PK\x03\x04" + fields + name;
    archive += bytes;
    directory += "PK\x01\x02";
    PutNumber(&directory, 20, 2);  // made by version 2.0
    directory += fields;
    directory.append(10, '\0');  // no comment, first disk, plain attributes
    PutNumber(&directory, offset, 4);
    directory += name;
  }
  const size_t start = archive.size();
  archive += directory + "PK\x05\x06";
  PutNumber(&archive, 0, 4);
  PutNumber(&archive, arrays.size(), 2);
  PutNumber(&archive, arrays.size(), 2);
  PutNumber(&archive, directory.size(), 4);
  PutNumber(&archive, start, 4);
  PutNumber(&archive, 0, 2);
  WriteFile(path, archive);
}

}  // namespace cli
