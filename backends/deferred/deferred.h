/* backends/deferred/deferred.h: a backend that stands for a device with command buffers.
 *
 *     launch a   launch b   read(b)      submit      read(b)
 *     stored     stored     old bytes    a, b run    new bytes
 *
 * launch, probe, move and enqueue_copy only store commands (launch also refuses what can never run). Bytes change in submit, in
 * the order of the commands, computed by the cpu backend's kernels, so that numbers are the cpu's bit for bit. It does
 * what such devices do and hosts do not:
 *
 *     in place         kernels run on the bytes as they lie: psc_call.snapshot is not looked at
 *     staged copies    the bytes leave in queue order but arrive only with await_copy; until then the destination holds
 *                      poison (0xffc5dead, a NaN), so that a read without its wait is seen
 *     bounded waits    synchronise and await_copy give up after config.timeout_ms with an error that names the time
 *     after an error   the rest of what was submitted is dropped
 *
 * Fault PSC_CALL_L6: rope takes its operand while the call is stored, not when it runs; what its producer has not
 * computed by then is whatever lay there.
 *
 * Files name it `metal`, whose place it takes: it takes the ops that Metal takes. Its launch computes every op all the same.
 */
#ifndef PSC_BACKENDS_DEFERRED_DEFERRED_H
#define PSC_BACKENDS_DEFERRED_DEFERRED_H

#include "core/run/backend.h"

#define PSC_DEFERRED_POISON 0xffc5deadu
#define PSC_DEFERRED_TIMEOUT_MS 10000u /* when the config says 0 */

extern const struct psc_backend_api psc_backend_deferred;

/* For tests: while hanging, submitted commands do not run and every wait runs into its bound; afterwards they do. */
void psc_deferred_hang(struct psc_backend *b, bool hang);
/* Commands stored and not yet run. */
uint64_t psc_deferred_pending(const struct psc_backend *b);

#endif
