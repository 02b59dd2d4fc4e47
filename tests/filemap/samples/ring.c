#include <stdio.h>
#include "ring.h"

#define RING_SIZE 64
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct ring {
    int head, tail;
    char *(*format)(int value);
    union {
        int i;
        float f;
    } value;
} ring_t;

enum state { EMPTY, FULL = 4 };

typedef int (*visit_fn)(struct ring *r, void *context);

static int count, *first;
extern const char *names[];

int ring_push(ring_t *r, int value);

/* Puts a value into the ring. */
int
ring_push(ring_t *r, int value)
{
    int next = r->head + 1;
    if (next == RING_SIZE)
        next = 0;
    return next;
}

#ifdef DEBUG
static inline void dump(const ring_t *r) {
    printf("%d\n", r->head);
}
#endif

char *(*lookup(int key))(int) {
    return 0;
}
