// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

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
  const NpyType* type = nullptr;
  for (const NpyType& known : kTypes) {
    if (descr == "'" + std::string(known.descr) + "'") type = &known;
  }
  if (type == nullptr) Fail(name, "elements of type " + std::string(descr) + " are not supported");
  if (!ValueOf(header, "fortran_order", name).starts_with("False")) {
    Fail(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  }
  const std::vector<int64_t> shape = ParseShape(ValueOf(header, "shape", name), name);
  tw::Tensor tensor;
  try {
    tensor = tw::Tensor::New(type->dtype, shape).OrThrow();
  } catch (const tw::Error& e) {
    Fail(name, e.what());
  }
  const size_t expected = tw_tensor_bytes(tensor.c());
  if (rest.size() != expected) {
    Fail(name, "the shape needs " + std::to_string(expected) + " bytes, the file has " +
                   std::to_string(rest.size()));
  }
  if (expected > 0) std::memcpy(tw_tensor_data(tensor.c()), rest.data(), expected);
  return tensor;
}

tw::Tensor ReadNpy(const std::string& path) { return ParseNpy(ReadFile(path), path); }

std::string NpyOf(const tw::Tensor& tensor, const std::string& name) {
  const NpyType* type = nullptr;
  for (const NpyType& known : kTypes) {
    if (known.dtype == tensor.dtype()) type = &known;
  }
  if (type == nullptr) Fail(name, "NumPy's files have no type for its elements");
  std::string shape;
  for (int64_t d : tensor.shape()) shape += std::to_string(d) + ", ";
  std::string header = "{'descr': '" + std::string(type->descr) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');  // the data begins aligned
  header.back() = '\n';
  std::string bytes(kMagic);
  PutNumber(&bytes, 1, 2);  // version 1.0
  PutNumber(&bytes, header.size(), 2);
  bytes += header;
  const size_t size = tw_tensor_bytes(tensor.c());
  if (size > 0) bytes.append(static_cast<const char*>(tw_tensor_data(tensor.c())), size);
  return bytes;
}

void WriteNpz(const std::string& path,
              const std::vector<std::pair<std::string, tw::Tensor>>& arrays) {
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
