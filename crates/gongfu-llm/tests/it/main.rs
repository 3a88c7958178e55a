//! The chat models against a server on loopback that speaks their wires, and fails in every way that was seen.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod others;
