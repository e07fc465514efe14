/* A step of a pipeline, as one transaction.
 *
 *     transaction DIRECTORY
 *
 * Takes orders from the queue "orders", enqueues a shipment for each in "shipments", and acks the
 * order, which completes its idempotency key in the ledger. All of it happens or none: a crash
 * anywhere leaves either an order that comes again or a shipment that is there once.
 */
#include "pawl.h"

#include <stdio.h>

static pawl_status add_steps(pawl_tx *tx, const pawl_delivery *order, size_t *ret_shipment,
                             pawl_error *error) {
    pawl_message shipment;
    pawl_message_init(&shipment, sizeof shipment);
    shipment.payload = order->payload;
    shipment.key = order->key;
    /* Shipments of one customer leave in the order in which they were ordered. */
    shipment.ordering_key = order->ordering_key;

    const pawl_status status = pawl_tx_enqueue(tx, "shipments", &shipment, ret_shipment, error);
    if (status != PAWL_OK)
        return status;
    const pawl_bytes result = pawl_text("shipment enqueued");
    return pawl_tx_ack(tx, order->receipt, &result, error);
}

static pawl_status ship(pawl_store *store, const pawl_delivery *order, pawl_error *error) {
    pawl_tx *tx;
    pawl_status status = pawl_tx_begin(store, &tx, error);
    if (status != PAWL_OK)
        return status;

    size_t shipment;
    status = add_steps(tx, order, &shipment, error);
    if (status == PAWL_OK)
        status = pawl_tx_commit(tx, NULL, error);

    pawl_enqueued enqueued;
    if (status == PAWL_OK && pawl_tx_enqueued(tx, shipment, &enqueued, error) == PAWL_OK)
        printf("%s -> shipments/%llu\n", order->id, (unsigned long long)enqueued.seq);
    pawl_tx_free(tx);
    return status;
}

static pawl_status ship_all(pawl_store *store, pawl_error *error) {
    const pawl_delivery *order;
    pawl_status status;
    while ((status = pawl_claim(store, "orders", NULL, &order, error)) == PAWL_OK) {
        /* A completed key has its shipment already; the order is a repetition of another. */
        status = order->completed ? pawl_ack(store, order->receipt, NULL, NULL, error)
                                  : ship(store, order, error);
        pawl_delivery_free(order);
        /* Stale: the lease ran out, the whole transaction was refused, the order comes again. */
        if (status != PAWL_OK && status != PAWL_STALE)
            return status;
    }
    return status == PAWL_EMPTY ? PAWL_OK : status;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: transaction DIRECTORY\n", stderr);
        return 2;
    }
    pawl_error error;
    pawl_store *store;
    pawl_status status = pawl_open(argv[1], NULL, &store, &error);
    if (status == PAWL_OK) {
        status = ship_all(store, &error);
        /* What is at the level `write`, closing makes durable; the first failure is the one told.
         */
        const pawl_status closed = pawl_close(store, status == PAWL_OK ? &error : NULL);
        if (status == PAWL_OK)
            status = closed;
    }
    if (status != PAWL_OK)
        fprintf(stderr, "%s: %s\n", argv[1], error.sentence);
    return pawl_status_exit_code(status);
}
