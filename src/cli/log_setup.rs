//! The server's log on standard error.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, layer::SubscriberExt, reload, util::SubscriberInitExt};

use crate::{
    config::{LogFormat, Settings},
    error::{Error, Result},
};

/// The running log, whose filter can be replaced.
pub struct Log(reload::Handle<EnvFilter, Registry>);

/// Reads the filter of the log. A word that stands alone must be a level: the library takes any other for the name of a module,
/// and a misspelled level would silence the log.
pub fn filter(filter: &str) -> Result<EnvFilter> {
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    let known = filter.split(',').all(|part| part.contains('=') || is_level(part));
    known.then(|| EnvFilter::try_new(filter).ok()).flatten().ok_or_else(|| {
        Error::failed(format!(
            "--log {filter}: expected error, warn, info, debug, trace or off, or a filter such as info,tidings=debug"
        ))
    })
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
