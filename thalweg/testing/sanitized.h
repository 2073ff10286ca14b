// SPDX-License-Identifier: Apache-2.0
// kSanitized: whether this is a build with the address or thread sanitizer, where everything takes
// some ten times the time and memory. A test with a size of its own choice takes a smaller one then
// and says so; it is never left out.
//
//   constexpr int kSeeds = kSanitized ? 50 : 200;
#pragma once

namespace thalweg {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace thalweg
