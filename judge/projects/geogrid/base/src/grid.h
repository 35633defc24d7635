#ifndef GRID_H
#define GRID_H

#define GRID_LENGTH 6

/* Write the square of a position to out; return 0, or -1 when it is not on earth. */
int grid_encode(double lat, double lon, char out[GRID_LENGTH + 1]);

/* Read the south-west corner of a square; return 0, or -1 when it is none. */
int grid_decode(const char *square, double *lat, double *lon);

#endif
