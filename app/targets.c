#include "app/targets.h"

static bool is_fused_decode(enum psc_op op)
{
    return op == PSC_OP_FUSED_QKV || op == PSC_OP_FUSED_QKV_NORM || op == PSC_OP_QKV_BIAS_ROPE_STORE ||
           op == PSC_OP_FUSED_FFN || op == PSC_OP_FUSED_BIAS_ROPE;
}

static bool is_host_only(enum psc_op op)
{
    return op == PSC_OP_OTHER || op == PSC_OP_SCALE || op == PSC_OP_SOFTMAX || op == PSC_OP_BATCH_MATMUL;
}

static bool cpu_takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return dtype == PSC_F32 && !is_fused_decode(op);
}

static bool deferred_takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return op == PSC_OP_INPUT || (dtype == PSC_F32 && !is_host_only(op) && op != PSC_OP_QKV_BIAS_ROPE_STORE);
}

static bool cuda_takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    return dtype == PSC_F32 && !is_host_only(op) && op != PSC_OP_FUSED_QKV_NORM &&
           (op != PSC_OP_ROPE || params->rope_style == PSC_ROPE_NON_INTERLEAVED);
}

const struct psc_target *app_targets(uint32_t *ret_n)
{
    static const struct psc_target targets[] = {
        {"cpu", NULL, 100, NULL, cpu_takes, false},
        {"deferred", "metal", 300, NULL, deferred_takes, true},
        {"cuda", NULL, 200, NULL, cuda_takes, true},
    };
    *ret_n = sizeof targets / sizeof *targets;
    return targets;
}
