/* Checks that count and go on. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int check_failed, check_total;

#define CHECK(cond)                                              \
  do {                                                           \
    check_total++;                                               \
    if (!(cond)) {                                               \
      check_failed++;                                            \
      printf("%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #cond);   \
    }                                                            \
  } while (0)

#define CHECK_STR(got, want)                                     \
  do {                                                           \
    check_total++;                                               \
    if (strcmp((got), (want)) != 0) {                            \
      check_failed++;                                            \
      printf("%s:%d: got %s, want %s\n", __FILE__, __LINE__, (got), (want)); \
    }                                                            \
  } while (0)

static int check_done(void) {
  printf("%d checks, %d failed\n", check_total, check_failed);
  return check_failed != 0;
}

#endif
