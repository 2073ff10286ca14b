// SPDX-License-Identifier: Apache-2.0
// Base64 with the alphabet that is safe in URLs and file names ('-' and '_').
//   EncodeBase64("\xff\xfe", true)  ->  "__4="
// Long texts look for an Interruption.
// Ownership: the text is the caller's.
// Threads: any; no state.
// Errors: nullopt for text that is no Base64; Interruption::Stop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace thalweg::compute {

// `pad`: with '=' up to a multiple of four.
std::string EncodeBase64(std::string_view bytes, bool pad);
// Padded or not; nullopt for other characters and impossible lengths.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace thalweg::compute
