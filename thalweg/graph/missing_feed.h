// SPDX-License-Identifier: Apache-2.0
// MissingFeedText: what a step says of a placeholder that nobody fed, in TensorFlow's words.
// Ownership: the text is the caller's.
// Threads: any; no state.
// Errors: none; the caller makes an InvalidArgument of it.
#pragma once

#include <string>

#include "thalweg/graph/graph.h"
#include "thalweg/tensor/dtype_words.h"

namespace thalweg {

inline std::string MissingFeedText(const Node& node) {
  std::string text = StrCat("You must feed a value for placeholder tensor '", node.name(),
                            "' with dtype ", DTypeWord(node.output_type(0)));
  const AttrValue* const attr = node.FindAttr("shape");
  const PartialShape* const shape = attr == nullptr ? nullptr : attr->GetIf<PartialShape>();
  if (shape != nullptr && shape->rank() > 0) text += StrCat(" and shape ", *shape);
  return text;
}

}  // namespace thalweg
