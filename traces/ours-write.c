#include "traces/ours-write.h"

#include "traces/plan-json.h"
#include "traces/run-json.h"
#include "traces/story-json.h"

bool psc_ours_has(const struct psc_phase *phase, const struct psc_plan *plan,
                     const struct psc_story *story)
{
    return plan || story || phase->capture != PSC_CAPTURE_UNKNOWN || phase->has_slots ||
           phase->true_backend || phase->note || phase->lesson[0] || phase->kv;
}

void psc_ours_write(struct psc_json *j, const struct psc_phase *phase, const struct psc_plan *plan,
                    const struct psc_story *story, psc_flush_fn flush, void *ctx)
{
    psc_json_object(j);
    if (phase->true_backend)
        psc_json_put_text(j, "backend", phase->true_backend);
    if (phase->capture != PSC_CAPTURE_UNKNOWN)
        psc_json_put_text(j, "capture", phase->capture == PSC_CAPTURE_NODE ? "node" : "split");
    if (story) {
        psc_json_key(j, "events");
        psc_story_write_json(j, phase->graph, story, flush, ctx);
    }
    if (phase->kv)
        psc_kv_layout_write(j, phase->kv);
    if (phase->lesson[0]) {
        psc_json_key(j, "lesson");
        psc_json_array(j);
        for (int i = 0; i < 3; i++)
            psc_json_string(j, phase->lesson[i] ? phase->lesson[i] : "");
        psc_json_end_array(j);
    }
    if (phase->note)
        psc_json_put_text(j, "note", phase->note);
    if (plan && phase->graph) {
        psc_json_key(j, "plan");
        psc_plan_write_json(j, phase->graph, plan);
    }
    if (phase->has_slots) {
        psc_json_put_text(j, "slots", psc_slots_name(phase->slots));
        if (phase->slots == PSC_SLOTS_RANDOM)
            psc_json_put_u64(j, "slots_seed", phase->slots_seed);
    }
    psc_json_end_object(j);
}
