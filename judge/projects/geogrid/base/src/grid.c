#include "grid.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

int grid_encode(double lat, double lon, char out[GRID_LENGTH + 1]) {
  if (!(lat >= -90.0 && lat <= 90.0 && lon >= -180.0 && lon <= 180.0)) return -1;
  double x = lon + 180.0, y = lat + 90.0;
  /* The far edges belong to the last square. */
  if (x >= 360.0) x = nextafter(360.0, 0.0);
  if (y >= 180.0) y = nextafter(180.0, 0.0);
  out[0] = (char)('A' + (int)(x / 20.0));
  out[1] = (char)('A' + (int)(y / 10.0));
  x = fmod(x, 20.0);
  y = fmod(y, 10.0);
  out[2] = (char)('0' + (int)(x / 2.0));
  out[3] = (char)('0' + (int)y);
  x = fmod(x, 2.0);
  y = fmod(y, 1.0);
  out[4] = (char)('a' + (int)(x * 12.0));
  out[5] = (char)('a' + (int)(y * 24.0));
  out[6] = '\0';
  return 0;
}

int grid_decode(const char *square, double *lat, double *lon) {
  if (strlen(square) != GRID_LENGTH) return -1;
  int a = toupper((unsigned char)square[0]) - 'A', b = toupper((unsigned char)square[1]) - 'A';
  int c = square[2] - '0', d = square[3] - '0';
  int e = tolower((unsigned char)square[4]) - 'a', f = tolower((unsigned char)square[5]) - 'a';
  if (a < 0 || a > 17 || b < 0 || b > 17 || c < 0 || c > 9 || d < 0 || d > 9) return -1;
  if (e < 0 || e > 23 || f < 0 || f > 23) return -1;
  *lon = a * 20.0 + c * 2.0 + e / 12.0 - 180.0;
  *lat = b * 10.0 + d + f / 24.0 - 90.0;
  return 0;
}
