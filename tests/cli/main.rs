//! Runs the real binary.

#[allow(dead_code)] // the tests of the API use all of it
#[path = "../api/certificate.rs"]
mod certificate;
mod entitled;
mod harness;
mod mail_server;
mod secured;
#[allow(dead_code)] // the tests of the API use all of it
#[path = "../stand_in/centrifugo.rs"]
mod stand_in;
mod subscriber;
mod world;

mod administering;
mod backups;
mod binary;
mod commands;
mod cuts;
mod deliveries;
mod doctor;
mod faults;
mod file_backups;
mod file_bombs;
mod file_model;
mod first_administrator;
mod foreign;
mod fsyncs;
mod inviting;
mod keys;
mod kills;
mod listening;
mod logging;
mod pictures;
mod sdk;
mod serving;
mod settings;
mod slack;
mod standby;
mod steps;
mod stopping;
mod systemd;
mod tls;
mod transfer;
mod upgrades;
