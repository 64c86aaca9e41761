mod chores;
mod clocks;
mod jumps;
mod races;
mod writer;
