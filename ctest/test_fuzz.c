/* Replays the corpus of the fuzzer, and inputs of random bytes, always the same ones. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "fuzz.h"

enum { LONGEST = 4096, N_RANDOM = 4000 };

static void replay(const char *folder) {
  DIR *dir = opendir(folder);
  CHECK(dir != NULL);
  if (!dir) return;
  for (struct dirent *entry_of; (entry_of = readdir(dir));) {
    unsigned char input[LONGEST];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry_of->d_name);
    FILE *file = fopen(path, "rb");
    if (!file || entry_of->d_name[0] == '.') continue;
    CHECK(LLVMFuzzerTestOneInput(input, fread(input, 1, LONGEST, file)) == 0);
    fclose(file);
  }
  closedir(dir);
}

static void test_corpus(void) { replay("corpus"); }

static void test_random(void) {
  for (int run = 0; run < N_RANDOM; run++) {
    unsigned char input[600];
    random_state = (unsigned long long)run;
    for (size_t i = 0; i < sizeof input; i++) input[i] = (unsigned char)(256 * uniform());
    input[0] = (unsigned char)run;
    CHECK(LLVMFuzzerTestOneInput(input, sizeof input) == 0);
  }
}

int main(void) {
  RUN(test_corpus);
  RUN(test_random);
  return mu_report();
}
