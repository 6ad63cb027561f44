/* app/targets.h: the backends that graphs can be planned for, whether or not they execute here.
 *
 * What each takes is what the engine's own table says of it: cpu everything in f32 but the fused decode ops; deferred
 * (written "metal") inputs of any type and all but scale, softmax, batch_matmul and qkv_bias_rope_store; cuda all but
 * scale, softmax, batch_matmul and fused_qkv_norm, and only the usual rotation.
 */
#ifndef PSC_APP_TARGETS_H
#define PSC_APP_TARGETS_H

#include "core/graph/assign.h"

const struct psc_target *app_targets(uint32_t *ret_n);

#endif
