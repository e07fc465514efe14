/* A producer and a worker in one program.
 *
 *     producer_worker DIRECTORY ADDRESS...
 *
 * Enqueues one mail per address, then sends what is in the queue, its own and anybody else's, until
 * none is ready. Start it several times at once: no mail is sent by two of them at the same time.
 * The address is the idempotency key, so naming it again does not send again.
 */
#include "pawl.h"

#include <stdio.h>

static int fail(const char *what, const pawl_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->sentence);
    return pawl_status_exit_code(error->status);
}

static pawl_status produce(pawl_store *store, const char *address, pawl_error *error) {
    pawl_message mail;
    pawl_message_init(&mail, sizeof mail);
    mail.payload = pawl_text(address);
    mail.key = pawl_text(address);

    pawl_enqueued enqueued;
    const pawl_status status = pawl_enqueue(store, "mail", &mail, NULL, &enqueued, error);
    if (status == PAWL_OK)
        printf("mail/%llu %s%s\n", (unsigned long long)enqueued.seq, address,
               enqueued.flags & PAWL_ENQUEUED_DUPLICATE ? " (known already)" : "");
    return status;
}

/* Stands for the real work: an address without an "@" can't be reached. */
static int send_mail(pawl_bytes address) {
    const char *text = address.data;
    for (size_t i = 0; i < address.size; i++)
        if (text[i] == '@')
            return printf("sent to %.*s\n", (int)address.size, text) > 0;
    return 0;
}

static pawl_status work_one(pawl_store *store, const pawl_delivery *got, pawl_error *error) {
    if (got->completed || send_mail(got->payload))
        return pawl_ack(store, got->receipt, NULL, NULL, error);

    pawl_failure failure;
    pawl_failure_init(&failure, sizeof failure);
    failure.reason = "no-such-address";
    failure.detail = got->payload;
    return pawl_retry(store, got->receipt, &failure, NULL, NULL, error);
}

static pawl_status work(pawl_store *store, pawl_error *error) {
    pawl_claim_options want;
    pawl_claim_options_init(&want, sizeof want);
    want.consumer = "producer_worker";

    const pawl_delivery *got;
    pawl_status status;
    while ((status = pawl_claim(store, "mail", &want, &got, error)) == PAWL_OK) {
        status = work_one(store, got, error);
        pawl_delivery_free(got);
        /* Stale: the lease ran out and the mail is another worker's. Nothing is left to do here. */
        if (status != PAWL_OK && status != PAWL_STALE)
            return status;
    }
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: producer_worker DIRECTORY ADDRESS...\n", stderr);
        return 2;
    }

    pawl_open_options how;
    pawl_open_options_init(&how, sizeof how);
    how.flags = PAWL_OPEN_CREATE;

    pawl_error error;
    pawl_store *store;
    if (pawl_open(argv[1], &how, &store, &error) != PAWL_OK)
        return fail(argv[1], &error);

    int exit_code = 0;
    pawl_status status = pawl_queue_create(store, "mail", NULL, NULL, 0, NULL, &error);
    if (status == PAWL_EXISTS)
        status = PAWL_OK;
    for (int i = 2; status == PAWL_OK && i < argc; i++)
        status = produce(store, argv[i], &error);
    if (status == PAWL_OK)
        status = work(store, &error);
    if (status != PAWL_OK)
        exit_code = fail("mail", &error);

    if (pawl_close(store, &error) != PAWL_OK)
        return fail("closing", &error);
    return exit_code;
}
