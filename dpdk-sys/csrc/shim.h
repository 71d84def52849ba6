/*
 * Interface to DPDK: the headers that bindgen reads, and functions for those parts of DPDK that are
 * inline code, macros, or have another name in another release. None of them is on the path of a
 * frame, except that an empty or full mempool cache calls them once per batch.
 */
#ifndef SLUICE_SHIM_H
#define SLUICE_SHIM_H

#include <stdio.h>

#include <rte_alarm.h>
#include <rte_bus.h>
#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_telemetry.h>
#include <rte_version.h>

/*
 * Offsets of the fields of struct rte_mbuf that the hot path uses. shim.c asserts these numbers for
 * the C compiler and src/mbuf.rs for the Rust compiler, so neither can change alone.
 */
#define SLUICE_MBUF_SIZE 128
#define SLUICE_MBUF_BUF_ADDR 0
#define SLUICE_MBUF_DATA_OFF 16
#define SLUICE_MBUF_REFCNT 18
#define SLUICE_MBUF_NB_SEGS 20
#define SLUICE_MBUF_PORT 22
#define SLUICE_MBUF_OL_FLAGS 24
#define SLUICE_MBUF_PACKET_TYPE 32
#define SLUICE_MBUF_PKT_LEN 36
#define SLUICE_MBUF_DATA_LEN 40
#define SLUICE_MBUF_VLAN_TCI 42
#define SLUICE_MBUF_VLAN_TCI_OUTER 52
#define SLUICE_MBUF_BUF_LEN 54
#define SLUICE_MBUF_POOL 56
#define SLUICE_MBUF_NEXT 64
#define SLUICE_MBUF_TX_OFFLOAD 72

/* Flags of an mbuf whose data belongs to another buffer. */
#define SLUICE_MBUF_NOT_DIRECT 0x6000000000000000ULL

/* Constants that are macros with casts, which bindgen cannot read. */
enum sluice_const {
	SLUICE_LCORE_ID_ANY = LCORE_ID_ANY,
	SLUICE_SOCKET_ID_ANY_BITS = (unsigned int)SOCKET_ID_ANY,
	SLUICE_HEADROOM = RTE_PKTMBUF_HEADROOM,
	SLUICE_MEMPOOL_CACHE_MAX = RTE_MEMPOOL_CACHE_MAX_SIZE,
	SLUICE_MAX_LCORE = RTE_MAX_LCORE,
	SLUICE_MAX_PORTS = RTE_MAX_ETHPORTS,
};

/* The calling thread's rte_errno. */
int sluice_errno(void);

/* The calling thread's lcore, or LCORE_ID_ANY for a thread that DPDK does not know. */
unsigned int sluice_lcore_id(void);

/* Timestamp counter, for the machines where Rust has no name for it. */
uint64_t sluice_rdtsc(void);

/* Takes exactly n objects from the pool behind the caches: 0, or less than 0 and nothing taken. */
int sluice_mempool_dequeue(struct rte_mempool *mp, void **objs, unsigned int n);

/* Returns n objects to the pool behind the caches. */
void sluice_mempool_enqueue(struct rte_mempool *mp, void *const *objs, unsigned int n);

/* Frees an mbuf of any kind: chained, attached, shared. */
void sluice_mbuf_free(struct rte_mbuf *m);

/* Frees the mbufs that are left in a ring without other users. */
void sluice_ring_drain(struct rte_ring *r);

/* An mbuf pool with mempool flags, which rte_pktmbuf_pool_create does not take. */
struct rte_mempool *sluice_mbuf_pool_create(const char *name, unsigned int n,
					    unsigned int cache_size, uint16_t data_room,
					    int socket_id, unsigned int flags);

/*
 * Configures these queues, this MTU (0: the driver's), these receive offloads. With `spread` the
 * receive queues get flows by their addresses and ports, if the device can.
 */
int sluice_port_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint16_t mtu,
			  uint64_t rx_offloads, int spread);

/* Lets the device put frames with this PCP in their first VLAN tag into a receive queue. On failure
 * the driver's text is in `why`. */
int sluice_steer_priority(uint16_t port, uint8_t pcp, uint16_t queue, char *why, size_t len);

/* State of the link: speed in Mbit/s (0 unknown), up, full duplex. */
int sluice_link_get(uint16_t port, uint32_t *mbps, int *up, int *full_duplex);

/* Reads the timestamp that the port's PTP clock gave a received frame, which is flagged with it. */
int sluice_rx_timestamp(uint16_t port, const struct rte_mbuf *m, struct timespec *at);

/* The name of the bus that the port's device is on ("pci", "vdev"), or NULL. */
const char *sluice_port_bus(uint16_t port);

/* Operation of a crypto session: AES-GCM, or AES-GMAC for frames that stay readable. */
enum sluice_crypto_what {
	SLUICE_CRYPTO_GCM_SEAL,
	SLUICE_CRYPTO_GCM_OPEN,
	SLUICE_CRYPTO_GMAC_SEAL,
	SLUICE_CRYPTO_GMAC_OPEN,
};

/* True if the device has it synchronously, with 12 octets of nonce and 16 of check value. */
int sluice_crypto_offers(uint8_t dev, enum sluice_crypto_what what, uint16_t key_len,
			 uint16_t aad_len);

/* Makes a session for it, or returns NULL and sets rte_errno. The key is copied. */
void *sluice_crypto_session(uint8_t dev, struct rte_mempool *mp, enum sluice_crypto_what what,
			    const uint8_t *key, uint16_t key_len, uint16_t aad_len);

/* Unsigned values in telemetry, under the name that this release gives them. */
int sluice_tel_dict_uint(struct rte_tel_data *d, const char *name, uint64_t val);
int sluice_tel_array_uint(struct rte_tel_data *d, uint64_t val);
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
enum { SLUICE_TEL_UINT_VAL = RTE_TEL_UINT_VAL };
#else
enum { SLUICE_TEL_UINT_VAL = RTE_TEL_U64_VAL };
#endif

/* Sends DPDK's log to fn, a piece at a time, instead of to standard error and syslog. */
typedef void (*sluice_log_fn)(const char *text, size_t len, int level);
int sluice_log_to(sluice_log_fn fn);

/*
 * Replaces the number of the fanout groups that the calling thread's packet sockets join by this
 * one; 0 ends that. DPDK's af_packet driver forms the number from the process id and the interface
 * index, in 16 bits, accepts no other, and fails if a group on another interface has it.
 */
void sluice_fanout_group(uint16_t group);
/* Value of PACKET_FANOUT that is set when this thread passes `argument`. */
uint32_t sluice_fanout_argument(uint32_t argument);

#endif
