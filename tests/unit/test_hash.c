#include "hash.h"

#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

/* The hash is in the format: another seed, length or byte order would make every store unreadable.
 * The numbers are those that XXH3 has for these inputs. */
Test(hash, is_xxh3_with_a_seed) {
    cr_assert_eq(hash_bytes("", 0, 0), 0x2d06800538d394c2U);
    cr_assert_eq(hash_bytes("a", 1, 0), 0xe6c632b61e964e1fU);
    cr_assert_eq(hash_bytes("abc", 3, 0), 0x78af5f94892f3950U);
}

Test(hash, the_seed_matters_at_every_length) {
    uint8_t bytes[600];
    memset(bytes, 'x', sizeof bytes);
    for (size_t count = 0; count <= sizeof bytes; count++) {
        cr_assert_neq(hash_bytes(bytes, count, 1), hash_bytes(bytes, count, 2), "%zu", count);
        cr_assert_eq(hash_bytes(bytes, count, 1), hash_bytes(bytes, count, 1));
    }
}

Test(hash, every_bit_matters_at_every_length) {
    uint8_t bytes[300];
    for (size_t at = 0; at < sizeof bytes; at++)
        bytes[at] = (uint8_t)(at * 7);
    static const size_t counts[] = {1, 3, 4, 8, 9, 16, 17, 56, 128, 129, 240, 241, 300};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const uint64_t right = hash_bytes(bytes, counts[i], 5);
        for (size_t bit = 0; bit < counts[i] * 8; bit++) {
            bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1U << bit % 8);
            cr_assert_neq(hash_bytes(bytes, counts[i], 5), right, "bit %zu of %zu", bit, counts[i]);
            bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1U << bit % 8);
        }
    }
}

static int compare(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

Test(hash, two_numbers_never_give_one_seed) {
    enum { NUMBERS = 20000 };
    static uint64_t seeds[NUMBERS];
    for (size_t i = 0; i < NUMBERS / 2; i++) {
        seeds[2 * i] = hash_bind(42, i * 8);
        seeds[2 * i + 1] = hash_bind(42, UINT64_MAX - i * 8);
    }
    qsort(seeds, NUMBERS, sizeof seeds[0], compare);
    for (size_t i = 1; i < NUMBERS; i++)
        cr_assert_neq(seeds[i - 1], seeds[i]);
}

static unsigned bits_of(uint64_t word) {
    unsigned count = 0;
    for (; word != 0; word &= word - 1)
        count++;
    return count;
}

/* Neighbours (the next ordinal, the next LSN) must be as far apart as any two. */
Test(hash, a_neighbouring_number_changes_about_half_of_the_seed) {
    unsigned total = 0;
    for (uint64_t number = 1; number <= 1000; number++) {
        const unsigned changed = bits_of(hash_bind(7, number) ^ hash_bind(7, number + 1));
        cr_assert_geq(changed, 8, "%llu", (unsigned long long)number);
        total += changed;
    }
    cr_assert(total > 30 * 1000 && total < 34 * 1000, "%u bits", total);
}

Test(hash, another_secret_gives_another_seed_for_any_number) {
    for (uint64_t number = 0; number < 1000; number++)
        cr_assert_neq(hash_bind(1, number), hash_bind(2, number));
}

/* How a frame binds its seed: by ordinal and by LSN, which must not be exchangeable. */
Test(hash, ordinal_and_position_are_not_exchangeable) {
    for (uint64_t a = 0; a < 64; a++) {
        for (uint64_t b = 0; b < 64; b++) {
            const uint64_t there = hash_bind(hash_bind(9, a) * 3, b);
            const uint64_t back = hash_bind(hash_bind(9, b) * 3, a);
            cr_assert(a == b || there != back, "%u and %u", (unsigned)a, (unsigned)b);
        }
    }
}
