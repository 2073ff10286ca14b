// SPDX-License-Identifier: Apache-2.0
// What operations that return summaries and those that write them both add to a Summary message.
// Ownership: adds to the caller's message; SummaryTag points into the tensor.
// Threads: any, on distinct messages.
// Errors: InvalidArgument for shapes, tags and values that no summary can show.
#pragma once

#include <span>
#include <string_view>

#include "thalweg/compute/work.h"
#include "thalweg/proto/message.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// A scalar that names the values.
Result<std::string_view> SummaryTag(const Tensor& tag);
// `where` stands in the error for values that are not numbers.
Status AddHistogram(const compute::Work& work, Message& summary, std::string_view tag,
                    const Tensor& values, std::string_view where);
// At most `most` of the images, tagged TAG/image, or TAG/image/I when `most` is more than one.
// `bad_color` is for pixels that are no numbers.
Status AddImages(Message& summary, std::string_view tag, const Tensor& images,
                 const Tensor& bad_color, int64_t most);
// Adds the values TAG/audio.
Status AddSounds(Message& summary, std::string_view tag, const Tensor& sounds, float rate,
                 int64_t most);

}  // namespace thalweg
