// SPDX-License-Identifier: Apache-2.0
// Destroyable: a resource that knows what DestroyResourceOp does to it. Of others the container
// that holds them decides.
//
//   auto* own = dynamic_cast<Destroyable*>(resource);
//   if (own != nullptr && own->Destroy() == Destroyable::Destroyed::kNow) return OkStatus();
//
// Ownership: whoever holds a reference keeps it, also after Destroy().
// Threads: all calls from any thread.
// Errors: none; the result says what has happened.
#pragma once

namespace thalweg {

class Destroyable {
 public:
  enum class Destroyed {
    kNow,       // it has ended
    kNotThere,  // it was destroyed before, or is not there until somebody uses it
    kByHolder,  // its container is to drop it
  };
  virtual ~Destroyable() = default;
  virtual Destroyed Destroy() = 0;
};

}  // namespace thalweg
