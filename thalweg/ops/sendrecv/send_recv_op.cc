// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(send_recv) {
  constexpr std::string_view kWhy = "it is put in after gradients were added";
  for (const char* name : {"_Send", "_HostSend"}) {
    registry.Op(name).Shape(NoOutputs).NotDifferentiable(kWhy).Doc(
        "Hands a tensor, or the word that it is dead, to the Recv of the same "
        "key.");
  }
  for (const char* name : {"_Recv", "_HostRecv"}) {
    registry.Op(name)
        .Shape(UnknownShape)
        .NotDifferentiable(kWhy)
        .Doc(
            "The tensor that the Send of the same key hands over; dead when "
            "it says so.");
  }
}
