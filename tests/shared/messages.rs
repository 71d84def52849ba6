//! Messages of switches about flows of a station, as bytes of frames.

use std::net::IpAddr;

use sluice::time::Duration;
use sluice::units::{Dscp, Mac, Priority};
use sluice::wire::ethernet::MIN_FRAME;
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::{Ecn, Protocol};
use sluice::wire::sfcm::{self, Form, Locator, PORT_DEFAULT, Sfcm};
use sluice::wire::{EtherType, datagram};

/// Source address of the frames.
const SWITCH: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// A UDP flow of the station.
pub fn udp(src: &str, src_port: u16, dst: &str, dst_port: u16) -> FiveTuple {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let (src, dst) = (address(src), address(dst));
    FiveTuple { src, dst, protocol: Protocol::UDP, src_port, dst_port }
}

/// A frame to `dst` with these tags, padded as a sender pads it.
pub fn frame(dst: Mac, tags: &[u16], ethertype: EtherType, packet: &[u8]) -> Vec<u8> {
    let mut octets = [dst.0, SWITCH.0].concat();
    for tag in tags {
        octets.extend([&[0x81, 0], &tag.to_be_bytes()[..]].concat());
    }
    octets.extend(ethertype.0.to_be_bytes());
    octets.extend(packet);
    octets.resize(octets.len().max(MIN_FRAME), 0);
    octets
}

/// A source flow control message: its sender and its content.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    pub from: IpAddr,
    pub to: IpAddr,
    pub port: u16,
    pub form: Form<'a>,
    pub priority: Priority,
    pub dscp: Dscp,
    pub pause: Duration,
    pub locator: Locator,
}

impl<'a> Message<'a> {
    /// A message as in the source document: from the flow's destination to its source.
    pub fn about(flow: FiveTuple, priority: u8, pause: Duration) -> Self {
        Self {
            from: flow.dst,
            to: flow.src,
            port: PORT_DEFAULT,
            form: Form::Simplified(flow),
            priority: Priority::new(priority).unwrap(),
            dscp: Dscp::MIN,
            pause,
            locator: Locator::Incast,
        }
    }

    pub fn packet(&self) -> Vec<u8> {
        let headers = datagram::Repr {
            src: self.from,
            dst: self.to,
            dscp: Dscp::new(48).unwrap(),
            ecn: Ecn::NotEct,
            ttl: 64,
            src_port: self.port,
            dst_port: self.port,
        };
        let message = Sfcm {
            form: self.form,
            priority: self.priority,
            dscp: self.dscp,
            pause: self.pause,
            locator: self.locator,
            level: None,
        };
        let repr = sfcm::Repr { headers, message };
        let mut packet = vec![0; repr.buffer_len()];
        repr.emit(&mut packet).unwrap();
        packet
    }

    /// Its frame to `dst`.
    pub fn frame(&self, dst: Mac, tags: &[u16]) -> Vec<u8> {
        let ethertype = if self.to.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        frame(dst, tags, ethertype, &self.packet())
    }
}
