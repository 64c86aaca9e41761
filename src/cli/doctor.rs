//! `tidings doctor`: checks settings, data and machine for problems.

mod files;
mod finding;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use self::finding::{Finding, Outcome, found};
use super::{folder, output::Output};
use crate::{
    config::{DAY, Settings, Tls, secrets_in},
    connections::{
        acme::{self, Store, pointing_elsewhere},
        certificate::Files,
    },
    db,
    domain::{consistency, messages::indexing},
    error::{Error, Faults, Result, root_cause},
    mail::transport::Mailer,
    net::trusted_authorities::Authorities,
    site::is_loopback,
    time::Time,
    wiring,
};
use clap::Args;
use rusqlite::Connection;

/// How long another machine may take to answer.
const WITHIN: Duration = Duration::from_secs(10);
/// The check of the mail server.
const MAIL: &str = "mail server";
const CERTIFICATE: &str = "certificate";
/// Each socket is an open file.
const FILES_MIN: u64 = 8192;
/// How long before its end a certificate should be a new one: programs that renew them do so weeks before.
const CERTIFICATE_MIN: Duration = DAY.saturating_mul(7);
/// A search index that is further behind than this is stuck, or the server does not run.
const BEHIND_MAX: i64 = 10_000;

#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    settings: Box<Settings>,
    /// Mend counters, the search index and permissions of files
    #[arg(long)]
    fix: bool,
}

/// Prints a finding for each check. Fails if one is bad.
pub fn run(data: &Path, config: Option<&Path>, output: Output, Doctor { settings, fix }: Doctor) -> Result<()> {
    let settings = Settings { data_dir: data.to_owned(), ..*settings };
    let mut findings = Findings(Vec::new());
    let mut faults = Faults::default();
    wiring::check_settings(&settings, &mut faults);
    findings.check("settings", faults.into_result().map(|()| "are valid".into()));
    findings.0.extend(config.map(settings_file));
    findings.0.extend([permissions(data, fix), file_system(data), free_space(data), open_files()]);
    if let Some(files) = files::on_another_disk(data) {
        findings.0.push(Finding { check: "free space for files", ..free_space(&files) });
    }
    findings.0.push(backups(&settings));
    findings.0.extend(certificate(&settings));
    findings.check("secret key", db::existing_key(data).map(|_| "it is there".into()));
    findings.check(
        "schema",
        db::require_known_definitions(data)
            .and_then(|()| db::require_current(data))
            .map(|()| format!("version {}", db::newest_version())),
    );
    let database = db::read_once(data, |conn| {
        findings.check("integrity", db::snapshot::require_intact(conn).map(|()| "the database is intact".into()));
        findings.0.push(clock(data, conn)?);
        findings.0.push(search(data, conn, fix)?);
        for rule in consistency::RULES {
            let broken = rule.count_violations(conn)?;
            findings.0.push(counter(data, rule, broken, fix)?);
        }
        findings.0.push(orphans(consistency::count_stray_messages(conn)?));
        findings.0.extend(files::check(data, conn)?);
        Ok(())
    });
    if let Err(err) = database {
        findings.add(Outcome::Bad, "database", err.admin_detail());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
    runtime.block_on(async {
        match mail_server(&settings).await {
            Ok(finding) => findings.0.push(finding),
            Err(err) => findings.add(Outcome::Bad, MAIL, err.admin_detail()),
        }
        findings.0.extend(domains(&settings).await);
        findings.0.push(base_url(&settings).await);
    });
    output.rows(&findings.0)?;
    match findings.0.iter().filter(|finding| finding.outcome == Outcome::Bad).count() {
        0 => Ok(()),
        bad => Err(Error::failed(format!("{bad} of {} checks failed", findings.0.len()))),
    }
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, outcome: Outcome, check: &'static str, finding: String) {
        self.0.push(Finding { outcome, check, finding });
    }

    fn check(&mut self, check: &'static str, found: Result<String>) {
        match found {
            Ok(finding) => self.add(Outcome::Good, check, finding),
            Err(err) => err.admin_detail().lines().for_each(|fault| self.add(Outcome::Bad, check, fault.to_owned())),
        }
    }
}

/// A settings file with secrets is not for everybody. Its group may be the server's.
fn settings_file(file: &Path) -> Finding {
    let check = "settings file";
    let secrets = secrets_in(file, &super::config_command::all_settings_parser());
    let is_open = fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o004 != 0);
    let file = file.display();
    match secrets.is_empty() || !is_open {
        true => found(Outcome::Good, check, format!("{file} tells no secret to others")),
        false => {
            let secrets = secrets.join(", ");
            found(
                Outcome::Warning,
                check,
                format!("others can read {secrets} in {file}: use chmod o-r, or a file for each secret"),
            )
        }
    }
}

/// The data folder and the key are for their owner alone.
fn permissions(data: &Path, fix: bool) -> Finding {
    let check = "permissions";
    if let Err(err) = fs::read_dir(data) {
        return found(Outcome::Bad, check, format!("can't read {}: {err}", data.display()));
    }
    let open: Vec<_> = [data.to_owned(), data.join(db::KEY), data.join(db::FILE)]
        .into_iter()
        .filter(|path| fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0))
        .collect();
    let Some(first) = open.first() else { return found(Outcome::Good, check, "only the owner can read the data".into()) };
    let close = |path: &std::path::PathBuf| {
        let mode = fs::metadata(path)?.permissions().mode() & 0o700;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    match fix.then(|| open.iter().try_for_each(close)) {
        Some(Ok(())) => found(Outcome::Mended, check, format!("others could read {}", first.display())),
        Some(Err(err)) => found(Outcome::Bad, check, format!("{}: {err}", first.display())),
        None => found(Outcome::Bad, check, format!("others can read {}: use --fix", first.display())),
    }
}

/// SQLite's WAL needs shared memory, which network file systems don't have.
fn file_system(data: &Path) -> Finding {
    /// The magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, FUSE, 9P, Ceph.
    const NETWORK: [u32; 7] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x00c3_6400];
    let check = "file system";
    #[cfg(target_os = "linux")]
    if let Ok(system) = rustix::fs::statfs(data)
        && NETWORK.contains(&(system.f_type as u32))
    {
        let finding = format!("{} is on a network file system, on which SQLite is not safe: use a local disk", data.display());
        return found(Outcome::Bad, check, finding);
    }
    found(Outcome::Good, check, "it is local".into())
}

fn free_space(data: &Path) -> Finding {
    let check = "free space";
    let Some(free) = db::free_bytes(data) else {
        return found(Outcome::Bad, check, format!("the file system of {} does not say how much is free", data.display()));
    };
    match free {
        0..db::FLOOR => {
            let floor = db::FLOOR >> 20;
            let finding = format!(
                "{} MiB: below {floor} MiB the server takes only deletions, log-outs and what superadmins write",
                free >> 20
            );
            found(Outcome::Bad, check, finding)
        }
        db::FLOOR..db::SCARCE => found(Outcome::Warning, check, format!("only {} MiB", free >> 20)),
        db::SCARCE.. => found(Outcome::Good, check, format!("{} MiB", free >> 20)),
    }
}

/// Scheduled backups are recent. A server whose backups fail goes on, and mails its administrators once. Whether they can be
/// written is checked with the settings.
fn backups(settings: &Settings) -> Finding {
    let check = "backups";
    let Some(schedule) = wiring::schedule(settings) else {
        return found(Outcome::Good, check, "the server makes none by itself: --backup-every is not set".into());
    };
    let folder = schedule.folder.display();
    if !schedule.folder.exists() {
        return found(Outcome::Warning, check, format!("there is no folder {folder} yet"));
    }
    match schedule.left(Time::now()) {
        None => found(Outcome::Warning, check, format!("none in {folder} is newer than --backup-every")),
        Some(_) => found(Outcome::Good, check, format!("one in {folder} is newer than --backup-every")),
    }
}

/// The server's own certificate, if it has one, does not end soon. One that can't be read is bad with the settings.
fn certificate(settings: &Settings) -> Option<Finding> {
    let (end, least) = match settings.listen.tls().ok()? {
        Tls::Off => return None,
        Tls::Files(cert, key) => (Files::new(cert, key).end().ok()??, CERTIFICATE_MIN),
        Tls::Acme(names) => match acme_certificate(settings, names) {
            Ok(end) => (end, Duration::ZERO),
            Err(finding) => return Some(finding),
        },
    };
    Some(match end.since(Time::now()) {
        Duration::ZERO => found(Outcome::Bad, CERTIFICATE, format!("it has ended at {end}")),
        left if left < least => found(Outcome::Warning, CERTIFICATE, format!("it ends at {end}")),
        _ => found(Outcome::Good, CERTIFICATE, format!("it ends at {end}")),
    })
}

/// When the certificate ends that the server got by itself, or why there is no newer one.
fn acme_certificate(settings: &Settings, names: &[String]) -> Result<Time, Finding> {
    let store = Store::new(&settings.data_dir, &settings.acme.directory);
    let end = store.certificate().filter(|stored| stored.is_for(names)).map(|stored| stored.end);
    if let Some(last) = store.last_try().filter(|last| last.names == acme::sorted(names)) {
        let outcome = if end.is_some_and(|end| end > Time::now()) { Outcome::Warning } else { Outcome::Bad };
        return Err(found(outcome, CERTIFICATE, format!("{}; the next try is at {}", last.why, last.next())));
    }
    end.ok_or_else(|| found(Outcome::Warning, CERTIFICATE, "there is none yet: the server gets one when it starts".into()))
}

/// The server's names lead to this machine. Nobody needs to know more once there is a certificate: a router may stand between.
async fn domains(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if certificate(settings).is_some_and(|finding| finding.outcome == Outcome::Good) {
        return findings;
    }
    for name in &settings.listen.domains {
        findings.push(match pointing_elsewhere(name).await {
            Some(elsewhere) => found(Outcome::Warning, "domain", elsewhere),
            None => found(Outcome::Good, "domain", format!("{name} points to this machine")),
        });
    }
    findings
}

fn open_files() -> Finding {
    use rustix::process::{Resource, getrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    let outcome = if most.is_some_and(|most| most < FILES_MIN) { Outcome::Warning } else { Outcome::Good };
    let finding = most.map_or("unlimited".into(), |most| format!("at most {most}, one for each connection"));
    found(outcome, "open files", finding)
}

/// The clock must not be behind what was written before.
fn clock(data: &Path, conn: &Connection) -> Result<Finding> {
    let (check, now) = ("clock", Time::now());
    Ok(match db::last_write_in_future(now, data, conn)? {
        Some(last) => found(Outcome::Bad, check, format!("it says {now}, and the last write was at {last}: set the clock")),
        None => found(Outcome::Good, check, "it is not behind the last write".into()),
    })
}

fn search(data: &Path, conn: &Connection, fix: bool) -> Result<Finding> {
    let check = "search index";
    Ok(match (consistency::count_unindexed_messages(conn)?, indexing::behind(conn)?) {
        (0, behind) if behind > BEHIND_MAX => found(Outcome::Warning, check, format!("{behind} messages behind")),
        (0, behind) => found(Outcome::Good, check, format!("{behind} messages behind")),
        (missing, _) if fix => {
            folder::change(data, consistency::queue_unindexed_messages)?;
            found(Outcome::Mended, check, format!("{missing} messages were missing, and the server indexes them"))
        }
        (missing, _) => found(Outcome::Bad, check, format!("{missing} messages are missing: use --fix")),
    })
}

fn counter(data: &Path, rule: &consistency::Rule, broken: i64, fix: bool) -> Result<Finding> {
    let check = "counters";
    Ok(match (broken, fix) {
        (0, _) => found(Outcome::Good, check, format!("no {}", rule.says)),
        (_, true) => {
            let mended = folder::change(data, |tx| rule.mend(tx))?;
            found(Outcome::Mended, check, format!("{mended} {}", rule.says))
        }
        (_, false) => found(Outcome::Bad, check, format!("{broken} {}: use --fix", rule.says)),
    })
}

fn orphans(messages: i64) -> Finding {
    match messages {
        0 => found(Outcome::Good, "orphans", "every message belongs to a channel".into()),
        _ => found(Outcome::Bad, "orphans", format!("{messages} messages belong to no channel")),
    }
}

async fn mail_server(settings: &Settings) -> Result<Finding> {
    let mail = &settings.mail;
    let mailer = Mailer::new(&mail.mail_url, &mail.mail_from, &Authorities::read(mail.ca_file.as_deref())?)?;
    mailer.connect().await?;
    let is_local = settings.server_and_link_origins(None).is_ok_and(|(base, web)| is_loopback(&base) && is_loopback(&web));
    Ok(match mailer.writes_to_log() {
        false => found(Outcome::Good, MAIL, "it can be reached".into()),
        true if is_local => found(Outcome::Good, MAIL, "none: mails go to the log".into()),
        true => {
            found(Outcome::Warning, MAIL, "none: mails go to the log, and their links with them. Name one with --mail-url".into())
        }
    })
}

/// A warning only: the server may not run, or its own machine may not reach the proxy in front of it.
async fn base_url(settings: &Settings) -> Finding {
    let check = "base URL";
    let asked = async {
        let (base, _) = settings.server_and_link_origins(None)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(Authorities::read(settings.mail.ca_file.as_deref())?.tls_config()?)
            .timeout(WITHIN)
            .build()
            .map_err(Error::internal)?;
        let status = client.get(format!("{base}/health")).send().await.map(|answer| answer.status());
        Ok::<_, Error>((base, status))
    };
    match asked.await {
        Ok((base, Ok(status))) if status.is_success() => found(Outcome::Good, check, format!("{base} answers")),
        Ok((base, Ok(status))) => found(Outcome::Warning, check, format!("{base}/health answers {status}")),
        Ok((base, Err(err))) => found(Outcome::Warning, check, format!("{base} can't be reached: {}", root_cause(&err))),
        Err(err) => found(Outcome::Warning, check, err.admin_detail()),
    }
}
