// SPDX-License-Identifier: Apache-2.0
// What the card of the tests does with the device's own kernels: those of move.h, whose sources are
// not compiled there but known. Others do nothing.
//
//   const std::string id = CardKernelId("move", source);
//   const std::function<void()> work = CardKernelWork(id, parameters);    // of a launch
//
// Ownership: values; the parameters are read at once.
// Threads: any.
// Errors: none.
#pragma once

#include <functional>
#include <string>

// A kernel of a source: its name, and how many bytes the elements have that it moves.
std::string CardKernelId(const std::string& name, const std::string& source);
std::function<void()> CardKernelWork(const std::string& id, void** parameters);
