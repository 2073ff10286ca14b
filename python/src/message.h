// SPDX-License-Identifier: Apache-2.0
// Protocol messages between Python and the core, in both directions (message.cc, message_maker.cc).
// Ownership: a tree is its root's, which Python owns; a part holds its root.
// Threads: with the GIL held.
// Errors: null with a Python error set.
#pragma once

#include <memory>
#include <utility>

#include "core.h"

namespace thalweg_python {

struct MessageDeleter {
  void operator()(TwMessage* m) const { tw_message_free(m); }
};
using MessagePtr = std::unique_ptr<TwMessage, MessageDeleter>;

// Whether it is a part of a tree, and which: null with an error where its bytes, which are read
// now, are no such message.
bool IsPart(PyObject* object);
const TwMessagePart* PartOf(PyObject* part);
// The root of a tree, which Python owns from here on.
PyObject* RootOf(MessagePtr message);
// The root of a tree that is made of the bytes, which it takes, when somebody asks for it. `type`
// stays.
PyObject* UnreadRoot(TwBuffer* bytes, const char* type);

// make_message(message).
PyObject* MakeTree(PyObject* module, PyObject* message);

}  // namespace thalweg_python
