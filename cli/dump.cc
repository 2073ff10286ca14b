// SPDX-License-Identifier: Apache-2.0
// `thalweg debug dump`: what a server does now.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "commands.h"
#include "thalweg/tensor.h"

namespace cli {
namespace {

void Lines(const nlohmann::json& step, const char* key, const char* what, std::ostream& out) {
  if (!step.contains(key)) return;
  for (const auto& text : step.at(key)) out << "    " << what << text.get<std::string>() << "\n";
}

void Show(const nlohmann::json& dump, std::ostream& out) {
  constexpr double kMega = 1e6;
  out << dump.value("task", "?") << ", process " << dump.value("pid", 0) << ": "
      << dump.value("resident_bytes", 0.0) / kMega << " MB resident, peak "
      << dump.value("peak_bytes", 0.0) / kMega << " MB\n";
  const auto steps = dump.value("steps", nlohmann::json::array());
  out << steps.size() << (steps.size() == 1 ? " step" : " steps") << "\n";
  for (const auto& step : steps) {
    out << "  step " << step.value("id", int64_t{0});
    if (step.contains("session")) {
      const std::string session = step.at("session").get<std::string>();
      out << (session.empty() ? ", not begun here" : " of session " + session) << ", open for "
          << step.value("seconds", 0.0) << " s";
    }
    out << (step.value("computing", false) ? ", computes\n" : "\n");
    Lines(step, "running", "runs: ", out);
    Lines(step, "waiting", "waits: ", out);
    Lines(step, "asked", "asked for: ", out);
    Lines(step, "rendezvous", "value: ", out);
  }
  for (const auto& call : dump.value("calls", nlohmann::json::array())) {
    out << "  call " << call.value("method", "?") << ", open for " << call.value("seconds", 0.0)
        << " s\n";
  }
  Lines(dump, "tasks", "task: ", out);
}

}  // namespace

std::string DumpText(const std::string& json) {
  std::ostringstream out;
  Show(nlohmann::json::parse(json), out);
  return out.str();
}

void Dump(const DumpArgs& args) {
  const tw::internal::StatusHolder status;
  constexpr double kMillis = 1000;
  tw::Result<std::string> dump = tw::internal::TextOf(
      tw_debug_dump(args.target.c_str(), static_cast<int64_t>(args.timeout * kMillis), status.c),
      status);
  if (!dump.ok()) throw std::runtime_error(dump.status().message());
  const std::string& json = dump.value();
  try {
    std::fputs((args.json ? json : DumpText(json)).c_str(), stdout);
  } catch (const nlohmann::json::exception& e) {
    throw std::runtime_error("the server's answer is no dump: " + std::string(e.what()));
  }
}

}  // namespace cli
