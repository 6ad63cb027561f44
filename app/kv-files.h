/* app/kv-files.h: the KV cache of a run as files in a folder (traces/kv-dump.h).
 *
 *     DIR/kv.pskv                               self-describing, with cells and sequences
 *     DIR/kv<L>k_decode.f32, kv<L>v_decode.f32  as minfer dumps them, of the last forward: prefill or decode
 *
 * The folder is made when it is not there. A run without KV regions writes nothing: an error.
 */
#ifndef PSC_APP_KV_FILES_H
#define PSC_APP_KV_FILES_H

#include "core/run/run.h"

enum psc_status app_write_kv(const struct psc_run_result *result, const char *model, const char *backend,
                             const char *folder, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
