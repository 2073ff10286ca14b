// SPDX-License-Identifier: Apache-2.0
// Other ways to run a model: what `verify --against` compares it with.
//
//   const OtherWay way = ParseOtherWay("threads=1");
//   const NamedArrays recorded = RecordInOtherWay(way, args, model.Signature("").value(), feeds);
//
// threads=N, in all; device=NAME, for all that has a kernel there; passes=LIST, as a session's;
// build=PATH, another thalweg program or the folder of its package; framework=tensorflow.
// Ownership: arrays are the caller's.
// Threads: one.
// Errors: throws WorkError that says what ways there are; FileError, WorkError and tw::Error of
// loading and running.
#pragma once

#include <string>

#include "commands.h"
#include "npy.h"
#include "thalweg/model.h"

namespace cli {

struct OtherWay {
  std::string kind;
  std::string value;
};
OtherWay ParseOtherWay(const std::string& text);

// As RecordStep, of args.model.
NamedArrays RecordInOtherWay(const OtherWay& way, const VerifyArgs& args,
                             const tw::ModelSignature& signature, const NamedArrays& feeds);

}  // namespace cli
