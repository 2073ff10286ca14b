// SPDX-License-Identifier: Apache-2.0
// `thalweg doctor`: what on this machine makes steps slow, or will stop a program.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "commands.h"
#include "file_work.h"

namespace cli {
namespace {

std::string Of(const Json& part, int64_t whole) {
  return part.dump() + " of " + std::to_string(whole);
}

std::string Rate(double per_second, const char* unit) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f %s", per_second < 10e9 ? 1 : 0, per_second / 1e9, unit);
  return text;
}

void ShowMachine(const Json& report) {
  const Json& machine = report.at("machine");
  const Json& library = report.at("library");
  std::printf("processor  %s; %s usable, %s of %s\n",
              machine.at("processor").get<std::string>().c_str(),
              Of(machine.at("usable_processors"), machine.at("processors").get<int64_t>()).c_str(),
              library.at("isa").get<std::string>().c_str(),
              library.at("hardware_isa").get<std::string>().c_str());
  std::printf("memory     %s, %s available",
              BytesText(machine.at("memory_bytes").get<double>()).c_str(),
              BytesText(machine.at("available_bytes").get<double>()).c_str());
  const double limit = machine.at("memory_limit_bytes").get<double>();
  if (limit > 0) std::printf(", %s for this container", BytesText(limit).c_str());
  std::printf("\nlimits     %s open files", machine.at("open_files_limit").dump().c_str());
  const double processors = machine.at("processor_limit").get<double>();
  if (processors > 0) std::printf(", %g processors for this container", processors);
  std::printf("\ndevices   ");
  for (const Json& device : report.at("devices"))
    std::printf(" %s", device.at("name").get<std::string>().c_str());
  std::puts("");
}

void ShowRoof(const Json& roof) {
  const std::string threads = Count(roof.at("threads").get<uint64_t>(), "thread");
  const auto show = [&](const char* what, const char* one, const char* all, const char* unit) {
    std::printf("%s%s with one thread, %s with %s\n", what,
                Rate(roof.at(one).get<double>(), unit).c_str(),
                Rate(roof.at(all).get<double>(), unit).c_str(), threads.c_str());
  };
  show("products   ", "product_flops_one_thread", "product_flops", "GFLOP/s");
  show("copies     ", "copy_bytes_per_second_one_thread", "copy_bytes_per_second", "GB/s");
  const double loopback = roof.at("loopback_seconds").get<double>();
  if (loopback > 0) std::printf("loopback   %s there and back\n", DurationText(loopback).c_str());
  std::printf("others     %.2f processors busy meanwhile\n",
              roof.at("foreign_processors").get<double>());
}

void ShowFindings(const Json& findings) {
  std::printf("\n%s\n", findings.empty() ? "nothing was found that slows or stops steps"
                                         : "found, worst first:");
  for (const Json& finding : findings) {
    std::printf("  %s: %s\n         %s\n", finding.at("kind").get<std::string>().c_str(),
                finding.at("what").get<std::string>().c_str(),
                finding.at("remedy").get<std::string>().c_str());
  }
}

}  // namespace

void Doctor(const DoctorArgs& args) {
  if (!args.quick && isatty(STDERR_FILENO) != 0)
    std::fputs("measuring for some two seconds...\n", stderr);
  const Json report = GetJson(
      [&](TwStatus* status) { return tw_machine_report(nullptr, args.quick ? 0 : 1, status); });
  if (args.json) {
    PrintJson(report);
  } else {
    ShowMachine(report);
    if (report.contains("roof")) ShowRoof(report.at("roof"));
    ShowFindings(report.at("findings"));
  }
  for (const Json& finding : report.at("findings")) {
    if (finding.at("kind") == "wrong") throw WorkError("this machine will stop some programs");
  }
}

}  // namespace cli
