mod bad_input;
mod bodies;
mod bounds;
mod connections;
mod errors;
mod limits;
pub mod list_bounds;
mod metrics;
mod slow_reads;
