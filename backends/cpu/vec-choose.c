#include "backends/cpu/vec.h"

#ifdef PSC_CPU_AVX2
extern const struct psc_cpu_vec psc_cpu_vec_avx2;
#endif

bool psc_cpu_has_avx2(void)
{
#ifdef PSC_CPU_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#else
    return false;
#endif
}

const struct psc_cpu_vec *psc_cpu_vec_best(bool portable)
{
#ifdef PSC_CPU_AVX2
    if (!portable && psc_cpu_has_avx2())
        return &psc_cpu_vec_avx2;
#endif
    (void)portable;
    return &psc_cpu_vec_portable;
}
