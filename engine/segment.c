#include "segment.h"

#include "bytes.h"
#include "check.h"
#include "hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_FLAGS = 12,
    AT_ORDINAL = 16,
    AT_DURABLE_LSN = 24,
    AT_MADE_US = 32,
    AT_UUID = 40,
    AT_HASH = 56,
    START_METADATA_BYTES = 3 + SEGMENT_START_BODY_BYTES,
};

static const uint8_t segment_magic[8] = {'P', 'A', 'W', 'L', '-', 'S', 'E', 'G'};

STATIC_CHECK((FRAME_HEADER_BYTES + START_METADATA_BYTES) / 8 * 8 + 8 == SEGMENT_START_FRAME_BYTES,
             "a start frame's size is known");
STATIC_CHECK(AT_UUID + SEGMENT_UUID_BYTES == AT_HASH, "the checksum stands behind the uuid");

void segment_name(uint64_t ordinal, char ret_name[SEGMENT_NAME_BYTES]) {
    char name[32];
    (void)snprintf(name, sizeof name, "%010llu.seg", (unsigned long long)ordinal);
    memcpy(ret_name, name, SEGMENT_NAME_BYTES - 1);
    ret_name[SEGMENT_NAME_BYTES - 1] = '\0';
}

bool segment_parse_name(const char *name, uint64_t *ret_ordinal) {
    uint64_t ordinal = 0;
    for (int i = 0; i < 10; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        ordinal = ordinal * 10 + (uint64_t)(name[i] - '0');
    }
    if (strcmp(name + 10, ".seg") != 0 || ordinal == 0)
        return false;
    *ret_ordinal = ordinal;
    return true;
}

const char *const segment_reserve_names[SEGMENT_RESERVES] = {"reserve-1", "reserve-2"};

bool segment_is_reserve_name(const char *name) {
    return strcmp(name, segment_reserve_names[0]) == 0 ||
           strcmp(name, segment_reserve_names[1]) == 0;
}

void segment_encode_header(const struct segment_header *header, uint64_t secret, uint8_t *block) {
    memset(block, 0, SEGMENT_DATA_AT);
    memcpy(block + AT_MAGIC, segment_magic, sizeof segment_magic);
    bytes_store_u32(block + AT_VERSION, SEGMENT_FORMAT_VERSION);
    bytes_store_u32(block + AT_FLAGS, header->flags);
    bytes_store_u64(block + AT_ORDINAL, header->ordinal);
    bytes_store_u64(block + AT_DURABLE_LSN, header->durable_lsn);
    bytes_store_u64(block + AT_MADE_US, header->made_us);
    memcpy(block + AT_UUID, header->uuid, SEGMENT_UUID_BYTES);
    bytes_store_u64(block + AT_HASH, hash_bytes(block, AT_HASH, secret));
}

enum segment_verdict segment_read_header(const uint8_t *block, size_t count,
                                         const uint8_t uuid[SEGMENT_UUID_BYTES], uint64_t secret,
                                         struct segment_header *ret_header) {
    if (count < SEGMENT_HEADER_BYTES || bytes_are_zero(block, SEGMENT_HEADER_BYTES))
        return SEGMENT_ABSENT;
    if (memcmp(block + AT_MAGIC, segment_magic, sizeof segment_magic) != 0)
        return SEGMENT_WRONG;
    struct segment_header header = {
        .flags = bytes_load_u32(block + AT_FLAGS),
        .ordinal = bytes_load_u64(block + AT_ORDINAL),
        .durable_lsn = bytes_load_u64(block + AT_DURABLE_LSN),
        .made_us = bytes_load_u64(block + AT_MADE_US),
    };
    memcpy(header.uuid, block + AT_UUID, SEGMENT_UUID_BYTES);
    if (bytes_load_u64(block + AT_HASH) != hash_bytes(block, AT_HASH, secret)) {
        /* Another store's header stands under that store's secret: a name is all it can prove. */
        if (memcmp(header.uuid, uuid, SEGMENT_UUID_BYTES) == 0)
            return SEGMENT_WRONG;
        *ret_header = header;
        return SEGMENT_FOREIGN;
    }
    if (bytes_load_u32(block + AT_VERSION) > SEGMENT_FORMAT_VERSION)
        return SEGMENT_NEWER;
    *ret_header = header;
    return SEGMENT_OURS;
}

int segment_write_header(struct os *os, struct os_file *file, const struct segment_header *header,
                         uint64_t secret) {
    uint8_t *block = os_allocate(os, SEGMENT_DATA_AT);
    if (block == NULL)
        return ENOMEM;
    segment_encode_header(header, secret, block);
    const int failed = os_file_write(os, file, block, SEGMENT_DATA_AT, 0);
    os_release(os, block, SEGMENT_DATA_AT);
    return failed;
}

static pawl_status segment_fill(struct os *os, struct os_file *file, const char *name,
                                const struct segment_header *header, uint64_t secret,
                                uint64_t data_bytes, pawl_error *error) {
    int failed = segment_write_header(os, file, header, secret);
    if (failed == 0 && data_bytes > 0)
        failed = os_file_zero_fill(os, file, SEGMENT_DATA_AT, data_bytes);
    if (failed == 0 && STEP_IS_ON(STEP_SEGMENT_SYNC_FILE))
        failed = os_file_sync(os, file);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot make segment %s", name);
    return PAWL_OK;
}

int segment_open_own(struct os *os, struct os_dir *dir, const char *name,
                     struct os_file **ret_file) {
    struct os_file *file;
    struct os_stat stat = {0};
    int failed = os_file_open(os, dir, name, OS_OPEN_READ | OS_OPEN_WRITE | OS_OPEN_CREATE, &file);
    if (failed != 0)
        return failed;
    failed = os_file_stat(os, file, &stat);
    if (failed == 0 && stat.links <= 1) {
        *ret_file = file;
        return 0;
    }
    (void)os_file_close(os, file); /* nothing was written through it */
    if (failed == 0)
        failed = os_unlink(os, dir, name);
    return failed != 0 ? failed
                       : os_file_open(os, dir, name, OS_OPEN_READ | OS_OPEN_WRITE | OS_OPEN_CREATE,
                                      ret_file);
}

pawl_status segment_make(struct os *os, struct os_dir *dir, const struct segment_header *header,
                         uint64_t secret, uint64_t data_bytes, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(header->ordinal, name);
    struct os_file *file;
    int failed = segment_open_own(os, dir, name, &file);
    if (failed != 0)
        return error_os(error, failed, name, 0, "cannot create segment %s", name);
    /* What an interrupted making left is not trusted to be zero. */
    failed = os_file_truncate(os, file, 0);
    pawl_status status = failed == 0
                             ? segment_fill(os, file, name, header, secret, data_bytes, error)
                             : error_os(error, failed, name, 0, "cannot empty segment %s", name);
    failed = os_file_close(os, file);
    if (status == PAWL_OK && failed != 0)
        status = error_os(error, failed, name, 0, "cannot close segment %s", name);
    return status;
}

pawl_status segment_extend(struct os *os, struct os_file *file, uint64_t ordinal, uint64_t from,
                           uint64_t bytes, pawl_error *error) {
    char name[SEGMENT_NAME_BYTES];
    segment_name(ordinal, name);
    const int failed = os_file_zero_fill(os, file, from, bytes - from);
    if (failed != 0) {
        (void)os_file_truncate(os, file, from); /* what was gained of it is given back */
        return error_os(error, failed, name, from, "cannot extend segment %s", name);
    }
    return PAWL_OK;
}

size_t segment_start_frame(const struct segment_start *start, uint64_t ordinal, uint64_t secret,
                           uint64_t durable_lsn, uint64_t time_us,
                           uint8_t frame[SEGMENT_START_FRAME_BYTES]) {
    uint8_t body[SEGMENT_START_BODY_BYTES], metadata[START_METADATA_BYTES];
    bytes_store_u64(body, start->predecessor);
    bytes_store_u64(body + 8, start->end_lsn);
    struct writer writer = writer_over(metadata, sizeof metadata);
    record_write(&writer, RECORD_SEGMENT_START, 0, body, sizeof body);
    struct frame_header header = {
        .lsn = start->end_lsn,
        .durable_lsn = durable_lsn,
        .time_us = time_us,
        .metadata_bytes = (uint32_t)writer_used(&writer),
        .record_count = 1,
        .flags = FRAME_SEGMENT_START,
    };
    const struct frame_key key = {secret, ordinal};
    frame_build(&header, metadata, NULL, secret, frame);
    frame_place(&header, &key, frame);
    return frame_header_frame_bytes(&header);
}

bool segment_start_decode(const void *metadata, size_t bytes, struct segment_start *ret_start) {
    struct reader reader = reader_over(metadata, bytes);
    struct record record;
    if (record_next(&reader, &record) != PAWL_OK || record.kind != RECORD_SEGMENT_START ||
        record.bytes < SEGMENT_START_BODY_BYTES)
        return false;
    ret_start->predecessor = bytes_load_u64(record.body);
    ret_start->end_lsn = bytes_load_u64(record.body + 8);
    return true;
}
