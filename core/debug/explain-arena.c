#include "core/base/text.h"
#include "core/debug/arena-view.h"

#include <stdio.h>

static void say_bytes(struct psc_text *out, uint64_t bytes)
{
    char text[32];
    psc_text_add(out, psc_bytes_text(bytes, text, sizeof text));
}

const char *psc_invariant_short(unsigned invariant)
{
    static const char *const texts[PSC_INVARIANT_N] = {
        "sums right", "a block: one arena", "a block: one owner", "free: held by nobody", "clear spares lent ones",
        "lent ones are left alone", "borrowed: never free", "handing over: no copy", "arena outlives leases", "in the role's arena"};
    return invariant < PSC_INVARIANT_N ? texts[invariant] : "";
}

const char *psc_arena_role_words(enum psc_arena_role role)
{
    static const char *const words[] = {"declared output", "inner value", "workspace", "input, copied", "input, transferred", "input, borrowed"};
    return words[role];
}

const char *psc_arena_slot_words(const struct psc_arena_slot_look *slot, char *buf, size_t size)
{
    switch (slot->state) {
    case PSC_SLOT_UNUSED: snprintf(buf, size, "has no block"); break;
    case PSC_SLOT_FREE: snprintf(buf, size, "free: nobody holds it, its block is kept for the next one that fits"); break;
    case PSC_SLOT_LEASED: snprintf(buf, size, "lent: %u lease%s outside hold%s it", slot->holders, slot->holders == 1 ? "" : "s",
                                   slot->holders == 1 ? "s" : ""); break;
    default: snprintf(buf, size, "in use, owned by a %s of the session", psc_owner_name(slot->owner)); break;
    }
    return buf;
}

void psc_explain_arena_lamp(struct psc_text *out, const struct psc_arena_view *v, unsigned i)
{
    const struct psc_arena_track *t = v->axis->track;
    uint32_t after;
    psc_text_addf(out, "Invariant %u, %s: ", i, psc_invariant_text(i));
    if (!(v->look.ever >> i & 1)) {
        psc_text_add(out, "holds, and did at every position so far.");
        return;
    }
    const char *why = psc_arena_track_why(t, i, &after);
    int32_t at = after && after <= t->story->event_n ? t->story->events[after - 1].position : -1;
    psc_text_addf(out, v->look.broken >> i & 1 ? "broken since position %d" : "was broken at position %d, holds again", at);
    psc_text_addf(out, "%s%s.", *why ? ": " : "", why);
}

/* ---- what happens here ----------------------------------------------------------------------------------------------- */

static void say_found(struct psc_text *out, const struct psc_arena_home_view *h)
{
    const struct psc_arena_slot_look *s = &h->look->slots[h->found_slot];
    switch (h->found) {
    case PSC_FOUND_AGAIN:
        psc_text_addf(out, "The smallest free block of %s that is large enough is used again: slot %u of ", h->look->name, h->found_slot);
        say_bytes(out, s->capacity);
        break;
    case PSC_FOUND_GROWN:
        psc_text_addf(out, "No free block of %s is large enough and no slot is unused: the largest free block, slot %u, is grown to ",
                      h->look->name, h->found_slot);
        say_bytes(out, s->capacity);
        break;
    default:
        psc_text_addf(out, "No free block of %s is large enough: slot %u gets a new block of exactly ", h->look->name, h->found_slot);
        say_bytes(out, s->capacity);
        break;
    }
    if (s->capacity > h->asked) {
        psc_text_add(out, "; ");
        say_bytes(out, s->capacity - h->asked);
        psc_text_add(out, " of it are not needed (slack)");
    }
    psc_text_add(out, ". ");
}

static void say_event(struct psc_text *out, const struct psc_arena_view *v, const struct psc_event *e)
{
    const struct psc_story *s = v->axis->track->story;
    const char *home = e->buffer != PSC_NONE && s->buffers[e->buffer].backend < s->backend_n ? s->backends[s->buffers[e->buffer].backend] : "";
    switch ((enum psc_event_kind)e->kind) {
    case PSC_EV_RELEASE:
        if (e->slot != PSC_NONE)
            psc_text_addf(out, "Its last owner lets go: slot %u of %s is free, its block is kept for the next one that fits. ", e->slot, home);
        break;
    case PSC_EV_DROP:
        psc_text_addf(out, "The last lease is given back: slot %u of %s is free. ", e->slot, home);
        break;
    case PSC_EV_EXPORT:
        if (e->slot != PSC_NONE)
            psc_text_addf(out, "Slot %u of %s is lent: it cannot be freed by the session, no later run gets it, and the lease keeps the arena "
                          "alive. No byte moves. ", e->slot, home);
        break;
    case PSC_EV_TRANSFER:
        psc_text_addf(out, "Slot %u of %s is now held by %u lease%s. ", e->slot, home, e->holders, e->holders == 1 ? "" : "s");
        break;
    case PSC_EV_EVICT:
        psc_text_addf(out, "More is kept free in %s than its cap allows: slot %u, free for longest, gives its block of ", home, e->slot);
        say_bytes(out, e->hi - e->lo);
        psc_text_add(out, " back to the system. ");
        break;
    case PSC_EV_TRIM:
        psc_text_addf(out, "Slot %u of %s gives its free block of ", e->slot, home);
        say_bytes(out, e->hi - e->lo);
        psc_text_add(out, " back. ");
        break;
    case PSC_EV_CLOSE:
        home = e->peer < s->arena_n ? s->backends[s->arenas[e->peer].backend] : "";
        if (e->holders)
            psc_text_addf(out, "The session lets go of %s, which lives on: %u lease%s. ", home, e->holders,
                          e->holders == 1 ? " keeps it" : "s keep it");
        else
            psc_text_addf(out, "Nobody holds %s any more: it is gone, and its free blocks with it. ", home);
        break;
    case PSC_EV_CLEAR: psc_text_add(out, "The run is over: what is not lent goes back to its arena. "); break;
    case PSC_EV_REFUSE: psc_text_add(out, "It is refused, and nothing changes. "); break;
    default: break;
    }
}

void psc_explain_arena_words(struct psc_text *out, const struct psc_arena_view *v)
{
    const struct psc_story *s = v->axis->track->story;
    uint32_t said = 0;
    if (v->position < 0) {
        psc_text_addf(out, "%u arena%s, empty. Each has slots for blocks of memory: who gives a block back leaves it in its slot, free, until "
                      "somebody asks for no more than it holds. Values inside a run come from exec, what enters or leaves it from io. "
                      "Step on with the right arrow key.", v->look.home_n, v->look.home_n == 1 ? "" : "s");
        return;
    }
    for (uint32_t k = 0; k < v->look.home_n; k++)
        if (v->homes[k].found != PSC_FOUND_NOTHING) {
            say_found(out, &v->homes[k]);
            said++;
        }
    for (uint32_t i = v->from; i < v->to && said < 6; i++) {
        size_t n = out->n;
        say_event(out, v, &s->events[i]);
        said += out->n > n;
    }
    if (said >= 6)
        psc_text_add(out, "And more. ");
    for (uint32_t i = 0; i < v->route_n && i < 4; i++)
        if (v->routes[i].home != v->routes[i].belongs && v->routes[i].home != PSC_NONE && v->routes[i].belongs != PSC_NONE)
            psc_text_addf(out, "The %s lies in %s, it belongs into %s. ", psc_arena_role_words(v->routes[i].role),
                          v->look.homes[v->routes[i].home].name, v->look.homes[v->routes[i].belongs].name);
    if (!said)
        psc_text_add(out, "No block changes its owner. ");
    if (v->look.broken)
        psc_text_addf(out, "\xe2\x9a\xa0 %s.", v->look.text);
}

/* ---- all of it --------------------------------------------------------------------------------------------------------- */

static void say_slots(struct psc_text *out, const struct psc_arena_view *v, const struct psc_arena_home_view *h)
{
    char words[96];
    const struct psc_arena_home_look *l = h->look;
    psc_text_addf(out, " Arena %s%s: ", l->name, l->gone ? ", which is gone" : l->closed ? ", which leases keep alive" : "");
    say_bytes(out, l->figures.live);
    psc_text_add(out, " live, ");
    say_bytes(out, l->figures.live_capacity - l->figures.live);
    psc_text_add(out, " slack, ");
    say_bytes(out, l->figures.retained);
    psc_text_add(out, l->arena->cap == PSC_ARENA_NO_CAP ? " kept free, no cap." : " kept free of at most ");
    if (l->arena->cap != PSC_ARENA_NO_CAP) {
        say_bytes(out, l->arena->cap);
        psc_text_add(out, ".");
    }
    for (uint32_t i = 0; i < l->slot_n && i < 32; i++) {
        const struct psc_arena_slot_look *s = &l->slots[i];
        psc_text_addf(out, " Slot %u", i);
        if (s->state != PSC_SLOT_UNUSED) {
            psc_text_addf(out, " (%s, ", psc_arena_view_name(v, s));
            if (s->state != PSC_SLOT_FREE) {
                say_bytes(out, s->bytes);
                psc_text_add(out, " of ");
            }
            say_bytes(out, s->capacity);
            psc_text_add(out, ")");
        }
        psc_text_addf(out, " %s.", psc_arena_slot_words(s, words, sizeof words));
    }
    if (l->slot_n > 32)
        psc_text_addf(out, " %u more slots.", l->slot_n - 32);
    if (h->queue_n) {
        psc_text_add(out, " Eviction order:");
        for (uint32_t i = 0; i < h->queue_n && i < 32; i++)
            psc_text_addf(out, "%s slot %u%s", i ? "," : "", h->queue[i].slot, h->queue[i].evicted ? " (gone now)" : "");
        psc_text_add(out, ".");
    }
}

void psc_explain_arena_view(struct psc_text *out, const struct psc_arena_view *v)
{
    if (*v->title)
        psc_text_addf(out, "%s. ", v->title);
    psc_text_add(out, v->words);
    for (uint32_t k = 0; k < v->look.home_n; k++)
        say_slots(out, v, &v->homes[k]);
    if (v->look.run < v->axis->run_n)
        psc_text_addf(out, " Run %u of %u touches %u pages for the first time.", v->look.run + 1u, v->axis->run_n,
                      v->axis->run_pages[v->look.run]);
    else
        psc_text_addf(out, " After run %u.", v->axis->run_n);
    if (v->copied) {
        psc_text_add(out, " Copied in this run so far: ");
        say_bytes(out, v->copied);
        psc_text_add(out, ".");
    }
    for (unsigned i = 1; i < PSC_INVARIANT_N; i++)
        if (v->look.ever >> i & 1) {
            psc_text_add(out, " ");
            psc_explain_arena_lamp(out, v, i);
        }
    if (!v->look.ever)
        psc_text_add(out, " All invariants hold.");
}
