// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/iterator_state.h"

namespace thalweg {
namespace {

// Takes the first line off.
std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::string_view OperationOf(std::string_view line) { return line.substr(0, line.find(' ')); }

}  // namespace

Status CheckLineage(const Dataset& dataset, std::string_view lineage) {
  const std::string own = dataset.Lineage();
  if (own.empty() || lineage.empty() || own == lineage) return OkStatus();
  std::string_view here = own, there = lineage;
  for (int place = 1;; ++place) {
    const std::string_view mine = NextLine(&here), its = NextLine(&there);
    if (mine == its && !mine.empty()) continue;
    constexpr std::string_view kHead = "the state of the iterator is that of another dataset: ";
    if (OperationOf(mine) == OperationOf(its)) {
      return InvalidArgument(kHead, OperationOf(mine), ", ", place,
                             ". from the end, had other arguments, attributes or functions where "
                             "the state was saved");
    }
    const auto name = [](std::string_view line) {
      return line.empty() ? std::string_view("nothing") : OperationOf(line);
    };
    return InvalidArgument(kHead, place, ". from the end was ", name(its), ", and is ", name(mine),
                           " here");
  }
}

}  // namespace thalweg
