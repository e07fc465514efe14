#include "swarm.h"

static void choose_faults(struct world_options *options, struct prng *prng) {
    static const struct {
        enum fault fault;
        unsigned one_in, chance_max;
    } kinds[] = {
        {FAULT_KILL, 2, 300},       {FAULT_KILL_IN_WRITE, 2, 3000}, {FAULT_STOP, 5, 100},
        {FAULT_POWER, 2, 80},       {FAULT_SYNC, 4, 3000},          {FAULT_DIR_SYNC, 6, 8000},
        {FAULT_READ, 6, 2000},      {FAULT_WRITE, 6, 2000},         {FAULT_OPEN, 6, 2000},
        {FAULT_NAME, 6, 20000},     {FAULT_MEMORY, 6, 2000},        {FAULT_WALL_CLOCK, 4, 1000},
        {FAULT_KILL_OTHER, 4, 200}, {FAULT_SPLIT_WRITE, 3, 30000},  {FAULT_WAKE, 4, 20000},
        {FAULT_ORDER, 2, 50000},    {FAULT_SPACE, 6, 3000},         {FAULT_WRITE_BACK, 4, 2000},
        {FAULT_EVICT, 4, 2000},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (prng_below(prng, kinds[i].one_in) == 0)
            options->chances[kinds[i].fault] = (unsigned)prng_between(prng, 1, kinds[i].chance_max);
    }
}

void swarm_choose(struct world_options *options, struct prng *prng) {
    static const unsigned switchings[] = {200, 2000, 20000, 60000};
    options->switching = switchings[prng_below(prng, 4)];
    options->blocks_max = prng_below(prng, 5) == 0 ? prng_between(prng, 40, 120) : 20000;
    options->calls_max = 4000000;
    choose_faults(options, prng);
}

const char *swarm_complaint(enum world_news news) {
    switch (news) {
    case WORLD_STRANDED: return "somebody waits for ever";
    case WORLD_ENDLESS: return "it does not come to an end";
    case WORLD_BROKEN: return "the seam was misused";
    case WORLD_QUIET:
    case WORLD_DIED:
    case WORLD_POWER: return NULL;
    }
    return "news of no kind";
}
