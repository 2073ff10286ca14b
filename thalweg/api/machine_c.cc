// SPDX-License-Identifier: Apache-2.0
// The function of the C ABI that looks at the machine.
#include "thalweg/api/handles.h"
#include "thalweg/base/component.h"
#include "thalweg/machine/machine_report.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

namespace {

// Files beside the library, each with one function.
constexpr struct {
  const char *file, *symbol;
} kComponents[] = {
    {"libthalweg_dnnl.so", "thalweg_dnnl_api"}, {"libthalweg_grpc.so", "thalweg_grpc"},
    {"libthalweg_icu.so", "thalweg_icu"},       {"libthalweg_images.so", "thalweg_images"},
    {"libthalweg_linalg.so", "thalweg_linalg"}, {"libthalweg_re2.so", "thalweg_re2"},
    {"libthalweg_sqlite.so", "thalweg_sqlite"}, {"libthalweg_zlib.so", "thalweg_zlib"}};

// Without an environment, `no_devices` says why there is none.
std::string Report(const Environment* environment, std::string no_devices, bool measure) {
  Examined examined{.machine = ReadMachineFacts(), .no_devices = std::move(no_devices)};
  for (const auto& [file, symbol] : kComponents) {
    if (FindComponent(file, symbol) == nullptr) examined.missing_components.emplace_back(file);
  }
  if (environment != nullptr) {
    for (const auto& device : environment->devices())
      examined.devices.push_back({device->full_name(), device->type()});
  }
  if (measure) {
    if (Result<Roof> roof = MeasureRoof(examined.machine.usable); roof.ok()) {
      examined.roof = *std::move(roof);
    } else {
      examined.no_roof = roof.status().message();
    }
  }
  return MachineReportJson(examined, Examine(examined));
}

}  // namespace

extern "C" TwBuffer* tw_machine_report(const TwEnvironment* environment, int32_t measure,
                                       TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    if (environment != nullptr)
      return NewBuffer(Report(environment->environment.get(), "", measure != 0));
    TwStatus why;
    const std::unique_ptr<TwEnvironment> usual(tw_environment_new(nullptr, &why));
    return NewBuffer(Report(usual == nullptr ? nullptr : usual->environment.get(),
                            usual == nullptr ? tw_status_message(&why) : "", measure != 0));
  });
}
