// SPDX-License-Identifier: Apache-2.0
// Elements made in the background, before they are asked for.
//
//   DatasetPtr dataset = PrefetchDataset(input, 2);
//
// Ownership: the dataset shares, a stage owns its input; the background shares it and ends with the
// pass.
// Threads: datasets from any, stages as stage.h says.
// Errors: those of the input, each in the place of its element.
#pragma once

#include "thalweg/data/dataset.h"

namespace thalweg {

// At most `buffer` elements are ready in advance; kAutoBuffer: two, and more where that was too
// few. Fewer where the memory limit of the session comes near.
inline constexpr int64_t kAutoBuffer = -1;
DatasetPtr PrefetchDataset(DatasetPtr input, int64_t buffer);
// The same of a stage that there is; -n: n elements, at least two, and more where that was too few.
// Where the pipeline has no threads it is the stage itself.
// `first_in_turn`: an element that nobody makes yet is made by who asks, not in the background; so
// it must not be where he has others to ask meanwhile.
StagePtr PrefetchStage(StagePtr input, int64_t buffer, const PipelineRef& pipeline,
                       bool first_in_turn = true);

}  // namespace thalweg
