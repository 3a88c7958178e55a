//! The domain of gongfu: skills, the library, permissions.
//!
//! This crate never does IO: no file, socket, clock, environment, thread or async runtime. Bytes come
//! in as arguments, findings and values go out; what must touch the world is a trait in [`port`] that
//! other crates implement.

pub mod account;
pub mod agent;
pub mod approval;
pub mod archive;
pub mod audit;
pub mod capability;
pub mod catalogue;
pub mod change;
pub mod command;
pub mod connection;
pub mod dependency;
pub mod edit;
pub mod grant;
pub mod import;
pub mod ledger;
pub mod library;
pub mod near;
pub mod netrc;
pub mod network;
pub mod pin;
pub mod pipeline;
pub mod place;
pub mod port;
pub mod project;
pub mod registry;
pub mod sandbox;
pub mod search;
pub mod set;
pub mod shell;
pub mod skill;
pub mod switches;
pub mod text;
pub mod trace;
pub mod trust;
pub mod uses;
