mod chores;
mod clocks;
mod jumps;
mod positions;
mod races;
mod writer;
