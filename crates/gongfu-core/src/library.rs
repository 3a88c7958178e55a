//! The library: many skills from many places, and which of them a name means.
