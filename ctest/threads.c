/* threads.c: the part of gcc's OpenMP run time that the core needs, on POSIX threads and a mutex.
 * The thread sanitizer understands those, but not how libgomp's threads wait for each other. */
#include <pthread.h>
#include <stdlib.h>

enum { MOST_THREADS = 65 };

static struct {
  pthread_mutex_t critical;
  void (*body)(void *);
  void *data;
} region = {.critical = PTHREAD_MUTEX_INITIALIZER};

static __thread int number;

int omp_get_thread_num(void) { return number; }
int omp_get_max_threads(void) { return MOST_THREADS; }
int omp_get_thread_limit(void) { return MOST_THREADS; }
int omp_get_num_procs(void) { return MOST_THREADS; }
void omp_set_num_threads(int n) { (void)n; }

void GOMP_critical_name_start(void **name) { (void)name, pthread_mutex_lock(&region.critical); }
void GOMP_critical_name_end(void **name) { (void)name, pthread_mutex_unlock(&region.critical); }

static void *run_thread(void *argument) {
  number = *(int *)argument;
  region.body(region.data);
  return NULL;
}

void GOMP_parallel(void (*body)(void *), void *data, unsigned n, unsigned flags) {
  pthread_t thread[MOST_THREADS];
  int numbers[MOST_THREADS];
  (void)flags;
  if (n > MOST_THREADS) abort();
  region.body = body, region.data = data;
  for (unsigned i = 1; i < n; i++) {
    numbers[i] = (int)i;
    if (pthread_create(thread + i, NULL, run_thread, numbers + i)) abort();
  }
  body(data);
  for (unsigned i = 1; i < n; i++) pthread_join(thread[i], NULL);
}
