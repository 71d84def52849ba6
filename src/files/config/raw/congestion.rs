//! Configuration of congestion control in a switch: Source Flow Control, its proxy, Congestion
//! Isolation, congestion notifications. Fields of managed objects have the names of their
//! standards.

mod isolation;
mod notifications;
mod parts;
mod proxy;
mod settings;
mod sfc;

pub use isolation::{
    CimDialect, CimTypeName, CongestionIsolation, IsolationPeer, IsolationQueue, PortIsolation,
    QueueMapSaid,
};
pub use notifications::{
    FastCnp, FastCnpQueue, PortFastCnp, PortQcn, Qcn, QcnQueue, QpEntry, SourceQpSaid,
};
pub use parts::{
    Aqm, AttachedName, Centiseconds, LocatorName, MessageLimit, SendersSaid, TrafficClasses,
};
pub use proxy::{PausePolicy, SfcProxy, SfcProxyAccept, SfcProxyCache};
pub use settings::{Setting, Settings, out_of_range};
pub use sfc::{PortSfc, Sfc, SfcFormName, SfcFromName, SfcMeter, SfcQueue};
