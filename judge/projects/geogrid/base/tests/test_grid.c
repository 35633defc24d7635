#include <math.h>

#include "check.h"
#include "grid.h"

static const char *encode(double lat, double lon) {
  static char square[GRID_LENGTH + 1];
  return grid_encode(lat, lon, square) == 0 ? square : "none";
}

static void test_encode(void) {
  CHECK_STR(encode(48.14666, 11.60833), "JN58td");
  CHECK_STR(encode(-34.91, -56.21166), "GF15vc");
  CHECK_STR(encode(0, 0), "JJ00aa");
}

static void test_edges(void) {
  CHECK_STR(encode(-90, -180), "AA00aa");
  CHECK_STR(encode(90, 180), "RR99xx");
  CHECK_STR(encode(90.5, 0), "none");
  CHECK_STR(encode(0, -180.1), "none");
  CHECK_STR(encode(NAN, 0), "none");
}

static void test_decode(void) {
  double lat, lon;
  CHECK(grid_decode("JN58td", &lat, &lon) == 0);
  CHECK(fabs(lat - 48.125) < 1e-9);
  CHECK(fabs(lon - 11.583333333) < 1e-6);
  CHECK(grid_decode("ZZ58td", &lat, &lon) == -1);
  CHECK(grid_decode("JN58t", &lat, &lon) == -1);
  CHECK(grid_decode("JN58ty", &lat, &lon) == -1);
}

int main(void) {
  test_encode();
  test_edges();
  test_decode();
  return check_done();
}
