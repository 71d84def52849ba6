//! Arguments about the link and the models' options, and their conversion to the models' inputs.

use anyhow::{Result, anyhow};
use clap::Args;

use super::options::{Asic, IeeeArgs, Shared, SoftwareArgs, kib};
use crate::config::quantity::{Length, LinkRate, Ratio, Size, Span};
use crate::headroom::models::{Estimate, Model, ModelError, cisco, ieee, mlx5, sonic};
use crate::units::Bytes;

/// The link, and further parameters of the models.
#[derive(Args, Clone, Debug)]
pub struct LinkArgs {
    /// Link rate, such as 100G.
    #[arg(long)]
    pub rate: LinkRate,
    /// Cable length, one way, such as 100m.
    #[arg(long)]
    pub length: Length,
    /// Longest frame. Default: 2000 (ieee), 9216 (cisco), 9100 (sonic) bytes, and for mlx5 the MTU,
    /// 1500.
    #[arg(long, value_name = "SIZE", visible_aliases = ["mtu", "port-mtu"])]
    pub max_frame: Option<Size>,
    /// Cell size of the buffer: the sum includes the unused part of short frames' cells, and is
    /// rounded up to whole cells. ieee: the headroom of a lossless group of a Sluice switch, as in
    /// `sluice check`, with the frame that triggers XOFF. sonic: the chip's cell, which is part of
    /// the model.
    #[arg(long, value_name = "SIZE")]
    pub cell: Option<Size>,
    /// ieee, cisco: propagation delay per metre. Default: 5ns (ieee), 5.13ns (cisco; copper
    /// 4.76ns).
    #[arg(long, value_name = "TIME")]
    pub delay_per_metre: Option<Span>,
    /// ieee, cisco: time from reception of a pause to the last frame start. Default: 614.4ns
    /// (ieee), the limit of 802.3 31B for the rate (cisco, with --complete).
    #[arg(long, value_name = "TIME")]
    pub reaction_delay: Option<Span>,
    #[command(flatten)]
    ieee: IeeeArgs,
    #[command(flatten)]
    software: SoftwareArgs,
    #[command(flatten)]
    cisco: CiscoArgs,
    #[command(flatten)]
    sonic: SonicArgs,
    #[command(flatten)]
    mlx5: Mlx5Args,
}

/// Options of Cisco's factors.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of cisco")]
struct CiscoArgs {
    /// Include all five factors. Default: the four of the published sum, without the reaction.
    #[arg(long)]
    complete: bool,
    /// Count the cable in both directions, as in the standard. Default: one direction, as
    /// published.
    #[arg(long)]
    both_ways: bool,
    /// Latency of the transceivers in one direction. Default: 512ns.
    #[arg(long, value_name = "TIME")]
    transceiver_delay: Option<Span>,
}

/// Options of SONiC's model.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of sonic")]
struct SonicArgs {
    /// Switch chip, which sets cell, latencies and peer response. Default: spectrum1.
    #[arg(long, value_enum)]
    asic: Option<Asic>,
    /// Formula, by release. Default: current, or barefoot with tofino2.
    #[arg(long, value_enum)]
    formula: Option<sonic::Formula>,
    /// Latency of the pipeline, such as 19KiB. Default: the chip's.
    #[arg(long, value_name = "KIB", value_parser = kib)]
    pipeline_latency: Option<f64>,
    /// Delay of MAC and PHY, such as 0.8KiB. Default: the chip's.
    #[arg(long, value_name = "KIB", value_parser = kib)]
    mac_phy_delay: Option<f64>,
    /// Response of a peer at rates for which 802.3 31B has no value, such as 3.8KiB. Default: the
    /// chip's.
    #[arg(long, value_name = "KIB", value_parser = kib)]
    peer_response: Option<f64>,
    /// Delay of a gearbox, such as 400ns (SN3800). Default: 0.
    #[arg(long, value_name = "TIME")]
    gearbox_delay: Option<Span>,
    /// Number of lanes of the port; 8 are a special case. Default: 4.
    #[arg(long)]
    lanes: Option<u8>,
    /// MTU of lossless packets. Default: 1500.
    #[arg(long, value_name = "SIZE")]
    lossless_mtu: Option<Size>,
    /// Part of the packets that are small. Default: 100%.
    #[arg(long, value_name = "PART")]
    small_packets: Option<Ratio>,
    /// Use a shared headroom pool.
    #[arg(long)]
    shp: bool,
    /// Oversubscription of the shared headroom pool; enables the pool and shows its size.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    over_subscribe_ratio: Option<u16>,
    /// Number of lossless groups of a port; shows the port's total. Default: 2.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    groups: Option<u8>,
    /// Number of lossy groups of a port that have a profile. Default: 0.
    #[arg(long, value_name = "N")]
    lossy_groups: Option<u8>,
    /// Largest headroom of a port (SONiC: max_headroom_size); more is refused.
    #[arg(long, value_name = "SIZE")]
    max_headroom: Option<Size>,
    /// Number of ports with lossless groups, for the shared headroom pool. Default: 1.
    #[arg(long, value_name = "N", requires = "over_subscribe_ratio")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    ports: Option<u16>,
}

impl SonicArgs {
    /// The switch, if an option of it is given.
    fn switch(&self) -> Option<sonic::Switch> {
        let default = sonic::Switch::DEFAULT;
        let switch = sonic::Switch {
            groups: self.groups.unwrap_or(default.groups),
            lossy_groups: self.lossy_groups.unwrap_or(default.lossy_groups),
            max_headroom: self.max_headroom.map(|size| Bytes(size.0)),
            ports: self.ports.unwrap_or(default.ports),
            over_subscribe_ratio: self.over_subscribe_ratio.unwrap_or_default(),
        };
        let is_given = switch != default || self.groups.is_some();
        is_given.then_some(switch)
    }
}

/// Options of the NIC driver.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of mlx5")]
struct Mlx5Args {
    /// Receive buffer for which thresholds are calculated. Default: no thresholds.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<Size>,
    /// Largest MTU of the interface; a value below 9216 counts as 9216.
    #[arg(long, value_name = "SIZE", requires = "buffer")]
    max_mtu: Option<Size>,
}

impl LinkArgs {
    /// Estimate of `model`; errors name the option.
    ///
    /// # Errors
    /// An invalid option.
    pub fn estimate(&self, model: Model) -> Result<Estimate> {
        let estimate = match model {
            Model::Ieee => {
                let software = self.software.terms();
                let buffer = self.cell()?.map(|cell| ieee::Buffer { cell, software });
                self.ieee().and_then(|inputs| ieee::estimate(&ieee::Inputs { buffer, ..inputs }))
            }
            Model::Cisco => cisco::estimate(&self.cisco()),
            Model::Sonic => sonic::estimate(&self.sonic()?),
            Model::Mlx5 => mlx5::estimate(&self.mlx5()?),
        };
        let mut estimate = estimate.map_err(|e| anyhow!("--{}: {e}", e.field()))?;
        // SONiC's formula rounds to KiB and has the cell as an input; `ieee` has rounded already.
        if let Some(cell) = self.cell()?.filter(|_| matches!(model, Model::Cisco | Model::Mlx5)) {
            estimate.pack(self.frame(model), cell);
        }
        Ok(estimate)
    }

    /// The same arguments with all of Cisco's factors.
    pub fn complete(&self) -> Self {
        let mut all = self.clone();
        all.cisco.complete = true;
        all
    }

    /// Bytes per cell, if given.
    ///
    /// # Errors
    /// No buffer can have such cells.
    pub fn cell(&self) -> Result<Option<u32>> {
        cell(self.cell)
    }

    /// Longest frame for `model`: the one given or the model's default.
    pub fn frame(&self, model: Model) -> Bytes {
        let own = match model {
            Model::Ieee => ieee::Inputs::new(self.rate.0, 0).max_frame,
            Model::Cisco => cisco::Inputs::MAX_FRAME,
            Model::Sonic => sonic::Inputs::new(self.rate.0, 0, sonic::Asic::VS).port_mtu,
            Model::Mlx5 => mlx5::Inputs::MTU,
        };
        self.max_frame.map_or(own, |size| Bytes(size.0))
    }

    /// Refuses the first option given that `model` does not have.
    ///
    /// # Errors
    /// The option, and the models that have it.
    pub fn refuse_others(&self, model: Model) -> Result<()> {
        // An option without effect is an error: a user who gave it believes that it counts.
        let (i, w, c) = (&self.ieee, &self.software, &self.cisco);
        let (s, m) = (&self.sonic, &self.mlx5);
        let given = [
            ("delay-per-metre", "ieee and cisco", self.delay_per_metre.is_some()),
            ("reaction-delay", "ieee and cisco", self.reaction_delay.is_some()),
            ("phy", "ieee", i.phy.is_some()),
            ("fec", "ieee", i.fec.is_some()),
            ("extender", "ieee", i.extender.is_some()),
            ("interface-delay", "ieee", i.interface_delay.is_some()),
            ("macsec", "ieee", i.macsec.is_some()),
            ("poll-gap", "ieee", w.poll_gap.is_some()),
            ("rx-backlog", "ieee", w.rx_backlog.is_some()),
            ("tx-committed", "ieee", w.tx_committed.is_some()),
            ("peer-committed", "ieee", w.peer_committed.is_some()),
            ("complete", "cisco", c.complete),
            ("both-ways", "cisco", c.both_ways),
            ("transceiver-delay", "cisco", c.transceiver_delay.is_some()),
            ("asic", "sonic", s.asic.is_some()),
            ("formula", "sonic", s.formula.is_some()),
            ("pipeline-latency", "sonic", s.pipeline_latency.is_some()),
            ("mac-phy-delay", "sonic", s.mac_phy_delay.is_some()),
            ("peer-response", "sonic", s.peer_response.is_some()),
            ("gearbox-delay", "sonic", s.gearbox_delay.is_some()),
            ("lanes", "sonic", s.lanes.is_some()),
            ("lossless-mtu", "sonic", s.lossless_mtu.is_some()),
            ("small-packets", "sonic", s.small_packets.is_some()),
            ("shp", "sonic", s.shp),
            ("over-subscribe-ratio", "sonic", s.over_subscribe_ratio.is_some()),
            ("groups", "sonic", s.groups.is_some()),
            ("lossy-groups", "sonic", s.lossy_groups.is_some()),
            ("max-headroom", "sonic", s.max_headroom.is_some()),
            ("ports", "sonic", s.ports.is_some()),
            ("buffer", "mlx5", m.buffer.is_some()),
        ];
        let name = model.to_string();
        // Compared as text: the middle column is also the words of the message.
        let other = given.iter().find(|(_, of, given)| *given && !of.contains(&name));
        other.map_or(Ok(()), |(option, of, _)| {
            Err(anyhow!("--{option}: {model} has no such input; leave it out, it is one of {of}"))
        })
    }

    fn ieee(&self) -> Result<ieee::Inputs, ModelError> {
        let shared = Shared {
            max_frame: self.max_frame,
            delay_per_metre: self.delay_per_metre,
            reaction_delay: self.reaction_delay,
        };
        self.ieee.inputs(self.rate.0, self.length.0, shared)
    }

    fn cisco(&self) -> cisco::Inputs {
        let args = &self.cisco;
        let link = cisco::Inputs::new(self.rate.0, self.length.0);
        cisco::Inputs {
            max_frame: self.frame(Model::Cisco),
            ps_per_metre: self.delay_per_metre.map_or(link.ps_per_metre, |s| s.0.as_picos()),
            reaction: self.reaction_delay.map(|s| s.0),
            transceiver: args.transceiver_delay.map_or(link.transceiver, |s| s.0),
            both_ways: args.both_ways,
            sum: if args.complete { cisco::Sum::Complete } else { cisco::Sum::AsPrinted },
            ..link
        }
    }

    fn sonic(&self) -> Result<sonic::Inputs> {
        let args = &self.sonic;
        let name = args.asic.unwrap_or(Asic::Spectrum1);
        let known = name.figures();
        let asic = sonic::Asic {
            // Single values of the chip may be given; the others stay those of SONiC's tables.
            cell: self.cell()?.unwrap_or(known.cell),
            pipeline_kib: args.pipeline_latency.unwrap_or(known.pipeline_kib),
            mac_phy_kib: args.mac_phy_delay.unwrap_or(known.mac_phy_kib),
            peer_kib: args.peer_response.unwrap_or(known.peer_kib),
            ..known
        };
        let usual = match name {
            // SONiC has a script of its own for this chip.
            Asic::Tofino2 => sonic::Formula::Barefoot,
            _ => sonic::Formula::Current,
        };
        let formula = args.formula.unwrap_or(usual);
        let port = sonic::Inputs::new(self.rate.0, self.length.0, asic);
        Ok(sonic::Inputs {
            port_mtu: self.frame(Model::Sonic),
            lanes: args.lanes.unwrap_or(port.lanes),
            gearbox_ns: args.gearbox_delay.unwrap_or_default().0.as_nanos_f64(),
            lossless_mtu: args.lossless_mtu.map_or(port.lossless_mtu, |size| Bytes(size.0)),
            // Ratios are kept in millionths, and the formula has percent.
            small_packets: args.small_packets.map_or(port.small_packets, |r| f64::from(r.0) / 1e4),
            // A ratio makes sense only for a shared pool.
            shared_pool: args.shp || args.over_subscribe_ratio.is_some(),
            switch: args.switch(),
            formula,
            ..port
        })
    }

    fn mlx5(&self) -> Result<mlx5::Inputs> {
        let cell = self.cell()?.unwrap_or(mlx5::Buffer::CELL);
        let max_mtu = self.mlx5.max_mtu.map_or(mlx5::Buffer::MAX_MTU, |size| Bytes(size.0));
        let buffer = |size: Size| mlx5::Buffer { size: Bytes(size.0), max_mtu, cell };
        let link = mlx5::Inputs::new(self.rate.0, self.length.0);
        Ok(mlx5::Inputs {
            mtu: self.frame(Model::Mlx5),
            buffer: self.mlx5.buffer.map(buffer),
            ..link
        })
    }
}

/// Bytes per cell, if given.
///
/// # Errors
/// No buffer can have such cells.
pub fn cell(given: Option<Size>) -> Result<Option<u32>> {
    let Some(Size(octets)) = given else { return Ok(None) };
    let fits = (1..=65_536).contains(&octets);
    if fits { Ok(Some(octets as u32)) } else { Err(anyhow!("--cell: must be 1 to 65536 octets")) }
}
