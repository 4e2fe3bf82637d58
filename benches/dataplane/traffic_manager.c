/* Forwards between the two ports of each pair through the hierarchical scheduler of DPDK (librte_sched).
 *
 *   traffic_manager EAL-ARGUMENTS -- PIPES BACKLOG BUFFERS BUFFER_BYTES
 *
 * Each frame of a burst is classified: a hash of its IPv4 addresses chooses one of the PIPES (a power of two), and its
 * DSCP the traffic class there. Then it goes into the scheduler of the other port, and what that one chooses leaves.
 * Ports, pipes and classes have the same rate, far above what a core can do, so that nothing is shaped: measured is the
 * work for each frame. BACKLOG frames always wait in a scheduler: it has to look less far for the next frame where more
 * pipes have one. The first lcore answers each line of its input with the totals as JSON, and ends with the input; the
 * others forward, pair by pair.
 */
#define ALLOW_EXPERIMENTAL_API /* of rte_sched_subport_tc_ov_config */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_mbuf.h>
#include <rte_sched.h>

enum {
    BURST = 64, /* as in DPDK's example qos_sched */
    DESCRIPTORS = 1024,
    BUFFER_CACHE = 250, /* as testpmd has it */
    PIPES_MAX = 4096,
    QUEUE_FRAMES = 64, /* as there; longer queues where there are few of them */
    QUEUE_FRAMES_MAX = 1024,
    SCHEDULER_FRAMES = 16384,
    FRAME_MAX = 9216,
    DSCP_VALUES = 64,
};

static const uint64_t RATE = 50000000000; /* 400 Gb/s in bytes */
static const uint64_t PERIOD_MS = 10;
static const uint32_t GOLDEN = 0x9e3779b1; /* an odd number near the golden section of 2^32 */

struct port {
    struct rte_sched_port *scheduler; /* of what leaves */
    uint64_t waiting;                 /* in the scheduler */
    uint64_t dropped;                 /* on the way out; the worker writes, the first lcore reads */
} __rte_cache_aligned;

static struct port ports[RTE_MAX_ETHPORTS];
static uint16_t port_count;
static uint32_t pipes;
static uint64_t backlog;
static uint8_t class_of_dscp[DSCP_VALUES];
static volatile int over;

static void fail(const char *what)
{
    fprintf(stderr, "traffic_manager: %s\n", what);
    exit(1);
}

static struct rte_sched_port *new_scheduler(void)
{
    struct rte_sched_pipe_params pipe = {.tb_rate = RATE, .tb_size = RATE, .tc_period = PERIOD_MS,
                                         .tc_ov_weight = 1, .wrr_weights = {1, 1, 1, 1}};
    struct rte_sched_subport_profile_params profile = {.tb_rate = RATE, .tb_size = RATE, .tc_period = PERIOD_MS};
    struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = pipes, .pipe_profiles = &pipe,
                                               .n_pipe_profiles = 1, .n_max_pipe_profiles = 1};
    struct rte_sched_port_params params = {
        .name = "port", .socket = 0, .rate = RATE, .mtu = FRAME_MAX, .frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
        .n_subports_per_port = 1, .subport_profiles = &profile, .n_subport_profiles = 1, .n_max_subport_profiles = 1,
        .n_pipes_per_subport = pipes};

    uint32_t room = RTE_MIN(RTE_MAX(SCHEDULER_FRAMES / pipes, (uint32_t)QUEUE_FRAMES), (uint32_t)QUEUE_FRAMES_MAX);
    for (int class = 0; class < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; class++) {
        pipe.tc_rate[class] = profile.tc_rate[class] = RATE;
        subport.qsize[class] = (uint16_t)room;
    }
    struct rte_sched_port *scheduler = rte_sched_port_config(&params);
    /* Sharing of the last class between pipes that ask for too much is left out, since it costs time. */
    if (!scheduler || rte_sched_subport_config(scheduler, 0, &subport, 0) ||
        rte_sched_subport_tc_ov_config(scheduler, 0, false))
        fail("cannot make a scheduler");
    for (uint32_t number = 0; number < pipes; number++)
        if (rte_sched_pipe_config(scheduler, 0, number, 0))
            fail("cannot make a pipe");
    return scheduler;
}

static void start_port(uint16_t port, struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};

    if (rte_eth_dev_configure(port, 1, 1, &conf) ||
        rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) ||
        rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(port))
        fail("cannot start a port");
    ports[port].scheduler = new_scheduler();
}

static void classify(struct rte_sched_port *scheduler, struct rte_mbuf *frame)
{
    const struct rte_ether_hdr *ethernet = rte_pktmbuf_mtod(frame, const struct rte_ether_hdr *);
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(ethernet + 1);
    uint32_t pipe = 0, class = RTE_SCHED_TRAFFIC_CLASS_BE;

    if (ethernet->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
        /* A CRC alone is linear, and sends successive addresses to half of the pipes. */
        uint32_t hash = rte_hash_crc_8byte((uint64_t)ip->src_addr << 32 | ip->dst_addr, 0) * GOLDEN;
        pipe = (uint32_t)((uint64_t)hash * pipes >> 32);
        class = class_of_dscp[ip->type_of_service >> 2];
    }
    rte_sched_port_pkt_write(scheduler, frame, 0, pipe, class, 0, RTE_COLOR_GREEN);
}

static void forward_burst(uint16_t from, uint16_t to)
{
    struct rte_mbuf *frames[BURST];
    struct port *out = &ports[to];
    uint16_t received = rte_eth_rx_burst(from, 0, frames, BURST);

    if (received > 0) {
        for (uint16_t i = 0; i < received; i++)
            classify(out->scheduler, frames[i]);
        /* It frees those for which a queue has no room. */
        uint64_t taken = (uint64_t)rte_sched_port_enqueue(out->scheduler, frames, received);
        out->waiting += taken;
        out->dropped += received - taken;
    }
    if (out->waiting <= backlog)
        return;
    uint32_t due = (uint32_t)RTE_MIN(out->waiting - backlog, (uint64_t)BURST);
    uint16_t chosen = (uint16_t)rte_sched_port_dequeue(out->scheduler, frames, due);
    uint16_t sent = rte_eth_tx_burst(to, 0, frames, chosen);
    out->waiting -= chosen;
    out->dropped += chosen - sent;
    rte_pktmbuf_free_bulk(frames + sent, chosen - sent);
}

static int forward(void *unused)
{
    uint16_t worker = (uint16_t)rte_lcore_index(-1) - 1, workers = (uint16_t)rte_lcore_count() - 1;

    (void)unused;
    while (!over)
        for (uint16_t port = 2 * worker; port < port_count; port += 2 * workers) {
            forward_burst(port, port + 1);
            forward_burst(port + 1, port);
        }
    return 0;
}

static void print_totals(void)
{
    uint64_t sent = 0, dropped = 0;
    struct timespec now;

    for (uint16_t port = 0; port < port_count; port++) {
        struct rte_eth_stats stats;
        if (rte_eth_stats_get(port, &stats))
            fail("a port has no statistics");
        sent += stats.opackets;
        dropped += *(volatile uint64_t *)&ports[port].dropped;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("{\"sent\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"at_ns\": %" PRIu64 "}\n", sent, dropped,
           (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[16];
    int used = rte_eal_init(argc, argv);

    if (used < 0)
        fail("EAL does not start");
    if (argc - used != 5)
        fail("usage: traffic_manager EAL-ARGUMENTS -- PIPES BACKLOG BUFFERS BUFFER_BYTES");
    pipes = (uint32_t)atoi(argv[used + 1]);
    backlog = (uint64_t)atoi(argv[used + 2]);
    port_count = rte_eth_dev_count_avail();
    if (pipes > PIPES_MAX || !rte_is_power_of_2(pipes) || port_count % 2 || rte_lcore_count() < 2)
        fail("PIPES is a power of two up to 4096, ports come in pairs, and there is a core beside the first");
    struct rte_mempool *pool = rte_pktmbuf_pool_create("frames", (unsigned)atoi(argv[used + 3]), BUFFER_CACHE, 0,
                                                       (uint16_t)atoi(argv[used + 4]), SOCKET_ID_ANY);
    if (!pool)
        fail("no memory");
    for (int dscp = 0; dscp < DSCP_VALUES; dscp++)
        class_of_dscp[dscp] = RTE_SCHED_TRAFFIC_CLASS_BE;
    class_of_dscp[26] = 3;
    class_of_dscp[48] = 6;
    for (uint16_t port = 0; port < port_count; port++)
        start_port(port, pool);
    rte_eal_mp_remote_launch(forward, NULL, SKIP_MAIN);
    while (fgets(line, sizeof(line), stdin))
        print_totals();
    over = 1;
    rte_eal_mp_wait_lcore();
    return 0;
}
