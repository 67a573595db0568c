/* threads.c: as much of gcc's OpenMP run time as the core needs, on POSIX threads and a mutex. The
 * thread sanitizer sees those; it knows nothing of how libgomp's threads wait for each other. */
#include <pthread.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

static struct {
  pthread_mutex_t lock;
  int started;
  long next, end, step;
  void (*body)(void *);
  void *data;
} loop = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int number;

int omp_get_thread_num(void) { return number; }

/* the next share of the loop: one iteration */
_Bool GOMP_loop_dynamic_next(long *from, long *to) {
  pthread_mutex_lock(&loop.lock);
  *from = loop.next;
  *to = loop.next += loop.step;
  const _Bool more = *from < loop.end;
  pthread_mutex_unlock(&loop.lock);
  return more;
}

_Bool GOMP_loop_dynamic_start(long start, long end, long step, long chunk, long *from, long *to) {
  (void)chunk;
  pthread_mutex_lock(&loop.lock);
  if (!loop.started) loop.next = start, loop.end = end, loop.step = step;
  loop.started = 1;
  pthread_mutex_unlock(&loop.lock);
  return GOMP_loop_dynamic_next(from, to);
}

void GOMP_loop_end_nowait(void) {}

static void *run_thread(void *argument) {
  number = *(int *)argument;
  loop.body(loop.data);
  return NULL;
}

void GOMP_parallel(void (*body)(void *), void *data, unsigned n, unsigned flags) {
  pthread_t thread[MOST_THREADS];
  int numbers[MOST_THREADS];
  (void)flags;
  if (n > MOST_THREADS) abort();
  loop.started = 0, loop.body = body, loop.data = data;
  for (unsigned i = 1; i < n; i++) {
    numbers[i] = (int)i;
    if (pthread_create(thread + i, NULL, run_thread, numbers + i)) abort();
  }
  body(data);
  for (unsigned i = 1; i < n; i++) pthread_join(thread[i], NULL);
}
