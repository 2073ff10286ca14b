// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/registries.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "thalweg/api/host_function.h"
#include "thalweg/cluster/transport/inproc_listeners.h"
#include "thalweg/devices/cpu/cpu_device.h"
#include "thalweg/devices/fake/fake_device.h"
#include "thalweg/devices/opencl/opencl_factory.h"

namespace thalweg {

// register_all.cc, generated from the op families.
void RegisterAllOps(OpRegistry& registry);
void RegisterAllCpuKernels(KernelRegistry& registry);

Registries MakeRegistries() {
  Registries registries;
  RegisterAllOps(*registries.ops);
  RegisterAllCpuKernels(*registries.kernels);
  api::AddHostFunctionKernels(*registries.kernels);
  registries.devices = {MakeCpuDevices, MakeFakeDevices, MakeOpenClDevices};
  static const auto inproc = std::make_shared<InprocListeners>();  // of the process
  registries.inproc = inproc;
  return registries;
}

std::string DeviceCacheDirectory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return StrCat(cache, "/thalweg");
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? StrCat(home, "/.cache/thalweg") : "";
}

Result<std::map<std::string, int>> DeviceCountAskedFor() {
  std::map<std::string, int> count;
  const char* const variable = std::getenv("THALWEG_DEVICE_COUNT");
  const std::string asked = variable == nullptr ? "" : variable;
  for (size_t begin = 0; begin < asked.size();) {
    const size_t end = std::min(asked.find(',', begin), asked.size());
    const size_t equals = std::min(asked.find('=', begin), end);
    const char* const number = asked.data() + std::min(equals + 1, end);
    int devices = -1;
    const auto read = std::from_chars(number, asked.data() + end, devices);
    if (equals == begin || read.ec != std::errc() || read.ptr != asked.data() + end ||
        devices < 0 || devices > 64) {
      return InvalidArgument("THALWEG_DEVICE_COUNT is TYPE=NUMBER, several with commas (FAKE=1); ",
                             "got '", asked, "'");
    }
    count[asked.substr(begin, equals - begin)] = devices;
    begin = end + 1;
  }
  return count;
}

}  // namespace thalweg
