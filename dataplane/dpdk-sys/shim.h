/*
 * The part of DPDK that Longspan uses: the headers that the bindings are made from, and C functions around the
 * inline functions, macros and bit fields of DPDK, which Rust cannot call.
 *
 * A frame here is a chain of mbufs that no one else refers to.
 */
#ifndef SHIM_H
#define SHIM_H

#include <rte_config.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

/* Where the members of an mbuf lie that are read for each frame. The struct's unions differ between
 * releases of DPDK; these members do not. */
enum shim_mbuf_offset {
    SHIM_MBUF_BUF_ADDR = offsetof(struct rte_mbuf, buf_addr),
    SHIM_MBUF_BUF_LEN = offsetof(struct rte_mbuf, buf_len),
    SHIM_MBUF_DATA_OFF = offsetof(struct rte_mbuf, data_off),
    SHIM_MBUF_DATA_LEN = offsetof(struct rte_mbuf, data_len),
    SHIM_MBUF_PKT_LEN = offsetof(struct rte_mbuf, pkt_len),
    SHIM_MBUF_NB_SEGS = offsetof(struct rte_mbuf, nb_segs),
    SHIM_MBUF_NEXT = offsetof(struct rte_mbuf, next),
    SHIM_MBUF_REFCNT = offsetof(struct rte_mbuf, refcnt),
};

/* Macros with casts, as constants. */
static const uint64_t SHIM_RX_OFFLOAD_SCATTER = RTE_ETH_RX_OFFLOAD_SCATTER;
static const uint64_t SHIM_TX_OFFLOAD_MULTI_SEGS = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
/* Hashes of the pair of addresses, without ports: those of any IPv4 packet, and all that there are. */
static const uint64_t SHIM_RSS_IPV4 = RTE_ETH_RSS_IPV4;
static const uint64_t SHIM_RSS_IP = RTE_ETH_RSS_IP;

/* rte_errno of this thread. */
int shim_errno(void);

/* Has DPDK's interrupt thread call `handler` with `argument` whenever `fd` can be read. 0, or a negative
 * errno. */
int shim_on_readable(int fd, void (*handler)(void *), void *argument);

/* Whether this thread is one of those that DPDK counts, and so has caches of pools. */
bool shim_thread_is_known(void);

/* Receives at most `room` frames, and fetches the first line of each one's headers into the cache. */
uint16_t shim_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t room);

/* Whether more than `depth` received frames wait in a queue: 1 or 0, or a negative errno where the driver does not
 * tell. */
int shim_rx_holds(uint16_t port, uint16_t queue, uint16_t depth);

/* Sends frames from the front; gives back how many the device took. */
uint16_t shim_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count);

/* A frame of `length` bytes, in as many mbufs as it takes, or NULL where the pool has not got them. */
struct rte_mbuf *shim_frame_from(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length);

/* A frame in one mbuf out of the pool of `like`, with two pieces one after the other as its content, or NULL where
 * the pool has none or they do not fit. */
struct rte_mbuf *shim_frame_gather(const struct rte_mbuf *like, const uint8_t *first, uint32_t first_length,
                                   const uint8_t *second, uint32_t second_length);

/* A copy out of the pool of the frame's first mbuf, or NULL. */
struct rte_mbuf *shim_frame_copy(const struct rte_mbuf *frame);

/* Adds a reference to each of a frame's mbufs. */
void shim_frame_share(struct rte_mbuf *frame);

/* Takes a reference from each of a frame's mbufs, and gives back those that have no other. */
void shim_frame_free(struct rte_mbuf *frame);

/* As shim_frame_free, for frames that are no longer in the cache. */
void shim_frames_free(struct rte_mbuf **frames, uint32_t count);

/* How many mbufs are in a pool itself, and in no cache. */
uint32_t shim_pool_count(const struct rte_mempool *pool);

/* Moves what this thread has cached of a pool back into it. */
void shim_pool_flush(struct rte_mempool *pool);

/* Configures a device. It spreads what it receives over the queues by `hash`, functions of SHIM_RSS_IP, with a
 * key of `key_length` bytes, or its own where there are none; with no functions, in its own way. */
int shim_configure(uint16_t port, uint16_t receive_queues, uint16_t transmit_queues, uint32_t mtu,
                   uint64_t rx_offloads, uint64_t tx_offloads, uint64_t hash, uint8_t *key,
                   uint8_t key_length);

/* Fills the redirection table, which has `size` entries, so that a hash goes to the queue of its last six bits
 * modulo `queues`: the first entry is that of queue 0. 0, or a negative errno. */
int shim_fill_redirection(uint16_t port, uint16_t size, uint16_t queues);

/* The link's state at this moment. `speed` is in Mb/s, UINT32_MAX where the device does not say. */
int shim_link(uint16_t port, bool *up, uint32_t *speed);

/* The time stamp counter of this core. */
uint64_t shim_ticks(void);

#endif
