// SPDX-License-Identifier: Apache-2.0
#include "thalweg/machine/machine_report.h"

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

void WriteMachine(const MachineFacts& machine, JsonWriter* json) {
  json->Key("machine").BeginObject();
  json->Key("processor").Text(machine.processor);
  json->Key("processors").Number(machine.processors);
  json->Key("usable_processors").Number(machine.usable);
  json->Key("threads_a_core").Number(machine.threads_a_core);
  json->Key("processor_limit").Number(machine.limits.processors);
  json->Key("throttled").Number(machine.limits.throttled);
  json->Key("throttled_seconds").Number(machine.limits.throttled_seconds);
  json->Key("governor").Text(machine.governor);
  json->Key("clock_source").Text(machine.clock_source);
  json->Key("load").Number(machine.load);
  json->Key("memory_bytes").Number(machine.memory);
  json->Key("available_bytes").Number(machine.available);
  json->Key("memory_limit_bytes").Number(machine.limits.memory);
  json->Key("swap_bytes").Number(machine.swap_total);
  json->Key("swap_used_bytes").Number(machine.swap_used);
  json->Key("huge_pages").Text(machine.huge_pages);
  json->Key("overcommit").Number(machine.overcommit);
  json->Key("open_files_limit").Number(machine.open_files);
  json->Key("open_files_most").Number(machine.most_open_files);
  json->Key("thread_limit").Number(machine.task_limit);
  json->Key("cards").BeginList();
  for (const std::string& card : machine.cards) json->Text(card);
  json->EndList().EndObject();
}

void WriteLibrary(const Examined& examined, JsonWriter* json) {
  json->Key("library").BeginObject();
  json->Key("isa").Text(compute::IsaLevelName(examined.level));
  json->Key("hardware_isa").Text(compute::IsaLevelName(examined.hardware));
  json->Key("missing_components").BeginList();
  for (const std::string& name : examined.missing_components) json->Text(name);
  json->EndList().EndObject();
  json->Key("devices").BeginList();
  for (const ExaminedDevice& device : examined.devices) {
    json->BeginObject().Key("name").Text(device.name).Key("type").Text(device.type).EndObject();
  }
  json->EndList();
}

void WriteRoof(const Roof& roof, JsonWriter* json) {
  json->Key("roof").BeginObject();
  json->Key("threads").Number(roof.threads);
  json->Key("product_flops_one_thread").Number(roof.product_one);
  json->Key("product_flops").Number(roof.product_all);
  json->Key("copy_bytes_per_second_one_thread").Number(roof.copy_one);
  json->Key("copy_bytes_per_second").Number(roof.copy_all);
  json->Key("loopback_seconds").Number(roof.loopback);
  json->Key("foreign_processors").Number(roof.foreign);
  json->Key("stolen_processors").Number(roof.stolen);
  json->EndObject();
}

}  // namespace

std::string MachineReportJson(const Examined& examined, const std::vector<Finding>& findings) {
  JsonWriter json;
  json.BeginObject();
  json.Key("findings").BeginList();
  for (const Finding& finding : findings) {
    json.BeginObject().Key("kind").Text(FindingKindName(finding.kind));
    json.Key("what").Text(finding.what).Key("remedy").Text(finding.remedy).EndObject();
  }
  json.EndList();
  WriteMachine(examined.machine, &json);
  WriteLibrary(examined, &json);
  if (examined.roof.has_value()) WriteRoof(*examined.roof, &json);
  json.EndObject();
  return json.Take();
}

}  // namespace thalweg
