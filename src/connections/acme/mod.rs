//! A certificate from an authority, by ACME (RFC 8555): got when there is none for the server's names, renewed in the last third of
//! its time, and served at once. After a failure the former certificate stays, and the next try waits, over restarts too.

mod authority;
pub(super) mod challenges;
mod pointing;
mod store;

use std::{sync::Arc, time::Duration};

use instant_acme::{AuthorizationStatus, ChallengeType, Identifier, NewOrder, Order, OrderStatus, RetryPolicy};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{signal::unix::Signal, sync::watch, time::sleep};

use self::{
    authority::{Authority, Failure},
    challenges::{Challenges, TLS_ALPN},
    store::Stored,
};
pub use self::{
    pointing::pointing_elsewhere,
    store::{Refusal, Store},
};
use super::{
    certificate::{self, Certificate},
    redirect::Beside,
};
use crate::{
    config::{HOUR, MINUTE, Settings},
    error::Result,
    net::trusted_authorities::Authorities,
    time::Time,
};

/// Waits after failures. Let's Encrypt refuses a name for an hour after five failed validations within one.
const BACKOFF: [Duration; 4] = [MINUTE, MINUTE.saturating_mul(4), MINUTE.saturating_mul(16), HOUR];
/// How long the authority may take to validate the names, and to sign.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);
/// The longest sleep: a clock that was set, or a machine that was suspended, is noticed after it.
const LOOK_EVERY: Duration = HOUR;

/// Gets and renews the certificate of some names.
pub struct Acme {
    names: Vec<String>,
    authority: Authority,
    store: Store,
    challenges: Arc<Challenges>,
    end: Gauge,
}

impl Acme {
    /// Reads the certificate that was got before, if there is one, and changes nothing.
    pub fn new(settings: &Settings, names: &[String], authorities: &Authorities) -> Result<Acme> {
        let acme = Acme {
            names: names.to_owned(),
            authority: Authority::new(&settings.acme, authorities)?,
            store: Store::new(&settings.data_dir, &settings.acme.directory),
            challenges: Arc::default(),
            end: Gauge::default(),
        };
        if let Some(stored) = acme.stored()? {
            acme.serve(&stored)?;
        }
        Ok(acme)
    }

    /// What listeners serve: the certificate as it is then, and none before there is one.
    pub fn certificate(&self) -> Result<Certificate> {
        let mut config = certificate::server_config(|config| Ok(config.with_cert_resolver(self.challenges.clone())))?;
        config.alpn_protocols.push(TLS_ALPN.into());
        // It is never replaced: the resolver knows the newest certificate.
        let (_, config) = watch::channel(Arc::new(config));
        Ok(Certificate { config, end: self.end.clone() })
    }

    /// The plain HTTP beside the certificate's HTTPS.
    pub fn beside(&self, settings: &Settings) -> Beside {
        Beside { addresses: settings.acme.http_listen(), names: self.names.clone(), challenges: self.challenges.clone() }
    }

    /// Gets certificates when they are due, until the server stops. SIGHUP ends a wait after a failure.
    pub async fn run(self, mut stopping: watch::Receiver<bool>, mut hangup: Signal) {
        let mut refusal = self.store.refusal().filter(|refusal| refusal.names == self.names);
        loop {
            let left = self.due(refusal.as_ref()).map_or(Duration::ZERO, |due| due.since(Time::now()));
            if !left.is_zero() {
                let is_asked = tokio::select! {
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                    () = sleep(left.min(LOOK_EVERY)) => false,
                    _ = hangup.recv() => refusal.is_some(),
                };
                if !is_asked {
                    continue;
                }
            }
            let tries = refusal.as_ref().map_or(0, |refusal| refusal.tries);
            let got = tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return,
                got = self.renew(tries) => got,
            };
            self.challenges.forget();
            refusal = match got {
                Ok(()) => None,
                Err(failure) => Some(self.note_refusal(failure, tries + 1).await),
            };
            if let Err(err) = self.store.write_refusal(refusal.as_ref()) {
                tracing::error!(err = err.log_text(), "what the authority has said can't be written");
            }
        }
    }

    /// When the next certificate is to be got: at once if there is none.
    fn due(&self, refusal: Option<&Refusal>) -> Option<Time> {
        let renewal = self.stored().ok().flatten().map(|stored| stored.renew_at());
        renewal.max(refusal.map(Refusal::next_try))
    }

    /// The certificate that was got before, if it is one for all names.
    fn stored(&self) -> Result<Option<Stored>> {
        Ok(self.store.certificate()?.filter(|stored| stored.is_for(&self.names)))
    }

    fn serve(&self, stored: &Stored) -> Result<()> {
        self.challenges.serve(stored.key()?);
        self.end.set(stored.end.unix_seconds());
        Ok(())
    }

    /// Gets a certificate, keeps it and serves it. The ways to prove the names take turns: a firewall may close one of the ports.
    async fn renew(&self, tries: u32) -> Result<(), Failure> {
        let way = if tries.is_multiple_of(2) { ChallengeType::TlsAlpn01 } else { ChallengeType::Http01 };
        let account = self.authority.account(&self.store).await?;
        let names: Vec<_> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await?;
        self.prove(&mut order, &way).await?;
        let patience = RetryPolicy::default().timeout(ANSWER_WITHIN);
        match order.poll_ready(&patience).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) | Err(instant_acme::Error::Api(_)) => return Err(authority::why_invalid(&mut order).await),
            Err(err) => return Err(err.into()),
        }
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&patience).await?;
        let stored = self.store.write_certificate(&key, &chain)?;
        if !stored.is_for(&self.names) {
            return Err(Failure::from("the certificate that it gave is for other names".to_owned()));
        }
        self.serve(&stored)?;
        tracing::info!(names = self.names.join(", "), end = %stored.end, "serving a new certificate");
        Ok(())
    }

    /// Has the authority look for the proof that each name leads here.
    async fn prove(&self, order: &mut Order, way: &ChallengeType) -> Result<(), Failure> {
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status == AuthorizationStatus::Valid {
                continue; // proved a short while ago
            }
            let offered = |kind: &ChallengeType| authorization.challenges.iter().any(|challenge| challenge.r#type == *kind);
            let way = if offered(way) { way.clone() } else { authority::other_way(way) };
            let unknown = || Failure::from("it offers no proof by a connection to the name".to_owned());
            let mut challenge = authorization.challenge(way.clone()).ok_or_else(unknown)?;
            let proof = challenge.key_authorization();
            match way {
                ChallengeType::TlsAlpn01 => {
                    let name = challenge.identifier().to_string();
                    self.challenges.prove_by_certificate(&name, proof.digest().as_ref())?;
                }
                _ => self.challenges.prove_by_text(&challenge.token, proof.as_str()),
            }
            challenge.set_ready().await?;
        }
        Ok(())
    }

    async fn note_refusal(&self, failure: Failure, tries: u32) -> Refusal {
        let mut why = format!("no certificate from {}: {failure}", self.authority.host());
        for name in &self.names {
            if let Some(elsewhere) = pointing_elsewhere(name).await {
                why = format!("{why}; {elsewhere}");
            }
        }
        let wait = BACKOFF[(tries as usize).min(BACKOFF.len()) - 1];
        let refusal = Refusal { names: self.names.clone(), tries, at: Time::now(), wait_seconds: wait.as_secs(), why };
        tracing::error!(names = self.names.join(", "), next_try = %refusal.next_try(), "{}", refusal.why);
        refusal
    }
}
