//! The server's log on standard error.

use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt};

use crate::{
    config::{LogFormat, Settings},
    error::{Error, Result},
};

/// The running log, whose filter can be replaced.
pub struct Log(reload::Handle<EnvFilter, Registry>);

/// Reads the filter of the log.
pub fn filter(filter: &str) -> Result<EnvFilter> {
    EnvFilter::try_new(filter).map_err(|err| Error::bad_request(format!("--log {filter}: {err}")))
}

impl Log {
    /// Starts the log of this process.
    pub fn start(settings: &Settings) -> Result<Log> {
        let (filter, handle) = reload::Layer::new(filter(&settings.log)?);
        // A failure to log would be printed where it failed, which panics if nobody reads it any more.
        let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).log_internal_errors(false);
        let lines = match settings.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry().with(filter).with(lines).init();
        Ok(Log(handle))
    }

    /// Replaces the filter.
    pub fn set(&self, text: &str) -> Result<()> {
        self.0.reload(filter(text)?).map_err(Error::internal)
    }
}
