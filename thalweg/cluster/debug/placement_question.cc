// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/debug/placement_question.h"

#include "thalweg/proto/wire_fields.h"

namespace thalweg {

std::string ToBytes(const SessionPlacementQuestion& question) {
  std::string bytes;
  AddWireText(1, question.session, &bytes);
  AddWireText(2, question.node, &bytes);
  return bytes;
}

Result<SessionPlacementQuestion> ReadPlacementQuestion(std::string_view bytes) {
  SessionPlacementQuestion question;
  const bool whole = VisitWireFields(bytes, [&](uint32_t field, uint64_t, std::string_view text) {
    if (field == 1) question.session = text;
    if (field == 2) question.node = text;
  });
  if (whole && !question.session.empty() && !question.node.empty()) return question;
  return InvalidArgument("expected a session and a node whose place is asked for, got ",
                         bytes.size(), " bytes that are not both");
}

}  // namespace thalweg
