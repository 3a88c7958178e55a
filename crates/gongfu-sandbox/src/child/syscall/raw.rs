//! Any system call at all, for a process that tries to get out of a sandbox (`gongfu-attack`).
//!
//! No library offers this, because it can't be sound in general: a number may be an address. It lies here
//! so that no other crate needs `unsafe`, only with the feature `attack`, and behind a gate: each call
//! fails until the process has said that it is expendable. Such a process tries one thing and ends,
//! holds nothing that others rely on, and is looked at from outside.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Pid;

use super::Fork;

/// Any call may be made in this process.
static IS_EXPENDABLE: AtomicBool = AtomicBool::new(false);

/// Declares that any call may be made in this process: it has one thread, ends soon, and nothing depends on it.
pub fn declare_expendable() {
    IS_EXPENDABLE.store(true, Ordering::Relaxed);
}

fn must_be_expendable() -> io::Result<()> {
    if IS_EXPENDABLE.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

/// Makes a process like this one; returns its number, and in the new one `None`.
///
/// # Errors
/// There may be no more, or this one isn't expendable.
pub fn fork() -> io::Result<Option<Pid>> {
    must_be_expendable()?;
    Ok(match super::fork()? {
        Fork::Parent(pid) => Some(pid),
        Fork::Child => None,
    })
}

/// An argument of a call.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A number, an open file, a process, or flags.
    Number(i64),
    /// A text.
    Text(&'a CStr),
    /// Bytes that the system reads.
    Bytes(&'a [u8]),
    /// Memory that the system may write to.
    Room(&'a mut [u8]),
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Argument<'_> {
            fn from(number: $kind) -> Self {
                Self::Number(number.into())
            }
        }
    )*};
}
numbers!(i32, u32, i64);

impl From<u64> for Argument<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number.cast_signed())
    }
}

impl<'a> From<&'a CStr> for Argument<'a> {
    fn from(text: &'a CStr) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a mut [u8]> for Argument<'a> {
    fn from(room: &'a mut [u8]) -> Self {
        Self::Room(room)
    }
}

impl Argument<'_> {
    /// The value for the system: a number, or an address.
    fn value(&mut self) -> i64 {
        let address = match self {
            Self::Number(number) => return *number,
            Self::Text(text) => text.as_ptr().expose_provenance(),
            Self::Bytes(bytes) => bytes.as_ptr().expose_provenance(),
            Self::Room(room) => room.as_mut_ptr().expose_provenance(),
        };
        (address as u64).cast_signed()
    }
}

/// Makes a call with up to six arguments.
///
/// # Errors
/// The system refuses the call, or this process isn't expendable.
pub fn call(number: i64, arguments: &mut [Argument<'_>]) -> io::Result<i64> {
    let mut given = [0; 6];
    for (place, argument) in given.iter_mut().zip(arguments) {
        *place = argument.value();
    }
    anything(number, given)
}

/// Makes any call with any arguments.
///
/// # Errors
/// The system refuses the call, or this process isn't expendable.
pub fn anything(number: i64, arguments: [i64; 6]) -> io::Result<i64> {
    must_be_expendable()?;
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: arguments by reference live until the call returns. A number can harm only this process,
    // which has declared that it is expendable.
    let answer = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// Makes a call without arguments as 32-bit programs do; returns the system's answer.
#[cfg(target_arch = "x86_64")]
pub fn of_a_32_bit_program(number: u32) -> i64 {
    let answer: i64;
    // SAFETY: the call takes nothing and changes nothing but these registers.
    unsafe {
        core::arch::asm!(
            "int 0x80",
            inlateout("rax") i64::from(number) => answer,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
        );
    }
    answer
}
