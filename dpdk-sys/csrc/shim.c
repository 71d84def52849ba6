#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <linux/if_packet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <rte_flow.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "DPDK 22.11 or later is needed (Debian and Ubuntu: apt install libdpdk-dev)"
#endif

/* With these the library marks every free object, which the Rust side of the cache does not. */
#if defined(RTE_LIBRTE_MEMPOOL_DEBUG)
#error "a DPDK built with RTE_LIBRTE_MEMPOOL_DEBUG is not supported"
#endif

#define AT(field, offset) \
	_Static_assert(offsetof(struct rte_mbuf, field) == (offset), "rte_mbuf." #field " moved")

_Static_assert(sizeof(struct rte_mbuf) == SLUICE_MBUF_SIZE, "rte_mbuf changed its size");
AT(buf_addr, SLUICE_MBUF_BUF_ADDR);
AT(data_off, SLUICE_MBUF_DATA_OFF);
AT(refcnt, SLUICE_MBUF_REFCNT);
AT(nb_segs, SLUICE_MBUF_NB_SEGS);
AT(port, SLUICE_MBUF_PORT);
AT(ol_flags, SLUICE_MBUF_OL_FLAGS);
AT(packet_type, SLUICE_MBUF_PACKET_TYPE);
AT(pkt_len, SLUICE_MBUF_PKT_LEN);
AT(data_len, SLUICE_MBUF_DATA_LEN);
AT(vlan_tci, SLUICE_MBUF_VLAN_TCI);
AT(vlan_tci_outer, SLUICE_MBUF_VLAN_TCI_OUTER);
AT(buf_len, SLUICE_MBUF_BUF_LEN);
AT(pool, SLUICE_MBUF_POOL);
AT(next, SLUICE_MBUF_NEXT);
AT(tx_offload, SLUICE_MBUF_TX_OFFLOAD);

_Static_assert(SLUICE_MBUF_NOT_DIRECT == (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL),
	       "the flags of mbufs with foreign data moved");

int
sluice_errno(void)
{
	return rte_errno;
}

unsigned int
sluice_lcore_id(void)
{
	return rte_lcore_id();
}

uint64_t
sluice_rdtsc(void)
{
	return rte_rdtsc();
}

int
sluice_mempool_dequeue(struct rte_mempool *mp, void **objs, unsigned int n)
{
	return rte_mempool_ops_dequeue_bulk(mp, objs, n);
}

void
sluice_mempool_enqueue(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
	rte_mempool_ops_enqueue_bulk(mp, objs, n);
}

void
sluice_mbuf_free(struct rte_mbuf *m)
{
	rte_pktmbuf_free(m);
}

void
sluice_ring_drain(struct rte_ring *r)
{
	void *m;

	while (rte_ring_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
}

struct rte_mempool *
sluice_mbuf_pool_create(const char *name, unsigned int n, unsigned int cache_size,
			uint16_t data_room, int socket_id, unsigned int flags)
{
	struct rte_pktmbuf_pool_private priv;
	struct rte_mempool *mp;
	int ret;

	memset(&priv, 0, sizeof(priv));
	priv.mbuf_data_room_size = data_room;

	mp = rte_mempool_create_empty(name, n, sizeof(struct rte_mbuf) + data_room, cache_size,
				      sizeof(priv), socket_id, flags);
	if (mp == NULL)
		return NULL;
	ret = rte_mempool_set_ops_byname(mp, rte_mbuf_best_mempool_ops(), NULL);
	if (ret == 0) {
		rte_pktmbuf_pool_init(mp, &priv);
		ret = rte_mempool_populate_default(mp);
	}
	if (ret < 0) {
		rte_mempool_free(mp);
		rte_errno = -ret;
		return NULL;
	}
	rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
	return mp;
}

int
sluice_port_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint16_t mtu,
		      uint64_t rx_offloads, int spread)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	uint64_t flows;
	int ret;

	memset(&conf, 0, sizeof(conf));
	conf.rxmode.mtu = mtu;
	conf.rxmode.offloads = rx_offloads;
	if (spread) {
		ret = rte_eth_dev_info_get(port, &info);
		if (ret < 0)
			return ret;
		flows = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & flows;
		if (conf.rx_adv_conf.rss_conf.rss_hf != 0)
			conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	}
	return rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
}

int
sluice_steer_priority(uint16_t port, uint8_t pcp, uint16_t queue, char *why, size_t len)
{
	struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_item_vlan spec, mask;
	struct rte_flow_action_queue to = {.index = queue};
	struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_VLAN, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error;

	memset(&spec, 0, sizeof(spec));
	memset(&mask, 0, sizeof(mask));
	memset(&error, 0, sizeof(error));
	spec.hdr.vlan_tci = rte_cpu_to_be_16((uint16_t)(pcp << 13));
	mask.hdr.vlan_tci = rte_cpu_to_be_16(7 << 13);
	if (rte_flow_create(port, &attr, pattern, actions, &error) != NULL)
		return 0;
	snprintf(why, len, "%s", error.message == NULL ? "" : error.message);
	return rte_errno == 0 ? -ENOTSUP : -rte_errno;
}

int
sluice_link_get(uint16_t port, uint32_t *mbps, int *up, int *full_duplex)
{
	struct rte_eth_link link;
	int ret;

	memset(&link, 0, sizeof(link));
	ret = rte_eth_link_get_nowait(port, &link);
	if (ret < 0)
		return ret;
	*mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	*up = link.link_status == RTE_ETH_LINK_UP;
	*full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
	return 0;
}

int
sluice_rx_timestamp(uint16_t port, const struct rte_mbuf *m, struct timespec *at)
{
	return rte_eth_timesync_read_rx_timestamp(port, at, m->timesync);
}

const char *
sluice_port_bus(uint16_t port)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port, &info) != 0 || info.device == NULL)
		return NULL;
	return rte_bus_name(rte_dev_bus(info.device));
}

/* Octets of a GCM nonce and of a check value in MACsec. */
#define NONCE_LEN 12
#define ICV_LEN 16

int
sluice_crypto_offers(uint8_t dev, enum sluice_crypto_what what, uint16_t key_len, uint16_t aad_len)
{
	const struct rte_cryptodev_symmetric_capability *cap;
	struct rte_cryptodev_sym_capability_idx idx;
	struct rte_cryptodev_info info;
	int gcm = what == SLUICE_CRYPTO_GCM_SEAL || what == SLUICE_CRYPTO_GCM_OPEN;

	rte_cryptodev_info_get(dev, &info);
	if ((info.feature_flags & RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO) == 0)
		return 0;
	memset(&idx, 0, sizeof(idx));
	if (gcm) {
		idx.type = RTE_CRYPTO_SYM_XFORM_AEAD;
		idx.algo.aead = RTE_CRYPTO_AEAD_AES_GCM;
	} else {
		idx.type = RTE_CRYPTO_SYM_XFORM_AUTH;
		idx.algo.auth = RTE_CRYPTO_AUTH_AES_GMAC;
	}
	cap = rte_cryptodev_sym_capability_get(dev, &idx);
	if (cap == NULL)
		return 0;
	return (gcm ? rte_cryptodev_sym_capability_check_aead(cap, key_len, ICV_LEN, aad_len,
							      NONCE_LEN)
		    : rte_cryptodev_sym_capability_check_auth(cap, key_len, ICV_LEN, NONCE_LEN)) ==
	       0;
}

void *
sluice_crypto_session(uint8_t dev, struct rte_mempool *mp, enum sluice_crypto_what what,
		      const uint8_t *key, uint16_t key_len, uint16_t aad_len)
{
	struct rte_crypto_sym_xform xform;
	int seal = what == SLUICE_CRYPTO_GCM_SEAL || what == SLUICE_CRYPTO_GMAC_SEAL;

	memset(&xform, 0, sizeof(xform));
	if (what == SLUICE_CRYPTO_GCM_SEAL || what == SLUICE_CRYPTO_GCM_OPEN) {
		xform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
		xform.aead.op = seal ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT;
		xform.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
		xform.aead.key.data = key;
		xform.aead.key.length = key_len;
		xform.aead.iv.length = NONCE_LEN;
		xform.aead.digest_length = ICV_LEN;
		xform.aead.aad_length = aad_len;
	} else {
		xform.type = RTE_CRYPTO_SYM_XFORM_AUTH;
		xform.auth.op = seal ? RTE_CRYPTO_AUTH_OP_GENERATE : RTE_CRYPTO_AUTH_OP_VERIFY;
		xform.auth.algo = RTE_CRYPTO_AUTH_AES_GMAC;
		xform.auth.key.data = key;
		xform.auth.key.length = key_len;
		xform.auth.iv.length = NONCE_LEN;
		xform.auth.digest_length = ICV_LEN;
	}
	return rte_cryptodev_sym_session_create(dev, &xform, mp);
}

int
sluice_tel_dict_uint(struct rte_tel_data *d, const char *name, uint64_t val)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	return rte_tel_data_add_dict_uint(d, name, val);
#else
	return rte_tel_data_add_dict_u64(d, name, val);
#endif
}

int
sluice_tel_array_uint(struct rte_tel_data *d, uint64_t val)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	return rte_tel_data_add_array_uint(d, val);
#else
	return rte_tel_data_add_array_u64(d, val);
#endif
}

static sluice_log_fn log_fn;

static ssize_t
log_write(void *cookie, const char *buf, size_t len)
{
	(void)cookie;
	log_fn(buf, len, rte_log_cur_msg_loglevel());
	return (ssize_t)len;
}

int
sluice_log_to(sluice_log_fn fn)
{
	cookie_io_functions_t io = { .write = log_write };
	FILE *f;

	log_fn = fn;
	f = fopencookie(NULL, "w", io);
	if (f == NULL)
		return -1;
	return rte_openlog_stream(f);
}

/* 0: the argument is not changed. */
static __thread uint16_t fanout_group;

void
sluice_fanout_group(uint16_t group)
{
	fanout_group = group;
}

uint32_t
sluice_fanout_argument(uint32_t argument)
{
	return fanout_group == 0 ? argument : (argument & ~UINT32_C(0xffff)) | fanout_group;
}

typedef int (*setsockopt_fn)(int fd, int level, int name, const void *value, socklen_t len);

static setsockopt_fn next_setsockopt;

/* Once and early, because dlsym() may take locks, which setsockopt() must not. */
__attribute__((constructor)) static void
find_next_setsockopt(void)
{
	*(void **)&next_setsockopt = dlsym(RTLD_NEXT, "setsockopt");
}

/*
 * Precedes the C library's function for the program and the libraries that it loads, and changes
 * one option alone, PACKET_FANOUT, and that only for a thread that has called
 * sluice_fanout_group(). Every other call is passed unchanged to the next definition, which is that
 * of a preloaded library (LD_PRELOAD) if it has one. Before constructors have run it is the system
 * call, which is all that the C library's function does on 64-bit Linux. The state is thread-local
 * and the function takes no lock, so it may be called from any thread, from signal handlers, and
 * after fork().
 */
int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t fanout;

	if (level == SOL_PACKET && name == PACKET_FANOUT && len == sizeof(fanout) && value != NULL &&
	    fanout_group != 0) {
		memcpy(&fanout, value, sizeof(fanout));
		fanout = sluice_fanout_argument(fanout);
		value = &fanout;
	}
	if (next_setsockopt != NULL)
		return next_setsockopt(fd, level, name, value, len);
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
