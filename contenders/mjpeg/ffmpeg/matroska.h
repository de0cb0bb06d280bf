/* A Matroska file of JPEG pictures, as a stream: what says when each is due. RFC 9559. */
#ifndef MATROSKA_H
#define MATROSKA_H

#include <stddef.h>
#include <stdint.h>

enum { MATROSKA_BYTES_MAX = 256 };

/* The beginning of a file whose pictures have this size. Gives its length. */
size_t matroska_begin(uint8_t bytes[MATROSKA_BYTES_MAX], uint32_t width, uint32_t height);
/* What stands before each picture: its time in ns, as exact as a microsecond, and its length. Gives its length. */
size_t matroska_picture(uint8_t bytes[MATROSKA_BYTES_MAX], uint64_t at_ns, size_t picture_length);

#endif
