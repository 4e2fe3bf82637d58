/* Reads the time stamp counter without end, and prints as JSON how long the machine kept this thread from it.
 *
 *   noise SECONDS
 *
 * A gap is the time between two readings. A frame that arrives within a gap waits until it ends. So the share of all
 * instants at which more than w is left of a gap is what such a frame waits more than w, and the percentiles that are
 * printed compare with those of latency.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { GAPS = 1 << 20 };

/* Shorter gaps are the loop itself. */
static const double LEAST_NS = 100.0;

static double gaps[GAPS];

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The share of all instants from which a gap lasts longer than `wait`. */
static double share_beyond(double wait, size_t count, double total)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        if (gaps[i] > wait)
            sum += gaps[i] - wait;
    return sum / total;
}

/* The longest wait in all instants but this share of them. */
static double wait_at(double share, size_t count, double total, double longest)
{
    double low = 0, high = longest;

    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;

        if (share_beyond(middle, count, total) > share)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int main(int argc, char **argv)
{
    double seconds = argc == 2 ? atof(argv[1]) : 0;
    double longest = 0, start, total;
    uint64_t begin, last, end, now;
    size_t count = 0;

    if (seconds <= 0) {
        fprintf(stderr, "usage: noise SECONDS\n");
        return 2;
    }
    /* Written to, so that the kernel does not do that in between. */
    for (size_t i = 0; i < GAPS; i++)
        gaps[i] = -1;
    start = now_ns();
    begin = __rdtsc();
    while (now_ns() - start < 1e8)
        ;
    double hz = (double)(__rdtsc() - begin) / (now_ns() - start) * 1e9;
    uint64_t least = (uint64_t)(LEAST_NS * hz / 1e9);
    begin = last = __rdtsc();
    end = begin + (uint64_t)(seconds * hz);
    while ((now = __rdtsc()) < end) {
        if (now - last > least && count < GAPS)
            gaps[count++] = (double)(now - last) * 1e9 / hz;
        last = now;
    }
    total = (double)(last - begin) * 1e9 / hz;
    for (size_t i = 0; i < count; i++)
        longest = gaps[i] > longest ? gaps[i] : longest;
    printf("{\"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, \"most_ns\": %.0f, \"gaps\": %zu, "
           "\"share_in_gaps\": %.6f}\n",
           wait_at(0.5, count, total, longest), wait_at(0.01, count, total, longest),
           wait_at(0.001, count, total, longest), longest, count, share_beyond(0, count, total));
    return 0;
}
