//! Tests that documented defaults are true: a file with every default of the schema written out
//! must give the same plan as a file without them.

use super::*;
use file::testfields;

/// A file with only required fields, in every section.
const SILENT: &str = "
buffer: {profiles: {mine: {lossless: {}}}}
bridge: {statics: [{mac: 02:00:00:00:00:01, port: a}]}
ports:
  - {name: a, device: net_null0, pfc: {}, watchdog: {}, queues: {2: {ecn: {}}, 1: {}}}
  - {name: b, device: net_null1, pause: {}}
  - name: c
    device: net_null2
    pfc: {}
    headroom: {auto: {macsec: {}}}
    measurement: {initiate: true}
    ptp: {}
    lldp: {}
    dcbx: {isolation: {}, topology: {}, sfc: {}}
  - name: d
    device: net_null3
    measurement: {}
    congestion_isolation: {peer: {peer-mac-address: 02:00:00:00:00:09}}
    macsec:
      key: 000102030405060708090a0b0c0d0e0f
      receive:
        - sci: {mac: 02:00:00:00:00:09}
          associations: {1: {key: 100102030405060708090a0b0c0d0e0f}}
sfc: {budget: {}, meter: {}, queues: {3: {aqm: {}}}}
congestion_isolation: {isolate: {3: 4}}
sfc_proxy: {policy: {}, cache: {}}
fast_cnp: {}
qcn: {queues: {3: {}}}
";

/// The same file with every default written out; `$Type.field` is replaced by the schema's default.
const SPOKEN: &str = "
switch: {name: $Switch.name, max_frame: $Switch.max_frame, seed: $Switch.seed}
buffer:
  cell: $Buffer.cell
  profiles:
    mine:
      reserved: $Profile.reserved
      shared: $Profile.shared
      lossless: {xoff: $Lossless.xoff, xon: $Lossless.xon}
defaults:
  rx_descriptors: $Port.rx_descriptors
  tx_descriptors: $Port.tx_descriptors
  hardware_pfc: $Port.hardware_pfc
  rate: $Port.rate
  shaped: $Port.shaped
  trust: $Port.trust
  default_priority: $Port.default_priority
  attached: $Port.attached
  congestion_locator: $Port.congestion_locator
  link:
    length: $Link.length
    phy: $Link.phy
    fec: $Link.fec
    peer_response: $Link.peer_response
    peer_committed: $Link.peer_committed
    poll_gap: $Link.poll_gap
ports:
  - name: a
    device: net_null0
    pfc: {enable: $Pfc.enable, quanta: $Pfc.quanta, refresh: $Pfc.refresh}
    watchdog: {enabled: $Watchdog.enabled, detection: $Watchdog.detection, action: $Watchdog.action}
    queues:
      1: {strict: $Queue.strict, limit: $Queue.limit}
      2: {ecn: {pmax: $Ecn.pmax, at: $Ecn.at, not_ect: $Ecn.not_ect}}
  - name: b
    device: net_null1
    pause: {send: $Pause.send, obey: $Pause.obey, quanta: $Pause.quanta, refresh: $Pause.refresh}
    headroom: $Port.headroom
  - name: c
    device: net_null2
    pfc: {}
    headroom:
      auto:
        method: $AutoHeadroom.method
        statistic: $AutoHeadroom.statistic
        formula: $AutoHeadroom.formula
        adjustment: $AutoHeadroom.adjustment
        limit: $AutoHeadroom.limit
        invocation: $AutoHeadroom.invocation
        wait: $AutoHeadroom.wait
        macsec:
          local_shim: $MacsecShims.local_shim
          remote_shim: $MacsecShims.remote_shim
          remote: $MacsecShims.remote
    measurement:
      respond: $Measurement.respond
      initiate: true
      rounds: $Measurement.rounds
      requests: $Measurement.requests
      spacing_min: $Measurement.spacing_min
      spacing_max: $Measurement.spacing_max
      piggyback: $Measurement.piggyback
      times: $Measurement.times
      kinds: $Measurement.kinds
      length: $Measurement.length
      rides: $Measurement.rides
      compensation: $Measurement.compensation
      adjustment: $Measurement.adjustment
      dialect: $Measurement.dialect
    ptp:
      respond: $Ptp.respond
      initiate: $Ptp.initiate
      interval: $Ptp.interval
      rounds: $Ptp.rounds
      domain: $Ptp.domain
      profile: $Ptp.profile
    lldp:
      admin: $Lldp.admin
      interval: $Lldp.interval
      hold: $Lldp.hold
      fast_interval: $Lldp.fast_interval
      fast_count: $Lldp.fast_count
      credit: $Lldp.credit
    dcbx:
      pfc:
        willing: $DcbxPfc.willing
        capability: $DcbxPfc.capability
        form: $DcbxPfc.form
        macsec_bypass: $DcbxPfc.macsec_bypass
        macsec: $DcbxPfc.macsec
      ets: {willing: $DcbxEts.willing, recommend: $DcbxEts.recommend}
      precedence: $Dcbx.precedence
      isolation:
        queue_map: {0-7: $DcbxIsolation.queue_map}
        encapsulation: $DcbxIsolation.encapsulation
        udp_port: $DcbxIsolation.udp_port
        family: $DcbxIsolation.family
      topology: {device: $DcbxTopology.device, orientation: $DcbxTopology.orientation}
      sfc:
        point: $DcbxSfc.point
        proxy: $DcbxSfc.proxy
        obeys: $DcbxSfc.obeys
        udp_port: $DcbxSfc.udp_port
      subtypes:
        pfc_information: $DcbxSubtypes.pfc_information
        congestion_isolation: $DcbxSubtypes.congestion_isolation
        topology: $DcbxSubtypes.topology
  - name: d
    device: net_null3
    sfc: {point: $PortSfc.point}
    measurement: {initiate: $Measurement.initiate}
    congestion_isolation:
      cip-cim-port: $PortIsolation.cip-cim-port
      peer:
        peer-mac-address: 02:00:00:00:00:09
        cim-type: $IsolationPeer.cim-type
        peer-udp-port: $IsolationPeer.peer-udp-port
        peer-cim-encap-len: $IsolationPeer.peer-cim-encap-len
    macsec:
      cipher_suite: $Macsec.cipher_suite
      include_sci: $Macsec.include_sci
      use_es: $Macsec.use_es
      use_scb: $Macsec.use_scb
      confidentiality: $Macsec.confidentiality
      confidentiality_offset: $Macsec.confidentiality_offset
      protect: {data: $MacsecProtect.data, pfc: $MacsecProtect.pfc}
      measure: $Macsec.measure
      accept_pfc: $Macsec.accept_pfc
      validate: $Macsec.validate
      replay: {protect: $MacsecReplay.protect, window: $MacsecReplay.window}
      delay: {tx: $MacsecDelay.tx, rx: $MacsecDelay.rx}
      key: 000102030405060708090a0b0c0d0e0f
      receive:
        - sci: {mac: 02:00:00:00:00:09, port: $MacsecSci.port}
          associations:
            1: {key: 100102030405060708090a0b0c0d0e0f, next_pn: $MacsecAssociation.next_pn}
sfc:
  sfcMasterEnable: $Sfc.sfcMasterEnable
  sfcmTransmitPriority: $Sfc.sfcmTransmitPriority
  sfcmUDPPort: $Sfc.sfcmUDPPort
  sfcMaxSFCM: $Sfc.sfcMaxSFCM
  sfcMinHeaderOctets: $Sfc.sfcMinHeaderOctets
  sfcMaxFlowLife: $Sfc.sfcMaxFlowLife
  form: $Sfc.form
  unknown: $Sfc.unknown
  meter: {window: $SfcMeter.window}
  from: $Sfc.from
  dscp: $Sfc.dscp
  spacing: $Sfc.spacing
  octets_min: $Sfc.octets_min
  pause_min: $Sfc.pause_min
  queues: {3: {aqm: {pmax: $Aqm.pmax}}}
  budget: {interval: $MessageLimit.interval, burst: $MessageLimit.burst}
  streams: $Sfc.streams
  count: $Sfc.count
  life: $Sfc.life
congestion_isolation:
  ci-master-enable: $CongestionIsolation.ci-master-enable
  ci-cim-tx-priority: $CongestionIsolation.ci-cim-tx-priority
  ci-max-flow-life: $CongestionIsolation.ci-max-flow-life
  min-header-octets: $CongestionIsolation.min-header-octets
  max-cim-tx: $CongestionIsolation.max-cim-tx
  max-ci-peer-entries: $CongestionIsolation.max-ci-peer-entries
  max-ci-stream-entries: $CongestionIsolation.max-ci-stream-entries
  isolate: {3: 4}
  map_reading: $CongestionIsolation.map_reading
  dscp: $CongestionIsolation.dscp
  spacing: $CongestionIsolation.spacing
  repeat: $CongestionIsolation.repeat
  dialect: {octet_three: $CimDialect.octet_three, add: $CimDialect.add, vid: $CimDialect.vid}
sfc_proxy:
  unknown: $SfcProxy.unknown
  accept: {switches: $SfcProxyAccept.switches, hosts: $SfcProxyAccept.hosts}
  policy:
    longest: $PausePolicy.longest
    credit: $PausePolicy.credit
    share: $PausePolicy.share
    spacing: $PausePolicy.spacing
    burst: $PausePolicy.burst
  cache: {entries: $SfcProxyCache.entries, remember: $SfcProxyCache.remember}
fast_cnp:
  spacing: $FastCnp.spacing
  flows: $FastCnp.flows
  source_qp: $FastCnp.source_qp
  priority: $FastCnp.priority
  dscp: $FastCnp.dscp
qcn:
  transmit_priority: $Qcn.transmit_priority
  msdu_octets: $Qcn.msdu_octets
  queues:
    3:
      set_point: $QcnQueue.set_point
      weight: $QcnQueue.weight
      sample_base: $QcnQueue.sample_base
      jitter: $QcnQueue.jitter
bridge:
  table_size: $Bridge.table_size
  ageing: $Bridge.ageing
  statics: [{vlan: $StaticAddress.vlan, mac: 02:00:00:00:00:01, port: a}]
eal: {hugepages: $Eal.hugepages}
observe: {telemetry: $Observe.telemetry}
";

#[test]
fn every_documented_default_is_the_one_of_the_code() {
    let stated = testfields::stated(&testfields::fields(&switch_schema(), "File"));
    assert!(stated.len() > 35, "{stated:?}");
    let (silent, spoken) = (good(SILENT).0, good(&testfields::spoken(SPOKEN, &stated)).0);
    // `stated_rate` is the one field that differs if the default is written out.
    let unstated = format!("{spoken:?}").replace("stated_rate: Some(BitsPerSec(10000000000))", "");
    assert_eq!(format!("{silent:?}").replace("stated_rate: None", ""), unstated);
}

#[test]
fn every_field_is_documented_with_its_default() {
    // Fields without a default: sections, and alternatives of which one is required.
    let exempt = "File. Shared. DcbxApplication. Port.link Port.vlan Port.maps Port.device Port.queues \
                  Pfc.send Pfc.obey Buffer.profiles Dcbx.pfc Dcbx.ets Dcbx.subtypes Macsec.protect \
                  Macsec.replay Macsec.delay Macsec.transmit";
    testfields::hold_documented(&testfields::fields(&switch_schema(), "File"), 15, exempt);
}

#[test]
fn ecn_thresholds_follow_the_rate() {
    for (rate, kmin) in [("10G", 40_000), ("100G", 400_000)] {
        let text =
            format!("ports: [{{device: net_null0, rate: {rate}, queues: {{2: {{ecn: {{}}}}}}}}]");
        let ecn = good(&text).0.plan.ports[0].ecn[2].unwrap();
        assert_eq!((ecn.kmin.0, ecn.kmax.0, ecn.pmax), (kmin, 4 * kmin, 13_107));
    }
}

/// A port with `auto` has a worker alone; ports without a core share one, which has a chosen core too, and
/// ports with `none` one that is not pinned. The number of workers, and so the plan, is the same on each
/// machine.
#[test]
fn workers_are_the_same_on_every_machine() {
    let text = "ports: [{device: net_null0, core: auto}, {device: net_null1}, {device: net_null2, core: 1}, \
                {device: net_null3, core: auto}, {device: net_null4}, {device: net_null5, core: none}, \
                {device: net_null6, core: none}]";
    let machine = Machine { cores: Some(vec![0, 1]), ..Machine::any() };
    for machine in [machine, Machine::any()] {
        let (file, warnings) = parse("switch.yaml", text, &machine).unwrap();
        let workers: Vec<_> = file.workers.iter().map(|w| (w.core, w.ports.len())).collect();
        let (auto, none) = (Core::Auto, Core::None);
        assert_eq!(workers, [(auto, 1), (auto, 2), (Core::Number(1), 1), (auto, 1), (none, 2)]);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    let wrong = bad("ports: [{device: net_null0, core: any}]");
    assert!(wrong[0].contains("auto, none, a number"), "{wrong:?}");
}

#[test]
fn workers_are_the_cores_that_ports_name() {
    let text = "ports: [{device: net_null0, core: 2}, {device: net_null1}, \
                {device: net_null2, core: 2}, {device: net_null3, core: 1}]";
    let file = good(text).0;
    let cores: Vec<_> = file.workers.iter().map(|w| (w.core, w.ports.clone())).collect();
    let expected = [
        (Core::Number(2), vec![port(0), port(2)]),
        (Core::Auto, vec![port(1)]),
        (Core::Number(1), vec![port(3)]),
    ];
    assert_eq!(cores, expected);
    // Two ports with bursts of 32 frames, each flooded to three others, of 6 cells, in two other
    // workers.
    assert_eq!(file.plan.buffer.slack.0, 2 * 2 * 32 * 3 * 6);
    assert!(file.pool_frames > file.plan.buffer.total.0 as usize + 4 * (1024 + 512));
}
