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
    AddBitName, CimDialect, CimRepeatName, CimTypeName, CongestionIsolation, IsolationPeer,
    IsolationQueue, MapReadingName, OctetThreeName, PortIsolation, QueueMapSaid, VidBitsName,
};
pub use notifications::{
    FastCnp, FastCnpQueue, PortFastCnp, PortQcn, Qcn, QcnQueue, QpEntry, SourceQpSaid,
};
pub use parts::{
    Aqm, AttachedName, Centiseconds, LocatorName, MessageLimit, SendersSaid, TrafficClasses,
};
pub use proxy::{PausePolicy, RememberName, SfcProxy, SfcProxyAccept, SfcProxyCache};
pub use settings::{Setting, Settings, out_of_range};
pub use sfc::{
    PortSfc, Sfc, SfcCountName, SfcFormName, SfcFromName, SfcLifeName, SfcMeter, SfcQueue,
    UnknownHostName,
};
