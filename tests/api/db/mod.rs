mod clocks;
mod deferred_work;
mod jumps;
mod positions;
mod races;
mod request_writes;
mod writer;
