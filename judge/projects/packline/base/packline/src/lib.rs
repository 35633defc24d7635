//! Packs bytes into frames.

pub mod checksum;
pub mod runs;
pub mod varint;

use std::fmt;

/// Why a frame cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The frame ends too early.
    Short,
    /// A varint has more than 64 bits.
    Long,
    /// The data has not the length that the frame says.
    Length,
    /// The checksum is of other data.
    Checksum,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Short => "the frame ends too early",
            Error::Long => "a number has more than 64 bits",
            Error::Length => "the length is wrong",
            Error::Checksum => "the checksum is wrong",
        })
    }
}

impl std::error::Error for Error {}

/// Packs data into a frame.
pub fn pack(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint::write(&mut out, data.len() as u64);
    runs::write(&mut out, data);
    out.extend(checksum::of(data).to_be_bytes());
    out
}

/// Unpacks a frame.
pub fn unpack(frame: &[u8]) -> Result<Vec<u8>, Error> {
    let (length, rest) = varint::read(frame)?;
    if rest.len() < 2 {
        return Err(Error::Short);
    }
    let (body, sum) = rest.split_at(rest.len() - 2);
    let data = runs::read(body)?;
    if data.len() as u64 != length {
        return Err(Error::Length);
    }
    if checksum::of(&data).to_be_bytes() != *sum {
        return Err(Error::Checksum);
    }
    Ok(data)
}
