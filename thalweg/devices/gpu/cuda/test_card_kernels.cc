// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/test_card_kernels.h"

#include <cstdint>
#include <cstring>

#include "thalweg/devices/gpu/cuda/test_libcuda.h"

namespace {

// As the source has it.
struct Walk {
  uint32_t rank;
  uint32_t size[8];
  int32_t in[8];
  int32_t out[8];
};

template <class T>
T Parameter(void** parameters, int i) {
  T value;
  std::memcpy(&value, parameters[i], sizeof(value));
  return value;
}

// A tensor is two parameters.
unsigned long long AddressOf(void** parameters, int i, size_t element) {
  return Parameter<unsigned long long>(parameters, i) +
         Parameter<uint64_t>(parameters, i + 1) * element;
}

void MoveOne(unsigned long long to, unsigned long long from, size_t element) {
  char* const there = FakeCuda::Get().BytesAt(to, element);
  const char* const here = FakeCuda::Get().BytesAt(from, element);
  if (there != nullptr && here != nullptr) std::memcpy(there, here, element);
}

std::function<void()> Move(void** parameters, size_t element) {
  const auto from = AddressOf(parameters, 0, element), to = AddressOf(parameters, 2, element);
  const auto n = Parameter<uint32_t>(parameters, 4);
  const auto in_start = Parameter<int64_t>(parameters, 5);
  const auto out_start = Parameter<int64_t>(parameters, 6);
  const auto walk = Parameter<Walk>(parameters, 7);
  return [=] {
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t rest = i;
      int64_t in = in_start, out = out_start;
      for (int d = static_cast<int>(walk.rank) - 1; d >= 0; --d) {
        const int64_t at = rest % walk.size[d];
        rest /= walk.size[d];
        in += at * walk.in[d];
        out += at * walk.out[d];
      }
      MoveOne(to + static_cast<uint64_t>(out) * element, from + static_cast<uint64_t>(in) * element,
              element);
    }
  };
}

std::function<void()> Clear(void** parameters, size_t element) {
  const auto to = AddressOf(parameters, 0, element);
  const size_t bytes = Parameter<uint32_t>(parameters, 2) * element;
  return [=] {
    if (char* const there = FakeCuda::Get().BytesAt(to, bytes); there != nullptr) {
      std::memset(there, 0, bytes);
    }
  };
}

}  // namespace

std::string CardKernelId(const std::string& name, const std::string& source) {
  for (const auto& [type, size] :
       {std::pair{"uchar", 1}, {"ushort", 2}, {"uint", 4}, {"ulong", 8}}) {
    if (source.find("#define T " + std::string(type) + "\n") != std::string::npos) {
      return name + " " + std::to_string(size);
    }
  }
  return name;
}

std::function<void()> CardKernelWork(const std::string& id, void** parameters) {
  const size_t space = id.find(' ');
  if (space == std::string::npos) return [] {};
  const std::string name = id.substr(0, space);
  const size_t element = std::stoul(id.substr(space + 1));
  if (name == "move") return Move(parameters, element);
  if (name == "clear") return Clear(parameters, element);
  return [] {};
}
