//! A certificate from an authority, by ACME (RFC 8555): got when there is none for the server's names, renewed in the last third of
//! its time, and served at once. After a failure the former certificate stays, and the next try waits, over restarts too.

mod authority;
pub(super) mod identity;
mod pointing;
mod store;

use std::{sync::Arc, time::Duration};

use instant_acme::{AuthorizationStatus, ChallengeType, Identifier, NewOrder, Order, OrderStatus, RetryPolicy};
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use tokio::{
    signal::unix::Signal,
    sync::watch,
    time::{sleep, timeout},
};

use self::{
    authority::{Authority, Failure},
    identity::{ACME_TLS, Identity},
    store::Stored,
};
pub use self::{
    pointing::pointing_elsewhere,
    store::{Store, Try},
};
use super::{
    certificate::{self, Certificate},
    redirect::PlainHttp,
};
use crate::{
    config::{HOUR, MINUTE, Settings},
    error::{Error, Result},
    net::trusted_authorities::Authorities,
    time::Time,
};

/// Waits after failures. Let's Encrypt refuses a name for an hour after five failed validations within one.
const BACKOFF: [Duration; 5] = [MINUTE, MINUTE.saturating_mul(4), MINUTE.saturating_mul(16), HOUR, HOUR.saturating_mul(4)];
/// How long the authority may take to validate the names, and to sign.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);
/// How long a whole try may take.
const TRY_WITHIN: Duration = MINUTE.saturating_mul(5);
/// The longest sleep: a clock that was set, or a machine that was suspended, is noticed after it.
const LOOK_EVERY: Duration = HOUR;

/// Gets and renews the certificate of some names.
pub struct Acme {
    /// In the order of the alphabet: another order of the settings asks for the same certificate.
    names: Vec<String>,
    authority: Authority,
    store: Store,
    identity: Arc<Identity>,
    end: Gauge,
    /// When the certificate for all names is to be renewed; none if there is none.
    renew_at: Mutex<Option<Time>>,
}

impl Acme {
    /// Reads the certificate that was got before, if there is one, and changes nothing.
    pub fn new(settings: &Settings, authorities: &Authorities) -> Result<Acme> {
        let acme = Acme {
            names: sorted(&settings.listen.domains),
            authority: Authority::new(&settings.acme, authorities)?,
            store: Store::new(&settings.data_dir, &settings.acme.directory),
            identity: Arc::default(),
            end: Gauge::default(),
            renew_at: Mutex::default(),
        };
        // One for some of the names, or of another authority, is better than none until there is a new one.
        let stored = acme.store.certificate().filter(|stored| stored.is_for(&acme.names));
        if let Some(stored) = stored.or_else(|| Store::substitute(&settings.data_dir, &acme.names)) {
            acme.serve(&stored);
        }
        Ok(acme)
    }

    /// What listeners serve: the certificate as it is then, and none before there is one.
    pub fn certificate(&self) -> Result<Certificate> {
        let mut config = certificate::server_config(|config| Ok(config.with_cert_resolver(self.identity.clone())))?;
        config.alpn_protocols.push(ACME_TLS.into());
        // It is never replaced: the resolver knows the newest certificate.
        let (_, config) = watch::channel(Arc::new(config));
        Ok(Certificate { config, end: self.end.clone() })
    }

    /// The plain HTTP beside the certificate's HTTPS.
    pub fn plain_http(&self, settings: &Settings) -> PlainHttp {
        let names = settings.listen.domains.clone();
        PlainHttp { addresses: settings.acme.http_listen(), names, identity: self.identity.clone() }
    }

    /// Gets certificates when they are due, until the server stops. SIGHUP ends a wait after a failure.
    pub async fn run(self, mut stopping: watch::Receiver<bool>, mut hangup: Signal) {
        let acme = Arc::new(self);
        let mut last = acme.store.last_try().filter(|last| last.names == acme.names && last.at <= Time::now());
        loop {
            let left = acme.due(last.as_ref()).map_or(Duration::ZERO, |due| due.since(Time::now()));
            if !left.is_zero() {
                let is_asked = tokio::select! {
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                    () = sleep(left.min(LOOK_EVERY)) => false,
                    _ = hangup.recv() => last.is_some(),
                };
                if !is_asked {
                    continue;
                }
            }
            let tries = last.map_or(0, |last| last.tries);
            // Noted before, so that a server that is killed meanwhile doesn't try again at each start.
            acme.note(&Try::new(&acme.names, tries + 1, wait(tries), "a try is under way, or was cut off".into()));
            // In a task of its own: a panic in it is a failed try, and not the end of all.
            let renewing = tokio::spawn({
                let acme = acme.clone();
                async move { timeout(TRY_WITHIN, acme.renew(tries)).await }
            });
            let abort = renewing.abort_handle();
            let got = tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return abort.abort(),
                got = renewing => got,
            };
            acme.identity.forget_proofs();
            last = match got {
                Ok(Ok(Ok(()))) => None,
                Ok(Ok(Err(failure))) => Some(acme.failed(&failure, tries).await),
                Ok(Err(_)) => Some(acme.failed(&Failure::new("it took too long"), tries).await),
                Err(_) => Some(acme.failed(&Failure::new("its answer was more than this server understands"), tries).await),
            };
            match &last {
                Some(last) => acme.note(last),
                None => acme.store.forget_try(),
            }
        }
    }

    /// When the next certificate is to be got; none for at once.
    fn due(&self, last: Option<&Try>) -> Option<Time> {
        match (*self.renew_at.lock(), last.map(Try::next)) {
            (Some(renewal), Some(next)) => Some(renewal.max(next)),
            (renewal, next) => renewal.or(next),
        }
    }

    fn serve(&self, stored: &Stored) {
        self.identity.serve(stored.key.clone());
        self.end.set(stored.end.unix_seconds());
        *self.renew_at.lock() = stored.is_for(&self.names).then(|| stored.renew_at());
    }

    /// Gets a certificate, serves it and keeps it. The ways to prove the names take turns: a firewall may close one of the ports.
    async fn renew(&self, tries: u32) -> Result<(), Failure> {
        let way = if tries.is_multiple_of(2) { ChallengeType::TlsAlpn01 } else { ChallengeType::Http01 };
        let account = self.authority.account(&self.store).await?;
        let names: Vec<_> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await?;
        if order.state().authorizations.len() > names.len() {
            return Err(Failure::new("it asks for more proofs than there are names"));
        }
        self.prove(&mut order, &way).await?;
        let patience = RetryPolicy::default().timeout(ANSWER_WITHIN);
        match order.poll_ready(&patience).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) | Err(instant_acme::Error::Api(_)) => return Err(authority::why_invalid(&mut order).await),
            Err(err) => return Err(err.into()),
        }
        let (key, request) = self.request()?;
        order.finalize_csr(&request).await?;
        let chain = order.poll_certificate(&patience).await?;
        let pem = format!("{}\n{chain}", key.trim_end());
        let unusable = |why| Failure::new(format!("the certificate that it gave can't be served: {why}"));
        let stored = Stored::from_pem(pem.as_bytes()).map_err(unusable)?;
        if !stored.is_for(&self.names) {
            return Err(Failure::new("the certificate that it gave is for other names"));
        }
        let now = Time::now();
        if stored.begin > now + MINUTE || stored.renew_at() <= now {
            let Stored { begin, end, .. } = &stored;
            let why = format!("the certificate that it gave is good from {begin} to {end}, and this machine's clock says {now}");
            return Err(Failure::new(why));
        }
        self.serve(&stored);
        tracing::info!(names = self.names.join(", "), end = %stored.end, "serving a new certificate");
        if let Err(err) = self.store.write_certificate(pem.as_bytes()) {
            tracing::error!(err = err.log_text(), "the new certificate is served, and can't be written");
        }
        Ok(())
    }

    /// A new key in PEM, and the request for its certificate in DER.
    fn request(&self) -> Result<(String, Vec<u8>)> {
        let mut params = CertificateParams::new(self.names.clone()).map_err(Error::internal)?;
        params.distinguished_name = DistinguishedName::new();
        let key = KeyPair::generate().map_err(Error::internal)?;
        let request = params.serialize_request(&key).map_err(Error::internal)?;
        Ok((key.serialize_pem(), request.der().to_vec()))
    }

    /// Has the authority look for the proof that each name leads here.
    async fn prove(&self, order: &mut Order, way: &ChallengeType) -> Result<(), Failure> {
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            let name = authorization.identifier().to_string();
            if !self.names.contains(&name) {
                return Err(Failure::new("it asks for the proof of a name that is not this server's"));
            }
            if authorization.status == AuthorizationStatus::Valid {
                continue; // proved a short while ago
            }
            let offered = |kind: &ChallengeType| authorization.challenges.iter().any(|challenge| challenge.r#type == *kind);
            let way = if offered(way) { way.clone() } else { authority::other_way(way) };
            let unknown = || Failure::new("it offers no proof by a connection to the name");
            let mut challenge = authorization.challenge(way.clone()).ok_or_else(unknown)?;
            let proof = challenge.key_authorization();
            match way {
                ChallengeType::TlsAlpn01 => self.identity.prove_by_certificate(&name, proof.digest().as_ref())?,
                _ => self.identity.prove_by_text(&challenge.token, proof.as_str()),
            }
            challenge.set_ready().await.map_err(|err| Failure::of_name(&name, err))?;
        }
        Ok(())
    }

    async fn failed(&self, failure: &Failure, tries: u32) -> Try {
        let mut why = format!("no certificate from {}: {failure}", self.authority.host());
        for name in &self.names {
            if let Some(elsewhere) = pointing_elsewhere(name).await {
                why = format!("{why}; {elsewhere}");
            }
        }
        let wait = if failure.is_rate { BACKOFF[BACKOFF.len() - 1] } else { wait(tries) };
        let failed = Try::new(&self.names, tries + 1, wait, why);
        tracing::error!(names = self.names.join(", "), next_try = %failed.next(), "{}", failed.why);
        failed
    }

    fn note(&self, last: &Try) {
        if let Err(err) = self.store.write_try(last) {
            tracing::error!(err = err.log_text(), "the last try can't be noted");
        }
    }
}

/// The wait after so many tries before the one that has failed.
fn wait(tries: u32) -> Duration {
    BACKOFF[(tries as usize).min(BACKOFF.len() - 1)]
}

/// Names in the order of the alphabet, each once.
pub fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_owned();
    names.sort();
    names.dedup();
    names
}
