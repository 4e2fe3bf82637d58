/* Sends stamped frames into one memif and takes them from another, and prints as JSON how long they took.
 *
 *   latency_probe EAL-ARGUMENTS -- CAPTURE FRAMES_PER_SECOND SECONDS QUEUES
 *
 * QUEUES is how many transmit queues the gateway has at each port, for the two ends of a memif must agree.
 * It shares nothing with the gateways that it measures. Each frame is the first of the capture, with the next
 * sequence number, and the time stamp counter behind the headers, where no gateway looks. Frames are sent one by
 * one, at even intervals; one that comes too late for its interval is sent at once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

enum {
    BURST = 32,
    DESCRIPTORS = 1024,
    BUFFERS = 8191,
    BUFFER_CACHE = 256,
    FRAME_MAX = 1518,
    CAPTURE_HEADERS = 24 + 16,
    PSN_OFFSET = 51,   /* Ethernet, IPv4, UDP, and 9 bytes of BTH */
    STAMP_OFFSET = 54, /* behind BTH */
    LINK_SECONDS = 30,
};

static const double WARM_UP_SECONDS = 0.2;
static const double DRAIN_SECONDS = 0.2;

struct probe {
    uint16_t in, out; /* of the gateway: we send into the first */
    uint8_t frame[FRAME_MAX];
    uint16_t length;
    struct rte_mempool *pool;
    uint16_t queues;
    uint64_t sent, refused, received;
    uint64_t first_stamp; /* earlier ones are the warm-up's */
    uint64_t *samples;
    uint64_t samples_max, samples_count;
};

static void fail(const char *what)
{
    fprintf(stderr, "latency_probe: %s\n", what);
    exit(1);
}

static void read_frame(struct probe *probe, const char *path)
{
    uint8_t bytes[CAPTURE_HEADERS + FRAME_MAX];
    uint32_t length;
    FILE *file = fopen(path, "rb");

    if (!file)
        fail("cannot open the capture");
    size_t got = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    if (got < CAPTURE_HEADERS)
        fail("there is no frame in the capture");
    memcpy(&length, bytes + CAPTURE_HEADERS - 8, sizeof(length));
    if (length > got - CAPTURE_HEADERS || length < STAMP_OFFSET + sizeof(uint64_t))
        fail("the first frame of the capture is too long or too short");
    memcpy(probe->frame, bytes + CAPTURE_HEADERS, length);
    probe->length = (uint16_t)length;
}

static void start_port(const struct probe *probe, uint16_t port)
{
    struct rte_eth_conf conf = {0};

    if (rte_eth_dev_configure(port, probe->queues, 1, &conf))
        fail("cannot configure a port");
    for (uint16_t queue = 0; queue < probe->queues; queue++)
        if (rte_eth_rx_queue_setup(port, queue, DESCRIPTORS, SOCKET_ID_ANY, NULL, probe->pool))
            fail("cannot set up a receive queue");
    if (rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("cannot start a port");
}

static void wait_for_link(uint16_t port)
{
    uint64_t deadline = rte_rdtsc() + LINK_SECONDS * rte_get_tsc_hz();
    struct rte_eth_link link = {0};

    while (rte_eth_link_get_nowait(port, &link) || link.link_status != RTE_ETH_LINK_UP) {
        if (rte_rdtsc() > deadline)
            fail("nobody is at the other end of a memif");
        rte_delay_us_sleep(1000);
    }
}

static void send_one(struct probe *probe)
{
    struct rte_mbuf *frame = rte_pktmbuf_alloc(probe->pool);

    if (!frame) {
        probe->refused++;
        return;
    }
    uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(frame, probe->length);
    memcpy(bytes, probe->frame, probe->length);
    uint32_t psn = (uint32_t)(probe->sent & 0xffffff);
    bytes[PSN_OFFSET] = (uint8_t)(psn >> 16);
    bytes[PSN_OFFSET + 1] = (uint8_t)(psn >> 8);
    bytes[PSN_OFFSET + 2] = (uint8_t)psn;
    uint64_t stamp = rte_rdtsc();
    memcpy(bytes + STAMP_OFFSET, &stamp, sizeof(stamp));
    if (rte_eth_tx_burst(probe->in, 0, &frame, 1) == 1) {
        probe->sent += stamp >= probe->first_stamp;
    } else {
        probe->refused++;
        rte_pktmbuf_free(frame);
    }
}

static void receive(struct probe *probe, uint16_t queue)
{
    struct rte_mbuf *frames[BURST];
    uint16_t count = rte_eth_rx_burst(probe->out, queue, frames, BURST);
    uint64_t now = rte_rdtsc();

    for (uint16_t i = 0; i < count; i++) {
        uint64_t stamp;
        /* What the gateway says for itself is of other lengths. */
        if (rte_pktmbuf_pkt_len(frames[i]) == probe->length) {
            memcpy(&stamp, rte_pktmbuf_mtod_offset(frames[i], uint8_t *, STAMP_OFFSET), sizeof(stamp));
            if (stamp >= probe->first_stamp && probe->samples_count < probe->samples_max) {
                probe->samples[probe->samples_count++] = now - stamp;
                probe->received++;
            }
        }
        rte_pktmbuf_free(frames[i]);
    }
    /* What comes back to the side from which we send. */
    count = rte_eth_rx_burst(probe->in, queue, frames, BURST);
    rte_pktmbuf_free_bulk(frames, count);
}

static void run(struct probe *probe, double frames_per_second, double seconds)
{
    double hz = (double)rte_get_tsc_hz();
    uint64_t interval = (uint64_t)(hz / frames_per_second);
    uint64_t start = rte_rdtsc(), next = start;

    probe->first_stamp = start + (uint64_t)(WARM_UP_SECONDS * hz);
    uint64_t end = probe->first_stamp + (uint64_t)(seconds * hz);
    uint64_t drained = end + (uint64_t)(DRAIN_SECONDS * hz);
    for (uint64_t now = start; now < drained; now = rte_rdtsc()) {
        if (now >= next && now < end) {
            send_one(probe);
            next += interval;
            if (next < now)
                next = now; /* no burst to make up for it */
        }
        for (uint16_t queue = 0; queue < probe->queues; queue++)
            receive(probe, queue);
    }
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double nanos_at(const struct probe *probe, double share)
{
    uint64_t rank = (uint64_t)(share * (double)(probe->samples_count - 1) + 0.5);
    return (double)probe->samples[rank] * 1e9 / (double)rte_get_tsc_hz();
}

int main(int argc, char **argv)
{
    static struct probe probe;
    int used = rte_eal_init(argc, argv);

    if (used < 0)
        fail("EAL does not start");
    if (argc - used != 5)
        fail("usage: latency_probe EAL-ARGUMENTS -- CAPTURE FRAMES_PER_SECOND SECONDS QUEUES");
    if (rte_eth_dev_get_port_by_name("net_memif0", &probe.in) ||
        rte_eth_dev_get_port_by_name("net_memif1", &probe.out))
        fail("needs --vdev net_memif0 and net_memif1");
    double frames_per_second = atof(argv[used + 2]), seconds = atof(argv[used + 3]);
    probe.queues = (uint16_t)atoi(argv[used + 4]);
    read_frame(&probe, argv[used + 1]);
    probe.pool = rte_pktmbuf_pool_create("probe", BUFFERS, BUFFER_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    probe.samples_max = (uint64_t)(frames_per_second * seconds) + 1;
    probe.samples = calloc(probe.samples_max, sizeof(*probe.samples));
    if (!probe.pool || !probe.samples)
        fail("no memory");
    start_port(&probe, probe.in);
    start_port(&probe, probe.out);
    wait_for_link(probe.in);
    wait_for_link(probe.out);
    run(&probe, frames_per_second, seconds);

    if (probe.samples_count == 0)
        fail("no frame came back");
    qsort(probe.samples, probe.samples_count, sizeof(*probe.samples), compare);
    printf("{\"sent\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"received\": %" PRIu64
           ", \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, \"most_ns\": %.0f}\n",
           probe.sent, probe.refused, probe.received, nanos_at(&probe, 0.5), nanos_at(&probe, 0.99),
           nanos_at(&probe, 0.999), nanos_at(&probe, 1.0));
    return 0;
}
