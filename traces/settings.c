#include "traces/settings.h"

#include "core/base/mem.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>

/* cJSON answers NULL to an exhausted heap and to text that it does not take (a number of 64 digits, half a
 * surrogate pair) alike: this tells them apart. */
static _Thread_local bool heap_failed;

static void *cjson_alloc(size_t size)
{
    void *block = psc_alloc(size);
    if (!block)
        heap_failed = true;
    return block;
}

static void install_hooks(void)
{
    cJSON_Hooks hooks = {cjson_alloc, psc_free};
    cJSON_InitHooks(&hooks);
}

bool psc_settings_init(struct psc_settings *s, struct psc_slice text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_hooks);
    s->tree = NULL;
    s->text = text;
    if (!psc_slice_is_object(text))
        return true;
    heap_failed = false;
    s->tree = cJSON_ParseWithLength(text.s, text.n);
    return s->tree || !heap_failed;
}

void psc_settings_release(struct psc_settings *s)
{
    cJSON_Delete(s->tree);
    s->tree = NULL;
}

static const cJSON *find(const struct psc_settings *s, const char *key)
{
    return s->tree ? cJSON_GetObjectItemCaseSensitive(s->tree, key) : NULL;
}

bool psc_settings_f64(const struct psc_settings *s, const char *key, double *ret)
{
    const cJSON *item = find(s, key);
    if (!cJSON_IsNumber(item))
        return false;
    *ret = item->valuedouble;
    return true;
}

bool psc_settings_u64(const struct psc_settings *s, const char *key, uint64_t *ret)
{
    const cJSON *item = find(s, key);
    if (!cJSON_IsNumber(item) || item->valuedouble < 0)
        return false;
    if (item->valuedouble >= 9007199254740992.0) /* a double may have lost digits: ask the text */
        return psc_slice_u64(psc_slice_find(s->text, key), ret);
    if (item->valuedouble != floor(item->valuedouble))
        return false;
    *ret = (uint64_t)item->valuedouble;
    return true;
}

bool psc_settings_i32(const struct psc_settings *s, const char *key, int32_t *ret)
{
    const cJSON *item = find(s, key);
    if (!cJSON_IsNumber(item) || item->valuedouble != (double)item->valueint)
        return false;
    *ret = item->valueint;
    return true;
}

bool psc_settings_bool(const struct psc_settings *s, const char *key, bool *ret)
{
    const cJSON *item = find(s, key);
    if (!cJSON_IsBool(item))
        return false;
    *ret = cJSON_IsTrue(item);
    return true;
}

const char *psc_settings_string(const struct psc_settings *s, const char *key)
{
    return cJSON_GetStringValue(find(s, key));
}

uint32_t psc_settings_i32s(const struct psc_settings *s, const char *key, int32_t *ret, uint32_t max)
{
    const cJSON *list = find(s, key), *item;
    uint32_t n = 0;
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(item, list) if (n < max && cJSON_IsNumber(item)) ret[n++] = item->valueint;
    return n;
}

uint32_t psc_settings_strings(const struct psc_settings *s, const char *key, const char **ret, uint32_t max)
{
    const cJSON *list = find(s, key), *item;
    uint32_t n = 0;
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(item, list) if (n < max) ret[n++] = cJSON_GetStringValue(item);
    return n;
}
