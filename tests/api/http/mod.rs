mod bad_input;
mod bodies;
mod bounds;
mod connections;
mod errors;
mod limits;
mod metrics;
mod slow_reads;
