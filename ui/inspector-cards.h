/* ui/inspector-cards.h: what the inspector says of each thing that may be selected. */
#ifndef PSC_UI_INSPECTOR_CARDS_H
#define PSC_UI_INSPECTOR_CARDS_H

#include "ui/card.h"

void psc_card_of_node(PscCard *card, psc_node node);
void psc_card_of_position(PscCard *card, int32_t position); /* of a story with titles */
void psc_card_of_buffer(PscCard *card, uint32_t buffer);
void psc_card_of_finding(PscCard *card, int finding);
void psc_card_of_kv(PscCard *card);  /* the KV view: cell, step so far, rows by step, occupancy, legend */
void psc_card_of_run(PscCard *card); /* summary, lesson and legend */
/* Question, where to look and the answer on request; nothing for a phase that teaches nothing. Part of every
 * card, so that the question stays in sight while a person steps. */
void psc_card_of_lesson(PscCard *card, const struct psc_phase *phase);

#endif
