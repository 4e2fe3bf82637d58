/* Sends stamped frames into one memif and takes them from another, and prints as JSON how long they took.
 *
 *   latency_probe EAL-ARGUMENTS -- CAPTURE SECONDS QUEUES LOAD...
 *
 * First it sends as much as the gateway takes, to see how many frames per second come back. Then it sends each LOAD,
 * a part of that rate (0.1 for a tenth). QUEUES is how many transmit queues the gateway has at each port, for the two
 * ends of a memif must agree. It shares nothing with the gateways that it measures. Each frame is the first of the
 * capture, with the next sequence number, and the time stamp counter behind the headers, where no gateway looks.
 * Frames are due at even intervals, and those that are due are sent together. If the probe is late by more than a
 * burst, it leaves frames out and does not make up for them.
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
static const double FLOOD_SECONDS = 0.5;
static const double DRAIN_SECONDS = 0.2;

struct probe {
    uint16_t in, out; /* of the gateway: we send into the first */
    uint8_t frame[FRAME_MAX];
    uint16_t length;
    struct rte_mempool *pool;
    uint16_t queues;
    uint32_t psn;
    uint64_t sent, refused, received;
    uint64_t arrived;     /* within the time of the measurement, whenever they were sent */
    uint64_t first_stamp; /* earlier ones are the warm-up's */
    uint64_t end;         /* of sending */
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
            fail("no one is at the other end of a memif");
        rte_delay_us_sleep(1000);
    }
}

static struct rte_mbuf *next_frame(struct probe *probe, uint64_t stamp)
{
    struct rte_mbuf *frame = rte_pktmbuf_alloc(probe->pool);

    if (!frame)
        return NULL;
    uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(frame, probe->length);
    memcpy(bytes, probe->frame, probe->length);
    bytes[PSN_OFFSET] = (uint8_t)(probe->psn >> 16);
    bytes[PSN_OFFSET + 1] = (uint8_t)(probe->psn >> 8);
    bytes[PSN_OFFSET + 2] = (uint8_t)probe->psn;
    probe->psn++;
    memcpy(bytes + STAMP_OFFSET, &stamp, sizeof(stamp));
    return frame;
}

static void send_frames(struct probe *probe, uint16_t wanted)
{
    struct rte_mbuf *frames[BURST];
    uint64_t stamp = rte_rdtsc();
    uint16_t count = 0;

    while (count < wanted && (frames[count] = next_frame(probe, stamp)) != NULL)
        count++;
    uint16_t sent = rte_eth_tx_burst(probe->in, 0, frames, count);
    rte_pktmbuf_free_bulk(frames + sent, count - sent);
    /* The gateway is to see no gap in the sequence. */
    probe->psn -= (uint32_t)(count - sent);
    if (stamp >= probe->first_stamp) {
        probe->sent += sent;
        probe->refused += (uint64_t)(wanted - sent);
    }
}

static void receive(struct probe *probe, uint16_t queue)
{
    struct rte_mbuf *frames[BURST];
    uint16_t count = rte_eth_rx_burst(probe->out, queue, frames, BURST);
    uint64_t now = rte_rdtsc();

    for (uint16_t i = 0; i < count; i++) {
        uint64_t stamp;
        /* The gateway's own frames have other lengths. */
        if (rte_pktmbuf_pkt_len(frames[i]) == probe->length) {
            memcpy(&stamp, rte_pktmbuf_mtod_offset(frames[i], uint8_t *, STAMP_OFFSET), sizeof(stamp));
            probe->arrived += now >= probe->first_stamp && now < probe->end;
            if (stamp >= probe->first_stamp) {
                probe->received++;
                if (probe->samples_count < probe->samples_max)
                    probe->samples[probe->samples_count++] = now - stamp;
            }
        }
    }
    rte_pktmbuf_free_bulk(frames, count);
    /* Frames that come back to the side from which we send are dropped. */
    count = rte_eth_rx_burst(probe->in, queue, frames, BURST);
    rte_pktmbuf_free_bulk(frames, count);
}

/* Sends for so long after a warm-up, and takes back what comes until it is over. A rate of 0 is all that passes. */
static void run(struct probe *probe, double frames_per_second, double seconds)
{
    double hz = (double)rte_get_tsc_hz();
    double interval = frames_per_second > 0 ? hz / frames_per_second : 0;
    uint64_t start = rte_rdtsc();
    double next = 0; /* after the start */

    probe->sent = probe->refused = probe->received = probe->arrived = probe->samples_count = 0;
    probe->first_stamp = start + (uint64_t)(WARM_UP_SECONDS * hz);
    probe->end = probe->first_stamp + (uint64_t)(seconds * hz);
    uint64_t drained = probe->end + (uint64_t)(DRAIN_SECONDS * hz);
    for (uint64_t now = start; now < drained; now = rte_rdtsc()) {
        double since = (double)(now - start);
        if (since >= next && now < probe->end) {
            double due = interval > 0 ? (since - next) / interval + 1 : BURST;
            uint16_t count = due < BURST ? (uint16_t)due : BURST;
            send_frames(probe, count);
            next += interval * count;
            if (due > BURST)
                next = since;
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

static void measure_load(struct probe *probe, double frames_per_second, double seconds)
{
    probe->samples_max = (uint64_t)(frames_per_second * seconds) + BURST;
    probe->samples = malloc(probe->samples_max * sizeof(*probe->samples));
    if (!probe->samples)
        fail("no memory");
    /* Written to, so that the kernel does not do that in between. */
    memset(probe->samples, 1, probe->samples_max * sizeof(*probe->samples));
    run(probe, frames_per_second, seconds);
    if (probe->samples_count == 0)
        fail("no frame came back");
    qsort(probe->samples, probe->samples_count, sizeof(*probe->samples), compare);
    printf("{\"sent\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"received\": %" PRIu64
           ", \"frames_per_second\": %.0f, \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, \"most_ns\": %.0f}",
           probe->sent, probe->refused, probe->received, (double)probe->sent / seconds, nanos_at(probe, 0.5),
           nanos_at(probe, 0.99), nanos_at(probe, 0.999), nanos_at(probe, 1.0));
    free(probe->samples);
}

int main(int argc, char **argv)
{
    static struct probe probe;
    int used = rte_eal_init(argc, argv);

    if (used < 0)
        fail("EAL does not start");
    if (argc - used < 5)
        fail("usage: latency_probe EAL-ARGUMENTS -- CAPTURE SECONDS QUEUES LOAD...");
    if (rte_eth_dev_get_port_by_name("net_memif0", &probe.in) ||
        rte_eth_dev_get_port_by_name("net_memif1", &probe.out))
        fail("needs --vdev net_memif0 and net_memif1");
    double seconds = atof(argv[used + 2]);
    probe.queues = (uint16_t)atoi(argv[used + 3]);
    read_frame(&probe, argv[used + 1]);
    probe.pool = rte_pktmbuf_pool_create("probe", BUFFERS, BUFFER_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!probe.pool)
        fail("no memory");
    start_port(&probe, probe.in);
    start_port(&probe, probe.out);
    wait_for_link(probe.in);
    wait_for_link(probe.out);
    run(&probe, 0, FLOOD_SECONDS);
    double most = (double)probe.arrived / FLOOD_SECONDS;
    if (most <= 0)
        fail("no frame came back");
    printf("{\"frames_per_second\": %.0f, \"refused\": %" PRIu64 ", \"loads\": [", most, probe.refused);
    for (int load = used + 4; load < argc; load++) {
        measure_load(&probe, most * atof(argv[load]), seconds);
        printf(load + 1 < argc ? ", " : "]}\n");
    }
    return 0;
}
