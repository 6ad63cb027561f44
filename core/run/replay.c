#include "core/run/replay.h"

enum { WARM_RUNS = 2 };

static void drop(struct psc_pool *pool, struct psc_recorded *r)
{
    if (r->has && pool->api->drop_recording)
        pool->api->drop_recording(pool->backend, r->recording);
    *r = (struct psc_recorded){0};
}

static bool can_capture(const struct psc_session *s, const struct psc_pool *pool, const struct psc_sink *sink)
{
    bool probed = sink && (sink->before || sink->after || sink->split_end);
    return s->options.replay && !s->options.time_ops && !s->capture_off && !probed && pool->api->capture_begin && pool->api->capture_end &&
           pool->api->capture_abort && pool->api->replay;
}

enum psc_replay psc_replay_choose(struct psc_session *s, struct psc_mapped *mapped, uint32_t stretch,
                                  const struct psc_sink *sink)
{
    struct psc_pool *pool = &s->pools[mapped->program->stretches[stretch].pool];
    struct psc_recorded *r = &mapped->recorded[stretch];
    bool changed = r->generation != pool->figures.generation || r->layout != mapped->program->layout;
    if (changed && !(r->has && psc_session_fault(s, PSC_RUN_L32))) {
        drop(pool, r);
        r->generation = pool->figures.generation;
        r->layout = mapped->program->layout;
    }
    if (!can_capture(s, pool, sink) || !mapped->program->stretches[stretch].job_n)
        return PSC_REPLAY_DIRECT;
    if (r->has)
        return PSC_REPLAY_PLAY;
    return r->runs < WARM_RUNS ? PSC_REPLAY_DIRECT : PSC_REPLAY_RECORD;
}

void psc_replay_warmed(struct psc_mapped *mapped, uint32_t stretch)
{
    mapped->recorded[stretch].runs++;
}

enum psc_status psc_replay_close(struct psc_session *s, struct psc_mapped *mapped, uint32_t stretch, struct psc_error *reterr)
{
    struct psc_pool *pool = &s->pools[mapped->program->stretches[stretch].pool];
    struct psc_recorded *r = &mapped->recorded[stretch];
    enum psc_status status = pool->api->capture_end(pool->backend, &r->recording, reterr);
    if (status)
        return status;
    r->has = true;
    s->counters.captures++;
    return pool->api->replay(pool->backend, r->recording, reterr);
}

void psc_replay_drop(struct psc_session *s, struct psc_mapped *mapped)
{
    for (uint32_t k = 0; mapped->program && k < mapped->recorded_n; k++)
        drop(&s->pools[mapped->program->stretches[k].pool], &mapped->recorded[k]);
}
