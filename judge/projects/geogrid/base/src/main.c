#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"

int main(int argc, char **argv) {
  double lat, lon;
  char square[GRID_LENGTH + 1];
  if (argc == 3 && strcmp(argv[1], "-d") == 0) {
    if (grid_decode(argv[2], &lat, &lon) != 0) {
      fprintf(stderr, "geogrid: %s is not a square\n", argv[2]);
      return 2;
    }
    printf("%.4f %.4f\n", lat, lon);
    return 0;
  }
  if (argc != 3) {
    fprintf(stderr, "usage: geogrid LAT LON | geogrid -d SQUARE\n");
    return 2;
  }
  lat = strtod(argv[1], NULL);
  lon = strtod(argv[2], NULL);
  if (grid_encode(lat, lon, square) != 0) {
    fprintf(stderr, "geogrid: %s %s is not on earth\n", argv[1], argv[2]);
    return 2;
  }
  puts(square);
  return 0;
}
