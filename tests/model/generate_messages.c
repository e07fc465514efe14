/* The generator's operations on messages. */
#include "generator_pick.h"

enum { SCANNED_AT_ONCE = 20, QUEUE_MAX = 30000 };

static uint64_t traits_of(const struct model_at *at, uint64_t seq) {
    const struct model_birth *birth = &at->queue->births[seq];
    return birth->priority | (birth->is_keyed ? EVENT_TRAIT_KEYED : 0U);
}

/* Due now, which is 0, or later. */
static void pick_due(struct generator *generator, unsigned percent, uint64_t *ret_due_us,
                     uint64_t *ret_delay_us) {
    *ret_delay_us = pick_chance(generator, percent) ? pick_span(generator) : 0;
    *ret_due_us = *ret_delay_us == 0 ? 0 : generator->model.time_us + *ret_delay_us;
}

void generate_messages(struct generator *generator, struct model_queue *queue, unsigned count,
                       uint64_t gap) {
    for (; count > 0; count--) {
        struct model_birth birth = {.is_there = true, .priority = 4};
        struct event event = {.kind = EVENT_ENQUEUE};
        uint64_t due_us, delay_us;
        pick_due(generator, 15, &due_us, &delay_us);
        birth.is_keyed = pick_chance(generator, 20);
        if (!birth.is_keyed && pick_chance(generator, 30))
            birth.priority = (uint8_t)pick_below(generator, MODEL_PRIORITIES);
        birth.due_ms = ms_up(due_us);
        birth.delay_ms = delay_ms_up(delay_us);
        event.enqueue.queue = queue->number;
        event.enqueue.seq = queue->next_seq + gap;
        event.enqueue.priority = birth.priority;
        event.enqueue.due_us = due_us;
        event.enqueue.delay_us = delay_us;
        event.enqueue.ordering_key = birth.is_keyed ? text_of("key") : (struct event_bytes){0};
        event.enqueue.payload_bytes = pick_below(generator, 1000);
        draft_add(&generator->draft, &event);
        model_enqueue(&generator->model, queue, event.enqueue.seq, &birth);
    }
}

bool generate_enqueue(struct generator *generator) {
    struct model_queue *queue = pick_queue(generator);
    if (queue == NULL || queue->next_seq > QUEUE_MAX)
        return false;
    generate_messages(generator, queue, 1 + (unsigned)pick_below(generator, 4), 0);
    return true;
}

/* Reads on at one priority: what is backlog there is to be delivered. */
static uint64_t read_on(struct generator *generator, const struct model_at *at, unsigned priority,
                        struct picks *picks) {
    uint64_t position = at->group->positions[priority];
    unsigned want = 1 + (unsigned)pick_below(generator, 6);
    for (; position < at->queue->next_seq && want > 0; position++) {
        if (at->queue->births[position].priority != priority ||
            model_message(at, position)->life != MODEL_BACKLOG)
            continue;
        pick_add(picks, position);
        want--;
    }
    at->group->positions[priority] = position;
    return position;
}

static void deliver(struct generator *generator, const struct model_at *at, uint64_t session,
                    uint32_t slot, const struct picks *picks, struct event_list *list,
                    uint64_t until_us) {
    const uint64_t first = generator->model.next_fence;
    const uint64_t turn = pick_below(generator, picks->count + 1);
    (void)session;
    for (unsigned i = 0; i < picks->count; i++) {
        const uint64_t seq = picks->seqs[i];
        const struct model_message *message = model_message(at, seq);
        const uint64_t fence = first + (i + turn) % picks->count;
        uint64_t traits = traits_of(at, seq);
        if (generator->canary == CANARY_PRIORITY && traits == 4)
            traits = 5;
        const uint64_t row[] = {seq, fence, message->attempts + 1, message->deliveries + 1, traits};
        event_list_add(list, row, 5);
        model_deliver(at, seq, fence, slot, ms_up(until_us));
    }
}

bool generate_attempt(struct generator *generator) {
    struct event event = {.kind = EVENT_ATTEMPT};
    struct model_at at;
    struct picks picks = {0};
    if (!pick_at(generator, &at))
        return false;
    struct event_list positions = draft_list(&generator->draft, 0);
    if (pick_chance(generator, 40))
        (void)pick_live(generator, &at, 1U << MODEL_READY, 6, &picks);
    for (unsigned priority = 0; priority < MODEL_PRIORITIES; priority++) {
        if (priority == 4 ? pick_chance(generator, 30) : pick_chance(generator, 90))
            continue;
        const uint64_t position = read_on(generator, &at, priority, &picks);
        event_list_add(&positions, (uint64_t[]){priority, position}, 2);
    }
    if (picks.count == 0 && positions.count == 0)
        return false;
    event.attempt.positions = event_list_items(&positions);
    event.attempt.queue = at.queue->number;
    event.attempt.group = at.group->number;
    event.attempt.until_us = at.model->time_us + pick_span(generator);
    const uint32_t slot = pick_session(generator, &event.attempt.session);
    struct event_list list = draft_list(&generator->draft, 1);
    if (picks.count > 0)
        deliver(generator, &at, event.attempt.session, slot, &picks, &list, event.attempt.until_us);
    event.attempt.deliveries = event_list_items(&list);
    draft_add(&generator->draft, &event);
    return true;
}

/* Receipts of what is picked. */
static struct event_items receipts_of(struct generator *generator, const struct model_at *at,
                                      const struct picks *picks) {
    struct event_list list = draft_list(&generator->draft, 0);
    for (unsigned i = 0; i < picks->count; i++)
        event_list_add(&list,
                       (uint64_t[]){picks->seqs[i], model_message(at, picks->seqs[i])->fence}, 2);
    return event_list_items(&list);
}

bool generate_extend(struct generator *generator) {
    struct event event = {.kind = EVENT_EXTEND};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, 1U << MODEL_LEASED, 4, &picks))
        return false;
    event.extend.queue = at.queue->number;
    event.extend.group = at.group->number;
    event.extend.until_us = at.model->time_us + pick_span(generator);
    event.extend.receipts = receipts_of(generator, &at, &picks);
    draft_add(&generator->draft, &event);
    for (unsigned i = 0; i < picks.count; i++)
        model_extend(&at, picks.seqs[i], ms_up(event.extend.until_us));
    return true;
}

/* Also of what has lapsed, as long as the receipt is good. */
bool generate_ack(struct generator *generator) {
    struct event event = {.kind = EVENT_ACK};
    struct model_at at;
    struct picks found, picks = {0};
    const unsigned lives = 1U << MODEL_LEASED | 1U << MODEL_READY | 1U << MODEL_WAITING;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, lives, 8, &found))
        return false;
    for (unsigned i = 0; i < found.count; i++) {
        if (model_message(&at, found.seqs[i])->is_receipt_good)
            pick_add(&picks, found.seqs[i]);
    }
    if (picks.count == 0)
        return false;
    const unsigned count = picks.count;
    picks.count -= generator->canary == CANARY_ACK && picks.count > 1;
    event.ack.queue = at.queue->number;
    event.ack.group = at.group->number;
    event.ack.receipts = receipts_of(generator, &at, &picks);
    draft_add(&generator->draft, &event);
    for (unsigned i = 0; i < count; i++)
        model_end(&at, picks.seqs[i], MODEL_ACKED);
    return true;
}

bool generate_retry(struct generator *generator) {
    struct event event = {.kind = EVENT_RETRY};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, 1U << MODEL_LEASED, 1, &picks))
        return false;
    const uint64_t seq = picks.seqs[0];
    struct model_message *message = model_message(&at, seq);
    event.retry.queue = at.queue->number;
    event.retry.group = at.group->number;
    event.retry.seq = seq;
    event.retry.fence = message->fence;
    event.retry.outcome = EVENT_OUTCOME_RETRY + pick_below(generator, 3);
    event.retry.attempt = message->attempts + 1;
    event.retry.delivery = message->deliveries;
    event.retry.reason = text_of("broken");
    pick_due(generator, 60, &event.retry.due_us, &event.retry.delay_us);
    draft_add(&generator->draft, &event);
    model_retry(&at, seq, ms_up(event.retry.due_us), delay_ms_up(event.retry.delay_us),
                generator->draft.lsn, event.retry.outcome == EVENT_OUTCOME_RETRY);
    message->attempts -= generator->canary == CANARY_ATTEMPTS && message->attempts > 2;
    return true;
}

bool generate_release(struct generator *generator) {
    struct event event = {.kind = EVENT_RELEASE};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, 1U << MODEL_LEASED, 4, &picks))
        return false;
    pick_due(generator, 30, &event.release.due_us, &event.release.delay_us);
    event.release.queue = at.queue->number;
    event.release.group = at.group->number;
    event.release.suspect = pick_chance(generator, 20);
    event.release.receipts = receipts_of(generator, &at, &picks);
    draft_add(&generator->draft, &event);
    for (unsigned i = 0; i < picks.count; i++)
        model_release(&at, picks.seqs[i], ms_up(event.release.due_us),
                      delay_ms_up(event.release.delay_us), event.release.suspect != 0);
    return true;
}

/* `fence` 0: it did not die of a delivery. */
static void bury(struct generator *generator, const struct model_at *at, uint64_t seq,
                 uint64_t fence) {
    struct event event = {.kind = EVENT_DEAD_LETTER};
    const uint32_t attempts = model_message(at, seq)->attempts + (fence != 0);
    event.dead_letter.queue = at->queue->number;
    event.dead_letter.group = at->group->number;
    event.dead_letter.seq = seq;
    event.dead_letter.fence = fence;
    event.dead_letter.traits = traits_of(at, seq);
    event.dead_letter.dead_reason = text_of("max-attempts");
    event.dead_letter.attempt = attempts;
    draft_add(&generator->draft, &event);
    model_bury(at, seq, attempts, generator->draft.lsn);
}

bool generate_bury(struct generator *generator) {
    const unsigned lives =
        1U << MODEL_LEASED | 1U << MODEL_READY | 1U << MODEL_WAITING | 1U << MODEL_DELAYED;
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, lives, 1, &picks))
        return false;
    const struct model_message *message = model_message(&at, picks.seqs[0]);
    bury(generator, &at, picks.seqs[0], message->life == MODEL_LEASED ? message->fence : 0);
    return true;
}

bool generate_bury_backlog(struct generator *generator) {
    struct model_at at;
    if (!pick_at(generator, &at) || at.queue->next_seq == 1)
        return false;
    for (unsigned tries = 0; tries < 8; tries++) {
        const uint64_t seq = 1 + pick_below(generator, at.queue->next_seq - 1);
        if (model_message(&at, seq)->life != MODEL_BACKLOG)
            continue;
        bury(generator, &at, seq, 0);
        return true;
    }
    return false;
}

/* As ranges, each as long as it goes on. */
static struct event_items ranges_of(struct generator *generator, const struct picks *picks) {
    struct event_list list = draft_list(&generator->draft, 0);
    for (unsigned i = 0; i < picks->count;) {
        unsigned count = 1;
        while (i + count < picks->count && picks->seqs[i + count] == picks->seqs[i] + count)
            count++;
        event_list_add(&list, (uint64_t[]){picks->seqs[i], count}, 2);
        i += count;
    }
    return event_list_items(&list);
}

bool generate_redrive(struct generator *generator) {
    struct event event = {.kind = EVENT_REDRIVE};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, 1U << MODEL_DEAD, 8, &picks))
        return false;
    event.redrive.queue = at.queue->number;
    event.redrive.group = at.group->number;
    event.redrive.messages = ranges_of(generator, &picks);
    draft_add(&generator->draft, &event);
    for (unsigned i = 0; i < picks.count; i++)
        model_redrive(&at, picks.seqs[i]);
    return true;
}

/* A range anywhere, mostly short; now and then all there is. */
static struct event_items pick_range(struct generator *generator, const struct model_queue *queue,
                                     uint64_t *ret_first, uint64_t *ret_last) {
    const uint64_t end = queue->next_seq;
    struct event_list list = draft_list(&generator->draft, 0);
    *ret_first = 1 + pick_below(generator, end - 1);
    uint64_t count = 1 + pick_below(generator, 12);
    if (pick_chance(generator, 50) && end > 40)
        *ret_first = end - 1 - pick_below(generator, 39);
    if (pick_chance(generator, 3))
        count = 1 + pick_below(generator, end);
    *ret_last = count < end - *ret_first ? *ret_first + count : end;
    event_list_add(&list, (uint64_t[]){*ret_first, *ret_last - *ret_first}, 2);
    return event_list_items(&list);
}

static void end_range(const struct model_at *at, uint64_t first, uint64_t last,
                      enum model_life life) {
    for (uint64_t seq = first; seq < last; seq++)
        model_end(at, seq, life);
}

bool generate_purge(struct generator *generator) {
    struct event event = {.kind = EVENT_PURGE};
    struct model_at at;
    uint64_t first, last;
    if (!pick_at(generator, &at) || at.queue->next_seq == 1)
        return false;
    event.purge.queue = at.queue->number;
    event.purge.group = at.group->number;
    event.purge.messages = pick_range(generator, at.queue, &first, &last);
    draft_add(&generator->draft, &event);
    end_range(&at, first, last, MODEL_PURGED);
    return true;
}

bool generate_expire(struct generator *generator) {
    struct event event = {.kind = EVENT_EXPIRE};
    struct model_at at;
    uint64_t first, last;
    if (!pick_at(generator, &at) || at.queue->next_seq == 1)
        return false;
    event.expire.queue = at.queue->number;
    event.expire.group = at.group->number;
    event.expire.messages = pick_range(generator, at.queue, &first, &last);
    draft_add(&generator->draft, &event);
    end_range(&at, first, last, MODEL_EXPIRED);
    return true;
}

static void end_everywhere(struct generator *generator, struct model_queue *queue, uint64_t first,
                           uint64_t last, enum model_life life) {
    for (unsigned i = 0; i < MODEL_GROUPS; i++) {
        const struct model_at at = {&generator->model, queue, &queue->groups[i]};
        if (at.group->number != 0)
            end_range(&at, first, last, life);
    }
}

bool generate_cancel(struct generator *generator) {
    struct event event = {.kind = EVENT_CANCEL};
    struct model_queue *queue = pick_queue(generator);
    uint64_t first, last;
    if (queue == NULL || queue->next_seq == 1)
        return false;
    event.cancel.queue = queue->number;
    event.cancel.messages = pick_range(generator, queue, &first, &last);
    draft_add(&generator->draft, &event);
    end_everywhere(generator, queue, first, last, MODEL_CANCELLED);
    return true;
}

bool generate_drop(struct generator *generator) {
    struct event event = {.kind = EVENT_DROP};
    struct model_queue *queue = pick_queue(generator);
    uint64_t first, last;
    if (queue == NULL || queue->next_seq == 1)
        return false;
    event.drop.queue = queue->number;
    event.drop.messages = pick_range(generator, queue, &first, &last);
    draft_add(&generator->draft, &event);
    end_everywhere(generator, queue, first, last, MODEL_DROPPED);
    return true;
}

/* The new ones come in the same frame. */
bool generate_replace(struct generator *generator) {
    struct event event = {.kind = EVENT_REPLACE};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at) || !pick_live(generator, &at, 1U << MODEL_DEAD, 3, &picks))
        return false;
    const uint64_t next = at.queue->next_seq;
    generate_messages(generator, at.queue, picks.count, 0);
    struct event_list list = draft_list(&generator->draft, 0);
    for (unsigned i = 0; i < picks.count; i++) {
        event_list_add(&list, (uint64_t[]){picks.seqs[i], next + i}, 2);
        model_end(&at, picks.seqs[i], MODEL_PURGED);
    }
    event.replace.queue = at.queue->number;
    event.replace.group = at.group->number;
    event.replace.to = at.queue->number;
    event.replace.pairs = event_list_items(&list);
    draft_add(&generator->draft, &event);
    return true;
}

bool generate_due(struct generator *generator) {
    const unsigned lives = 1U << MODEL_READY | 1U << MODEL_WAITING | 1U << MODEL_DELAYED;
    struct event event = {.kind = EVENT_DUE};
    struct model_at at;
    struct picks picks;
    if (!pick_at(generator, &at))
        return false;
    (void)pick_live(generator, &at, lives, 6, &picks);
    if (at.queue->next_seq > 1 && pick_chance(generator, 30)) {
        const uint64_t seq = 1 + pick_below(generator, at.queue->next_seq - 1);
        if (model_message(&at, seq)->life == MODEL_BACKLOG)
            pick_add(&picks, seq);
    }
    if (picks.count == 0)
        return false;
    pick_due(generator, 40, &event.due.due_us, &event.due.delay_us);
    struct event_list list = draft_list(&generator->draft, 0);
    for (unsigned i = 0; i < picks.count; i++) {
        event_list_add(&list, (uint64_t[]){picks.seqs[i], traits_of(&at, picks.seqs[i])}, 2);
        model_delay(&at, picks.seqs[i], ms_up(event.due.due_us), delay_ms_up(event.due.delay_us));
    }
    event.due.queue = at.queue->number;
    event.due.group = at.group->number;
    event.due.messages = event_list_items(&list);
    draft_add(&generator->draft, &event);
    return true;
}
