mod clocks;
mod deferred_work;
mod jumps;
mod positions;
mod races;
mod write_ban;
mod writer;
