/* A stream of JPEG pictures with timestamps, as a Matroska file (RFC 9559). */
#ifndef MATROSKA_H
#define MATROSKA_H

#include <stddef.h>
#include <stdint.h>

enum { MATROSKA_BYTES_MAX = 256 };

/* Writes the head of a file and returns its length. It states the frame rate, because some readers would otherwise read ahead to probe it. */
size_t matroska_begin(uint8_t bytes[MATROSKA_BYTES_MAX], uint32_t width, uint32_t height, uint32_t fps);
/* Writes the head of a picture with its time (rounded to 1 us) and length. Returns the length of the head. */
size_t matroska_picture(uint8_t bytes[MATROSKA_BYTES_MAX], uint64_t at_ns, size_t picture_length);

#endif
