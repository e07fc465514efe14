#include "trace.h"

#include <string.h>

static uint64_t hash_in(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

void trace_end(struct trace *trace) {
    const struct trace_entry *entry = trace_begin(trace);
    uint64_t name[DISK_NAME_BYTES / 8];
    memcpy(name, entry->file, sizeof name);
    uint64_t hash = hash_in(trace->hash, entry->at_ns);
    hash = hash_in(hash, (uint64_t)entry->what << 32 ^ (uint64_t)(entry->process + 1) << 16 ^
                             (uint64_t)(entry->thread + 1) << 8 ^ (uint64_t)entry->result << 40);
    hash = hash_in(hash, entry->offset);
    hash = hash_in(hash, entry->bytes);
    trace->hash = hash_in(hash, name[0] ^ name[1] << 1 ^ name[2] << 2);
    trace->count++;
}

static const char *entry_name(unsigned what) {
    if (what < CALL_COUNT)
        return call_name((enum call)what);
    switch (what) {
#define X(name, text)                                                                              \
    case name: return text;
        TRACE_MAP(X)
#undef X
    default: return "?";
    }
}

static void entry_print(const struct trace_entry *entry, FILE *out) {
    fprintf(out, "%12.6f ", (double)entry->at_ns / 1e9);
    if (entry->process < 0)
        fprintf(out, "%-6s", "");
    else if (entry->thread < 0)
        fprintf(out, "p%-5d", entry->process);
    else
        fprintf(out, "p%d.%-3d", entry->process, entry->thread);
    fprintf(out, "%-11s %-16s", entry_name(entry->what), entry->file);
    if (entry->offset != 0 || entry->bytes != 0)
        fprintf(out, " at %llu, %llu bytes", (unsigned long long)entry->offset,
                (unsigned long long)entry->bytes);
    if (entry->result != 0)
        fprintf(out, ": %s", strerror(entry->result));
    fputc('\n', out);
}

void trace_print(const struct trace *trace, FILE *out) {
    const uint64_t first = trace->count > WORLD_TRACE ? trace->count - WORLD_TRACE : 0;
    for (uint64_t i = first; i < trace->count; i++)
        entry_print(&trace->entries[i % WORLD_TRACE], out);
}
