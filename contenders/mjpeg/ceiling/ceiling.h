/* The upper bound of the mjpeg workload: the minimal implementation of the contract. It consists of system calls, one copy of each packet,
* and the SDK's counters.
 *
 *     sender.c     packets (RFC 2435) of the whole clip, prebuilt; only sequence numbers and timestamps are written later
 *     receiver.c   packets copied to their offset, and the headers of a JPEG file before them
 *     tables.c     the quantisation tables of Q 1 to 99
 */
#ifndef CEILING_H
#define CEILING_H

#include "mjpeg.h"

enum {
    RTP_BYTES = 12,
    JPEG_BYTES = 8,        /* the main header of RFC 2435 */
    RESTART_BYTES = 4,
    QUANTISATION_BYTES = 4, /* and then the tables */
    PAYLOAD_TYPE = 26,
    CLOCK_HZ = 90000,
    MARKER = 0x80,
    TYPE_420 = 1,
    TYPE_RESTART = 64,
    Q_IN_BAND = 128,       /* from here on, the first packet contains the tables */
    Q_DYNAMIC = 255,       /* the tables are in every frame */
    SIDE_MAX = 2040,       /* maximum size that the header can represent */
};

noreturn void run_sender(struct nd_mjpeg *job);
noreturn void run_receiver(struct nd_mjpeg *job);
/* The two tables of a Q of 1 to 99, 64 bytes each, in zigzag order. */
void tables_of(uint8_t q, uint8_t tables[2 * ND_TABLE_VALUES]);

#endif
