// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/placement_explanation.h"

#include "thalweg/base/status.h"
#include "thalweg/placement/duration_text.h"

namespace thalweg {

std::string PlacementExplanation::Text() const {
  std::string text = StrCat(node, " -> ", device.empty() ? error : device, "\n");
  for (const std::string& reason : reasons) text += StrCat("  ", reason, "\n");
  if (alternatives.empty()) return text;
  text += StrCat("  ", compared, ": with it on\n");
  for (const PlacementAlternative& other : alternatives) {
    text += StrCat("    ", other.device);
    if (!other.is_possible) {
      text += ": not possible\n";
      continue;
    }
    text += StrCat(other.is_chosen ? " (chosen)" : "", ": ", DurationText(other.step_seconds),
                   "; the node itself ", other.why);
    if (other.missing_bytes > 0) text += StrCat("; ", other.missing_bytes, " bytes too many");
    text += "\n";
  }
  text += "  by what devices and links can do:\n";
  for (const PlacementAlternative& other : alternatives) {
    if (other.is_possible) text += StrCat("    ", other.device, ": ", other.rates, "\n");
  }
  return text;
}

}  // namespace thalweg
