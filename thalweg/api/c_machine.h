/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that looks at the machine for whatever makes
 * steps slow or will stop a program.
 * Ownership: buffers are the caller's until tw_buffer_free.
 * Threads: any.
 * Errors: none but want of memory for the report; what cannot be measured is a finding. */
#ifndef THALWEG_C_MACHINE_H_
#define THALWEG_C_MACHINE_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As JSON: findings (worst first, each {"kind": "wrong"|"slow"|"note", "what", "remedy"}), the
 * machine with its limits, the library, devices. With `measure` also a roof, in some two seconds:
 * products, copies, loopback, what others took. `environment` may be NULL: the usual one, and that
 * it cannot be had is a finding. */
TW_EXPORT TwBuffer* tw_machine_report(const TwEnvironment* environment, int32_t measure,
                                      TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_MACHINE_H_ */
