// SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/stage.h"

#include "thalweg/base/str_cat.h"

namespace thalweg {

Status AtPlace(const Status& error, const PlacePtr& place) {
  if (place == nullptr || error.code() == Code::kCancelled) return error;
  if (error.message().find(kPlaceLine) != std::string_view::npos) return error;
  return Status(error.code(), StrCat(error.message(), kPlaceLine, *place));
}

}  // namespace thalweg
