/* For handles of interrupts, which are no different in later releases. */
#define ALLOW_EXPERIMENTAL_API

#include "shim.h"

#include <rte_cycles.h>
#include <rte_prefetch.h>

/* The bindings read these members with just these sizes. */
_Static_assert(sizeof(((struct rte_mbuf *)0)->buf_addr) == sizeof(void *), "buf_addr is a pointer");
_Static_assert(sizeof(((struct rte_mbuf *)0)->buf_len) == 2, "buf_len has 16 bits");
_Static_assert(sizeof(((struct rte_mbuf *)0)->data_off) == 2, "data_off has 16 bits");
_Static_assert(sizeof(((struct rte_mbuf *)0)->data_len) == 2, "data_len has 16 bits");
_Static_assert(sizeof(((struct rte_mbuf *)0)->pkt_len) == 4, "pkt_len has 32 bits");
_Static_assert(sizeof(((struct rte_mbuf *)0)->nb_segs) == 2, "nb_segs has 16 bits");
_Static_assert(sizeof(((struct rte_mbuf *)0)->next) == sizeof(void *), "next is a pointer");
_Static_assert(sizeof(((struct rte_mbuf *)0)->refcnt) == 2, "refcnt has 16 bits");

int shim_errno(void)
{
    return rte_errno;
}

int shim_on_readable(int fd, void (*handler)(void *), void *argument)
{
    struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    int status = -ENOMEM;

    if (handle != NULL && rte_intr_fd_set(handle, fd) == 0 &&
        rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0)
        status = rte_intr_callback_register(handle, handler, argument);
    /* DPDK has made a copy. */
    rte_intr_instance_free(handle);
    return status;
}

bool shim_thread_is_known(void)
{
    return rte_lcore_id() != LCORE_ID_ANY;
}

uint16_t shim_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t room)
{
    uint16_t received = rte_eth_rx_burst(port, queue, frames, room);

    for (uint16_t i = 0; i < received; i++)
        rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
    return received;
}

int shim_rx_holds(uint16_t port, uint16_t queue, uint16_t depth)
{
    int status = rte_eth_rx_descriptor_status(port, queue, depth);

    if (status >= 0)
        return status == RTE_ETH_RX_DESC_DONE;
    status = rte_eth_rx_queue_count(port, queue);
    return status < 0 ? status : status > depth;
}

uint16_t shim_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count)
{
    return rte_eth_tx_burst(port, queue, frames, count);
}

struct rte_mbuf *shim_frame_from(struct rte_mempool *pool, const uint8_t *bytes, uint32_t length)
{
    struct rte_mbuf *head = rte_pktmbuf_alloc(pool);

    if (head == NULL)
        return NULL;
    for (struct rte_mbuf *last = head;;) {
        uint32_t part = RTE_MIN(length, (uint32_t)rte_pktmbuf_tailroom(last));

        memcpy(rte_pktmbuf_mtod(last, void *), bytes, part);
        last->data_len = (uint16_t)part;
        head->pkt_len += part;
        bytes += part;
        length -= part;
        if (length == 0)
            return head;
        /* An mbuf without room for data would make a chain without end. */
        last->next = part == 0 || head->nb_segs == UINT16_MAX ? NULL : rte_pktmbuf_alloc(pool);
        if (last->next == NULL)
            break;
        last = last->next;
        head->nb_segs++;
    }
    rte_pktmbuf_free(head);
    return NULL;
}

struct rte_mbuf *shim_frame_gather(const struct rte_mbuf *like, const uint8_t *first, uint32_t first_length,
                                   const uint8_t *second, uint32_t second_length)
{
    struct rte_mbuf *frame = rte_pktmbuf_alloc(like->pool);
    uint8_t *data;

    if (frame == NULL)
        return NULL;
    if (first_length + second_length > rte_pktmbuf_tailroom(frame)) {
        rte_pktmbuf_free(frame);
        return NULL;
    }
    data = rte_pktmbuf_mtod(frame, uint8_t *);
    memcpy(data, first, first_length);
    if (second_length > 0)
        memcpy(data + first_length, second, second_length);
    frame->data_len = (uint16_t)(first_length + second_length);
    frame->pkt_len = first_length + second_length;
    return frame;
}

struct rte_mbuf *shim_frame_copy(const struct rte_mbuf *frame)
{
    return rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);
}

void shim_frame_share(struct rte_mbuf *frame)
{
    rte_pktmbuf_refcnt_update(frame, 1);
}

void shim_frame_free(struct rte_mbuf *frame)
{
    rte_pktmbuf_free(frame);
}

void shim_frames_free(struct rte_mbuf **frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        rte_mbuf_prefetch_part1(frames[i]);
        rte_mbuf_prefetch_part2(frames[i]);
    }
    rte_pktmbuf_free_bulk(frames, count);
}

uint32_t shim_pool_count(const struct rte_mempool *pool)
{
    return rte_mempool_get_ops(pool->ops_index)->get_count(pool);
}

void shim_pool_flush(struct rte_mempool *pool)
{
    rte_mempool_cache_flush(NULL, pool);
}

int shim_configure(uint16_t port, uint16_t receive_queues, uint16_t transmit_queues, uint32_t mtu,
                   uint64_t rx_offloads, uint64_t tx_offloads, uint64_t hash, uint8_t *key,
                   uint8_t key_length)
{
    struct rte_eth_conf conf = {
        .rxmode = { .mtu = mtu, .offloads = rx_offloads },
        .txmode = { .offloads = tx_offloads },
    };

    if (hash != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
            .rss_key = key_length == 0 ? NULL : key,
            .rss_key_len = key_length,
            .rss_hf = hash,
        };
    }
    return rte_eth_dev_configure(port, receive_queues, transmit_queues, &conf);
}

int shim_fill_redirection(uint16_t port, uint16_t size, uint16_t queues)
{
    struct rte_eth_rss_reta_entry64 table[32] = {0};

    if (size > RTE_DIM(table) * RTE_ETH_RETA_GROUP_SIZE)
        return -E2BIG;
    for (uint16_t i = 0; i < size; i++) {
        struct rte_eth_rss_reta_entry64 *group = &table[i / RTE_ETH_RETA_GROUP_SIZE];
        uint16_t place = i % RTE_ETH_RETA_GROUP_SIZE;

        group->mask |= RTE_BIT64(place);
        group->reta[place] = place % queues;
    }
    return rte_eth_dev_rss_reta_update(port, table, size);
}

int shim_link(uint16_t port, bool *up, uint32_t *speed)
{
    struct rte_eth_link link = {0};
    int status = rte_eth_link_get_nowait(port, &link);

    *up = link.link_status == RTE_ETH_LINK_UP;
    *speed = link.link_speed;
    return status;
}

uint64_t shim_ticks(void)
{
    return rte_rdtsc();
}
