//! Live push. [`embedded`] serves clients with the Centrifugo client protocol v2; [`external`] is a client of a Centrifugo that
//! serves them instead. Other programs publish through the [`server_api`]. Clients connect and subscribe with [`tokens`].
//! The [`context`] has the parts of the server that these work with, and [`last_active`] notes when users were last active.

pub mod context;
pub mod embedded;
pub mod external;
pub mod last_active;
pub mod server_api;
pub mod tokens;
