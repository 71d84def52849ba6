//! MACsec of the running switch: counters and keys.

use anyhow::{Context, Result, anyhow, ensure};
use zeroize::Zeroize;

use super::{Session, lock};
use crate::messages::{MacsecInstall, PortSecured};
use config::{hex_octets, key_of};
use ground::units::PortId;
use secure::{An, CipherSuite, SaPlan, Sci, SecyChange};

impl Session {
    /// MACsec state of the ports that have it.
    pub(crate) fn macsec(&self) -> Result<Vec<PortSecured>> {
        let ports = self.summary()?.ports.into_iter();
        let secured = |name, macsec| PortSecured { name, macsec };
        Ok(ports.filter_map(|port| Some(secured(port.port.name, port.macsec?))).collect())
    }

    /// Ports whose transmit association is exhausted, or nearly so, with the remedy.
    pub(crate) fn alarms(&self) -> Result<Vec<(String, String)>> {
        if lock(&self.plan).ports.iter().all(|port| port.secy.is_none()) {
            return Ok(Vec::new());
        }
        let alarms = self.macsec()?.into_iter();
        Ok(alarms.filter_map(|port| Some((port.name, port.macsec.alarm()?))).collect())
    }

    /// Installs a key, and selects it for transmission if requested.
    pub(crate) fn install(&self, install: &MacsecInstall) -> Result<()> {
        let port = self.port(&install.port)?;
        for change in changes(install, self.suite(port)?)? {
            self.controller.change_secy(port, &change)?;
        }
        Ok(())
    }

    /// Selects another association for transmission.
    pub(crate) fn use_association(&self, port: &str, an: u8) -> Result<()> {
        let change = SecyChange::UseTransmit(association(an)?);
        Ok(self.controller.change_secy(self.port(port)?, &change)?)
    }

    /// Removes an association or a receive channel.
    pub(crate) fn remove(&self, port: &str, receive: Option<&str>, an: Option<u8>) -> Result<()> {
        let port = self.port(port)?;
        let an = an.map(association).transpose()?;
        let change = match (receive.map(sci).transpose()?, an) {
            (None, Some(an)) => SecyChange::RemoveTransmit(an),
            (None, None) => return Err(anyhow!("an: which association? 0 to 3")),
            (Some(sci), Some(an)) => SecyChange::RemoveReceive { sci, an },
            (Some(sci), None) => SecyChange::RemoveChannel(sci),
        };
        Ok(self.controller.change_secy(port, &change)?)
    }

    fn suite(&self, port: PortId) -> Result<CipherSuite> {
        let plan = lock(&self.plan);
        let port = &plan.ports[port.index()];
        let secy = port.secy.as_ref();
        secy.map(|secy| secy.suite)
            .with_context(|| format!("port {} has no `macsec` in the switch file", port.name))
    }
}

fn association(n: u8) -> Result<An> {
    An::new(n).context("an: 0 to 3")
}

/// The changes that a request describes, in order. All of it is checked before the first is made.
fn changes(install: &MacsecInstall, suite: CipherSuite) -> Result<Vec<SecyChange>> {
    let (an, sa) = (association(install.an)?, sa(install, suite)?);
    let Some(channel) = install.receive.as_deref() else {
        let using = install.using.then_some(SecyChange::UseTransmit(an));
        return Ok([SecyChange::InstallTransmit { an, sa }].into_iter().chain(using).collect());
    };
    ensure!(!install.using, "using: only what is sent with is used");
    Ok(vec![SecyChange::InstallReceive { sci: sci(channel)?, an, sa }])
}

/// The association that a request describes.
fn sa(install: &MacsecInstall, suite: CipherSuite) -> Result<SaPlan> {
    let key = key_of(install.key.text().as_bytes()).map_err(|why| anyhow!("key: {why}"))?;
    let mut salt = [0; 12];
    match (suite.is_xpn(), install.ssci, &install.salt) {
        // An XPN suite needs both, since they are part of the initialization vector; an SSCI of 0 stands for none.
        (true, Some(1..), Some(text)) => {
            let read = hex_octets(text.text().as_bytes(), &mut salt);
            read.map_err(|why| anyhow!("salt: {why}"))?;
        }
        (true, ..) => return Err(anyhow!("{} needs an ssci above 0, and a salt", suite.name())),
        (false, None, None) => {}
        (false, ..) => return Err(anyhow!("{} has neither ssci nor salt", suite.name())),
    }
    let plan =
        SaPlan { key, pn: install.next_pn.unwrap_or(1), ssci: install.ssci.unwrap_or(0), salt };
    // The plan has its copy; this one would stay on the stack.
    salt.zeroize();
    Ok(plan)
}

/// Parses `02:00:00:00:00:09/1`; without a port number, port 1.
fn sci(text: &str) -> Result<Sci> {
    let (mac, port) = text.split_once('/').unwrap_or((text, "1"));
    let what = || {
        format!("`{text}` is no channel; write the sender's address and port, 02:00:00:00:00:09/1")
    };
    let mac = mac.parse().map_err(|_| anyhow!(what()))?;
    Ok(Sci { mac, port: port.parse().map_err(|_| anyhow!(what()))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Request;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    fn install(ssci: Option<u32>, salt: Option<&str>) -> MacsecInstall {
        let salt = salt.map(Into::into);
        MacsecInstall { key: KEY.into(), ssci, salt, ..MacsecInstall::default() }
    }

    #[test]
    fn a_request_says_what_its_suite_needs_and_no_more() {
        use CipherSuite::{GcmAes128, GcmAesXpn128};
        let salt = "e630e81a48de86a21c66fa6d";
        let plain = sa(&install(None, None), GcmAes128).unwrap();
        assert_eq!((plain.pn, plain.ssci, plain.key.len()), (1, 0, 16));
        let xpn = sa(&install(Some(7), Some(salt)), GcmAesXpn128).unwrap();
        assert_eq!((xpn.ssci, xpn.salt[0]), (7, 0xe6));
        assert!(sa(&install(Some(7), Some(salt)), GcmAes128).is_err());
        for (ssci, salt) in [(None, None), (Some(0), Some(salt)), (Some(7), Some("e6"))] {
            assert!(sa(&install(ssci, salt), GcmAesXpn128).is_err());
        }
    }

    #[test]
    fn a_request_that_is_refused_changes_nothing() {
        let suite = CipherSuite::GcmAes128;
        let mut request = MacsecInstall { using: true, ..install(None, None) };
        let [SecyChange::InstallTransmit { .. }, SecyChange::UseTransmit(an)] =
            &changes(&request, suite).unwrap()[..]
        else {
            panic!("a key is installed, and then used")
        };
        assert_eq!(an.get(), 0);
        // A key to receive with is not used to send, so it is not installed either.
        request.receive = Some("02:00:00:00:00:09/1".into());
        let error = changes(&request, suite).unwrap_err().to_string();
        assert_eq!(error, "using: only what is sent with is used");
        request.using = false;
        assert_eq!(changes(&request, suite).unwrap().len(), 1);
    }

    #[test]
    fn channels_are_read_as_they_are_written() {
        let channel = sci("02:00:00:00:00:09/7").unwrap();
        assert_eq!((channel.port, channel.to_string()), (7, "02:00:00:00:00:09/7".into()));
        assert_eq!(sci("02:00:00:00:00:09").unwrap().port, 1);
        for bad in ["", "02:00:00:00:00:09/", "02:00:00:00:00:09/65536", "x/1"] {
            assert!(sci(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn requests_with_keys_are_read_as_they_are_written_and_shown_without() {
        let request = Request::MacsecInstall(install(Some(1), Some("00")));
        let line = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), request);
        assert!(!format!("{request:?}").contains(&KEY[..8]));
        for (key, odd) in [("\"zz\"", false), ("1234567890123", true), ("[\"abcdef\"]", true)] {
            let line = format!(r#"{{"command":"macsec_install","port":"a","an":0,"key":{key}}}"#);
            let read = serde_json::from_str::<Request>(&line);
            assert_eq!(read.is_err(), odd);
            assert!(read.err().is_none_or(|e| !e.to_string().contains("123456")), "{line}");
        }
    }
}
