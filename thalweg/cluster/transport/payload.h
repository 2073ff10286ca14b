// SPDX-License-Identifier: Apache-2.0
// What all transports check and spell alike: heads, and the bytes of tensors whose elements are
// objects.
//
//   RETURN_IF_ERROR(CheckHeadFits(head, tensor));                    // who sends
//   ASSIGN_OR_RETURN(std::string objects, EncodeObjects(tensor));
//   RETURN_IF_ERROR(DeliverTensor(sink, head, objects));             // who receives
//
// Ownership: encoded bytes are the caller's; a tensor that was filled goes to the sink.
// Threads: any.
// Errors: InvalidArgument and DataLoss for what does not fit or is malformed; Unimplemented for
// a variant of a type that has no form at the wire.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/status.h"
#include "thalweg/cluster/transport/channel.h"

namespace thalweg {

// For who sends: the head is that of the tensor, or dead and the tensor empty.
Status CheckHeadFits(const TensorHead& head, const Tensor& tensor);
Status ControlTooLong(size_t bytes);

// Strings, resource handles and variants as bytes. Unimplemented for a variant of a type that has
// no form at the wire: who must not lose the channel over that asks before it pushes.
Result<std::string> EncodeObjects(const Tensor& tensor);
// For who receives. `target` has the head's type and shape.
Status DecodeObjects(std::string_view bytes, const TensorHead& head, Tensor* target);

// Whether what a sink gave is right for the head.
Status CheckLanding(const TensorHead& head, const Tensor& landing);
// Asks the sink for a place, fills it and hands it over. An error: the bytes are malformed, or the
// place is a wrong one. For a dead head without a place.
Status DeliverTensor(ChannelSink& sink, const TensorHead& head, std::string_view bytes);

}  // namespace thalweg
