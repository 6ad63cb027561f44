/* app/kv-files.h: the KV cache of a run as files in a folder (traces/kv-dump.h).
 *
 *     DIR/kv.pskv                               self-describing, with cells and sequences
 *     DIR/kv<L>k_decode.f32, kv<L>v_decode.f32  as minfer dumps them, of the last forward: prefill or decode
 *
 * The folder is made when it is not there. A run without KV regions writes nothing: an error. A token that was generated and
 * has not been fed yet is kept beside the cache (4 bytes, little-endian): loading goes on with it.
 */
#ifndef PSC_APP_KV_FILES_H
#define PSC_APP_KV_FILES_H

#include "core/run/run.h"
#include "traces/kv-dump.h"

enum psc_status app_write_kv(const struct psc_run_result *result, const char *model, const char *backend,
                             const char *folder, struct psc_error *reterr) PSC_MUST_CHECK;

/* The token that comes next; false when the file keeps none. */
bool app_kv_next_token(const struct psc_kv_dump *dump, int32_t *ret);
/* Puts the state into a session that has its regions, and into kv. backend: as the run is asked for. */
enum psc_status app_load_kv(const struct psc_kv_dump *dump, struct psc_session *session, struct psc_kv_runs *kv,
                            const char *backend, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
