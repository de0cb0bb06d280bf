/* RFC 2435, appendix A: the tables of ITU-T T.81, K.1, in zigzag order, scaled by Q. */
#include "ceiling.h"

static const uint8_t BASE[2 * ND_TABLE_VALUES] = {
    16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40, 58, 51, 61, 60, 57, 51,
    56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103, 104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101,
    103, 99,
    17, 18, 18, 24, 21, 24, 47, 26, 26, 47, 99, 66, 56, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
};

void tables_of(uint8_t q, uint8_t tables[2 * ND_TABLE_VALUES]) {
    const int scale = q < 50 ? 5000 / q : 200 - 2 * q;
    for (int i = 0; i < 2 * ND_TABLE_VALUES; i++) {
        const int value = (BASE[i] * scale + 50) / 100;
        tables[i] = (uint8_t)(value < 1 ? 1 : value > 255 ? 255 : value);
    }
}
