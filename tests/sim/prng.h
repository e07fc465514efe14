/* prng: numbers that follow from a seed and from nothing else. splitmix64 (Steele, Lea, Flood
 * 2014). */
#ifndef PAWL_TESTS_SIM_PRNG_H
#define PAWL_TESTS_SIM_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prng {
    uint64_t state;
};

/* Streams of one seed are independent: a draw more in one does not shift the others. */
static inline struct prng prng_stream(uint64_t seed, uint64_t stream) {
    return (struct prng){seed * UINT64_C(0xd1342543de82ef95) +
                         stream * UINT64_C(0xaf251af3b0f025b5) + 1};
}

static inline uint64_t prng_next(struct prng *prng) {
    uint64_t z = prng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 … limit - 1; 0 when limit is 0. */
static inline uint64_t prng_below(struct prng *prng, uint64_t limit) {
    return limit == 0 ? 0 : prng_next(prng) % limit;
}

static inline uint64_t prng_between(struct prng *prng, uint64_t low, uint64_t high) {
    return low + prng_below(prng, high - low + 1);
}

/* True so many times in a hundred thousand. */
static inline bool prng_chance(struct prng *prng, unsigned per_100000) {
    return per_100000 > 0 && prng_next(prng) % 100000 < per_100000;
}

#endif
