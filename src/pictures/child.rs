//! The child: one picture on standard input, what it is on standard output, and nothing else in reach.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader, Seek, Write},
    os::fd::AsFd,
    process::ExitCode,
};

use rustix::{
    process::{Gid, Resource, Rlimit, Signal, Uid, geteuid, getrlimit, nice, set_parent_process_death_signal, setrlimit},
    thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

use super::{
    decoding,
    picture::{Picture, PictureLine, Purpose},
    pieces::{self, Walked},
};

/// The command that runs the child. It stands in no help: nobody but the server has a use for it.
pub const COMMAND: &str = "look-at-picture";

/// Bytes of memory, addresses included: 50 megapixels in 16 bits take 400 MB.
const ADDRESSES: u64 = 512 << 20;
/// Seconds of processor time.
const SECONDS: u64 = 5;
/// The user and the group that own nothing, by convention.
const NOBODY: u32 = 65_534;

/// Looks at the picture on standard input for the purpose of this name. First it says in a line what of the file is kept, for that
/// is known whatever becomes of the rest.
pub fn run(purpose: Option<&OsStr>) -> ExitCode {
    let purpose = Purpose::ALL.into_iter().find(|known| purpose.is_some_and(|purpose| purpose == known.name()));
    match purpose.map(look) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn look(purpose: Purpose) -> io::Result<()> {
    // The descriptor must be there before none can be made.
    let mut file = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    give_up_rights()?;
    let mut output = io::stdout().lock();
    let Walked { kept, orientation } = pieces::walk(&mut file);
    serde_json::to_writer(&mut output, &kept)?;
    writeln!(output)?;
    output.flush()?;
    file.rewind()?;
    let found = decoding::picture(file, purpose, orientation).map_err(io::Error::other)?;
    say(&mut output, &found)
}

fn say(output: &mut impl Write, found: &Picture) -> io::Result<()> {
    let Picture { appearance, copies: [small, large] } = found;
    let line = PictureLine { appearance: *appearance, lengths: [small.len(), large.len()] };
    serde_json::to_writer(&mut *output, &line)?;
    writeln!(output)?;
    output.write_all(small)?;
    output.write_all(large)?;
    output.flush()
}

/// From here on: no file and no socket is opened, no process is begun, no file grows, memory and time are bounded, others go first, and nothing outlives
/// the server.
fn give_up_rights() -> io::Result<()> {
    // Of all processes, this one goes first when memory is short.
    _ = fs::write("/proc/self/oom_score_adj", "1000");
    leave_root();
    set_parent_process_death_signal(Some(Signal::KILL))?; // another user would end it
    set_no_new_privs(true)?;
    for (resource, most) in [
        (Resource::As, ADDRESSES),
        (Resource::Cpu, SECONDS),
        (Resource::Nofile, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
    ] {
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    nice(10)?;
    Ok(())
}

/// Becomes nobody if it is root, whom no limit binds: a container's only user, or an administrator who imports. Where there is no such
/// user, it stays.
fn leave_root() {
    if geteuid().is_root() {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        _ = set_thread_groups(&[]);
        _ = set_thread_res_gid(group, group, group);
        _ = set_thread_res_uid(user, user, user);
    }
}
