// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/caught_exception.h"

#include <exception>
#include <new>
#include <stdexcept>

namespace thalweg {

Status CaughtException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for what the kernel works with beside its tensors");
  } catch (const std::length_error&) {
    return ResourceExhausted("what the kernel works with beside its tensors exceeds all memory");
  } catch (const std::exception& e) {
    return Internal("the kernel threw an exception: ", e.what());
  } catch (...) {
    return Internal("the kernel threw an exception");
  }
}

}  // namespace thalweg
