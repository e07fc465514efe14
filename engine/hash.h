/* hash: checksums against accidents. XXH3 (xxhash.com), seeded.
 *
 * A seed comes from the store's secret, so that bytes prepared by somebody who does not know it
 * never pass for a frame. It is no protection from one who can read the store.
 * Threads: pure functions.
 */
#ifndef PAWL_ENGINE_HASH_H
#define PAWL_ENGINE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed);

/* A seed that is bound to one more number. Invertible in `number`: two numbers never give one seed.
 */
uint64_t hash_bind(uint64_t seed, uint64_t number);

#endif
