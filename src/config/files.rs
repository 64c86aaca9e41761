//! How large files may be, and how much room they take.

use clap::{Args, ValueEnum};

/// The bounds of files.
#[derive(Args, Clone, Copy, Debug)]
pub struct Files {
    /// Bytes that a file may have
    #[arg(
        id = "file_bytes",
        long = "file-bytes",
        env = "TIDINGS_FILE_BYTES",
        default_value_t = 100_000_000,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u64).range(1_000..=100_000_000_000)
    )]
    pub each: u64,

    /// Bytes of files that a person and their bots may upload per day
    #[arg(
        id = "file_bytes_per_user_day",
        long = "file-bytes-per-user-day",
        env = "TIDINGS_FILE_BYTES_PER_USER_DAY",
        default_value_t = 2_000_000_000,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(1_000_000..=4_000_000_000)
    )]
    pub per_user_day: u32,

    /// Bytes that the files of an organisation may have together
    #[arg(
        id = "file_bytes_per_organisation",
        long = "file-bytes-per-organisation",
        env = "TIDINGS_FILE_BYTES_PER_ORGANISATION",
        default_value_t = 20_000_000_000,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u64).range(1_000_000..)
    )]
    pub per_organisation: u64,

    /// Whether pictures keep what cameras and programs note in them: the place, the time, the device; videos always do
    #[arg(long, env = "TIDINGS_PICTURE_DETAILS", default_value = "remove", value_name = "remove|keep")]
    pub picture_details: PictureDetails,

    /// Bytes of the disk that uploads leave free, for everything else that the server keeps there; at least 1 GiB
    #[arg(
        id = "file_free_bytes",
        long = "file-free-bytes",
        env = "TIDINGS_FILE_FREE_BYTES",
        default_value_t = 2 << 30,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u64).range(1 << 30..)
    )]
    pub left_free: u64,
}

impl Files {
    /// Whether pictures keep what is noted in them.
    pub fn keeps_details(&self) -> bool {
        self.picture_details == PictureDetails::Keep
    }
}

/// What becomes of what is noted in pictures beside what they show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureDetails {
    Remove,
    Keep,
}
