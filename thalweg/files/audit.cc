// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/audit.h"

#include <cstdio>
#include <utility>

#include "thalweg/proto/json_writer.h"

namespace thalweg {
namespace {

std::string CrcText(uint32_t crc) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08x", crc);
  return text;
}

}  // namespace

void Audit::Add(Damage damage) {
  ++num_damages;
  if (damages.size() < kMostListed) damages.push_back(std::move(damage));
}

void Audit::CheckCrc(const std::string& file, uint64_t offset, const std::string& what,
                     uint32_t expected, uint32_t found) {
  ++checksums;
  if (expected == found) return;
  Add({file, offset, "the checksum of " + what, "crc32c " + CrcText(expected),
       "crc32c " + CrcText(found)});
}

std::string AuditJson(const Audit& audit) {
  JsonWriter json;
  json.BeginObject().Key("files").BeginList();
  for (const std::string& file : audit.files) json.Text(file);
  json.EndList();
  json.Key("bytes").Number(audit.bytes).Key("records").Number(audit.records);
  json.Key("checksums").Number(audit.checksums).Key("damages").Number(audit.num_damages);
  json.Key("damage").BeginList();
  for (const Damage& damage : audit.damages) {
    json.BeginObject().Key("file").Text(damage.file);
    if (damage.offset) json.Key("offset").Number(*damage.offset);
    json.Key("what").Text(damage.what);
    if (!damage.expected.empty()) {
      json.Key("expected").Text(damage.expected).Key("found").Text(damage.found);
    }
    json.EndObject();
  }
  json.EndList().EndObject();
  return json.Take();
}

}  // namespace thalweg
