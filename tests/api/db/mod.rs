mod chores;
mod clocks;
mod races;
mod writer;
