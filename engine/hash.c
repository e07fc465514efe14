#include "hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, count, seed);
}

/* The finalizer of splitmix64: every input bit reaches every output bit. */
uint64_t hash_bind(uint64_t seed, uint64_t number) {
    uint64_t mixed = number + 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    return seed ^ (mixed ^ mixed >> 31);
}
